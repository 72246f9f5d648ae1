//! How Pacemaker wakes the watch of a head: its alert (`hawser_cluster::units::alert`) touches a file, which the watch looks at
//! each second. What Pacemaker would say is not taken: a touch cannot lie.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, fchown};
use std::path::Path;

use hawser_cluster::units::WOKEN;

/// A folder of the user as whom Pacemaker runs its alerts.
const PACEMAKERS: &str = "/var/lib/pacemaker/cib";

/// Makes the file, which Pacemaker's own user may touch and nobody else.
///
/// # Errors
/// It cannot be made: the watch then hears of events by Pacemaker's log alone.
pub fn listen() -> io::Result<()> {
    make(Path::new(WOKEN), Path::new(PACEMAKERS)).map(drop)
}

fn make(woken: &Path, pacemakers: &Path) -> io::Result<File> {
    if let Some(folder) = woken.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(folder)?;
    }
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
        .open(woken)?;
    // Where there is no Pacemaker yet, the next start of the watch finds it.
    if let Ok(owner) = fs::metadata(pacemakers) {
        fchown(&file, Some(owner.uid()), Some(owner.gid()))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    use hawser_cluster::units;
    use hawser_model::cluster_file::parse_complete;

    /// The alert of the example, with its file elsewhere.
    fn alert(woken: &Path) -> String {
        let text = include_str!("../../../examples/lab/hawser.toml").to_owned();
        let file = parse_complete(&(text + "\n[watch]\nunit = true\n"), "hawser.toml").unwrap();
        let hawser_cluster::cib::secrets::Content::Text(text) =
            units::alert(&file).unwrap().content
        else {
            panic!("the alert has no secret")
        };
        text.replace(WOKEN, woken.to_str().unwrap())
    }

    fn run(alert: &Path) {
        let hostile = "$(touch /tmp/hawser-owned)`reboot`\n\u{1b}[2J";
        let ran = Command::new(alert)
            .env("CRM_alert_kind", "fencing")
            .env("CRM_alert_node", hostile)
            .env("CRM_alert_desc", hostile.repeat(1000))
            .output()
            .unwrap();
        assert!(ran.status.success() && ran.stdout.is_empty() && ran.stderr.is_empty());
    }

    #[test]
    fn an_alert_touches_the_file_and_takes_nothing_of_what_it_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let woken = folder.path().join("run/woken");
        let script = folder.path().join("alert");
        hawser_files::replace(&script, alert(&woken).as_bytes(), 0o755).unwrap();
        // Nobody listens.
        run(&script);
        assert!(!woken.exists());

        let file = make(&woken, folder.path()).unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH;
        file.set_modified(long_ago).unwrap();
        run(&script);
        let touched = fs::metadata(&woken).unwrap();
        assert!(touched.modified().unwrap() > long_ago);
        assert_eq!(touched.len(), 0);
        // A second start of the watch leaves it.
        make(&woken, folder.path()).unwrap();
        assert_eq!(fs::metadata(&woken).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_link_or_a_pipe_in_its_place_is_not_followed_and_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (link, pipe) = (folder.path().join("link"), folder.path().join("pipe"));
        std::os::unix::fs::symlink("/etc/passwd", &link).unwrap();
        assert!(make(&link, folder.path()).is_err());
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRUSR).unwrap();
        assert!(make(&pipe, folder.path()).is_err());
        let script = folder.path().join("alert");
        hawser_files::replace(&script, alert(&pipe).as_bytes(), 0o755).unwrap();
        run(&script);
    }
}
