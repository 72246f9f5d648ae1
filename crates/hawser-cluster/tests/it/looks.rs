//! Looking at a cluster again because something has changed: fence devices have other work then.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_cluster::host::HeadView;
use hawser_cluster::host::view::{Limits, ViewQuestion};
use hawser_cluster::live::{StatusFacts, observe, observe_again, observe_alone};
use hawser_host::sim::{Simulated, Wire};
use hawser_host::{Answers, Declined, Entry, Host, Hosts, Stop};
use hawser_model::cluster_file::{ClusterFile, parse_complete};
use hawser_model::names::HostName;

/// A head whose fence devices say how often they were asked from here.
#[derive(Default)]
struct Head(u32);

impl Answers<Head> for ViewQuestion {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<HeadView, Declined> {
        let devices = self.more.map(|more| more.devices).unwrap_or_default();
        head.0 += u32::from(!devices.is_empty());
        let said = devices.into_iter().map(|device| {
            let often = format!("asked {} times", head.0);
            (device.name, Some(often))
        });
        Ok(HeadView {
            fence_status: said.collect(),
            ..HeadView::default()
        })
    }
}

const QUESTIONS: &[Entry<Head>] = &[Entry::of::<ViewQuestion>()];

fn file() -> ClusterFile {
    let text = include_str!("../../../../examples/lab/hawser.toml");
    parse_complete(text, "hawser.toml").unwrap()
}

fn heads(names: &[&str]) -> Hosts {
    let wire = Wire::default();
    let head = |name: &&str| {
        let name = HostName::from(*name);
        let host = Simulated::new(name.clone(), Head::default(), QUESTIONS, &wire);
        (name, Box::new(host) as Box<dyn Host>)
    };
    names.iter().map(head).collect()
}

/// What each device said, by the head that asked it.
fn said(facts: &StatusFacts) -> Vec<(String, String, String)> {
    let views = facts.views.iter();
    let said = views.flat_map(|(head, view)| {
        let devices = view.fence_status.iter();
        devices.map(move |(device, said)| {
            let said = said.clone().unwrap_or_default();
            (head.to_string(), device.clone(), said)
        })
    });
    said.collect()
}

#[test]
fn fence_devices_are_not_asked_again_and_what_they_answered_stands() {
    let (file, mut heads) = (file(), heads(&["head1", "head2"]));
    let none = BTreeMap::new;
    let look = |heads: &mut Hosts| observe(&file, heads, none(), Limits::PROMPT, Duration::ZERO);
    let first = look(&mut heads);
    assert!(!said(&first).is_empty());
    assert!(
        said(&first)
            .iter()
            .all(|(.., said)| said == "asked 1 times")
    );
    let again = observe_again(&file, &mut heads, none(), Limits::PROMPT, &first);
    assert_eq!(said(&again), said(&first));
    let third = look(&mut heads);
    assert!(
        said(&third)
            .iter()
            .all(|(.., said)| said == "asked 2 times")
    );
}

#[test]
fn a_head_that_looks_alone_asks_the_devices_of_others_once() {
    let (file, mut heads, own) = (file(), heads(&["head1"]), HostName::from("head1"));
    let first = observe_alone(&file, &own, &mut heads, None);
    let others = |facts| {
        let all = said(facts).into_iter();
        all.map(|(_, device, said)| (device, said))
            .collect::<Vec<_>>()
    };
    let once = || ("fence-head2".to_owned(), "asked 1 times".to_owned());
    assert_eq!(others(&first), [once()]);
    let again = observe_alone(&file, &own, &mut heads, Some(&first));
    assert_eq!(others(&again), [once()]);
    assert_eq!(again.alone, Some(own));
}

#[test]
fn a_head_that_looks_alone_looks_at_the_disks_by_which_it_would_be_shut_out_too() {
    let text = include_str!("../../../../examples/lab/machines-shelves.toml");
    let file = parse_complete(text, "x.toml").unwrap();
    let (mut heads, own) = (heads(&["head1"]), HostName::from("head1"));
    let first = observe_alone(&file, &own, &mut heads, None);
    let devices: Vec<String> = said(&first).into_iter().map(|(_, it, _)| it).collect();
    assert_eq!(devices, ["fence-head2", "reservations"]);
}
