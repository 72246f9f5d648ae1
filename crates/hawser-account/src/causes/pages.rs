//! The page of every cause, as `hawser explain CODE` prints it.

use std::collections::BTreeMap;

use super::{CAUSES, COPY, FANOUT, LADDER, OUTAGE};
use crate::cause::Listed;
use crate::compare::topic::About;

/// What every family tells of a cause: its page, and what it is about.
type Told = (&'static str, &'static [About]);

/// All causes by their code: a cause of two families has one page.
fn all() -> BTreeMap<&'static str, Told> {
    fn of<F>(list: &'static [Listed<F>]) -> impl Iterator<Item = (&'static str, Told)> {
        list.iter()
            .map(|cause| (cause.code, (cause.page, cause.about)))
    }
    let network = of(CAUSES).chain(of(COPY)).chain(of(LADDER));
    network.chain(of(FANOUT)).chain(of(OUTAGE)).collect()
}

/// The page of the cause with this code, in Markdown. `None`: there is no such cause.
pub fn page(code: &str) -> Option<&'static str> {
    all().get(code).map(|(page, _)| *page)
}

/// What of a host's setup the cause with this code is about.
pub(crate) fn about(code: &str) -> &'static [About] {
    all().get(code).map_or(&[], |(_, about)| *about)
}

/// The code of every cause, by name.
pub fn pages() -> impl Iterator<Item = &'static str> {
    all().into_keys()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_folder_has_the_name_of_its_code_and_a_page_that_begins_with_it() {
        let causes = concat!(env!("CARGO_MANIFEST_DIR"), "/src/causes");
        let folders = fs::read_dir(causes).unwrap().map(|entry| entry.unwrap());
        let mut folders: Vec<String> = folders
            .filter(|entry| entry.path().is_dir())
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        folders.sort();
        let named: Vec<String> = pages().map(|code| code.replace('-', "_")).collect();
        assert_eq!(named, folders);
        for code in pages() {
            let title = format!("# {code}\n");
            assert!(page(code).unwrap().starts_with(&title), "{code}");
        }
        assert_eq!(page("no-such-cause"), None);
    }
}
