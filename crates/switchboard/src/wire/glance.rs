//! What can be told of a message, or of its start, at a glance. Pure.

use super::message;
use crate::json::Json;
use crate::notice::Notice;

/// Key of the listen request a notification belongs to.
const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// A line for the log, as far as it can be read.
pub(super) fn log_line(params: Option<Json>) -> Notice {
    let params = params.unwrap_or_else(Json::null);
    let level = text(&params, "level").unwrap_or_else(|| "info".to_owned());
    let logger = text(&params, "logger");
    let data = message::fields(&params).into_iter().find(|(name, _)| name == "data");
    Notice::Log { level, logger, data: data.map_or_else(Json::null, |(_, data)| data) }
}

/// A text among parameters.
pub(super) fn text(params: &Json, name: &str) -> Option<String> {
    let (_, value) = message::fields(params).into_iter().find(|(field, _)| field == name)?;
    value.parse().ok()
}

/// The listen request a notification belongs to.
pub(super) fn subscription(params: &Json) -> Option<u64> {
    let (_, meta) = message::fields(params).into_iter().find(|(name, _)| name == "_meta")?;
    let (_, id) = message::fields(&meta).into_iter().find(|(name, _)| name == SUBSCRIPTION_ID)?;
    number(id.as_str())
}

/// A number in either JSON spelling.
pub(super) fn number(raw: &str) -> Option<u64> {
    raw.trim_matches('"').parse().ok()
}

/// Whether the start of a message names a method, before anything else begins.
pub(super) fn is_of_the_server(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    head.find("\"method\"").is_some_and(|at| head[..at].matches('{').count() == 1)
}

/// The id at the start of a message too large to be read whole. One that stands deeper belongs to something else.
pub(super) fn id_in(head: &[u8]) -> Option<u64> {
    let head = String::from_utf8_lossy(head);
    let at = head.find("\"id\"")?;
    if head[..at].matches('{').count() != 1 {
        return None;
    }
    let rest = head[at + 4..].trim_start().strip_prefix(':')?.trim_start().trim_start_matches('"');
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_long_message_tells_whose_it_is() {
        assert_eq!(id_in(br#"{"jsonrpc":"2.0","id":7,"result":{"text":"aaa"#), Some(7));
        assert_eq!(id_in(br#"{"id": "8","result":"#), Some(8));
        assert_eq!(id_in(br#"{"result":{"id":9,"text":"aaa"#), None, "that is somebody else's id");
        assert!(is_of_the_server(br#"{"jsonrpc":"2.0","id":7,"method":"x","params":{"a":"#));
        assert!(!is_of_the_server(br#"{"id":7,"result":{"method":"GET","#));
    }
}
