//! Three heads: when one is lost, the two others have quorum, and the head that was foretold takes its pool. A watch runs on
//! each, and keeps what it saw of a link that was cut before.

use super::links::a_cut_link_is_told_and_kept;
use super::support::{Lab, eventually};
use super::times::{ended, in_order, logged};
use super::{SOON, active_on, client_reads, status};

#[test]
fn a_lost_head_of_three_leaves_quorum_and_its_pool_goes_where_was_foretold() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/three-heads/hawser.toml"
    );
    let lab = Lab::up_watched(&["--cluster", "-f", file]);
    let redundant = || status(&lab)["redundant"] == true;
    assert!(eventually(SOON, redundant), "{}", status(&lab));
    let now = status(&lab);
    for (pool, head) in [
        ("vmpool01", "head1"),
        ("vmpool02", "head2"),
        ("vmpool03", "head3"),
    ] {
        assert_eq!(active_on(&now, pool), head, "{now}");
    }
    let foretold = now["if_lost"]["head1"].to_string();
    let heir = ["head2", "head3"]
        .into_iter()
        .find(|head| foretold.contains(&format!("{head} mounts vmpool01")));
    let heir = heir.unwrap_or_else(|| panic!("nobody is foretold: {foretold}"));

    a_cut_link_is_told_and_kept(&lab);

    lab.ok(&["power", "cut", "head1"]);
    let taken_over = || client_reads(&lab);
    assert!(eventually(SOON, taken_over), "{}", status(&lab));

    let now = status(&lab);
    assert_eq!(now["quorate"], true, "two of three are the quorum: {now}");
    // One vote more and it is none.
    assert_eq!(now["redundant"], false, "{now}");
    assert_eq!(active_on(&now, "vmpool01"), heir, "{now}");
    for (pool, head) in [("vmpool02", "head2"), ("vmpool03", "head3")] {
        assert_eq!(active_on(&now, pool), head, "untouched: {now}");
    }
    let last = &now["last_takeover"];
    assert_eq!(
        (&last["from"], &last["fenced"]),
        (&"head1".into(), &true.into()),
        "{last}"
    );

    // Only once it was known to be off, and from the disks to the addresses.
    let fenced = logged(&lab, heir, "Operation 'off' targeting head1");
    let started = ended(&lab, heir);
    let storage = &started[&("start".to_owned(), "vmpool01".to_owned())];
    assert!(
        fenced < *storage,
        "taken over at {storage}, fenced at {fenced}"
    );
    in_order(
        &started,
        "start",
        &["vmpool01", "vmpool01-exports", "vmpool01-san01"],
    );

    watched(&lab, heir);

    // Its heir is shut down: it hands the pool over while it is still a vote, or nobody could take it.
    let left = if heir == "head2" { "head3" } else { "head2" };
    lab.ok(&["power", "off", heir]);
    let handed_over = ended(&lab, left);
    let start = ("start".to_owned(), "vmpool01".to_owned());
    assert!(handed_over.contains_key(&start), "{handed_over:?}");
}

/// The watch of a head answers there, and knows that another one is gone.
#[track_caller]
fn watched(lab: &Lab, head: &str) {
    let asks = "exec 3<>/dev/tcp/127.0.0.1/9967; printf \"GET / HTTP/1.0\\r\\nHost: localhost\\r\\n\\r\\n\" >&3; cat <&3";
    let page = || {
        lab.try_sh(head, &format!("timeout 5 bash -c '{asks}'"))
            .stdout
    };
    let knows = || page().contains("head-away");
    assert!(eventually(SOON, knows), "{}", page());
}
