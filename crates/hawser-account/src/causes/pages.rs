//! The page of every cause, as `hawser explain CODE` prints it.

use std::collections::BTreeMap;

use super::{CAUSES, CLIENTS, COPY, FANOUT, LADDER, OUTAGE};
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
    let storage = of(OUTAGE).chain(of(CLIENTS));
    network.chain(of(FANOUT)).chain(storage).collect()
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

/// A page as plain text, without the targets of links: they are files of the sources. A link to another cause has its code
/// as text.
pub fn plain(page: &str) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some((before, after)) = rest.split_once("](") {
        let target = after.split_once(')');
        let text = before.rfind('[').filter(|at| !before[*at..].contains('\n'));
        let (Some(at), Some((_, behind))) = (text, target) else {
            out.push_str(before);
            out.push_str("](");
            rest = after;
            continue;
        };
        out.push_str(&before[..at]);
        out.push_str(&before[at + 1..]);
        rest = behind;
    }
    out + rest
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

    #[test]
    fn links_are_their_text() {
        assert_eq!(
            plain("See [a-b](../a_b/page.md): `x[0]` and [c](d.md).\n"),
            "See a-b: `x[0]` and c.\n"
        );
        assert_eq!(plain("no ]( link"), "no ]( link");
    }
}
