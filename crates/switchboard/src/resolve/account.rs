//! What a login needs to know, from what the entry says of it.

use std::fmt;
use std::path::PathBuf;

use super::program::from_home;
use super::values::{Values, read_text};
use crate::config::Field;
use crate::declared::{Auth, Grant, OAuth};
use crate::template::Template;

/// A larger file is neither a key nor a statement.
const LARGEST: usize = 64 * 1024;

/// What a login needs to know, filled in.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// Which login is meant, if the entry says so.
    pub credential_id: Option<String>,
    /// A client registered by hand, or the address of a document about one.
    pub client_id: Option<String>,
    /// Its secret.
    pub client_secret: Option<String>,
    /// Rights to ask for.
    pub scopes: Vec<String>,
    /// Where the browser comes back to.
    pub redirect_uri: Option<String>,
    /// The local port for that.
    pub callback_port: Option<u16>,
    /// The `prompt` parameter of the login page.
    pub prompt: Option<String>,
    /// How tokens are got, if the entry says so.
    pub grant: Option<Grant>,
    /// How a program proves who it is, without a person.
    pub machine: Option<Box<Machine>>,
}

/// How a program proves who it is, without a person.
#[derive(Clone, PartialEq, Eq)]
pub enum Machine {
    /// By signing with its key.
    Key {
        /// The private key: PKCS#8, for ES256 or RS256.
        pem: Given,
    },
    /// By a statement of whoever runs it.
    Statement {
        /// The statement, a JWT.
        jwt: Given,
    },
    /// By an identity of the user at the company's own login server.
    Enterprise {
        /// Our name there.
        client_id: String,
        /// The user's identity token from there.
        id_token: Given,
        /// Where it is exchanged.
        token_endpoint: String,
    },
}

/// A text, or the file it is in. A file is read each time, because others renew what is in it.
#[derive(Clone, PartialEq, Eq)]
pub enum Given {
    /// The text itself.
    Text(String),
    /// Where it is.
    File(PathBuf),
}

impl Given {
    /// The text; why there is none otherwise, without a word of it.
    pub async fn read(&self) -> Result<String, String> {
        let path = match self {
            Self::Text(text) => return Ok(text.clone()),
            Self::File(path) => path.clone(),
        };
        let shown = path.display().to_string();
        match read_text(path).await {
            Ok(Some(text)) if text.len() > LARGEST => Err(format!("{shown} is larger than {LARGEST} bytes")),
            Ok(Some(text)) => Ok(text.trim().to_owned()),
            Ok(None) => Err(format!("there is no file {shown}")),
            Err(problem) => Err(problem.message),
        }
    }
}

/// What a login needs to know, where one may be needed.
pub(super) async fn of(values: &mut Values<'_>, has_own: bool) -> Option<Account> {
    let conduct = &values.subject.spec.conduct;
    let credential_id = match &conduct.auth {
        Some(Auth::OAuth { credential_id }) => credential_id.clone(),
        Some(Auth::Bearer { .. } | Auth::None) => return None,
        None => None,
    };
    // Whoever writes a header of their own means that one.
    if credential_id.is_none() && has_own {
        return None;
    }
    let Some(oauth) = conduct.oauth.clone() else {
        return Some(Account { credential_id, ..Account::default() });
    };
    let client_id = part(values, "clientId", oauth.client_id.as_ref()).await;
    let client_secret = part(values, "clientSecret", oauth.client_secret.as_ref()).await;
    if let Some(secret) = &client_secret {
        values.secrets.add(secret);
    }
    let machine = machine(values, &oauth).await.map(Box::new);
    let scopes = oauth.scope.as_deref().unwrap_or_default().split_whitespace().map(str::to_owned).collect();
    Some(Account {
        credential_id,
        client_id,
        client_secret,
        scopes,
        redirect_uri: oauth.redirect_uri,
        callback_port: oauth.callback_port,
        prompt: oauth.prompt,
        grant: oauth.grant,
        machine,
    })
}

async fn machine(values: &mut Values<'_>, oauth: &OAuth) -> Option<Machine> {
    if let Some(enterprise) = &oauth.enterprise {
        return Some(Machine::Enterprise {
            client_id: part(values, "enterprise.clientId", Some(&enterprise.client_id)).await?,
            id_token: given(values, "enterprise.idToken", &enterprise.id_token).await?,
            token_endpoint: part(values, "enterprise.endpoint", Some(&enterprise.endpoint)).await?,
        });
    }
    if let Some(statement) = &oauth.assertion {
        return Some(Machine::Statement { jwt: given(values, "assertion", statement).await? });
    }
    let key = oauth.private_key.as_ref()?;
    Some(Machine::Key { pem: given(values, "privateKey", key).await? })
}

async fn part(values: &mut Values<'_>, name: &str, template: Option<&Template>) -> Option<String> {
    values.pair(Field::OAuth(name), template?).await
}

async fn given(values: &mut Values<'_>, name: &str, template: &Template) -> Option<Given> {
    let text = part(values, name, Some(template)).await?;
    if is_path(&text) {
        return Some(Given::File(values.directory.join(from_home(&text, values.env))));
    }
    values.secrets.add(&text);
    Some(Given::Text(text))
}

/// Neither a key nor a statement looks like one: a key says so in its first line, and a statement has no slashes.
fn is_path(text: &str) -> bool {
    !text.contains("-----BEGIN") && text.contains(['/', '\\'])
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key { .. } => "Key",
            Self::Statement { .. } => "Statement",
            Self::Enterprise { .. } => "Enterprise",
        })
    }
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text(_) => "Text",
            Self::File(_) => "File",
        })
    }
}
