//! What somebody at the session has to decide: calls to approve, forms of servers, pages to log in at. Asked here, shown and
//! answered by the front.

use std::path::PathBuf;
use std::sync::Arc;

use switchboard::host::{
    Abilities, Answer, Elicitation, Host, Page, Permission, Permit, Reply, Root, Visited,
};
use switchboard::json::Json;
use tokio::sync::{mpsc, oneshot};

/// So many questions may wait; who asks more waits as well.
const WAITING: usize = 16;

/// Something to decide. When nobody waits for the answer any more, `reply.closed()` resolves: the dialog is to be closed.
#[derive(Debug)]
pub(crate) enum Question {
    /// May this call be made?
    Permit { question: Permission, reply: oneshot::Sender<Permit> },
    /// A server wants values, or a visit to an address.
    Elicit { question: Elicitation, reply: oneshot::Sender<Answer> },
    /// A page to log in at.
    Visit { page: Page, reply: oneshot::Sender<Visited> },
    /// May this server use the model?
    Sample { server: String, params: Json, reply: oneshot::Sender<bool> },
}

/// Lets servers use a model, once somebody agreed to it.
pub(crate) trait Sampler: Send + Sync + std::fmt::Debug {
    /// Whether there is a model now.
    fn is_there(&self) -> bool;

    /// The result of `sampling/createMessage`, or why not.
    fn sample(&self, server: String, params: Json) -> Reply<'_, Result<Json, String>>;
}

/// Hands what servers ask to whoever sits at the session.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    questions: mpsc::Sender<Question>,
    folder: PathBuf,
    sampler: Arc<dyn Sampler>,
}

impl Asker {
    /// One for this folder, and where its questions come out.
    pub(crate) fn new(folder: PathBuf, sampler: Arc<dyn Sampler>) -> (Self, mpsc::Receiver<Question>) {
        let (questions, receiver) = mpsc::channel(WAITING);
        (Self { questions, folder, sampler }, receiver)
    }

    /// Asks, and waits for the answer; none if there is nobody.
    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Question) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.questions.send(question(reply)).await.ok()?;
        answer.await.ok()
    }
}

impl Host for Asker {
    fn abilities(&self) -> Abilities {
        Abilities { roots: true, forms: true, urls: true, sampling: self.sampler.is_there() }
    }

    fn roots(&self) -> Vec<Root> {
        vec![Root::new(&self.folder)]
    }

    fn elicit(&self, question: Elicitation) -> Reply<'_, Answer> {
        Box::pin(async move {
            self.ask(|reply| Question::Elicit { question, reply }).await.unwrap_or(Answer::Cancel)
        })
    }

    fn permit(&self, question: Permission) -> Reply<'_, Permit> {
        Box::pin(async move {
            let reason = format!("nobody answered whether `{}` may be called", question.name);
            let answer = self.ask(|reply| Question::Permit { question, reply }).await;
            answer.unwrap_or(Permit::Refuse { reason })
        })
    }

    fn visit(&self, page: Page) -> Reply<'_, Visited> {
        Box::pin(async move {
            self.ask(|reply| Question::Visit { page, reply }).await.unwrap_or(Visited::Declined)
        })
    }

    fn sample(&self, server: String, params: Json) -> Reply<'_, Result<Json, String>> {
        Box::pin(async move {
            let (who, what) = (server.clone(), params.clone());
            let is_yes = self.ask(|reply| Question::Sample { server: who, params: what, reply }).await;
            if is_yes != Some(true) {
                return Err("the user declined".to_owned());
            }
            self.sampler.sample(server, params).await
        })
    }
}

#[cfg(test)]
mod tests {
    use switchboard::host::Why;

    use super::*;

    #[derive(Debug)]
    struct NoModel;

    impl Sampler for NoModel {
        fn is_there(&self) -> bool {
            false
        }

        fn sample(&self, _server: String, _params: Json) -> Reply<'_, Result<Json, String>> {
            Box::pin(std::future::ready(Err("no model is there to ask".to_owned())))
        }
    }

    fn call() -> Permission {
        Permission {
            name: "mcp_a_b".to_owned(),
            server: "a".to_owned(),
            tool: "b".to_owned(),
            description: None,
            arguments: serde_json::json!({}).into(),
            annotations: None,
            why: Why::Rule,
        }
    }

    #[tokio::test]
    async fn a_question_comes_out_with_the_slot_for_its_answer() {
        let (asker, mut questions) = Asker::new("/work".into(), Arc::new(NoModel));
        let answered = async {
            let Some(Question::Permit { question, reply }) = questions.recv().await else { panic!() };
            assert_eq!(question.tool, "b");
            reply.send(Permit::Once).unwrap();
        };
        assert_eq!(tokio::join!(asker.permit(call()), answered).0, Permit::Once);
    }

    #[tokio::test]
    async fn a_question_that_nobody_waits_for_is_closed() {
        let (asker, mut questions) = Asker::new("/work".into(), Arc::new(NoModel));
        {
            let asking = asker.permit(call());
            tokio::pin!(asking);
            tokio::select! {
                biased;
                _ = &mut asking => panic!(),
                () = std::future::ready(()) => {}
            }
        }
        let Some(Question::Permit { mut reply, .. }) = questions.recv().await else { panic!() };
        reply.closed().await;
    }

    #[tokio::test]
    async fn without_anybody_it_is_a_no() {
        let (asker, questions) = Asker::new("/work".into(), Arc::new(NoModel));
        drop(questions);
        assert!(matches!(asker.permit(call()).await, Permit::Refuse { .. }));
        assert!(asker.sample("a".to_owned(), serde_json::json!({}).into()).await.is_err());
        assert!(!asker.abilities().sampling);
    }
}
