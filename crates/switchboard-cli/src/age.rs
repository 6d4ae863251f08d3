//! How long ago something was, for people.

use std::time::SystemTime;

/// How long ago, in the largest unit that fits; nothing if it was just now.
pub(crate) fn age(at: SystemTime, now: SystemTime) -> Option<String> {
    // A time to come is a clock that was set back.
    let seconds = now.duration_since(at).unwrap_or_default().as_secs();
    match seconds {
        0..60 => None,
        60..3600 => Some(format!("{} min", seconds / 60)),
        3600..86_400 => Some(format!("{} h", seconds / 3600)),
        _ => Some(format!("{} d", seconds / 86_400)),
    }
}

/// The same, said of something that happened.
pub(crate) fn ago(at: SystemTime, now: SystemTime) -> String {
    age(at, now).map_or_else(|| "just now".to_owned(), |age| format!("{age} ago"))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn the_largest_unit_counts() {
        let check = |seconds: u64, expected: Option<&str>| {
            let now = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(age(UNIX_EPOCH, now).as_deref(), expected);
        };
        check(59, None);
        check(60, Some("1 min"));
        check(7199, Some("1 h"));
        check(86_400 * 3, Some("3 d"));
        assert_eq!(age(UNIX_EPOCH + Duration::from_secs(9), UNIX_EPOCH), None);
    }
}
