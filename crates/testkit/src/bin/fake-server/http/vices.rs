//! Answers no well-behaved server gives: any status, a body that inflates without end, headers without end.

use std::io;

use flate2::{Compress, Compression, Crc, FlushCompress};
use serde_json::Value;

use crate::http::reply::Reply;

const BLOCK: usize = 1 << 20;

/// Exactly this answer. A header with a list of values is sent once for each.
pub(crate) async fn status(
    reply: &mut Reply,
    status: u16,
    headers: &[(String, Value)],
    body: Option<&Value>,
) -> io::Result<()> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut lines = Vec::new();
    for (name, value) in headers {
        match value {
            Value::Array(values) => lines.extend(values.iter().map(|value| (name.clone(), text(value)))),
            value => lines.push((name.clone(), text(value))),
        }
    }
    if let Some(body) = body
        && !lines.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
    {
        let kind = if body.is_string() { "text/plain; charset=utf-8" } else { "application/json" };
        lines.push(("Content-Type".to_owned(), kind.to_owned()));
    }
    reply.extra.clear();
    reply.whole(status, &lines, body.map(text).unwrap_or_default().as_bytes()).await
}

/// Compresses something so that it can stand alone between other such pieces.
fn piece(bytes: &[u8], flush: FlushCompress) -> io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len() / 100 + 1024);
    Compress::new(Compression::best(), false)
        .compress_vec(bytes, &mut out, flush)
        .map_err(io::Error::other)?;
    Ok(out)
}

/// A JSON answer that is small on the wire and has `size` bytes when it is inflated.
pub(crate) async fn gzip_bomb(reply: &mut Reply, id: &Value, size: u64) -> io::Result<()> {
    let start = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{\"content\":[{{\"type\":\"text\",\"text\":\""
    );
    let end = "\"}]}}";
    let filling = size.saturating_sub(u64::try_from(start.len() + end.len()).unwrap_or(0));
    let block = vec![b'a'; BLOCK];
    // The same piece again and again: to compress each anew would take longer than the test.
    let packed = piece(&block, FlushCompress::Full)?;
    let blocks = filling / block.len() as u64;
    let rest = usize::try_from(filling % block.len() as u64).unwrap_or(0);
    let tail = format!("{}{end}", "a".repeat(rest));

    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\
        Content-Encoding: gzip\r\nConnection: close\r\n\r\n";
    reply.raw(head.as_bytes()).await?;
    reply.raw(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]).await?;
    let (mut sum, mut sum_of_block) = (Crc::new(), Crc::new());
    sum_of_block.update(&block);
    sum.update(start.as_bytes());
    reply.raw(&piece(start.as_bytes(), FlushCompress::Full)?).await?;
    for _ in 0..blocks {
        sum.combine(&sum_of_block);
        reply.raw(&packed).await?;
    }
    sum.update(tail.as_bytes());
    reply.raw(&piece(tail.as_bytes(), FlushCompress::Finish)?).await?;
    reply.raw(&[sum.sum().to_le_bytes(), sum.amount().to_le_bytes()].concat()).await
}

/// Header lines until the client has had enough.
pub(crate) async fn endless_headers(reply: &mut Reply) -> io::Result<()> {
    reply.raw(b"HTTP/1.1 200 OK\r\n").await?;
    for number in 0_u64.. {
        reply.raw(format!("X-Filling-{number}: {}\r\n", "a".repeat(80)).as_bytes()).await?;
    }
    Ok(())
}
