//! What is made of each golden cluster's file, and whether the engines themselves accept it.

use std::process::Command;

use crate::golden::Golden;
use hawser_cluster::cib::generate;
use hawser_cluster::corosync;
use hawser_cluster::xml::Element;
use hawser_model::cluster_file::{Period, parse};

#[test]
fn corosync_conf() {
    for golden in Golden::all() {
        let conf = corosync::generate(&golden.file, &golden.numbering());
        golden.check("corosync.conf", &conf);
        assert!(corosync::Conf::parse(&conf).is_ok());
        let said = corosync_says(&conf);
        assert!(said.is_ok(), "{}: {said:?}", golden.name);
    }
}

/// What `corosync -t` has against a configuration. It wants to see a key, any 256 bytes, and this
/// host among the nodes.
fn corosync_says(conf: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let (key, log) = (folder.path().join("authkey"), folder.path().join("log"));
    std::fs::write(&key, [7; 256]).unwrap();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let conf = conf
        .replacen(
            "        name: ",
            &format!("        name: {}\n        was: ", host.trim()),
            1,
        )
        .replace("totem {", &format!("totem {{\nkeyfile: {}", key.display()))
        .replace("/var/log/corosync/corosync.log", log.to_str().unwrap());
    let path = folder.path().join("corosync.conf");
    std::fs::write(&path, conf).unwrap();
    let output = Command::new("corosync")
        .arg("-t")
        .arg("-c")
        .arg(&path)
        .output();
    let output = output.expect("corosync is not installed: packaging/setup lab");
    match output.status.success() {
        true => Ok(()),
        false => {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            Err(log + &String::from_utf8_lossy(&output.stderr))
        }
    }
}

#[test]
fn corosync_itself_refuses_what_is_wrong() {
    let golden = Golden::named("zfs-appliance");
    let conf = corosync::generate(&golden.file, &golden.numbering());
    let wrong = conf.replace("crypto_cipher: aes256", "crypto_cipher: rot13");
    assert!(
        corosync_says(&wrong)
            .unwrap_err()
            .contains("Invalid cipher type")
    );
}

#[test]
fn pacemaker_cib() {
    for golden in Golden::all() {
        let cib = golden.cib().to_text();
        golden.check("cib.xml", &cib);
    }
}

#[test]
fn no_secret_is_in_the_cib() {
    for golden in Golden::all() {
        let cib = golden.cib().to_text();
        for name in ["name=\"password\"", "name=\"passwd\""] {
            assert!(!cib.contains(name), "{}: {name}", golden.name);
        }
    }
}

#[test]
fn a_pool_by_nfs_alone_knows_at_which_addresses_its_clients_are() {
    let golden = Golden::named("zfs-appliance");
    let text = include_str!("../../../../examples/zfs-appliance/hawser.toml");
    let text = text.replace("[[pool]]\n", "[[pool]]\nexports = \"nfs\"\n");
    let file = parse(&text, "hawser.toml").unwrap();
    let cib = generate(&file, &golden.numbering()).to_text();
    assert!(!cib.contains("name=\"iqn\""));
    let portals = "name=\"portals\" value=\"192.168.141.207 192.168.142.207\"";
    assert!(cib.contains(portals), "{cib}");
}

#[test]
fn who_needs_minutes_for_a_look_is_looked_at_seldom() {
    let golden = Golden::named("lab");
    let mut file = golden.file.clone();
    let mut between = |minutes: u64| {
        for pool in &mut file.pools {
            pool.timeouts.monitor = Some(Period::from_secs(60 * minutes));
        }
        let cib = generate(&file, &golden.numbering());
        ["vmpool01", "vmpool01-exports", "vmpool01-san01"].map(|id| {
            let all = cib.walk();
            let of_pool = |it: &&&Element| it.name == "primitive" && it.get("id") == Some(id);
            let primitive = all.iter().find(of_pool).expect(id);
            let ops = primitive.walk();
            let look = |it: &&&Element| it.name == "op" && it.get("name") == Some("monitor");
            let interval = ops.iter().find(look).and_then(|it| it.get("interval"));
            interval.unwrap().to_owned()
        })
    };
    assert_eq!(between(1), ["20s", "2s", "10s"]);
    assert_eq!(between(10), ["60s", "6s", "60s"]);
}
