//! What the browser shows when it comes back, and what strangers are told. Fixed texts, without a script.

/// An answer to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// The browser came back with a code.
    Success,
    /// It came back with something else.
    Failure,
    /// It came back before.
    Already,
    /// No request we understand, or not for us.
    Malformed,
    /// Another path.
    NotHere,
    /// Another method.
    WrongMethod,
    /// The same, and whoever asks takes no page.
    WrongMethodHead,
    /// The request did not come in time.
    TooSlow,
}

impl Answer {
    /// The whole answer, headers and all.
    pub(super) fn bytes(self) -> Vec<u8> {
        let (status, title, text) = self.words();
        let body = page(title, text);
        let n_bytes = body.len();
        let allow = match self {
            Self::WrongMethod | Self::WrongMethodHead => "Allow: GET\r\n",
            Self::Success
            | Self::Failure
            | Self::Already
            | Self::Malformed
            | Self::NotHere
            | Self::TooSlow => "",
        };
        let head = format!(
            "HTTP/1.1 {status}\r\n\
             Content-Type: text/html; charset=utf-8\r\n\
             Content-Length: {n_bytes}\r\n\
             Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'\r\n\
             Cache-Control: no-store\r\n\
             Referrer-Policy: no-referrer\r\n\
             X-Content-Type-Options: nosniff\r\n\
             {allow}\
             Connection: close\r\n\r\n"
        );
        let body = if self == Self::WrongMethodHead { String::new() } else { body };
        (head + &body).into_bytes()
    }

    const fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Success => ("200 OK", "You are logged in to Switchboard.", "You can close this window."),
            Self::Failure => ("200 OK", "The login did not work.", "Go back to Switchboard: it says why."),
            Self::Already => ("200 OK", "This login is already done.", "You can close this window."),
            Self::Malformed => ("400 Bad Request", "Nothing to see here.", "Switchboard waits for a login."),
            Self::NotHere => ("404 Not Found", "Nothing to see here.", "Switchboard waits for a login."),
            Self::WrongMethod | Self::WrongMethodHead => {
                ("405 Method Not Allowed", "Nothing to see here.", "Switchboard waits for a login.")
            }
            Self::TooSlow => ("408 Request Timeout", "That took too long.", "Please try again."),
        }
    }
}

fn page(title: &str, text: &str) -> String {
    format!(
        r#"<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Switchboard</title>
<style>
:root {{ color-scheme: light dark }}
body {{ margin: 0; min-height: 100vh; display: grid; place-items: center; font: 1.125rem/1.5 system-ui, sans-serif;
  background: #f6f6f4; color: #1c1c1a }}
main {{ padding: 2rem; max-width: 32rem; text-align: center }}
h1 {{ font-size: 1.5rem; margin: 0 0 .5rem }}
p {{ margin: 0 }}
@media (prefers-color-scheme: dark) {{ body {{ background: #191a1c; color: #ececea }} }}
</style>
</head>
<body><main><h1>{title}</h1><p>{text}</p></main></body>
</html>
"#
    )
}
