//! Saved pastes of `cases/paste`, each with what is said of it beside it.
//! `UPDATE_CASES=1 cargo test -p hawser-account --test it paste::` writes that again, for a person to read the difference.

use std::fs;
use std::path::Path;

use hawser_account::paste::pasted;
use hawser_model::output::paste::PasteReport;
use proptest::prelude::*;

#[test]
fn every_saved_paste_gives_the_answer_beside_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/paste");
    let mut files: Vec<_> = fs::read_dir(folder)
        .expect("pastes")
        .map(|e| e.expect("an entry").path())
        .collect();
    files.sort();
    let texts = files
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "txt"));
    let mut wrong = Vec::new();
    for path in texts {
        let text = fs::read_to_string(path).expect("a paste");
        let report = PasteReport {
            pastes: pasted(&text),
        };
        assert_eq!(report.pastes.len(), 1, "{}", path.display());
        let found = serde_json::to_string_pretty(&report).expect("JSON") + "\n";
        let beside = path.with_extension("json");
        if std::env::var_os("UPDATE_CASES").is_some() {
            fs::write(&beside, &found).expect("the answer");
        }
        if fs::read_to_string(&beside).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{found}", beside.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The numbers of a real report whose cure was a larger buffer. The counters do not show that a buffer was full, and so it
/// is not said.
#[test]
fn a_thousand_receive_errors_without_buffer_errors_are_no_full_buffer() {
    let text = include_str!("../../../../cases/paste/receive-errors-no-buffer-errors.txt");
    let said = &pasted(text)[0];
    assert!(said.loss);
    let follows = said.follows.join("\n");
    assert!(follows.contains("1 000 packets"), "{follows}");
    assert!(!follows.contains("buffer"), "{follows}");
    let open = said.open.join("\n");
    assert!(open.contains("RcvbufErrors 0"), "{open}");
    assert!(
        open.contains("MemErrors and InCsumErrors are not printed"),
        "{open}"
    );
    assert!(
        said.next
            .iter()
            .any(|next| next.contains("hawser check --host"))
    );
}

#[test]
fn several_outputs_in_one_paste_are_each_read() {
    let both = [
        include_str!("../../../../cases/paste/ethtool-s.txt"),
        include_str!("../../../../cases/paste/snmp-memory.txt"),
    ];
    let kinds: Vec<String> = pasted(&both.concat())
        .into_iter()
        .map(|said| said.kind)
        .collect();
    assert_eq!(kinds, ["/proc/net/snmp", "ethtool -S"]);
    assert!(pasted("hello\nworld\n").is_empty());
}

proptest! {
    #[test]
    fn any_text_is_read_or_not_known(text in "(Udp: |RX: bytes|[0-9]{1,20} |packet receive errors|NIC statistics:|stats\\.knet\\.|\\.link| = |[ -~\\n]|\\PC){0,80}") {
        let _ = pasted(&text);
        let _ = pasted(&format!("NIC statistics:\n{text}"));
    }
}
