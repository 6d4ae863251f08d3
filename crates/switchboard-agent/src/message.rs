//! What is said in a conversation, as our own types: no provider's, and fit to be kept in a file.

use serde::{Deserialize, Serialize};

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    /// The user's words.
    User {
        /// In order.
        parts: Vec<Part>,
    },
    /// The model's words, and the tools it wants to call.
    Assistant {
        /// What it says.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        text: String,
        /// What it calls.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<Call>,
        /// What it thought, where the provider wants that back.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        thoughts: Vec<Thought>,
    },
    /// What the calls of the message before brought, in their order.
    Tool {
        /// One for each call.
        results: Vec<CallResult>,
    },
}

impl Message {
    /// The user's words.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { parts: vec![Part::text(text)] }
    }
}

/// A part of what the user says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Part {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image(Image),
}

impl Part {
    /// Words.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Image {
    /// Its type.
    pub mime_type: String,
    /// Its bytes in Base64.
    pub data: String,
}

impl Image {
    /// Whether models take pictures of this type.
    pub fn is_usual(mime_type: &str) -> bool {
        matches!(mime_type, "image/png" | "image/jpeg" | "image/gif" | "image/webp")
    }
}

/// A tool the model wants to call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Tells it from the other calls of the conversation.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as the model wrote them: meant to be JSON, and not always.
    pub arguments: String,
    /// What the provider wants back with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signatures: Vec<String>,
}

/// What a call brought.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallResult {
    /// The call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The text. A failure starts with `Error: ` or `MCP error: `.
    pub text: String,
    /// Pictures that come with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

/// What a model thought, signed by its provider.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thought {
    /// The signature.
    pub signature: String,
    /// The thought, where it is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}
