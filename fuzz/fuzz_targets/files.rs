//! Files that somebody else may have written: hawser.toml, exports.toml, the state and the clients beside it, a saved plan,
//! corosync.conf, and what Pacemaker's tools print as XML.
//!
//! Whatever comes, nothing panics, and what was read says the same after it was written and read again.
#![no_main]

use hawser_cluster::corosync::Conf;
use hawser_cluster::exports::nfs::reclaim::Record;
use hawser_cluster::exports::{self, State};
use hawser_cluster::plan::{parse_saved, saved_text};
use hawser_cluster::simulate::{Graph, Report};
use hawser_cluster::xml::Element;
use hawser_model::cluster_file;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(rest);
    match kind % 8 {
        0 => drop(cluster_file::parse_complete(&text, "hawser.toml")),
        1 => drop(exports::parse(&text, "exports.toml")),
        2 => {
            if let Ok(state) = State::parse(&text, "exports-state.toml") {
                let again = State::parse(&state.to_text(), "exports-state.toml");
                assert_eq!(again.expect("what was written can be read"), state);
            }
        }
        3 => {
            if let Ok(conf) = Conf::parse(&text) {
                Conf::parse(&conf.to_text()).expect("what was written can be read");
            }
        }
        4 => {
            if let Ok(document) = Element::parse(&text, "document") {
                Element::parse(&document.to_text(), "document")
                    .expect("what was written can be read");
            }
        }
        5 => {
            let _ = Graph::parse(&text);
            let _ = Report::parse(None, &text);
        }
        6 => {
            if let Ok(plan) = parse_saved(&text) {
                let again = saved_text(&plan).expect("a plan is always JSON");
                assert_eq!(
                    parse_saved(&again).expect("what was written can be read"),
                    plan
                );
            }
        }
        _ => {
            if let Ok(record) = Record::parse(&text) {
                assert_eq!(Record::parse(&record.to_text()), Ok(record));
            }
        }
    }
});
