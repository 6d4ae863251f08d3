//! A pattern in which `*` stands for any text. Nothing else has a meaning of its own.

/// Whether the whole name fits the pattern.
pub fn matches_glob(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut pieces: Vec<&str> = rest.split('*').collect();
    let end = pieces.pop().unwrap_or_default();
    for piece in pieces {
        match name.find(piece) {
            Some(at) => name = &name[at + piece.len()..],
            None => return false,
        }
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glob_stands_for_any_text() {
        let check = |pattern: &str, name: &str, expected: bool| {
            assert_eq!(matches_glob(pattern, name), expected, "{pattern} {name}");
        };
        check("a", "a", true);
        check("a", "ab", false);
        check("a*", "ab", true);
        check("*b", "ab", true);
        check("*", "", true);
        check("a*c*e", "abcde", true);
        check("a*c*e", "abde", false);
        check("*-test", "x-test-y", false);
    }
}
