//! A line of a shell, taken apart into words. Nothing in it is expanded.

use std::ffi::OsString;

/// The words of a line up to the cursor; the last one is empty behind a space.
pub fn words(line: &str) -> Vec<OsString> {
    let mut words = vec![String::new()];
    let mut begun = false;
    let mut quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let word = words.last_mut().expect("a word");
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some('\''), c) => word.push(c),
            (_, '\\') => word.extend(chars.next()),
            (Some(_), c) => word.push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                begun = true;
            }
            (None, ' ' | '\t' | '\n') => {
                if begun || !word.is_empty() {
                    words.push(String::new());
                }
                begun = false;
            }
            (None, c) => word.push(c),
        }
    }
    words.into_iter().map(OsString::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_taken_apart_as_bash_does() {
        let of = |line: &str| -> Vec<String> {
            let words = words(line).into_iter();
            words
                .map(|word| word.into_string().expect("text"))
                .collect()
        };
        assert_eq!(of("hawser  move vm"), ["hawser", "move", "vm"]);
        assert_eq!(of("hawser move "), ["hawser", "move", ""]);
        assert_eq!(
            of("hawser -f 'a b' \"c\\\" d\" e\\ f --lab=x"),
            ["hawser", "-f", "a b", "c\" d", "e f", "--lab=x"]
        );
        assert_eq!(
            of("hawser --host root@head1 '' "),
            ["hawser", "--host", "root@head1", "", ""]
        );
        assert_eq!(of("hawser 'a"), ["hawser", "a"]);
        assert_eq!(of("hawser $(x)"), ["hawser", "$(x)"]);
        assert_eq!(of(""), [""]);
    }
}
