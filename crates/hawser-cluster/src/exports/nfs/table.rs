//! The table of exports, as `exportfs -s` shows it.

use std::collections::BTreeMap;

use super::options::NfsOptions;
use hawser_model::octal::unescaped;

/// A directory and a client, as the table has them.
pub type Pair = (String, String);

/// What is exported to whom, and how.
pub type Found = BTreeMap<Pair, NfsOptions>;

/// Reads `exportfs -s`. `None`: a line is not understood, and which.
pub fn table(text: &str) -> Result<Found, String> {
    let one = |line: &str| {
        // `exportfs` escapes blanks of ASCII alone: others are part of the name.
        let (directory, rest) = line.split_once([' ', '\t'])?;
        let (client, options) = rest.trim().strip_suffix(')')?.rsplit_once('(')?;
        let options = NfsOptions::shown(options);
        Some(((unescaped(directory), client.to_owned()), options))
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .map(|line| one(line).ok_or_else(|| line.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_both_families_and_of_everybody() {
        let text = "/tank/a  fd00:1::/64(sync,fsid=1,sec=sys,rw)\n\
                    /tank/b\\040c  192.0.2.0/24(sync,wdelay,sec=sys,ro,root_squash)\n\
                    /tank/a  *(sync,sec=sys,rw)\n\n";
        let found = table(text).unwrap();
        let pairs: Vec<(&str, &str)> = found
            .keys()
            .map(|(d, c)| (d.as_str(), c.as_str()))
            .collect();
        assert_eq!(
            pairs,
            [
                ("/tank/a", "*"),
                ("/tank/a", "fd00:1::/64"),
                ("/tank/b c", "192.0.2.0/24")
            ]
        );
        let wide = table("/tank/a\u{3000}b *(sync,rw)\n").unwrap();
        assert!(wide.contains_key(&("/tank/a\u{3000}b".to_owned(), "*".to_owned())));
        assert_eq!(
            table("/tank/a <world>\n"),
            Err("/tank/a <world>".to_owned())
        );
    }
}
