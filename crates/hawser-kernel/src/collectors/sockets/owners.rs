//! Which process holds a socket: the links of `/proc/*/fd`.

use std::collections::BTreeMap;
use std::fs;

use hawser_model::sockets::SocketFacts;
use hawser_tool::processes;

/// Fills in the owners of `sockets`, as far as they are processes this one may look into.
///
/// Costs a system call per open file of the host, so it is asked for few sockets, seldom, and
/// ends when all are found.
pub(super) fn find<'a>(sockets: impl Iterator<Item = &'a mut SocketFacts>) {
    let mut wanted: BTreeMap<u64, &mut SocketFacts> = sockets.map(|s| (s.inode, s)).collect();
    for process in processes::all().unwrap_or_default() {
        if wanted.is_empty() {
            return;
        }
        let Ok(files) = fs::read_dir(process.folder().join("fd")) else {
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
                socket.pid = u32::try_from(process.pid).ok();
                socket.process = Some(process.name.clone());
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
