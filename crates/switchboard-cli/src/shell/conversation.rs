//! The conversation of a session: which model, and what was said with it. How it is shown is for `talk` to know.

use std::sync::{Arc, Mutex, PoisonError};

use switchboard::Env;
use switchboard::config::settings::Chat;
use switchboard::host::Reply;
use switchboard::json::Json;
use switchboard::session::Session;
use switchboard_agent::choose::choose;
use switchboard_agent::providers::connect;
use switchboard_agent::{Agent, Chosen, Error, History, Message, Settings, Usage, sampling};

use super::question::Sampler;

/// The model of a session and what was said with it. It begins with the first words.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The model that was named in this session; it counts more than variables and settings.
    named: Option<String>,
    begun: Option<Begun>,
    lent: Arc<Lent>,
}

#[derive(Debug)]
struct Begun {
    chosen: Chosen,
    agent: Agent,
}

impl Conversation {
    /// One that has not begun. Servers that ask for a model get the one that is set.
    pub(super) fn new(env: &Env, chat: &Chat) -> Self {
        let conversation = Self::default();
        conversation.lent.set(choose(None, chat, env).ok());
        conversation
    }

    /// From now on another model answers, if it can be had.
    pub(super) fn name(&mut self, name: String, env: &Env, session: &Session) -> Result<(), Error> {
        let before = self.named.replace(name);
        match self.chosen(env, session) {
            Ok(chosen) => {
                self.lent.set(Some(chosen));
                Ok(())
            }
            Err(error) => {
                self.named = before;
                Err(error)
            }
        }
    }

    /// The model in force, and where it is; or what has to be set.
    pub(super) fn chosen(&self, env: &Env, session: &Session) -> Result<Chosen, Error> {
        choose(self.named.as_deref(), &session.discovery().settings.chat, env)
    }

    /// The agent, with the model and the settings of now.
    pub(super) fn agent(&mut self, env: &Env, session: &Session) -> Result<&mut Agent, Error> {
        let chosen = self.chosen(env, session)?;
        let settings = Settings::of(&session.discovery().settings.chat, &chosen);
        let begun = match self.begun.take() {
            Some(mut begun) if begun.chosen == chosen => {
                begun.agent.set_settings(settings);
                begun
            }
            before => {
                let model = Arc::new(connect(&chosen)?);
                let agent = match before {
                    Some(Begun { mut agent, .. }) => {
                        agent.set_model(model, settings);
                        agent
                    }
                    None => Agent::new(session.clone(), model, settings),
                };
                Begun { chosen, agent }
            }
        };
        Ok(&mut self.begun.insert(begun).agent)
    }

    /// Goes on as if this had been said before.
    pub(super) fn recall(agent: &mut Agent, messages: Vec<Message>) {
        let mut history = agent.history().clone();
        for message in messages {
            history.push(message);
        }
        agent.set_history(history);
    }

    /// What was said; nothing before the first words.
    pub(super) fn history(&self) -> Option<&History> {
        let history = self.begun.as_ref()?.agent.history();
        (!history.is_empty()).then_some(history)
    }

    /// Forgets what was said. False if that was nothing.
    pub(super) fn clear(&mut self) -> bool {
        let had_words = self.history().is_some();
        self.begun = None;
        had_words
    }

    /// The model and how much of it is used, in a few words.
    pub(super) fn footer(&self, env: &Env, session: &Session) -> Option<String> {
        let name = self.chosen(env, session).ok()?.full_name();
        let usage = self.begun.as_ref().map(|begun| begun.agent.usage()).unwrap_or_default();
        Some(match used(usage) {
            Some(used) => format!("{name} {used}"),
            None => name,
        })
    }

    /// What answers servers that ask for the model.
    pub(super) fn sampler(&self) -> Arc<dyn Sampler> {
        Arc::clone(&self.lent) as Arc<dyn Sampler>
    }
}

/// What a conversation took so far; nothing before it took anything.
pub(super) fn used(usage: Usage) -> Option<String> {
    let Usage { input_tokens, output_tokens, cost, .. } = usage;
    if input_tokens + output_tokens == 0 {
        return None;
    }
    let tokens = format!("{} in, {} out", short(input_tokens), short(output_tokens));
    Some(match cost {
        // Millionths of a dollar, shown in cents of it.
        Some(cost) => format!("{tokens}, ${}.{:02}", cost / 1_000_000, cost % 1_000_000 / 10_000),
        None => tokens,
    })
}

fn short(n_tokens: u64) -> String {
    if n_tokens < 10_000 { n_tokens.to_string() } else { format!("{}k", n_tokens / 1000) }
}

/// The model, as servers may use it once somebody agreed. Connected to when it is needed.
#[derive(Debug, Default)]
struct Lent {
    // Written when another model is chosen, read in passing.
    chosen: Mutex<Option<Chosen>>,
}

impl Lent {
    fn set(&self, chosen: Option<Chosen>) {
        *self.chosen.lock().unwrap_or_else(PoisonError::into_inner) = chosen;
    }

    fn get(&self) -> Option<Chosen> {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sampler for Lent {
    fn is_there(&self) -> bool {
        self.get().is_some()
    }

    fn sample(&self, _server: String, params: Json) -> Reply<'_, Result<Json, String>> {
        Box::pin(async move {
            let chosen = self.get().ok_or_else(|| "no model is there to ask".to_owned())?;
            let model = connect(&chosen).map_err(|error| error.to_string())?;
            sampling::answer(&model, &params).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_is_said_in_a_few_words() {
        let usage =
            |input_tokens, output_tokens, cost| Usage { input_tokens, output_tokens, cost, cached_tokens: 0 };
        assert_eq!(used(Usage::default()), None);
        assert_eq!(used(usage(9_999, 12, None)).as_deref(), Some("9999 in, 12 out"));
        assert_eq!(used(usage(123_456, 12_000, Some(1_234_567))).as_deref(), Some("123k in, 12k out, $1.23"));
        assert_eq!(used(usage(1, 0, Some(5))).as_deref(), Some("1 in, 0 out, $0.00"));
    }
}
