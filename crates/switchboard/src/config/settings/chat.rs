//! The part of the settings that is about talking to a model: which one, within what bounds, at what price.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Reader, whole_number};
use crate::sources::tree::{Node, Value};

/// Which model to talk to, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chat {
    /// `provider/name`.
    pub model: Option<String>,
    /// The provider, if the model does not name it.
    pub provider: Option<String>,
    /// Where that provider is reached.
    pub base_url: Option<String>,
    /// How often the model is asked in one turn.
    pub max_steps: u32,
    /// How many tokens of tools are sent; above that only a search and the pinned ones.
    pub tool_tokens: u64,
    /// Patterns of the names of tools that are always sent.
    pub pinned: Vec<String>,
    /// How many tokens the model can look at.
    pub context_tokens: u64,
    /// How long one answer may be, in tokens.
    pub max_tokens: Option<u32>,
    /// Whether the model may hand tasks to another conversation.
    pub sub_agents: bool,
    /// What models cost, by `provider/name`.
    pub prices: BTreeMap<String, Price>,
}

impl Default for Chat {
    fn default() -> Self {
        Self {
            model: None,
            provider: None,
            base_url: None,
            max_steps: 50,
            tool_tokens: 10_000,
            pinned: Vec::new(),
            context_tokens: 128_000,
            max_tokens: None,
            sub_agents: false,
            prices: BTreeMap::new(),
        }
    }
}

/// What a million tokens cost, in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Price {
    /// What the model reads.
    pub input: u64,
    /// What the model reads and has read before.
    pub cached: u64,
    /// What the model writes.
    pub output: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct ChatSchema {
    /// `provider/name`.
    model: Option<String>,
    /// The provider, if the model does not name it.
    provider: Option<String>,
    /// Where that provider is reached.
    base_url: Option<String>,
    /// How often the model is asked in one turn. 50 when missing.
    max_steps: Option<u32>,
    /// How many tokens of tools are sent; above that only a search and the pinned ones. 10000 when missing.
    tool_tokens: Option<u64>,
    /// Patterns of the names of tools that are always sent.
    pinned: Option<Vec<String>>,
    /// How many tokens the model can look at. 128000 when missing.
    context_tokens: Option<u64>,
    /// How long one answer may be, in tokens.
    max_tokens: Option<u32>,
    /// Whether the model may hand tasks to another conversation. False when missing.
    sub_agents: Option<bool>,
    /// What a million tokens cost, in dollars, by `provider/name`.
    prices: Option<BTreeMap<String, PriceSchema>>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct PriceSchema {
    /// What the model reads.
    input: f64,
    /// What the model writes.
    output: f64,
    /// What the model reads and has read before. As `input` when missing.
    cached: Option<f64>,
}

const KEYS: &[&str] = &[
    "model",
    "provider",
    "baseUrl",
    "maxSteps",
    "toolTokens",
    "pinned",
    "contextTokens",
    "maxTokens",
    "subAgents",
    "prices",
];

impl Reader {
    pub(super) fn chat(&mut self, node: &Node<'_>) {
        self.object("chat", node, KEYS, |reader, part, node| match part {
            "model" | "provider" | "baseUrl" => reader.chat_words(part, node),
            "maxSteps" | "toolTokens" | "contextTokens" | "maxTokens" => reader.chat_numbers(part, node),
            "pinned" => match node.texts() {
                Some(patterns) => reader.settings.chat.pinned = patterns,
                None => reader.bad("chat.pinned", node, "a list of patterns"),
            },
            "subAgents" => match node.bool() {
                Some(value) => reader.settings.chat.sub_agents = value,
                None => reader.bad("chat.subAgents", node, "true or false"),
            },
            _ => reader.prices(node),
        });
    }

    fn chat_words(&mut self, part: &str, node: &Node<'_>) {
        let Some(text) = node.text().map(str::to_owned) else {
            return self.bad(&format!("chat.{part}"), node, "a string");
        };
        match part {
            "baseUrl" if !text.starts_with("http://") && !text.starts_with("https://") => {
                self.bad("chat.baseUrl", node, "an address that starts with http:// or https://");
            }
            "model" => self.settings.chat.model = Some(text),
            "provider" => self.settings.chat.provider = Some(text),
            _ => self.settings.chat.base_url = Some(text),
        }
    }

    fn chat_numbers(&mut self, part: &str, node: &Node<'_>) {
        let number =
            whole_number(node).and_then(|number| u32::try_from(number).ok()).filter(|number| *number > 0);
        let Some(number) = number else {
            return self.bad(&format!("chat.{part}"), node, "a whole number, 1 or more");
        };
        let chat = &mut self.settings.chat;
        match part {
            "maxSteps" => chat.max_steps = number,
            "toolTokens" => chat.tool_tokens = number.into(),
            "contextTokens" => chat.context_tokens = number.into(),
            _ => chat.max_tokens = Some(number),
        }
    }

    fn prices(&mut self, node: &Node<'_>) {
        let Some(models) = node.entries() else {
            return self.bad("chat.prices", node, "an object of models");
        };
        for (model, price) in models {
            let of = |key: &str| price.get(key).and_then(millionths);
            match (of("input"), of("output")) {
                (Some(input), Some(output)) => {
                    let cached = of("cached").unwrap_or(input);
                    let price = Price { input, cached, output };
                    self.settings.chat.prices.insert(model.text.clone().into_owned(), price);
                }
                _ => self.bad("chat.prices", price, "`input` and `output`, in dollars for a million tokens"),
            }
        }
    }
}

/// An amount of dollars, exact to the millionth.
fn millionths(node: &Node<'_>) -> Option<u64> {
    let Value::Number(number) = &node.value else { return None };
    let (whole, rest) = number.split_once('.').unwrap_or((number.as_ref(), ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(rest) || rest.len() > 6 {
        return None;
    }
    let rest: u64 = if rest.is_empty() { 0 } else { format!("{rest:0<6}").parse().ok()? };
    whole.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(rest)
}
