//! What is made of each golden cluster's file, and whether the engines themselves accept it.

use std::process::Command;

use crate::golden::Golden;
use hawser_cluster::cib::generate;
use hawser_cluster::corosync;
use hawser_model::cluster_file::parse;

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
