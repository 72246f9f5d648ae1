//! Multipath devices and their paths.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use hawser_model::storage::{MultipathFacts, PathFacts};

use super::{names, text};
use crate::program;

/// The devices that device-mapper has, with their paths and nothing of what they are used for.
pub(super) fn maps(root: &Path) -> BTreeMap<String, MultipathFacts> {
    let block = root.join("sys/block");
    let map = |name: String| {
        let folder = block.join(name);
        let uuid = text(&folder.join("dm/uuid"))?;
        let identity = uuid.strip_prefix("mpath-")?.to_owned();
        let paths = names(&folder.join("slaves"));
        let facts = MultipathFacts {
            name: text(&folder.join("dm/name")).unwrap_or_default(),
            paths: paths.map(|path| (path, PathFacts::default())).collect(),
        };
        Some((identity, facts))
    };
    let devices = names(&block).filter(|name| name.starts_with("dm-"));
    devices.filter_map(map).collect()
}

/// What multipathd says of all paths; nothing where it does not run.
pub(super) fn asked(limit: Duration) -> BTreeMap<String, PathFacts> {
    let arguments = ["show", "paths", "raw", "format", "%d %t %T"];
    let said = program::run("multipathd", &arguments, limit);
    said.map_or_else(|_| BTreeMap::new(), |said| parsed(&said))
}

/// A path a line: its disk, what device-mapper does with it, what the checker found, which may be two words.
pub(super) fn parsed(said: &str) -> BTreeMap<String, PathFacts> {
    let path = |line: &str| {
        let mut words = line.split_whitespace();
        let (disk, used) = (words.next()?, words.next()?);
        let checked = words.collect::<Vec<_>>().join(" ");
        let facts = PathFacts {
            used: Some(used.to_owned()),
            checked: Some(checked).filter(|word| !word.is_empty()),
        };
        Some((disk.to_owned(), facts))
    };
    said.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checker_may_have_two_words_and_a_line_may_be_no_path() {
        // multipath-tools 0.9.4.
        let said =
            "sda    active ready\nsdb    failed faulty\nsdc    active i/o pending\n\ntimeout\n";
        let paths = parsed(said);
        assert_eq!(paths.len(), 3);
        assert_eq!(paths["sdc"].checked.as_deref(), Some("i/o pending"));
        let well: Vec<&str> = paths
            .iter()
            .filter(|(_, path)| path.is_well())
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(well, ["sda", "sdc"]);
    }
}
