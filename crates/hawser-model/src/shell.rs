//! Words as a POSIX shell reads them.

/// A word that a shell takes as it is, whatever is in it.
pub fn word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "@%+=:,./-_".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// A command as one line.
pub fn line<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let words = words.into_iter().map(|it| word(it.as_ref()));
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_be_another_command() {
        assert_eq!(word("4096"), "4096");
        assert_eq!(word(""), "''");
        assert_eq!(line(["echo", "4096 87380"]), "echo '4096 87380'");
        assert_eq!(word("'; reboot"), r"''\''; reboot'");
    }
}
