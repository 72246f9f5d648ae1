//! Which process holds a socket: the links of `/proc/*/fd`.

use std::collections::BTreeMap;
use std::fs;

use hawser_model::sockets::SocketFacts;

/// Fills in the owners of `sockets`, as far as they are processes this one may look into.
///
/// Costs a system call per open file of the host, so it is asked for few sockets, seldom, and
/// ends when all are found.
pub(super) fn find<'a>(sockets: impl Iterator<Item = &'a mut SocketFacts>) {
    let mut wanted: BTreeMap<u64, &mut SocketFacts> = sockets.map(|s| (s.inode, s)).collect();
    let Ok(processes) = fs::read_dir("/proc") else {
        return;
    };
    for process in processes.flatten() {
        if wanted.is_empty() {
            return;
        }
        let Some(Ok(pid)) = process.file_name().to_str().map(str::parse::<u32>) else {
            continue;
        };
        let Ok(files) = fs::read_dir(process.path().join("fd")) else {
            continue; // Ended meanwhile, or another user's.
        };
        for file in files.flatten() {
            let Some(inode) = fs::read_link(file.path())
                .ok()
                .and_then(|target| socket_inode(target.to_str()?))
            else {
                continue;
            };
            if let Some(socket) = wanted.remove(&inode) {
                socket.pid = Some(pid);
                socket.process = fs::read_to_string(process.path().join("comm"))
                    .ok()
                    .map(|name| name.trim_end().to_owned());
            }
        }
    }
}

fn socket_inode(target: &str) -> Option<u64> {
    target
        .strip_prefix("socket:[")?
        .strip_suffix(']')?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_links_to_sockets_have_a_socket_s_inode() {
        assert_eq!(socket_inode("socket:[4123]"), Some(4123));
        assert_eq!(socket_inode("pipe:[4123]"), None);
        assert_eq!(socket_inode("/dev/null"), None);
    }
}
