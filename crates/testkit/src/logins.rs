//! Servers that want a login, a browser that follows redirects, and a search for secrets where none may be.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::programs::peers;
use crate::workspace;

/// How long a test waits for something that must come.
const PATIENCE: Duration = Duration::from_mins(1);
/// A browser gives up as well.
const MOST_REDIRECTS: usize = 10;

/// A real server behind a login, and the login server. It ends with this value.
#[derive(Debug)]
pub struct Peer {
    child: Child,
    _stdin: Option<ChildStdin>,
    /// The line it said when it was ready.
    pub facts: Value,
}

impl Peer {
    /// `oidc-provider`, certified.
    pub fn oidc(vars: &[(&str, &str)]) -> Self {
        Self::start(Command::new(peers().join("node")), "oidc.mjs", vars)
    }

    /// The demo of the TypeScript SDK.
    pub fn typescript(vars: &[(&str, &str)]) -> Self {
        Self::start(Command::new(peers().join("node")), "ts_demo_auth.mjs", vars)
    }

    /// `FastMCP`, which gives every client a secret.
    pub fn fastmcp(vars: &[(&str, &str)]) -> Self {
        Self::start(Command::new(peers().join("python/bin/python")), "fastmcp_oauth.py", vars)
    }

    #[expect(clippy::expect_used, reason = "a test that cannot start its server must stop")]
    fn start(mut command: Command, script: &str, vars: &[(&str, &str)]) -> Self {
        command.arg(workspace().join("peers").join(script)).env("SWITCHBOARD_PEERS", peers());
        command.envs(vars.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a server that wants a login");
        let stdin = child.stdin.take();
        let stdout = child.stdout.take();
        // Below its guard before anything can fail.
        let mut peer = Self { child, _stdin: stdin, facts: Value::Null };
        let mut line = String::new();
        BufReader::new(stdout.expect("its output")).read_line(&mut line).expect("a line of it");
        peer.facts = serde_json::from_str(&line).expect("where everything is");
        peer
    }

    /// The address of the MCP server.
    pub fn url(&self) -> &str {
        self.facts["mcp"].as_str().unwrap_or_default()
    }

    /// The login server.
    pub fn issuer(&self) -> &str {
        self.facts["issuer"].as_str().unwrap_or_default()
    }

    /// How often something happened so far.
    pub fn count(&self, what: &str) -> u64 {
        self.ask("GET", "/__counts")[what].as_u64().unwrap_or_default()
    }

    /// Ends every access token that was used so far.
    pub fn expire(&self) {
        self.ask("POST", "/__expire");
    }

    /// The next answers of the token endpoint are a 503.
    pub fn fail(&self, times: u32) {
        self.ask("POST", &format!("/__fail/{times}"));
    }

    /// Whatever was shown to the token endpoint and is nobody else's business.
    pub fn seen(&self) -> Vec<String> {
        let seen = self.ask("GET", "/__seen");
        seen.as_array().into_iter().flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect()
    }

    fn ask(&self, method: &str, path: &str) -> Value {
        let origin = self.url().trim_end_matches("/mcp");
        serde_json::from_str(&request(method, &format!("{origin}{path}")).body).unwrap_or_default()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// An answer, as far as tests look.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The number of it; 0 if nobody answered.
    pub status: u16,
    /// Where it leads.
    pub location: Option<String>,
    /// What it shows.
    pub body: String,
}

/// One request to this machine, without following it.
pub fn request(method: &str, url: &str) -> Reply {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let slash = if path.starts_with('/') { "" } else { "/" };
    let text = format!(
        "{method} {slash}{path} HTTP/1.1\r\nHost: {authority}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    );
    said(authority, text.as_bytes())
}

/// What is answered to these bytes.
pub fn said(authority: &str, bytes: &[u8]) -> Reply {
    let nobody = || Reply { status: 0, location: None, body: String::new() };
    let Ok(mut stream) = TcpStream::connect(authority) else { return nobody() };
    drop(stream.set_read_timeout(Some(PATIENCE)));
    drop(stream.write_all(bytes));
    let mut answer = Vec::new();
    drop(stream.read_to_end(&mut answer));
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return nobody() };
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.split(' ').nth(1)?.parse().ok()).unwrap_or_default();
    let headers = lines.filter_map(|line| line.split_once(':'));
    let location = headers
        .filter(|(name, _)| name.eq_ignore_ascii_case("location"))
        .map(|(_, value)| value.trim().to_owned())
        .next();
    Reply { status, location, body: body.to_owned() }
}

/// Follows a login page as a browser does whose user agrees: to the address it would come back to, which is not asked.
///
/// # Panics
///
/// When it does not get there.
pub fn follow(page: &str) -> String {
    let mut url = page.to_owned();
    for _ in 0..MOST_REDIRECTS {
        if url.contains("/callback?") && !url.contains("redirect_uri=") {
            return url;
        }
        let reply = request("GET", &url);
        let Some(location) = reply.location else { panic!("{} {}", reply.status, reply.body) };
        url = if location.starts_with('/') { origin(&url) + &location } else { location };
    }
    panic!("no end of redirects from {page}")
}

/// The same, and comes back.
pub fn browse(page: &str) -> Reply {
    request("GET", &follow(page))
}

/// A value in the query of an address.
pub fn parameter(url: &str, name: &str) -> Option<String> {
    let query = url.split_once('?')?.1;
    let value = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)?.1;
    Some(value.to_owned())
}

fn origin(url: &str) -> String {
    url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/")
}

/// Secrets, in every form in which they could leave.
#[derive(Debug, Default)]
pub struct Canaries {
    secrets: Vec<String>,
}

impl Canaries {
    /// Adds a secret. Short texts are none: they would be found by chance.
    pub fn add(&mut self, secret: &str) {
        if secret.len() >= 16 && !self.secrets.iter().any(|known| known == secret) {
            self.secrets.push(secret.to_owned());
        }
    }

    /// Adds what a file of a login holds.
    pub fn add_credentials(&mut self, directory: &Path) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            let kept: Value = serde_json::from_str(&text).unwrap_or_default();
            for login in kept["logins"].as_object().into_iter().flat_map(|logins| logins.values()) {
                let values =
                    [&login["access"], &login["refresh"], &login["dpopKey"], &login["client"]["secret"]];
                for secret in values.into_iter().filter_map(Value::as_str) {
                    self.add(secret);
                }
            }
        }
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.secrets.len()
    }

    /// Whether there are none, in which case nothing is found.
    pub const fn is_empty(&self) -> bool {
        self.secrets.is_empty()
    }

    /// The form in which a secret stands in a text, if one does.
    pub fn find(&self, text: &[u8]) -> Option<String> {
        let text = String::from_utf8_lossy(text);
        let forms = self.secrets.iter().flat_map(|secret| forms(secret));
        forms.into_iter().find(|form| text.contains(form))
    }

    /// The first file below a directory that has one in it, other than the files of logins.
    pub fn find_below(&self, directory: &Path) -> Option<String> {
        fs::read_dir(directory).into_iter().flatten().flatten().find_map(|entry| {
            let path = entry.path();
            if path.ends_with(".switchboard/credentials") {
                return None;
            }
            if path.is_dir() {
                return self.find_below(&path);
            }
            let found = self.find(&fs::read(&path).unwrap_or_default())?;
            Some(format!("{}: {found}", path.display()))
        })
    }
}

/// Raw, percent-encoded, as JSON, and as base64 wherever it begins in it.
fn forms(secret: &str) -> Vec<String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let percent =
        |byte: u8| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let json = Value::from(secret).to_string();
    let mut forms =
        vec![secret.to_owned(), secret.bytes().map(percent).collect(), json.trim_matches('"').to_owned()];
    for offset in 0..3 {
        let bytes = [&vec![0; offset][..], secret.as_bytes()].concat();
        // What the neighbours have a part in is left out, at both ends.
        let whole = base64(&bytes[..bytes.len() / 3 * 3]);
        let own = whole[if offset == 0 { 0 } else { 4 }..].to_owned();
        forms.push(own.replace('+', "-").replace('/', "_"));
        forms.push(own);
    }
    forms
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let letters = |three: &[u8]| {
        let number = three.iter().fold(0_usize, |number, byte| number << 8 | usize::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(LETTERS[number >> shift & 63]))
    };
    bytes.chunks_exact(3).flat_map(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_found_in_every_form() {
        let mut canaries = Canaries::default();
        canaries.add("preregistered-secret/0123");
        for text in [
            "x preregistered-secret/0123 y",
            "code=preregistered-secret%2F0123&",
            // `client:preregistered-secret/0123`, as HTTP Basic has it.
            "Basic Y2xpZW50OnByZXJlZ2lzdGVyZWQtc2VjcmV0LzAxMjM=",
        ] {
            assert!(canaries.find(text.as_bytes()).is_some(), "{text}");
        }
        assert_eq!(canaries.find(b"preregistered-***"), None);
    }
}
