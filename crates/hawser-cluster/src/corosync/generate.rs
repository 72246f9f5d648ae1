//! corosync.conf(5) from the cluster file: kronosnet, one knet link for each heartbeat link.

use hawser_model::cluster_file::{
    ClusterFile, CompressionModel, CryptoCipher, CryptoHash, FIRST_PORT, LinkMode,
    QdeviceAlgorithm, QdeviceTls, Role,
};

use super::conf::Conf;
use crate::numbering::Numbering;
use crate::timing::EngineTiming;

/// The text of `/etc/corosync/corosync.conf`, the same on every node.
pub fn generate(file: &ClusterFile, numbering: &Numbering) -> String {
    let conf = Conf::default()
        .section("totem", totem(file, numbering))
        .section("nodelist", nodelist(file, numbering))
        .section("quorum", quorum(file))
        .section("logging", logging());
    format!(
        "# Made by hawser from the cluster file; `hawser plan` shows what differs from it.\n{}",
        conf.to_text()
    )
}

fn totem(file: &ClusterFile, numbering: &Numbering) -> Conf {
    let timing = EngineTiming::of(file);
    let millis = |period: Option<hawser_model::cluster_file::Period>| period.map(|p| p.as_millis());
    let mut totem = Conf::default()
        .with("version", 2)
        .with("cluster_name", &file.cluster.name)
        .with("transport", "knet")
        .with("link_mode", link_mode(file.cluster.link_mode))
        .with("crypto_cipher", cipher(file.cluster.crypto.cipher))
        .with("crypto_hash", hash(file.cluster.crypto.hash))
        .with("token", timing.token.as_millis())
        .with_some("token_coefficient", millis(timing.token_coefficient))
        .with_some("token_warning", timing.token_warning)
        .with_some("consensus", millis(timing.consensus));
    if let Some(compression) = &file.cluster.compression {
        totem = totem
            .with(
                "knet_compression_model",
                compression_model(compression.model),
            )
            .with_some("knet_compression_level", compression.level)
            .with_some("knet_compression_threshold", compression.threshold);
    }
    for (number, link) in links_by_number(file, numbering) {
        totem = totem.section(
            "interface",
            Conf::default()
                .with("linknumber", number)
                .with_some("knet_link_priority", link.priority)
                .with_some("mcastport", port(number, link))
                .with_some(
                    "knet_ping_interval",
                    millis(timing.ping.map(|(interval, _)| interval)),
                )
                .with_some(
                    "knet_ping_timeout",
                    millis(timing.ping.map(|(_, timeout)| timeout)),
                ),
        );
    }
    totem
}

/// A port that is not Corosync's own for this link.
fn port(number: u8, link: &hawser_model::cluster_file::LinkEntry) -> Option<u16> {
    let own = FIRST_PORT + u16::from(number);
    // Corosync numbers links as they came; a file's port stays that of its link.
    link.port
        .as_ref()
        .map(|port| **port)
        .filter(|port| *port != own)
}

fn links_by_number<'a>(
    file: &'a ClusterFile,
    numbering: &Numbering,
) -> Vec<(u8, &'a hawser_model::cluster_file::LinkEntry)> {
    let mut links: Vec<_> = file
        .links_with(Role::Heartbeat)
        .filter_map(|link| Some((*numbering.links.get(link.name.get())?, link)))
        .collect();
    links.sort_by_key(|(number, _)| *number);
    links
}

fn nodelist(file: &ClusterFile, numbering: &Numbering) -> Conf {
    let mut list = Conf::default();
    for entry in &file.nodes {
        let mut node = Conf::default()
            .with("name", &entry.name)
            .with_some("nodeid", numbering.nodes.get(entry.name.get()));
        for (number, link) in links_by_number(file, numbering) {
            let address = entry.address_on(link.name.as_str());
            node = node.with_some(&format!("ring{number}_addr"), address);
        }
        list = list.section("node", node);
    }
    list
}

fn quorum(file: &ClusterFile) -> Conf {
    let wait_for_all = u8::from(file.quorum.wait_for_all.unwrap_or(true));
    let quorum = Conf::default().with("provider", "corosync_votequorum");
    let Some(device) = &file.quorum.device else {
        // votequorum(5): two_node lets each of two nodes be quorate alone, and turns
        // wait_for_all on unless it is set.
        let two_node = (file.nodes.len() == 2).then_some(1);
        return quorum
            .with_some("two_node", two_node)
            .with("wait_for_all", wait_for_all);
    };
    // corosync-qdevice(8): with a device two_node must be off; `lms` has as many votes as all
    // nodes but one, `ffsplit` has one.
    let (algorithm, votes) = match *device.algorithm {
        QdeviceAlgorithm::Ffsplit => ("ffsplit", 1),
        QdeviceAlgorithm::Lms => ("lms", file.nodes.len().saturating_sub(1)),
    };
    let tls = match device.tls {
        QdeviceTls::On => "on",
        QdeviceTls::Off => "off",
        QdeviceTls::Required => "required",
    };
    let net = Conf::default()
        .with("host", &device.host)
        .with("algorithm", algorithm)
        .with("tls", tls);
    let device = Conf::default()
        .with("model", "net")
        .with("votes", votes)
        .section("net", net);
    quorum
        .with("wait_for_all", wait_for_all)
        .section("device", device)
}

fn logging() -> Conf {
    Conf::default()
        .with("to_stderr", "no")
        .with("to_syslog", "yes")
        .with("to_logfile", "yes")
        .with("logfile", "/var/log/corosync/corosync.log")
        // An outage is accounted for in tenths of a second.
        .with("timestamp", "hires")
}

fn link_mode(mode: LinkMode) -> &'static str {
    match mode {
        LinkMode::Passive => "passive",
        LinkMode::Active => "active",
        LinkMode::Rr => "rr",
    }
}

fn cipher(cipher: CryptoCipher) -> &'static str {
    match cipher {
        CryptoCipher::None => "none",
        CryptoCipher::Aes128 => "aes128",
        CryptoCipher::Aes192 => "aes192",
        CryptoCipher::Aes256 => "aes256",
    }
}

fn hash(hash: CryptoHash) -> &'static str {
    match hash {
        CryptoHash::None => "none",
        CryptoHash::Md5 => "md5",
        CryptoHash::Sha1 => "sha1",
        CryptoHash::Sha256 => "sha256",
        CryptoHash::Sha384 => "sha384",
        CryptoHash::Sha512 => "sha512",
    }
}

fn compression_model(model: CompressionModel) -> &'static str {
    match model {
        CompressionModel::Zlib => "zlib",
        CompressionModel::Lz4 => "lz4",
        CompressionModel::Lz4hc => "lz4hc",
        CompressionModel::Lzo2 => "lzo2",
        CompressionModel::Lzma => "lzma",
        CompressionModel::Bzip2 => "bzip2",
        CompressionModel::Zstd => "zstd",
    }
}
