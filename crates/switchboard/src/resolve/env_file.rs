//! Reads the text of an `envFile`: `NAME=value` lines, comments, quotes.
//!
//! Nothing in it is filled in. A `$` is a `$`, or a file of the project could have any variable of ours handed to
//! a program that was not meant to get it.

/// The variables, in order, or the line that is none; 0 when that cannot be told.
pub(super) fn parse(text: &str) -> Result<Vec<(String, String)>, usize> {
    // The parser would fill in variables of this very process, so it must not see the sign.
    let stand_in = ('\u{fdd0}'..='\u{fdef}').find(|c| !text.contains(*c)).ok_or(0_usize)?;
    let masked = masked(text, stand_in);
    let mut variables = Vec::new();
    for pair in dotenvy::from_read_iter(masked.as_bytes()) {
        match pair {
            Ok((name, value)) => variables.push((name, value.replace(stand_in, "$"))),
            Err(error) => return Err(line_of(&error, &masked)),
        }
    }
    Ok(variables)
}

/// The text with another sign for each `$`, except where a backslash already says that it is only a sign.
fn masked(text: &str, stand_in: char) -> String {
    let mut masked = String::with_capacity(text.len() + 16);
    let mut is_escaped = false;
    for c in text.chars() {
        masked.push(if c == '$' && !is_escaped { stand_in } else { c });
        is_escaped = c == '\\' && !is_escaped;
    }
    // A blank at the end of the last line would be an unfinished line.
    masked.push('\n');
    masked
}

/// The line an error is about. The error itself repeats the line, so it is not shown.
fn line_of(error: &dotenvy::Error, text: &str) -> usize {
    let dotenvy::Error::LineParse(piece, _) = error else { return 0 };
    let first = piece.lines().next().unwrap_or_default();
    text.lines().position(|line| line.contains(first)).map_or(0, |index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_variables_and_a_dollar_is_a_dollar() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            let expected: Vec<_> =
                expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            assert_eq!(parse(text), Ok(expected), "{text}");
        };
        check("", &[]);
        check(
            "# note\n\nA=1\nexport B=\"two words\" # why\r\nC='it $HOME'",
            &[("A", "1"), ("B", "two words"), ("C", "it $HOME")],
        );
        check(
            "A=$HOME\nB=${HOME}x\nC=\"$A\"\nD=a\\$b\nE='\\$'",
            &[("A", "$HOME"), ("B", "${HOME}x"), ("C", "$A"), ("D", "a$b"), ("E", "\\$")],
        );
        check("A=1 ", &[("A", "1")]);
        check("A=", &[("A", "")]);
    }

    #[test]
    fn a_line_that_is_no_variable_is_named_by_its_number() {
        assert_eq!(parse("A=1\nnot a variable\n"), Err(2));
        assert_eq!(parse("A=1\nB='open\n"), Err(2));
    }
}
