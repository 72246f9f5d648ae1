//! Making pools in a head that is up, as an administrator does it once: a lab's host need know neither ZFS nor LVM.

use std::fs::{self, File};
use std::time::Duration;

use hawser_model::shell;
use hawser_tool::{Launch, end_unless};

use super::pools::PoolSpec;
use super::shelf::{DISKS, EXPORTS, VOLUME_NAME, VOLUME_SIZE};
use crate::error::LabError;
use crate::machines::door;
use crate::paths::LabDir;
use crate::process::ProcessId;
use crate::spec::LabSpec;
use crate::tool;

const LOOKS: Duration = Duration::from_millis(50);

/// Makes them in the first of these heads, whose cases are named.
///
/// # Errors
/// What a command of a head says; what `stop` does.
pub(crate) fn make(
    dir: &LabDir,
    spec: &LabSpec,
    heads: &[(&str, ProcessId)],
    stop: &dyn Fn() -> Result<(), LabError>,
) -> Result<(), LabError> {
    let (Some((node, case)), Some(cluster)) = (heads.first(), &spec.cluster) else {
        return Ok(());
    };
    let mut pools = cluster.pools.iter().map(made);
    pools.try_for_each(|commands| {
        let script = format!("set -ex\n{commands}");
        let ssh = door::ssh(
            dir,
            door::Terminal::No,
            door::connects(spec),
            ["sh", "-c", &script],
        );
        run(dir, node, tool::enter(*case).args(ssh), stop)
    })
}

/// The commands, each of which must succeed.
fn made(pool: &PoolSpec) -> String {
    let line = |words: &[&str]| shell::line(words);
    let write = |directory: &str| {
        let file = format!("{directory}/exports.toml");
        format!("{} >{}", line(&["printf", "%s", EXPORTS]), line(&[&file]))
    };
    let size = VOLUME_SIZE.to_string();
    let commands = match pool {
        PoolSpec::Zfs {
            zpool,
            directory,
            multihost,
            devices,
        } => {
            let multihost = if *multihost { "on" } else { "off" };
            let multihost = format!("multihost={multihost}");
            let mut create = vec!["zpool", "create", "-o", "cachefile=none", "-o", &multihost];
            create.extend(["-m", directory, zpool]);
            create.extend((devices.len() > 1).then_some("mirror"));
            create.extend(devices.iter().map(String::as_str));
            let volume = format!("{zpool}/{VOLUME_NAME}");
            vec![
                line(&create),
                line(&["zfs", "create", "-V", &size, &volume]),
                write(directory),
                line(&["zpool", "export", zpool]),
            ]
        }
        PoolSpec::Lvm { group, files } => {
            let (disk, own) = (format!("{DISKS}{group}"), format!("/dev/{group}/{files}"));
            let size = format!("{size}b");
            let volume = |name| line(&["lvcreate", "-q", "-y", "-L", &size, "-n", name, group]);
            vec![
                line(&["vgcreate", "-q", group, &disk]),
                volume(files),
                volume(VOLUME_NAME),
                line(&["mkfs.ext4", "-q", &own]),
                line(&["mount", &own, "/mnt"]),
                write("/mnt"),
                line(&["umount", "/mnt"]),
                line(&["vgchange", "-q", "-a", "n", group]),
            ]
        }
    };
    commands.join("\n")
}

/// Runs what has commands run in a machine. It ends, and the machine with the lab, if the user wants to stop.
fn run(
    dir: &LabDir,
    node: &str,
    ssh: Launch,
    stop: &dyn Fn() -> Result<(), LabError>,
) -> Result<(), LabError> {
    let path = dir.node(node).join("pools.log");
    let log = File::create(&path).map_err(|e| LabError::io("create", &path, e))?;
    let mut child = ssh.log(log).apart().daemon()?;
    let ended = end_unless(&mut child, LOOKS, || stop().err());
    match ended.map_err(|e| LabError::io("wait for", "ssh", e))? {
        Err(stopped) => Err(stopped),
        Ok(status) if status.success() => Ok(()),
        Ok(_) => {
            let log = fs::read_to_string(&path).unwrap_or_default();
            Err(refusal(node, &log))
        }
    }
}

/// The command that the log of a shell (`set -x`) ends with, and what it said.
fn refusal(node: &str, log: &str) -> LabError {
    let mut said: Vec<&str> = Vec::new();
    let mut command = "ssh";
    for line in log.lines() {
        match line.strip_prefix("+ ") {
            Some(next) => (command, said) = (next, Vec::new()),
            None => said.push(line.trim()),
        }
    }
    LabError::Tool {
        command: format!("{command} (on {node})"),
        what: said.join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zfs(disks: &[&str]) -> PoolSpec {
        PoolSpec::Zfs {
            zpool: "tank".into(),
            directory: "/srv/tank".into(),
            multihost: true,
            devices: disks.iter().map(|it| format!("{DISKS}{it}")).collect(),
        }
    }

    #[test]
    fn a_zfs_pool_is_a_mirror_of_its_shelves_that_no_head_keeps() {
        let commands = made(&zfs(&["a", "b"]));
        let lines: Vec<&str> = commands.lines().collect();
        assert_eq!(
            lines[0],
            "'zpool' 'create' '-o' 'cachefile=none' '-o' 'multihost=on' '-m' '/srv/tank' 'tank' 'mirror' \
             '/dev/disk/by-id/ubd-a' '/dev/disk/by-id/ubd-b'"
        );
        assert_eq!(lines[1], "'zfs' 'create' '-V' '67108864' 'tank/volume01'");
        assert!(lines.contains(&"' >'/srv/tank/exports.toml'"), "{commands}");
        assert_eq!(lines.last(), Some(&"'zpool' 'export' 'tank'"));
        assert!(!made(&zfs(&["a"])).contains("mirror"));
    }

    #[test]
    fn a_volume_group_has_a_volume_of_its_own_files_and_is_left_inactive() {
        let pool = PoolSpec::Lvm {
            group: "vg01".into(),
            files: "hawser".into(),
        };
        let commands = made(&pool);
        assert!(commands.starts_with("'vgcreate' '-q' 'vg01' '/dev/disk/by-id/ubd-vg01'\n"));
        assert!(commands.contains("'-L' '67108864b' '-n' 'hawser' 'vg01'"));
        assert!(commands.ends_with("'vgchange' '-q' '-a' 'n' 'vg01'"));
    }

    #[test]
    fn the_command_that_failed_is_named_with_what_it_said() {
        let log = "+ zpool create tank\n+ zfs create -V 1 tank/a\ncannot create 'tank/a':\n out of space\n";
        assert_eq!(
            refusal("head1", log).to_string(),
            "zfs create -V 1 tank/a (on head1): cannot create 'tank/a':; out of space"
        );
    }
}
