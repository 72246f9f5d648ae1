//! Where an image's packages come from: the sources of this host for the same release of Debian, else Debian's own.

use super::recipe::SUITE;

/// What an image has beside the release itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// Nothing.
    Nothing,
    /// The release's backports with `contrib`, in which ZFS is. Nothing is taken of them that is not asked for by version.
    Backports,
}

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const DEBIAN: &str = "http://deb.debian.org/debian";

/// Debian's own, as sources.list(5) writes them.
fn debian() -> String {
    let line =
        |address: &str, suite: &str| format!("deb [signed-by={KEYRING}] {address} {suite} main\n");
    [
        line(DEBIAN, SUITE),
        line(DEBIAN, &format!("{SUITE}-updates")),
        line(&format!("{DEBIAN}-security"), &format!("{SUITE}-security")),
    ]
    .concat()
}

/// A sources.list(5) out of what the host's files say (`.list` and `.sources`). Sources of others are left out.
pub(super) fn list<'a>(files: impl IntoIterator<Item = &'a str>, beside: Beside) -> String {
    let mut lines: Vec<String> = Vec::new();
    // Who has the release has its backports.
    let mut release = None;
    for text in files {
        for (address, suite) in one_line(text).chain(stanzas(text)) {
            let line = format!("deb [signed-by={KEYRING}] {address} {suite} main\n");
            if suite == SUITE && release.is_none() {
                release = Some(address.to_owned());
            }
            if is_debians(suite) && !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    // Without the release itself there is nothing that the others could add to.
    let (mut text, address) = match release {
        Some(address) => (lines.concat(), address),
        None => (debian(), DEBIAN.to_owned()),
    };
    if beside == Beside::Backports {
        text += &format!("deb [signed-by={KEYRING}] {address} {SUITE}-backports main contrib\n");
    }
    text
}

fn is_debians(suite: &str) -> bool {
    let rest = suite.strip_prefix(SUITE);
    rest.is_some_and(|rest| ["", "-updates", "-security"].contains(&rest))
}

/// Addresses and suites of the lines of a `.list`, those with the component `main`.
fn one_line(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let rest = line.trim().strip_prefix("deb")?;
        let rest = rest.strip_prefix([' ', '\t'])?.trim_start();
        let rest = match rest.strip_prefix('[') {
            Some(options) => options.split_once(']')?.1,
            None => rest,
        };
        let mut words = rest.split_whitespace();
        let (address, suite) = (words.next()?, words.next()?);
        words.any(|word| word == "main").then_some((address, suite))
    })
}

/// The same of the stanzas of a `.sources` (deb822).
fn stanzas(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("\n\n").flat_map(|stanza| {
        let field = |name: &str| {
            let mut lines = stanza.lines().filter_map(|line| line.split_once(':'));
            let found = lines.find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map_or("", |(_, value)| value)
        };
        let has = |name: &str, wanted: &str| field(name).split_whitespace().any(|it| it == wanted);
        let is_on = !field("Enabled").trim().eq_ignore_ascii_case("no");
        let wanted = is_on && has("Types", "deb") && has("Components", "main");
        let addresses = field("URIs").split_whitespace();
        let suites: Vec<&str> = field("Suites").split_whitespace().collect();
        addresses.filter(move |_| wanted).flat_map(move |address| {
            suites
                .clone()
                .into_iter()
                .map(move |suite| (address, suite))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_sources_of_the_release_are_taken_and_those_of_others_are_not() {
        let old = "# deb http://no.example/debian bookworm main\n\
                   deb [arch=amd64] http://mirror.example/debian bookworm main contrib\n\
                   deb http://other.example/x other-bookworm main\n";
        let new = "Types: deb deb-src\nURIs: http://security.example/\nSuites: bookworm-security trixie\n\
                   Components: main\n\nTypes: deb\nURIs: http://off.example\nSuites: bookworm\n\
                   Components: main\nEnabled: no\n";
        assert_eq!(
            list([old, new], Beside::Nothing),
            format!(
                "deb [signed-by={KEYRING}] http://mirror.example/debian bookworm main\n\
                 deb [signed-by={KEYRING}] http://security.example/ bookworm-security main\n"
            )
        );
    }

    #[test]
    fn a_host_of_another_release_takes_debians_own() {
        let text =
            "Types: deb\nURIs: http://mirror.example/ubuntu\nSuites: noble\nComponents: main\n";
        assert_eq!(list([text], Beside::Nothing), debian());
        assert!(debian().contains(" http://deb.debian.org/debian bookworm main\n"));
    }

    #[test]
    fn backports_come_from_where_the_release_does() {
        let text = "deb http://mirror.example/debian bookworm main\n";
        let wanted = "http://mirror.example/debian bookworm-backports main contrib\n";
        assert!(list([text], Beside::Backports).ends_with(wanted));
        let wanted = "http://deb.debian.org/debian bookworm-backports main contrib\n";
        assert!(list([], Beside::Backports).ends_with(wanted));
    }
}
