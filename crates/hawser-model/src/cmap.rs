//! What `corosync-cmapctl` prints of Corosync's runtime map: lines of `name (type) = value` (cmap_keys(7)). It comes from
//! a host, or was pasted: lines of another form are passed over, and no more is taken than a real map has.

use std::collections::BTreeMap;

/// Lines that are looked at. A cluster of 16 nodes with 8 links has some 5 000 entries.
const MOST_LINES: usize = 65_536;

/// Bytes of a name: `ICMAP_KEYNAME_MAXLEN` of Corosync.
const LONGEST_NAME: usize = 255;

/// Bytes of a value: the longest are addresses and versions.
const LONGEST_VALUE: usize = 4_096;

/// The names and values, in their order.
pub fn entries(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().take(MOST_LINES).filter_map(entry)
}

/// Those whose names are wanted.
pub fn chosen(text: &str, wanted: impl Fn(&str) -> bool) -> BTreeMap<String, String> {
    let chosen = entries(text).filter(|(name, _)| wanted(name));
    chosen
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The value of this name.
pub fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut entries = entries(text);
    entries.find_map(|(there, value)| (there == name).then_some(value))
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().split_once(" = ")?;
    let (name, _kind) = name.rsplit_once(" (")?;
    let fits = name.len() <= LONGEST_NAME && value.len() <= LONGEST_VALUE;
    fits.then(|| (name, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_map_is_read_as_it_is_printed() {
        // corosync-cmapctl 3.1.7
        let text = "stats.knet.node2.link0.connected (u8) = 1\n\
                    runtime.members.1.ip (str) = r(0) ip(10.0.0.1) = odd\n\
                    Can't get key totem.name. Error CS_ERR_NOT_EXIST\n\
                    totem.token = 1000\n";
        let read: Vec<_> = entries(text).collect();
        let members = ("runtime.members.1.ip", "r(0) ip(10.0.0.1) = odd");
        assert_eq!(read, [("stats.knet.node2.link0.connected", "1"), members]);
        let chosen = chosen(text, |name| name.starts_with("runtime."));
        let alone = (members.0.to_owned(), members.1.to_owned());
        assert_eq!(chosen, [alone].into());
        assert_eq!(value(text, "runtime.members.1.ip"), Some(members.1));
        assert_eq!(value(text, "runtime.members.1"), None);
    }

    #[test]
    fn no_more_is_taken_than_a_real_map_has() {
        let long = format!(
            "{} (u8) = 1\na (str) = {}\n",
            "n".repeat(256),
            "v".repeat(4_097)
        );
        assert_eq!(entries(&long).count(), 0);
        assert_eq!(entries(&"a (u8) = 1\n".repeat(70_000)).count(), MOST_LINES);
    }
}
