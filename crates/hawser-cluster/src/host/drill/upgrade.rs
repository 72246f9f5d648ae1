//! Packages of a head are brought to another version. Its cluster is stopped meanwhile, as Pacemaker's manual has it for a rolling
//! upgrade (Pacemaker Administration, "Upgrading a Pacemaker Cluster").
//!
//! What was installed stays: a drill that is taken back has the cluster started again, and no older packages.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use hawser_files::Expected;
use hawser_host::Clock;
use hawser_tool::is_installed;

use crate::host::{NodeError, engine, run};

/// The cluster's own stop, the packages, and the cluster's start.
pub(super) const TAKES: Duration = Duration::from_secs(3060);

/// Packages that are fetched, and whose scripts start services again.
const INSTALLS: Duration = Duration::from_secs(900);

/// From one try to the next while another program has the packages.
const ASKS: Duration = Duration::from_secs(2);

/// What dpkg says then (lib/dpkg/dbmodify.c).
const LOCKED: &str = "locked by another process";

const APT: &str = "apt-get";

/// Has the scripts of packages ask nobody (debconf(7)).
const NOBODY: &str = "DEBIAN_FRONTEND=noninteractive";

/// What was changed, for who asks later.
const CHANGED: &str = "/run/hawser/drill-upgrade";

/// Keeps the configuration that is there, and waits for another apt that is at work. Nothing is removed.
const OPTIONS: [&str; 8] = [
    "-q",
    "-y",
    "--no-remove",
    "-o",
    "Dpkg::Options::=--force-confold",
    "-o",
    "DPkg::Lock::Timeout=60",
    "install",
];

/// Why it cannot be done here; nothing if it can.
pub(super) fn unfit(packages: &[String]) -> Result<Option<String>, NodeError> {
    if packages.is_empty() {
        return Ok(Some("no package is named (--package)".to_owned()));
    }
    if !engine::by_systemd() {
        return Ok(Some("this machine does not run systemd".to_owned()));
    }
    if !is_installed(APT) {
        return Ok(Some(format!("this machine has no {APT}")));
    }
    let words = words(&["-s"], packages);
    match run::tool_within(run::USUAL, "env", &borrowed(&words)) {
        Err(NodeError::Tool { said, .. }) => Ok(Some(format!("{APT} says: {said}"))),
        Err(e) => Err(e),
        Ok(said) if !installs(&said) => Ok(Some(format!(
            "{APT} has no other version of {} than is installed",
            packages.join(", ")
        ))),
        Ok(_) => Ok(None),
    }
}

pub(super) fn make(packages: &[String]) -> Result<(), NodeError> {
    forget()?;
    let before = installed()?;
    engine::stop()?;
    let done = run::tool_within(INSTALLS, "env", &borrowed(&words(&[], packages)));
    // A head whose packages could not be installed goes on with those that it has.
    let started = engine::start();
    done?;
    started?;
    let changed = changes(&before, &installed()?);
    if let Some(folder) = Path::new(CHANGED).parent() {
        fs::create_dir_all(folder).map_err(NodeError::file("create", folder))?;
    }
    Ok(hawser_files::replace(
        Path::new(CHANGED),
        changed.as_bytes(),
        0o600,
    )?)
}

/// What has another version than before.
pub(super) fn shown() -> Result<Option<String>, NodeError> {
    let bytes = hawser_files::read(Path::new(CHANGED), Expected::OF_ROOT)?;
    let text = bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    Ok(text.filter(|text| !text.is_empty()))
}

/// Brings packages to their end that were interrupted, and starts the cluster, also on a head whose packages are not whole.
pub(super) fn mend() -> Result<(), NodeError> {
    let configured = match is_installed("dpkg") {
        true => configured(&Clock::default(), || {
            let words = [
                NOBODY,
                "dpkg",
                "--configure",
                "--force-confold",
                "--pending",
            ];
            run::tool_within(INSTALLS, "env", &words).map(drop)
        }),
        false => Ok(()),
    };
    engine::start()?;
    configured?;
    forget()
}

/// An apt whose drill is gone goes on, and keeps the others from the packages: it is waited for.
fn configured(
    clock: &Clock,
    mut configure: impl FnMut() -> Result<(), NodeError>,
) -> Result<(), NodeError> {
    let mut last = Ok(());
    clock.wait(INSTALLS, ASKS, || {
        last = configure();
        Ok::<_, NodeError>(match &last {
            Err(NodeError::Tool { said, .. }) => !said.contains(LOCKED),
            _ => true,
        })
    })?;
    last
}

fn forget() -> Result<(), NodeError> {
    hawser_files::remove(Path::new(CHANGED))?;
    Ok(())
}

fn words(more: &[&str], packages: &[String]) -> Vec<String> {
    let begin = [NOBODY, APT].into_iter();
    let all = begin.chain(OPTIONS).chain(more.iter().copied());
    let mut words: Vec<String> = all.chain(["--"]).map(str::to_owned).collect();
    words.extend_from_slice(packages);
    words
}

fn borrowed(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// Whether a simulation of apt's would install something (`Inst NAME [OLD] (NEW …)`).
fn installs(said: &str) -> bool {
    said.lines().any(|line| line.starts_with("Inst "))
}

/// All packages and their versions.
fn installed() -> Result<BTreeMap<String, String>, NodeError> {
    let words = ["-W", "-f", "${binary:Package} ${Version}\n"];
    run::tool("dpkg-query", &words, None).map(|said| versions(&said))
}

fn versions(said: &str) -> BTreeMap<String, String> {
    let pairs = said.lines().filter_map(|line| line.split_once(' '));
    pairs
        .filter(|(_, version)| !version.is_empty())
        .map(|(name, version)| (name.to_owned(), version.to_owned()))
        .collect()
}

/// In words: of each package that has another version, both.
fn changes(before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) -> String {
    let other = after
        .iter()
        .filter(|(name, version)| before.get(*name) != Some(*version));
    let words = other.map(|(name, version)| match before.get(name) {
        Some(old) => format!("{name} {old} -> {version}"),
        None => format!("{name} {version}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_another_version_is_said_with_both_and_what_has_not_is_not() {
        let before = versions("corosync 3.1.7-1\nlibqb100:amd64 2.0.6-2\nold 1\ngone \n");
        let after = versions("corosync 3.1.9-2\nlibqb100:amd64 2.0.6-2\nnew 2\nold 1\n");
        let said = changes(&before, &after);
        assert_eq!(said, "corosync 3.1.7-1 -> 3.1.9-2, new 2");
        assert_eq!(changes(&after, &after), "");
    }

    #[test]
    fn an_apt_that_goes_on_is_waited_for() {
        let error = |said: &str| {
            Err(NodeError::Tool {
                command: "dpkg --configure".into(),
                said: said.into(),
            })
        };
        let locked = "dpkg: error: dpkg frontend lock was locked by another process with pid 7";
        let clock = Clock::simulated();
        let mut tries = 0;
        let done = configured(&clock, || {
            tries += 1;
            if tries <= 20 { error(locked) } else { Ok(()) }
        });
        assert!(done.is_ok() && tries == 21);
        assert_eq!(clock.now(), ASKS * 20);

        let broken = configured(&clock, || error("dependency problems"));
        assert!(broken.unwrap_err().to_string().contains("dependency"));
        assert_eq!(clock.now(), ASKS * 20);

        let never = configured(&clock, || error(locked));
        assert!(never.unwrap_err().to_string().contains("locked"));
        assert_eq!(clock.now(), ASKS * 20 + INSTALLS);
    }

    #[test]
    fn a_simulation_tells_whether_anything_would_be_installed() {
        let newest =
            "Reading package lists...\npacemaker is already the newest version (2.1.5-1).\n";
        assert!(!installs(newest));
        assert!(installs(
            "Inst pacemaker [2.1.5-1] (2.1.5-2 Debian:12/stable [amd64])\nConf pacemaker\n"
        ));
    }

    #[test]
    fn a_package_is_never_an_option() {
        let words = words(&["-s"], &["--purge".to_owned()]);
        let end = words.iter().position(|word| word == "--").unwrap();
        assert_eq!(words[end + 1..], ["--purge"]);
        assert!(words[..end].contains(&"install".to_owned()));
    }
}
