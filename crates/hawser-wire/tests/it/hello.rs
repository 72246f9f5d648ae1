//! Hellos over a cable, over a switch that joins two links, and from other runs.

use crate::common::{Host, KEY, pair, switched};
use hawser_model::probe::HelloHeard;
use hawser_model::traffic::RunKey;
use hawser_wire::hello::{Listener, announce};

#[track_caller]
fn listen(host: &Host, links: &[(&str, &str)]) -> Listener {
    let links: Vec<_> = links
        .iter()
        .map(|(interface, link)| ((*interface).into(), (*link).into()))
        .collect();
    host.run(move || Listener::open(&links, KEY)).unwrap()
}

#[track_caller]
fn say(host: &Host, interface: &'static str, link: &'static str, key: RunKey) {
    host.run(move || announce(&interface.into(), &"head1".into(), &link.into(), key))
        .unwrap();
}

fn heard(listener: Listener) -> Vec<HelloHeard> {
    // Frames on a veth arrive within the sending call or the softirq right after it.
    std::thread::sleep(std::time::Duration::from_millis(50));
    listener.heard(&"head2".into())
}

#[test]
fn a_hello_is_heard_once_on_the_link_it_was_sent_out_of() {
    let (a, b) = pair();
    let (own, other) = (
        listen(&a, &[("ring0", "ring0")]),
        listen(&b, &[("ring0", "ring0")]),
    );
    say(&a, "ring0", "ring0", KEY);
    assert_eq!(
        heard(other),
        [HelloHeard {
            from: "head1".into(),
            from_link: "ring0".into(),
            by: "head2".into(),
            on_link: "ring0".into(),
            copies: 1,
        }]
    );
    assert_eq!(heard(own), [], "a host hears itself on its own link");
}

#[test]
fn links_that_share_a_switch_hear_each_other() {
    let (a, switch, b) = switched();
    // A second link of both hosts, wrongly on the same switch.
    for (host, name) in [(&a, "a"), (&b, "b")] {
        switch.sh(&format!(
            "ip link add second-{name} type veth peer name ring1 netns {}
             ip link set second-{name} master switch up",
            host.id
        ));
        host.sh("ip link set ring1 up");
        host.settled("ring1");
    }
    let listener = listen(&b, &[("ring0", "ring0"), ("ring1", "ring1")]);
    say(&a, "ring0", "ring0", KEY);
    let on: Vec<_> = heard(listener)
        .into_iter()
        .map(|h| (h.from_link.0, h.on_link.0, h.copies))
        .collect();
    assert_eq!(
        on,
        [
            ("ring0".to_owned(), "ring0".to_owned(), 1),
            ("ring0".to_owned(), "ring1".to_owned(), 1),
        ]
    );
}

#[test]
fn a_path_that_doubles_frames_shows_in_the_copies() {
    let (a, switch, b) = switched();
    // The switch forwards each frame, and once more past itself.
    switch.sh("nft add table netdev t
        nft 'add chain netdev t in { type filter hook ingress device to-a priority 0; }'
        nft add rule netdev t in meta protocol 0x88b5 dup to to-b");
    let listener = listen(&b, &[("ring0", "ring0")]);
    say(&a, "ring0", "ring0", KEY);
    let copies: Vec<_> = heard(listener).into_iter().map(|h| h.copies).collect();
    assert_eq!(copies, [2]);
}

#[test]
fn another_runs_hello_is_not_believed() {
    let (a, b) = pair();
    let listener = listen(&b, &[("ring0", "ring0")]);
    say(&a, "ring0", "ring0", RunKey(KEY.0 + 1));
    assert_eq!(heard(listener), []);
}

#[test]
fn a_link_without_an_interface_is_an_error_that_names_it() {
    let (a, _b) = pair();
    let error = a
        .run(|| announce(&"ring7".into(), &"head1".into(), &"ring7".into(), KEY))
        .unwrap_err();
    assert!(error.to_string().contains("ring7"), "{error}");
}
