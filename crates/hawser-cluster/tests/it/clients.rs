//! Clients of the pools: how long they have to wait, and what they should be set to.

use hawser_cluster::clients::{ClientFile, longest_outage, offered, printed};
use hawser_model::cluster_file::{Adopted, Backend, ClusterFile, parse};
use hawser_model::output::incident::{IncidentReport, IncidentsReport};

use crate::golden::Golden;

fn appliance() -> ClusterFile {
    Golden::named("zfs-appliance").file
}

fn incident(id: &str, fenced: &[&str], outage_s: f64) -> IncidentReport {
    IncidentReport {
        id: id.into(),
        began: "2026-11-26 03:12:04.000".into(),
        lasted_s: 90.0,
        trigger: "head1 was lost".into(),
        cause: None,
        fenced: fenced.iter().map(|&head| head.into()).collect(),
        outage_s: Some(outage_s),
        services: Vec::new(),
        links: Vec::new(),
        promises: Vec::new(),
        lines: Vec::new(),
        lines_left_out: 0,
        readings: Vec::new(),
    }
}

#[test]
fn the_longest_outage_is_that_of_a_head_that_was_fenced() {
    let logs = IncidentsReport {
        heads: Vec::new(),
        clock_error_s: None,
        incidents: vec![
            incident("one", &["head1"], 31.5),
            incident("two", &["head2"], 44.25),
            // An evening without a cluster is no takeover.
            incident("three", &[], 9000.0),
        ],
        gaps: Vec::new(),
        read_at: None,
    };
    let outage = longest_outage(&appliance(), None, Some(&logs));
    let seen = outage.seen.unwrap();
    assert_eq!((seen.incident.as_str(), seen.seconds), ("two", 44.25));
    // Heartbeat's ten seconds, head1's delay and the shot; how long its pools start nobody knows.
    assert_eq!((outage.expected_s, outage.without_start), (24.0, true));
    assert_eq!(longest_outage(&appliance(), None, None).seen, None);
}

#[test]
fn a_client_that_waits_until_the_cluster_gives_up_is_printed() {
    let file = appliance();
    // 24 s, and 300 s and 120 s for a pool's storage and exports.
    let multipath = printed(&file, ClientFile::Multipath).unwrap();
    assert!(multipath.contains("\tno_path_retry 89\n"), "{multipath}");
    assert!(multipath.contains("vendor \"LIO-ORG\""), "{multipath}");
    let iscsid = printed(&file, ClientFile::Iscsid).unwrap();
    assert!(
        iscsid.contains("replacement_timeout has to be 444"),
        "{iscsid}"
    );
    assert!(
        iscsid.contains("sendtargets -p 192.168.142.208"),
        "{iscsid}"
    );
    assert_eq!(printed(&file, ClientFile::Fstab), None);

    // tgtd's units call themselves as they were told to, and not "IET".
    let mut by_tgt = file.clone();
    by_tgt.exports.backend = Backend::Tgt;
    let multipath = printed(&by_tgt, ClientFile::Multipath).unwrap();
    assert!(multipath.contains("vendor \"HAWSER\""), "{multipath}");
    // What is adopted with another's target may be tgt's or the kernel's.
    let mut adopted = file.clone();
    adopted.pools.truncate(1);
    adopted.pools[0].adopted = Some(Adopted::default());
    let none = "[[pool]]\nname = \"x\"\nkind = \"zfs\"\nexports = \"none\"\n";
    let none = format!(
        "{}\n{none}",
        include_str!("../../../../examples/zfs-appliance/hawser.toml")
    );
    adopted.pools[0].exports = parse(&none, "hawser.toml")
        .unwrap()
        .pools
        .pop()
        .unwrap()
        .exports;
    let multipath = printed(&adopted, ClientFile::Multipath).unwrap();
    for vendor in ["LIO-ORG", "IET"] {
        assert!(
            multipath.contains(&format!("vendor \"{vendor}\"")),
            "{multipath}"
        );
    }
    assert!(
        multipath.contains("# vmpool01: Hawser offers nothing of it."),
        "{multipath}"
    );
    let iscsid = printed(&adopted, ClientFile::Iscsid).unwrap();
    assert!(
        iscsid.contains("sendtargets -p 192.168.142.207"),
        "{iscsid}"
    );
    adopted.pools[0].adopted = None;
    assert_eq!(printed(&adopted, ClientFile::Multipath), None);

    let mut nfs = file;
    let directory = "/vmpool01/my vms";
    let text = format!(
        "{}\n[[pool]]\nname = \"x\"\nkind = \"zfs\"\nexports = \"none\"\naddresses = {{ san01 = \"192.168.141.209\" }}\n\
         nfs = [{{ directory = \"{directory}\", clients = \"*\" }}]\n",
        include_str!("../../../../examples/zfs-appliance/hawser.toml")
    );
    nfs.pools = parse(&text, "hawser.toml").unwrap().pools;
    let fstab = printed(&nfs, ClientFile::Fstab).unwrap();
    let line = "192.168.141.209:/vmpool01/my\\040vms /mnt/vmpool01-my\\040vms nfs hard,";
    assert!(fstab.contains(line), "{fstab}");
    assert!(!fstab.contains("version"), "{fstab}");

    // By one version a client would take two pools on one head for one server.
    let one = nfs.pools.pop().unwrap();
    nfs.pools = vec![one; 5];
    let fstab = printed(&nfs, ClientFile::Fstab).unwrap();
    let versions = fstab.lines().filter_map(|it| it.split_once(",vers="));
    let versions: Vec<&str> = versions.filter_map(|it| it.1.split(',').next()).collect();
    assert_eq!(versions, ["4.2", "4.1", "4.0", "3", "3"]);
    assert!(fstab.contains("a version of its own"), "{fstab}");
}

#[test]
fn pools_are_offered_by_their_targets_and_addresses() {
    let pools = offered(&appliance());
    let one = &pools[0];
    assert_eq!(
        one.target.as_deref(),
        Some("iqn.2013-06.com.example:vmpool01")
    );
    let links: Vec<&str> = one.addresses.keys().map(|it| it.as_str()).collect();
    assert_eq!(links, ["san01", "san02"]);
}

#[test]
fn a_client_that_is_not_asked_and_gives_up_early_is_a_note_of_a_plan() {
    let text = include_str!("../../../../examples/zfs-appliance/hawser.toml");
    let clients = "\n[[client]]\nname = \"esx1\"\ngives_up = \"140s\"\n\n[[client]]\nname = \"win1\"\ngives_up = \"20s\"\n";
    let file = parse(&format!("{text}{clients}"), "hawser.toml").unwrap();
    let nothing = hawser_cluster::xml::Element::new("cib");
    let notes = hawser_cluster::plan::notes(&file, &nothing, &Default::default());
    let told: Vec<String> = notes.iter().map(ToString::to_string).collect();
    let told: Vec<&String> = told.iter().filter(|it| it.starts_with("client")).collect();
    assert_eq!(
        told,
        [
            "client win1 gives up its disks after 20.0 s, and when head1 dies it is declared lost after at most 10.0 s of silence, \
             fenced by 24.0 s; how long its pools then take to start is not known yet"
        ]
    );
}
