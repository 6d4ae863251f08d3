//! The word somebody probably meant.

/// The known word that is at most two keystrokes away.
pub(crate) fn nearest<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    if word.chars().count() > 40 {
        return None;
    }
    let lower = word.to_lowercase();
    known
        .map(|candidate| (distance(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| *distance <= 2 && *distance < candidate.len() / 2)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The one known word that this one is short for, or shares a part with: `tz` and `zone` for `timezone`. Where several
/// fit, nobody knows which is meant.
pub(crate) fn short_for<'k>(word: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let lower = word.to_lowercase();
    if !(2..=40).contains(&lower.chars().count()) {
        return None;
    }
    let mut fitting = known.filter(|candidate| is_short(&lower, &candidate.to_lowercase()));
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// Whether the letters of a word stand in another in this order, from its first letter on; or one is a part of the other.
fn is_short(word: &str, long: &str) -> bool {
    let mut rest = long.chars();
    let is_in_order = word.chars().all(|letter| rest.any(|other| other == letter));
    let begins_alike = word.chars().next() == long.chars().next();
    (is_in_order && begins_alike)
        || (word.len() > 2 && long.contains(word))
        || (long.len() > 2 && word.contains(long))
}

/// Levenshtein distance.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let substitution = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = substitution.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_word_stands_for_one_long_word_or_none() {
        let check = |word: &str, known: &[&str], expected: Option<&str>| {
            assert_eq!(short_for(word, known.iter().copied()), expected, "{word}");
        };
        check("tz", &["timezone", "format"], Some("timezone"));
        check("Zone", &["timezone", "format"], Some("timezone"));
        check("city_name", &["city", "unit"], Some("city"));
        check("tz", &["timezone", "to_zone"], None);
        check("ez", &["timezone"], None);
        check("t", &["timezone"], None);
        check("zt", &["timezone"], None);
        check("", &["timezone"], None);
    }
}
