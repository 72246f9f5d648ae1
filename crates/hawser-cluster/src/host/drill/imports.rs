//! What ZFS says of the imports of pools, in its ring of messages (`zfs_dbgmsg` of OpenZFS).

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};

/// OpenZFS keeps 4 MiB of it (`zfs_dbgmsg_maxsize`). Its messages name their thread since 2.3; of an older one nothing is told.
const MESSAGES: &str = "/proc/spl/kstat/zfs/dbgmsg";

/// What is read of a ring that was made larger: its oldest part.
const MOST: u64 = 64 << 20;

/// An import says some fifty lines, and one more for each second in which it watches.
const LINES: usize = 1000;

/// The lines of the last imports; none where there is no ZFS.
pub(super) fn read() -> String {
    let file = File::open(MESSAGES);
    file.map_or(String::new(), |file| {
        imports(BufReader::new(file.take(MOST)))
    })
}

/// What a thread says from the first word of an import to the end of that. An import begins with a trial, which takes
/// the pool's configuration from its disks; a trial that no import follows, as `zpool import` makes it to list pools, is none.
fn imports(messages: impl BufRead) -> String {
    let mut begun: BTreeMap<String, Import> = BTreeMap::new();
    let mut told: VecDeque<Vec<String>> = VecDeque::new();
    let mut tell = |import: Import| {
        told.extend(import.is_real.then_some(import.lines));
        // Whole ones: of one without its beginning nobody knows what it waited for.
        while told.len() > 1 && told.iter().map(Vec::len).sum::<usize>() > LINES {
            told.pop_front();
        }
    };
    for line in messages.split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        // `1795956157   0000000076abd100 spa.c:6774:spa_import(): spa_import: importing vmpool02`
        let Some(thread) = line.split_ascii_whitespace().nth(1) else {
            continue;
        };
        let is_real = line.contains("spa_import: importing ");
        let import = match begun.get_mut(thread) {
            Some(import) => import,
            None if is_real || line.contains("spa_tryimport: importing ") => {
                begun.entry(thread.to_owned()).or_default()
            }
            None => continue,
        };
        if !import.is_real && line.contains("spa_tryimport: importing ") {
            import.lines.clear();
        }
        import.is_real |= is_real;
        let ended = import.is_real
            && [": LOADED", ": UNLOADING"]
                .iter()
                .any(|end| line.ends_with(end));
        if import.lines.len() < LINES {
            import.lines.push(line.to_string());
        }
        if ended {
            begun.remove(thread).into_iter().for_each(&mut tell);
        }
    }
    begun.into_values().for_each(tell);
    let lines = told.into_iter().flatten();
    lines.map(|line| line + "\n").collect()
}

/// What a thread has said of one.
#[derive(Default)]
struct Import {
    lines: Vec<String>,
    is_real: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of OpenZFS 2.3.2, shortened.
    const SAID: &str = "\
timestamp    message 
1795956150   00000000aaaa0000 spa.c:6929:spa_tryimport(): spa_tryimport: importing vmpool01
1795956150   00000000aaaa0000 spa_misc.c:430:spa_load_note(): spa_load($import-aaaa0000-vmpool01, config trusted): LOADED
1795956150   00000000aaaa0000 spa_misc.c:430:spa_load_note(): spa_load($import-aaaa0000-vmpool01, config trusted): UNLOADING
1795956157   0000000076abd100 spa.c:6929:spa_tryimport(): spa_tryimport: importing vmpool02
1795956157   00000000857d1440 vdev.c:184:vdev_dbgmsg(): disk vdev '/dev/mapper/shelf1-2-part1': probe done, cant_read=0 cant_write=1
1795956157   0000000076abd100 spa_misc.c:430:spa_load_note(): spa_load($import-76abd100-vmpool02, config trusted): LOADED
1795956157   0000000076abd100 spa_misc.c:430:spa_load_note(): spa_load($import-76abd100-vmpool02, config trusted): UNLOADING
1795956158   0000000076abd100 spa.c:6774:spa_import(): spa_import: importing vmpool02
1795956158   0000000076abd100 spa_misc.c:430:spa_load_note(): spa_load(vmpool02, config trusted): LOADING
1795956158   00000000857d5100 metaslab.c:2504:metaslab_load_impl(): metaslab_load: txg 23, spa vmpool02, vdev_id 0
1795956159   0000000076abd100 spa_misc.c:430:spa_load_note(): spa_load(vmpool02, config trusted): LOADED
1795956160   0000000076abd100 spa.c:9246:spa_async_request(): spa=vmpool02 async request task=32
";

    #[test]
    fn what_the_thread_of_an_import_says_is_kept_and_a_list_of_pools_is_no_import() {
        let kept = imports(SAID.as_bytes());
        let said: Vec<&str> = kept.lines().collect();
        assert_eq!(said.len(), 6, "{kept}");
        assert!(said[0].ends_with("spa_tryimport: importing vmpool02"));
        assert!(said[5].ends_with("spa_load(vmpool02, config trusted): LOADED"));
        assert!(said.iter().all(|line| line.contains("76abd100")), "{kept}");
    }

    #[test]
    fn one_that_has_not_ended_and_one_that_failed_are_told() {
        let cut = SAID.lines().take(10).map(|line| line.to_owned() + "\n");
        let cut: String = cut.collect();
        assert_eq!(imports(cut.as_bytes()).lines().count(), 5);
        let failed = SAID.replace(
            "spa_load(vmpool02, config trusted): LOADED",
            "spa_load(vmpool02): UNLOADING",
        );
        assert_eq!(imports(failed.as_bytes()).lines().count(), 6);
    }

    #[test]
    fn the_newest_are_kept_of_a_ring_without_end() {
        let many = SAID.repeat(1000);
        let kept = imports(many.as_bytes());
        assert_eq!(kept.lines().count(), LINES / 6 * 6);
        assert!(kept.ends_with("LOADED\n"));
        assert!(kept.lines().next().unwrap().contains("spa_tryimport"));
        assert_eq!(imports(b"".as_slice()), "");
    }

    #[test]
    fn a_line_that_is_no_text_ends_nothing() {
        let said = [
            b"1795956157   00000000aaaa0000 \xff\xfe\n".as_slice(),
            SAID.as_bytes(),
        ]
        .concat();
        assert_eq!(imports(said.as_slice()).lines().count(), 6);
    }
}
