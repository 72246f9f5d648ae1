//! Hawser's own resource agents on a node: the program that runs here, kept where a reboot does not
//! take it, and the scripts that Pacemaker finds.
//!
//! Where somebody else has put an agent (a package, a lab, a person) it is left alone.

use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::{Content, NodeError, OwnedFile, files};
use crate::exports::ocf::{self, PROGRAM, launcher};
use crate::hooks;

/// This very program, also when its file was replaced meanwhile.
const OWN: &str = "/proc/self/exe";

/// The agents: where each is, what it is called, and the words by which the program is it.
const AGENTS: [(&str, &str, &str); 2] = [
    (ocf::PATH, ocf::AGENT, ocf::WORDS),
    (hooks::PATH, hooks::AGENT, hooks::WORDS),
];

/// Whether an agent is one that was installed here by [`install`], of another Hawser.
pub(super) fn outdated() -> bool {
    let mut scripts = AGENTS.into_iter();
    let ours = scripts.any(|(path, name, words)| {
        fs::read_to_string(path).is_ok_and(|text| text == launcher(Path::new(PROGRAM), name, words))
    });
    ours && !same(Path::new(OWN), Path::new(PROGRAM)).unwrap_or(false)
}

/// Keeps this program and the scripts that are not there. They come last: none ever names what is not there.
pub(super) fn install() -> Result<(), NodeError> {
    let content = fs::read(OWN).map_err(NodeError::file("read", OWN))?;
    let put = |path: &str, content: Vec<u8>| {
        let file = OwnedFile {
            mode: 0o755,
            content: Content(content),
        };
        files::place(Path::new(path), &file)
    };
    put(PROGRAM, content)?;
    for (path, name, words) in AGENTS {
        if fs::symlink_metadata(path).is_err() {
            put(path, launcher(Path::new(PROGRAM), name, words).into_bytes())?;
        }
    }
    Ok(())
}

/// Whether two files have the same content. Sizes differ nearly always when contents do.
fn same(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (File::open(a)?, File::open(b)?);
    if a.metadata()?.len() != b.metadata()?.len() {
        return Ok(false);
    }
    let (mut a, mut b) = (BufReader::new(a), BufReader::new(b));
    let (mut of_a, mut of_b) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let read = a.read(&mut of_a)?;
        if read == 0 {
            return Ok(true);
        }
        b.read_exact(&mut of_b[..read])?;
        if of_a[..read] != of_b[..read] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_their_content_and_not_only_by_their_size() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        let (a, b) = (file("a", "one"), file("b", "two"));
        let (again, longer) = (file("again", "one"), file("longer", "ones"));
        assert!(same(&a, &again).unwrap());
        assert!(!same(&a, &b).unwrap());
        assert!(!same(&a, &longer).unwrap());
    }
}
