//! Bytes of a connection in, one HTTP request out.

use std::io;

use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

pub(crate) struct Request {
    pub(crate) verb: String,
    pub(crate) path: String,
    pub(crate) query: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The request as the log shows it.
    pub(crate) fn describe(&self) -> Value {
        let mut headers = Map::new();
        for (name, value) in &self.headers {
            let before = headers.get(name).and_then(Value::as_str);
            let all = before.map_or_else(|| value.clone(), |before| format!("{before}, {value}"));
            headers.insert(name.clone(), json!(all));
        }
        let mark = if self.query.is_empty() { "" } else { "?" };
        let path = format!("{}{mark}{}", self.path, self.query);
        json!({"method": self.verb, "path": path, "headers": headers})
    }
}

async fn line<R: AsyncBufRead + Unpin>(reader: &mut R) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    if reader.read_until(b'\n', &mut line).await? == 0 {
        return Ok(None);
    }
    Ok(Some(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned()))
}

/// Reads the next request; nothing at the end of the connection.
pub(crate) async fn read<R: AsyncBufRead + Unpin>(reader: &mut R) -> io::Result<Option<Request>> {
    let Some(first) = line(reader).await? else { return Ok(None) };
    let mut words = first.split(' ');
    let (verb, target) = (words.next().unwrap_or_default(), words.next().unwrap_or("/"));
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        verb: verb.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    };
    while let Some(header) = line(reader).await?
        && !header.is_empty()
    {
        let (name, value) = header.split_once(':').unwrap_or((&header, ""));
        request.headers.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
    }
    if request.header("transfer-encoding").is_some_and(|encoding| encoding.eq_ignore_ascii_case("chunked")) {
        request.body = chunks(reader).await?;
    } else if let Some(length) = request.header("content-length").and_then(|length| length.parse().ok()) {
        request.body = vec![0; length];
        reader.read_exact(&mut request.body).await?;
    }
    Ok(Some(request))
}

async fn chunks<R: AsyncBufRead + Unpin>(reader: &mut R) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let head = line(reader).await?.unwrap_or_default();
        let size = head.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
        if size == 0 {
            break;
        }
        let start = body.len();
        body.resize(start + size, 0);
        reader.read_exact(&mut body[start..]).await?;
        line(reader).await?;
    }
    // Trailers, up to the empty line.
    while line(reader).await?.is_some_and(|trailer| !trailer.is_empty()) {}
    Ok(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn bodies_come_with_a_length_or_in_chunks() {
        let mut bytes: &[u8] = b"\
            POST /mcp?a=1 HTTP/1.1\r\nX-One: 1\r\nx-one: 2\r\nContent-Length: 2\r\n\r\n{}\
            POST /mcp HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n\
            3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n\
            GET / HTTP/1.1\r\n\r\n";
        let first = read(&mut bytes).await.unwrap().unwrap();
        assert_eq!((first.body.as_slice(), first.query.as_str()), (b"{}".as_slice(), "a=1"));
        assert_eq!(
            first.describe(),
            json!({"method": "POST", "path": "/mcp?a=1", "headers": {"x-one": "1, 2", "content-length": "2"}})
        );
        assert_eq!(read(&mut bytes).await.unwrap().unwrap().body, b"abcde");
        assert_eq!(read(&mut bytes).await.unwrap().unwrap().verb, "GET");
        assert!(read(&mut bytes).await.unwrap().is_none());
    }
}
