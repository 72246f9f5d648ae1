//! Words as a POSIX shell reads them.

/// A word that a shell takes as it is, whatever is in it: in quotes only if it needs them, since people read it. As the first
/// of a command it is taken for a keyword or an assignment if it is one; [`line`] is for a shell.
pub fn word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    quoted(word)
}

/// A command as one line of a shell that takes every word as it is.
pub fn line<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let words = words.into_iter().map(|it| quoted(it.as_ref()));
    words.collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_be_another_command() {
        assert_eq!(word("4096"), "4096");
        assert_eq!(word(""), "''");
        assert_eq!(word("4096 87380"), "'4096 87380'");
        assert_eq!(word("'; reboot"), r"''\''; reboot'");
    }

    #[test]
    fn every_word_arrives_as_it_is() {
        assert_eq!(
            line(["sh", "-c", "echo $A 'b'"]),
            r"'sh' '-c' 'echo $A '\''b'\'''"
        );
        // Neither an assignment nor a keyword of bash.
        assert_eq!(line(["A=b", "x"]), "'A=b' 'x'");
        assert_eq!(line(["time", "x"]), "'time' 'x'");
    }
}
