//! The settings of logins: where their key is kept, who we are to login servers, and which of those may be inside.
//! All of them are the user's own: a project must not choose where a login goes.

use schemars::JsonSchema;
use serde::Serialize;
use url::Host;

use super::Reader;
use crate::sources::tree::Node;

/// How logins are made and kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Login {
    /// Whether the keyring of the system is used.
    pub keyring: Keyring,
    /// The address of a document that describes us to login servers.
    pub document: Option<String>,
    /// Login servers in private networks that servers outside of them may name.
    pub private_hosts: Vec<String>,
}

/// Whether the keyring of the system is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Keyring {
    /// Where there is one, and it is open.
    #[default]
    Auto,
    /// Never.
    Off,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct LoginSchema {
    /// Whether logins are sealed with a key in the keyring of the system, where there is one. `auto` when missing.
    keyring: Option<Keyring>,
    /// The https address of a client id metadata document of your own, for login servers that take one.
    document: Option<String>,
    /// Names or addresses of login servers in private networks that servers outside of them may name.
    private_hosts: Option<Vec<String>>,
}

impl Reader {
    pub(super) fn login(&mut self, node: &Node<'_>) {
        self.object(
            "login",
            node,
            &["keyring", "document", "privateHosts"],
            |reader, part, node| match part {
                "keyring" => match node.text() {
                    Some("auto") => reader.settings.login.keyring = Keyring::Auto,
                    Some("off") => reader.settings.login.keyring = Keyring::Off,
                    _ => reader.bad("login.keyring", node, "`auto` or `off`"),
                },
                "document" => match node.text().filter(|text| text.starts_with("https://")) {
                    Some(text) => reader.settings.login.document = Some(text.to_owned()),
                    None => reader.bad("login.document", node, "an address that starts with https://"),
                },
                _ => match node.texts().and_then(|names| names.iter().map(|name| host(name)).collect()) {
                    Some(hosts) => reader.settings.login.private_hosts = hosts,
                    None => reader.bad(
                        "login.privateHosts",
                        node,
                        "a list of host names or addresses, without scheme, port or `*`",
                    ),
                },
            },
        );
    }
}

/// A host as addresses have it.
fn host(text: &str) -> Option<String> {
    let host = Host::parse(text).ok()?;
    let is_name = |name: &str| !name.contains('*') && !name.ends_with('.');
    match &host {
        Host::Domain(name) if !is_name(name) => None,
        _ => Some(host.to_string()),
    }
}
