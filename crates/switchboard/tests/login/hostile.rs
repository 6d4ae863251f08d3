//! Servers that want us to go where we must not: a table of addresses and documents, each refused with its reason.
//!
//! All of them are on this machine, over real HTTP, so nothing here depends on what a server outside may do besides. What
//! only a server outside may not do, such as leading us to this machine, is in the tests of the gate.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};
use switchboard::auth::{Keys, Options, Place, Wishes};
use switchboard::declared::Remote;
use switchboard::resolve::{Account, Address};
use testkit::Sandbox;
use url::Url;

use crate::world::Person;

/// What is hostile about a server.
#[derive(Debug, Clone, Copy)]
enum Trap {
    /// Where its refusal says that its document is.
    Pointer,
    /// The login server in its document.
    Issuer,
    /// The page of the login.
    Page,
    /// Where codes and tokens are sent.
    Token,
    /// Where we would register.
    Register,
    /// Where its document leads to.
    Redirect,
    /// All of its document.
    Document,
    /// All of the document of its login server.
    LoginServer,
}
use Trap::{Document, Issuer, LoginServer, Page, Pointer, Redirect, Register, Token};

// How refusals end.
const SCHEME: &str = "does not start with https://";
const CHARACTERS: &str = "has characters in it that no address has";
const CREDENTIALS: &str = "has a user or a password in it";
const CLEAR: &str = "is not encrypted";
const PRIVATE: &str = "is in a private network, and the server's own address is not";
const RESERVED: &str = "is reserved for another purpose";
const ELSEWHERE: &str = "redirects to another origin";
const NOWHERE: &str = "OAuth endpoints could not be discovered";

const TABLE: &[(Trap, &str, &str)] = &[
    (Page, "javascript:alert(document.cookie)", SCHEME),
    (Page, "JaVaScRiPt:alert(1)", SCHEME),
    (Page, "javascript://example.com/%0aalert(1)", SCHEME),
    (Page, "vbscript:msgbox(1)", SCHEME),
    (Page, "data:text/html,<script>alert(1)</script>", SCHEME),
    (Page, "file:///etc/passwd", SCHEME),
    (Page, "file://server/share/setup.exe", SCHEME),
    (Page, "smb://server/share", SCHEME),
    (Page, "ms-msdt:/id/PCWDiagnostic", SCHEME),
    (Page, "search-ms:query=calc", SCHEME),
    (Page, "vscode://extension/run", SCHEME),
    (Page, "intent://scan/#Intent;scheme=zxing;end", SCHEME),
    (Page, "mailto:victim@example.com", SCHEME),
    (Page, "about:blank", SCHEME),
    (Page, "view-source:https://example.com/", SCHEME),
    (Page, "--renderer-cmd-prefix=/bin/sh", SCHEME),
    (Page, "//example.com/authorize", SCHEME),
    (Page, "/authorize", SCHEME),
    (Page, "https:example.com/authorize", SCHEME),
    (Page, "", SCHEME),
    (Page, " https://example.com/", CHARACTERS),
    (Page, "https://example.com/\n--flag", CHARACTERS),
    (Page, "https://example.com\\@10.0.0.1/", CHARACTERS),
    (Page, "https://exa\u{202e}mple.com/", CHARACTERS),
    (Page, "https://user@example.com/", CREDENTIALS),
    (Page, "https://user:hunter2@example.com/", CREDENTIALS),
    (Page, "https://127.0.0.1:80@example.com/", CREDENTIALS),
    (Page, "http://example.com/authorize", CLEAR),
    (Token, "javascript:void(0)", SCHEME),
    (Token, "ftp://example.com/token", SCHEME),
    (Token, "ws://example.com/token", SCHEME),
    (Token, "http://example.com/token", CLEAR),
    (Token, "https://me:secret@example.com/token", CREDENTIALS),
    (Token, "https://10.0.0.1/token", PRIVATE),
    (Token, "https://172.16.0.1/token", PRIVATE),
    (Token, "https://192.168.1.1/token", PRIVATE),
    (Token, "https://100.64.0.1/token", PRIVATE),
    (Token, "https://167772161/token", PRIVATE),
    (Token, "https://0x0a000001/token", PRIVATE),
    (Token, "https://[fd00::1]/token", PRIVATE),
    (Token, "https://[::ffff:10.0.0.1]/token", PRIVATE),
    (Token, "https://[64:ff9b::a00:1]/token", PRIVATE),
    (Token, "https://169.254.169.254/latest/meta-data", RESERVED),
    (Token, "https://metadata.google.internal/token", RESERVED),
    (Token, "https://100.100.100.200/token", RESERVED),
    (Token, "https://0.0.0.0/token", RESERVED),
    (Token, "https://255.255.255.255/token", RESERVED),
    (Token, "https://[fe80::1]/token", RESERVED),
    (Token, "https://[::]/token", RESERVED),
    (Register, "file:///etc/passwd", SCHEME),
    (Register, "http://example.com/register", CLEAR),
    (Register, "https://169.254.169.254/register", RESERVED),
    (Issuer, "javascript:alert(1)", SCHEME),
    (Issuer, "http://example.com", CLEAR),
    (Issuer, "https://user:hunter2@example.com", CREDENTIALS),
    (Issuer, "https://10.0.0.1", PRIVATE),
    (Issuer, "https://169.254.169.254", RESERVED),
    (Pointer, "file:///etc/passwd", SCHEME),
    (Pointer, "http://example.com/document", CLEAR),
    (Pointer, "https://192.168.0.1/document", PRIVATE),
    (Redirect, "https://example.com/document", ELSEWHERE),
    (Redirect, "file:///etc/passwd", ELSEWHERE),
    (Redirect, "http://169.254.169.254/latest", ELSEWHERE),
    (Redirect, "[HERE]/again", "redirects to"),
    (Document, "GIANT", "is larger than 1048576 bytes"),
    (Document, r#"{"resource": "https://example.com/mcp"}"#, "which is not where it was asked"),
    (Document, r#"{"resource": "[HERE]/other"}"#, "which is not where it was asked"),
    (Document, r#"{"resource": "[HERE]/[CASE]/mcp"}"#, NOWHERE),
    (Document, r#"{"resource": "[HERE]/[CASE]/mcp", "authorization_servers": "[HERE]"}"#, NOWHERE),
    (LoginServer, "GIANT", NOWHERE),
    (LoginServer, "<html>log in here</html>", NOWHERE),
    (LoginServer, r#"["token_endpoint"]"#, NOWHERE),
    (LoginServer, r#"{"issuer": "https://example.com", "token_endpoint": "[HERE]/t"}"#, "says that it is"),
    (LoginServer, r#"{"token_endpoint": "[HERE]/t"}"#, "says that it is"),
    (
        LoginServer,
        r#"{"issuer": "[HERE]/[CASE]", "token_endpoint": "[HERE]/t", "authorization_endpoint": "[HERE]/a"}"#,
        "does not protect the login (no PKCE with S256)",
    ),
];

/// Answers for every server of the table: the first part of a path is its number.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let here = format!("http://{}", listener.local_addr().unwrap());
    let origin = here.clone();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let path = asked(&stream);
            let answer = answer(&path, &here);
            drop(stream.write_all(answer.as_bytes()));
        }
    });
    origin
}

fn asked(stream: &TcpStream) -> String {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    // Whoever is cut off while it still talks hears no answer.
    lines.find(String::is_empty);
    first.split(' ').nth(1).unwrap_or_default().to_owned()
}

fn answer(path: &str, here: &str) -> String {
    let number = path.split('/').find_map(|part| part.parse::<usize>().ok());
    let Some((trap, value, _)) = number.and_then(|number| TABLE.get(number)) else {
        return said("302 Found", &format!("Location: {here}/again\r\n"), "");
    };
    let case = number.unwrap_or_default().to_string();
    let value = value.replace("[HERE]", here).replace("[CASE]", &case);
    let text = |value: &str| match value {
        "GIANT" => format!("{{\"x\": \"{}\"}}", "x".repeat(2 * 1024 * 1024)),
        other => other.to_owned(),
    };
    let base = format!("{here}/{case}");
    let body = match (trap, path.contains("/oauth-protected-resource")) {
        (Redirect, true) => return said("302 Found", &format!("Location: {value}\r\n"), ""),
        (Document, true) | (LoginServer, false) => text(&value),
        (Issuer, true) => resource(&base, &value).to_string(),
        (_, true) => resource(&base, &base).to_string(),
        (_, false) => {
            let mut document = json!({
                "issuer": base, "authorization_endpoint": format!("{base}/a"), "token_endpoint": format!("{base}/t"),
                "registration_endpoint": format!("{base}/r"), "code_challenge_methods_supported": ["S256"],
            });
            match trap {
                Page => document["authorization_endpoint"] = json!(value),
                Token => document["token_endpoint"] = json!(value),
                Register => document["registration_endpoint"] = json!(value),
                Pointer | Issuer | Redirect | Document | LoginServer => {}
            }
            document.to_string()
        }
    };
    said("200 OK", "", &body)
}

fn resource(base: &str, issuer: &str) -> Value {
    json!({"resource": format!("{base}/mcp"), "authorization_servers": [issuer]})
}

fn said(status: &str, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn no_hostile_address_or_document_gets_anywhere() {
    assert!(TABLE.len() >= 60, "{}", TABLE.len());
    let here = serve();
    let sandbox = Sandbox::new();
    let keys = Keys::of(&sandbox.env(), Options::default());
    for (number, (trap, value, reason)) in TABLE.iter().enumerate() {
        let url = Url::parse(&format!("{here}/{number}/mcp")).unwrap();
        let account = Some(Account::default());
        let address = Address { kind: Remote::Http, url, headers: Vec::new(), account };
        let place = Place::of("tracker", &address).unwrap();
        let document = format!("{here}/.well-known/oauth-protected-resource/{number}/mcp");
        let pointer = if matches!(trap, Pointer) { *value } else { document.as_str() };
        let challenge = format!("Bearer resource_metadata=\"{pointer}\"");
        let person = Person::willing();
        let wishes = Wishes::default();
        let login = keys.login(&place, Some(&challenge), (&*person, &wishes)).await;
        let refusal = login.expect_err(value).to_string();
        assert!(refusal.contains(reason), "{trap:?} {value:?}: {refusal}");
        assert!(!refusal.contains("hunter2"), "{refusal}");
        assert_eq!(person.pages(), [], "{trap:?} {value:?}");
    }
    assert!(!sandbox.path("~/.switchboard/credentials").exists());
}
