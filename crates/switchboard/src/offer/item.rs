//! One tool, resource, template or prompt.

use serde_json::value::RawValue;

use super::Item;
use crate::json::{self, Json};
use crate::visible::excerpt;

/// What a tool without a usable schema is taken to accept.
const ANY_OBJECT: Json = Json::from_static(r#"{"type":"object","properties":{}}"#);

/// Something that can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name on its server.
    pub name: String,
    /// Its name for people, its own or that of its annotations.
    pub title: Option<String>,
    /// What it does.
    pub description: Option<String>,
    /// The schema of its arguments, always an object.
    pub input_schema: Json,
    /// The schema of its structured result.
    pub output_schema: Option<Json>,
    /// What the server says of its behaviour; nothing to rely on unless the server is trusted.
    pub annotations: Option<Json>,
    /// Whether it can or must run as a task of the protocol of 2025-11-25.
    pub task_support: TaskSupport,
    /// As it came.
    pub raw: Json,
}

/// Whether a tool runs as a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TaskSupport {
    /// It does not.
    #[default]
    Forbidden,
    /// It can.
    Optional,
    /// It must.
    Required,
}

impl Tool {
    /// Whether the server says that it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.says("readOnlyHint")
    }

    /// Whether the server says that calling it twice does no more than calling it once.
    pub fn is_idempotent(&self) -> bool {
        self.says("idempotentHint")
    }

    /// Whether the server says that it may destroy something. Silence is not a promise that it does not.
    pub fn is_destructive(&self) -> bool {
        self.says("destructiveHint")
    }

    fn says(&self, hint: &str) -> bool {
        let hint = self.annotations.as_ref().and_then(|annotations| {
            let [hint] = json::object(annotations.as_str(), [hint])?;
            hint.map(json::is_true)
        });
        hint.unwrap_or(false)
    }
}

impl Item for Tool {
    const LIST: &'static str = "tools";

    fn read(raw: &Json, notes: &mut Vec<String>) -> Result<Self, String> {
        let keys =
            ["name", "title", "description", "inputSchema", "outputSchema", "annotations", "execution"];
        let [name, title, description, input, output, annotations, execution] = fields(raw, keys)?;
        let name = required(name, "name")?;
        let object = |value: Option<&RawValue>| {
            value.filter(|value| json::is_object(value)).map(|value| raw.part(value))
        };
        let input_schema = object(input).unwrap_or_else(|| {
            let name = excerpt(&name, 80);
            notes
                .push(format!("tool `{name}` has no usable `inputSchema`; it is offered without parameters"));
            ANY_OBJECT
        });
        let annotations_title = || json::object(annotations?.get(), ["title"])?[0].and_then(json::string);
        let task_support = execution.and_then(|execution| json::object(execution.get(), ["taskSupport"])?[0]);
        Ok(Self {
            title: title.and_then(json::string).or_else(annotations_title),
            description: description.and_then(json::string),
            input_schema,
            output_schema: object(output),
            annotations: object(annotations),
            task_support: match task_support.and_then(json::string).as_deref() {
                Some("optional") => TaskSupport::Optional,
                Some("required") => TaskSupport::Required,
                _ => TaskSupport::Forbidden,
            },
            raw: raw.clone(),
            name,
        })
    }
}

/// Something that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// What it is read by.
    pub uri: String,
    /// Its name, or the URI where it has none.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Its media type.
    pub mime_type: Option<String>,
    /// Number of its bytes.
    pub size: Option<u64>,
    /// As it came.
    pub raw: Json,
}

impl Item for Resource {
    const LIST: &'static str = "resources";

    fn read(raw: &Json, _: &mut Vec<String>) -> Result<Self, String> {
        let keys = ["uri", "name", "title", "description", "mimeType", "size"];
        let [uri, name, title, description, mime_type, size] = fields(raw, keys)?;
        let uri = required(uri, "uri")?;
        Ok(Self {
            name: required(name, "name").unwrap_or_else(|_| uri.clone()),
            title: title.and_then(json::string),
            description: description.and_then(json::string),
            mime_type: mime_type.and_then(json::string),
            size: size.and_then(json::count),
            raw: raw.clone(),
            uri,
        })
    }
}

/// A family of resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Makes a URI, by the rules of RFC 6570.
    pub uri_template: String,
    /// Its name, or the template where it has none.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What the resources are.
    pub description: Option<String>,
    /// Their media type, if they share one.
    pub mime_type: Option<String>,
    /// As it came.
    pub raw: Json,
}

impl Item for Template {
    const LIST: &'static str = "resourceTemplates";

    fn read(raw: &Json, _: &mut Vec<String>) -> Result<Self, String> {
        let keys = ["uriTemplate", "name", "title", "description", "mimeType"];
        let [uri_template, name, title, description, mime_type] = fields(raw, keys)?;
        let uri_template = required(uri_template, "uriTemplate")?;
        Ok(Self {
            name: required(name, "name").unwrap_or_else(|_| uri_template.clone()),
            title: title.and_then(json::string),
            description: description.and_then(json::string),
            mime_type: mime_type.and_then(json::string),
            raw: raw.clone(),
            uri_template,
        })
    }
}

/// A text for the model that the server fills in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// Its name on its server.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// What it is filled in with.
    pub arguments: Vec<Argument>,
    /// As it came.
    pub raw: Json,
}

/// An argument of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Whether it has to be given.
    pub required: bool,
}

impl Item for Prompt {
    const LIST: &'static str = "prompts";

    fn read(raw: &Json, notes: &mut Vec<String>) -> Result<Self, String> {
        let keys = ["name", "title", "description", "arguments"];
        let [name, title, description, arguments] = fields(raw, keys)?;
        let name = required(name, "name")?;
        let declared = arguments.and_then(|arguments| json::list(arguments.get())).unwrap_or_default();
        let n_declared = declared.len();
        let arguments: Vec<_> = declared.into_iter().filter_map(argument).collect();
        if arguments.len() < n_declared {
            let name = excerpt(&name, 80);
            notes.push(format!("prompt `{name}` has arguments without a name; they are left out"));
        }
        Ok(Self {
            title: title.and_then(json::string),
            description: description.and_then(json::string),
            arguments,
            raw: raw.clone(),
            name,
        })
    }
}

fn argument(raw: &RawValue) -> Option<Argument> {
    let [name, title, description, is_required] =
        json::object(raw.get(), ["name", "title", "description", "required"])?;
    Some(Argument {
        name: required(name, "name").ok()?,
        title: title.and_then(json::string),
        description: description.and_then(json::string),
        required: is_required.is_some_and(json::is_true),
    })
}

fn fields<'a, const N: usize>(raw: &'a Json, keys: [&str; N]) -> Result<[Option<&'a RawValue>; N], String> {
    json::object(raw.as_str(), keys).ok_or_else(|| "it is not an object".to_owned())
}

/// A text that has to be there and say something.
fn required(value: Option<&RawValue>, key: &str) -> Result<String, String> {
    let value = value.ok_or_else(|| format!("it has no `{key}`"))?;
    match json::string(value) {
        Some(text) if text.is_empty() => Err(format!("its `{key}` is empty")),
        Some(text) => Ok(text),
        None => Err(format!("its `{key}` is not a string")),
    }
}
