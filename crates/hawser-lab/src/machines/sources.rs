//! Where an image's packages come from: the sources of this host for the same release of Debian, else Debian's own.

use super::release::Release;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const DEBIAN: &str = "http://deb.debian.org/debian";

/// Where a host finds a release.
pub(super) struct Found {
    /// A sources.list(5) of the release and its updates.
    pub list: String,
    /// Where the release itself is, and so what belongs to it.
    pub address: String,
}

impl Found {
    /// The line of that release's suite that has ZFS. Of backports nothing is taken that is not asked for by version.
    pub fn zfs(&self, release: Release) -> String {
        line(&self.address, release.zfs_suite())
    }
}

/// A line of sources.list(5): where, and a suite with its components.
fn line(address: &str, suite: &str) -> String {
    format!("deb [signed-by={KEYRING}] {address} {suite}\n")
}

/// Debian's own.
fn debian(release: Release) -> Found {
    let suite = release.suite();
    let list = [
        line(DEBIAN, &format!("{suite} main")),
        line(DEBIAN, &format!("{suite}-updates main")),
        line(
            &format!("{DEBIAN}-security"),
            &format!("{suite}-security main"),
        ),
    ];
    Found {
        list: list.concat(),
        address: DEBIAN.to_owned(),
    }
}

/// What the host's files (`.list` and `.sources`) say of a release. Sources of others are left out.
pub(super) fn of<'a>(release: Release, files: impl IntoIterator<Item = &'a str>) -> Found {
    let mut lines: Vec<String> = Vec::new();
    // Who has the release has its backports.
    let mut itself = None;
    for text in files {
        for (address, suite) in one_line(text).chain(stanzas(text)) {
            let line = line(address, &format!("{suite} main"));
            if suite == release.suite() && itself.is_none() {
                itself = Some(address.to_owned());
            }
            if belongs_to(release, suite) && !lines.contains(&line) {
                lines.push(line);
            }
        }
    }
    // Without the release itself there is nothing that the others could add to.
    match itself {
        Some(address) => Found {
            list: lines.concat(),
            address,
        },
        None => debian(release),
    }
}

fn belongs_to(release: Release, suite: &str) -> bool {
    let rest = suite.strip_prefix(release.suite());
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
        let found = of(Release::Bookworm, [old, new]);
        assert_eq!(
            found.list,
            format!(
                "deb [signed-by={KEYRING}] http://mirror.example/debian bookworm main\n\
                 deb [signed-by={KEYRING}] http://security.example/ bookworm-security main\n"
            )
        );
        let found = of(Release::Trixie, [old, new]);
        assert_eq!(
            found.list,
            format!("deb [signed-by={KEYRING}] http://security.example/ trixie main\n")
        );
    }

    #[test]
    fn a_host_of_another_release_takes_debians_own() {
        let text =
            "Types: deb\nURIs: http://mirror.example/ubuntu\nSuites: noble\nComponents: main\n";
        for release in Release::ALL {
            let (found, own) = (of(release, [text]), debian(release));
            assert_eq!((found.list, found.address), (own.list.clone(), own.address));
            let wanted = format!(" http://deb.debian.org/debian {} main\n", release.suite());
            assert!(own.list.contains(&wanted));
        }
    }

    #[test]
    fn zfs_comes_from_where_the_release_does() {
        let text = "deb http://mirror.example/debian bookworm main\n";
        let ends = |text, release, wanted: &str| {
            let line = of(release, [text]).zfs(release);
            assert!(line.ends_with(wanted), "{line}");
        };
        let wanted = "http://mirror.example/debian bookworm-backports main contrib\n";
        ends(text, Release::Bookworm, wanted);
        let wanted = "http://deb.debian.org/debian bookworm-backports main contrib\n";
        ends("", Release::Bookworm, wanted);
        let wanted = "http://deb.debian.org/debian trixie contrib\n";
        ends(text, Release::Trixie, wanted);
    }
}
