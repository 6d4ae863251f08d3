//! Passes the questions of servers on to the front.

use std::path::{Path, PathBuf};

use switchboard::host::{
    Abilities, Answer, Elicitation, Host, Page, Permission, Permit, Reply, Root, Visited,
};
use switchboard::json::Json;
use tokio::sync::{mpsc, oneshot};

use super::question::Question;

pub(super) struct Asker {
    questions: mpsc::Sender<Question>,
    folder: PathBuf,
}

impl Asker {
    pub(super) fn new(questions: mpsc::Sender<Question>, folder: &Path) -> Self {
        Self { questions, folder: folder.to_owned() }
    }

    async fn ask<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Question, otherwise: T) -> T {
        let (reply, answer) = oneshot::channel();
        if self.questions.send(question(reply)).await.is_err() {
            return otherwise;
        }
        answer.await.unwrap_or(otherwise)
    }
}

impl Host for Asker {
    fn abilities(&self) -> Abilities {
        Abilities { roots: true, forms: true, urls: true, sampling: false }
    }

    fn roots(&self) -> Vec<Root> {
        vec![Root::new(&self.folder)]
    }

    fn elicit(&self, question: Elicitation) -> Reply<'_, Answer> {
        Box::pin(self.ask(|reply| Question::Elicit { question, reply }, Answer::Cancel))
    }

    fn permit(&self, question: Permission) -> Reply<'_, Permit> {
        let otherwise = Permit::Deny { reason: "nobody answered".to_owned() };
        Box::pin(self.ask(|reply| Question::Permit { question, reply }, otherwise))
    }

    fn visit(&self, page: Page) -> Reply<'_, Visited> {
        Box::pin(self.ask(|reply| Question::Visit { page, reply }, Visited::Declined))
    }

    fn sample(&self, server: String, params: Json) -> Reply<'_, Result<Json, String>> {
        Box::pin(async {
            self.ask(|reply| Question::Sample { server, params, reply }, false).await;
            Err("no model is there to ask".to_owned())
        })
    }
}
