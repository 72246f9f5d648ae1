//! The machine beside the heads whose corosync-qnetd lends the cluster a vote, and the certificates by which it and the heads
//! know each other.

use std::net::Ipv4Addr;

use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use ipnet::Ipv4Net;

use super::networks::Networks;
use super::spec::{BmcSpec, refused};
use crate::error::LabError;
use crate::name;
use crate::spec::{NodeSpec, PortSpec, Role, nth_ipv4};

/// What it is called where the cluster file has its address alone.
const NAME: &str = "arbiter";

/// Its network to the heads, unless its address is in another one: no fault of a ring, a SAN or the BMCs' network takes the
/// vote away.
const LINK: &str = "quorum";
const SWITCH: &str = "quorumsw";

/// Its place in that network.
const INDEX: usize = 199;

/// The machine that the file's quorum device asks for; its network is added.
pub(super) fn machine(
    file: &ClusterFile,
    networks: &mut Networks,
) -> Result<Option<NodeSpec>, LabError> {
    let Some(device) = &file.quorum.device else {
        return Ok(None);
    };
    let host = device.host.as_str();
    let (name, address) = match host.parse::<Ipv4Addr>() {
        Ok(address) => (NAME, Some(address)),
        Err(_) if name::is_node(host) => (host, None),
        Err(_) => {
            return refused(format!(
                "its quorum device is on \"{host}\", and a lab's arbiter is called {}, or has an IPv4 address",
                name::NODE
            ));
        }
    };
    let known = address.and_then(|address| networks.with(address));
    let link = match known {
        Some(link) => link,
        None => {
            let around = address.map(|address| Ipv4Net::new_assert(address, 24).trunc());
            networks.add(LINK, SWITCH, around, "its arbiter")?
        }
    };
    let ipv4 = address.or_else(|| link.ipv4.and_then(|net| nth_ipv4(net, INDEX)));
    let link = link.name;
    Ok(Some(NodeSpec {
        name: HostName(name.to_owned()),
        role: Role::Arbiter,
        ports: vec![PortSpec {
            link,
            ipv4,
            ipv6: None,
        }],
        machine: None,
    }))
}

/// Fails if its name or its address is that of another machine.
pub(super) fn differs(
    arbiter: &NodeSpec,
    nodes: &[NodeSpec],
    bmcs: &[BmcSpec],
) -> Result<(), LabError> {
    if let Some(twice) = nodes.iter().find(|node| node.name == arbiter.name) {
        return refused(format!("{} is the arbiter and another machine", twice.name));
    }
    let mut addresses = arbiter.ports.iter().filter_map(|port| port.ipv4);
    addresses.try_for_each(|address| {
        let has = |node: &&NodeSpec| node.ports.iter().any(|port| port.ipv4 == Some(address));
        if let Some(other) = nodes.iter().find(has) {
            return refused(format!("{address} is the arbiter's and {}'s", other.name));
        }
        match bmcs.iter().find(|bmc| bmc.address == address) {
            Some(bmc) => refused(format!(
                "{address} is the arbiter's and that of the BMC of {}",
                bmc.node
            )),
            None => Ok(()),
        }
    })
}

/// A command of the shell in a node: its `$1` is the cluster's name. Files go in and come out as base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArbiterStep {
    /// What it does, for who must be told that it failed.
    pub what: &'static str,
    /// The command.
    pub script: &'static str,
}

/// The authority is this lab's own: Debian's package has made one on whatever the node's files are a copy of. As that does
/// (`corosync-qnetd.postinst`), it lets the account of the service read it, and nobody else. A machine's systemd has not
/// started the service without one; a namespace's first process starts it as it begins to live.
const AUTHORITY: ArbiterStep = ArbiterStep {
    what: "corosync-qnetd-certutil -i",
    script: "set -e; nss=/etc/corosync/qnetd/nssdb; rm -rf $nss; corosync-qnetd-certutil -i -G >/dev/null; \
             chgrp coroqnetd $nss $nss/cert9.db $nss/key4.db; \
             if [ -d /run/systemd/system ]; then systemctl start corosync-qnetd; fi; base64 -w0 $nss/qnetd-cacert.crt",
};
const TRUST: ArbiterStep = ArbiterStep {
    what: "corosync-qdevice-net-certutil -i",
    script: "set -e; umask 077; rm -rf /etc/corosync/qdevice/net/nssdb; base64 -d >/run/hawser-qnetd; \
             corosync-qdevice-net-certutil -i -c /run/hawser-qnetd >/dev/null; rm /run/hawser-qnetd",
};
const REQUEST: ArbiterStep = ArbiterStep {
    what: "corosync-qdevice-net-certutil -r",
    script: "set -e; corosync-qdevice-net-certutil -r -n \"$1\" >/dev/null; \
             base64 -w0 /etc/corosync/qdevice/net/nssdb/qdevice-net-node.crq",
};
const SIGN: ArbiterStep = ArbiterStep {
    what: "corosync-qnetd-certutil -s",
    script: "set -e; umask 077; base64 -d >/run/hawser-qnetd; \
             corosync-qnetd-certutil -s -c /run/hawser-qnetd -n \"$1\" >/dev/null; rm /run/hawser-qnetd; \
             base64 -w0 \"/etc/corosync/qnetd/nssdb/cluster-$1.crt\"",
};
const TAKE: ArbiterStep = ArbiterStep {
    what: "corosync-qdevice-net-certutil -M",
    script: "set -e; umask 077; base64 -d >/run/hawser-qnetd; \
             corosync-qdevice-net-certutil -M -c /run/hawser-qnetd >/dev/null; rm /run/hawser-qnetd; \
             base64 -w0 /etc/corosync/qdevice/net/nssdb/qdevice-net-node.p12",
};
const IMPORT: ArbiterStep = ArbiterStep {
    what: "corosync-qdevice-net-certutil -m",
    script: "set -e; umask 077; base64 -d >/run/hawser-qnetd; \
             corosync-qdevice-net-certutil -m -c /run/hawser-qnetd >/dev/null; rm /run/hawser-qnetd",
};

/// What `corosync-qdevice-net-certutil -Q` does over ssh (corosync-qdevice-net-certutil(8)): `run` has a node do a step with
/// an input, and gives what it printed.
pub(crate) fn certify(
    arbiter: &HostName,
    heads: &[HostName],
    run: &mut dyn FnMut(&HostName, ArbiterStep, &str) -> Result<String, LabError>,
) -> Result<(), LabError> {
    let [first, others @ ..] = heads else {
        return Ok(());
    };
    let authority = run(arbiter, AUTHORITY, "")?;
    for head in heads {
        run(head, TRUST, &authority)?;
    }
    let request = run(first, REQUEST, "")?;
    let signed = run(arbiter, SIGN, &request)?;
    let key = run(first, TAKE, &signed)?;
    for head in others {
        run(head, IMPORT, &key)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use hawser_model::cluster_file::parse_complete;

    use super::*;
    use crate::machines::Kind;
    use crate::spec::LabSpec;

    const EXAMPLE: &str = include_str!("../../../../examples/lab/hawser.toml");

    fn lab(host: &str) -> Result<LabSpec, LabError> {
        let text = format!("{EXAMPLE}\n[quorum]\ndevice = {{ host = \"{host}\" }}\n");
        let file = parse_complete(&text, "hawser.toml").unwrap();
        LabSpec::of_cluster(&file, &text, Kind::Namespace)
    }

    #[test]
    fn an_arbiter_has_a_network_of_its_own_to_the_heads() {
        let lab = lab("witness").unwrap();
        let witness = lab.node("witness").unwrap();
        assert_eq!(witness.role, Role::Arbiter);
        let port = &witness.ports[0];
        assert_eq!(port.link.as_str(), "quorum");
        // The first of the plan's networks that the file leaves free.
        assert_eq!(port.ipv4, Some("10.72.4.200".parse().unwrap()));
        let on = |node: &str| {
            let mut ports = lab.node(node).unwrap().ports.iter();
            ports.any(|port| port.link.as_str() == "quorum")
        };
        assert!(on("head1") && on("head2") && !on("client1"));
    }

    #[test]
    fn an_address_says_where_it_is() {
        let at = |host| lab(host).unwrap().node("arbiter").unwrap().ports.clone();
        let on_san = at("10.72.2.60");
        assert_eq!(on_san.len(), 1);
        assert_eq!(on_san[0].link.as_str(), "san01");
        let elsewhere = at("192.0.2.9");
        assert_eq!(elsewhere[0].link.as_str(), "quorum");
        assert_eq!(elsewhere[0].ipv4, Some("192.0.2.9".parse().unwrap()));
    }

    #[test]
    fn what_no_machine_of_a_lab_can_be_called_is_refused() {
        let said = |host| lab(host).unwrap_err().to_string();
        assert!(said("../x").contains("a lab's arbiter is called 1 to 32 of a-z"));
        assert!(said("q.example.com").contains("or has an IPv4 address"));
        assert!(said("client1").contains("client1 is the arbiter and another machine"));
        assert!(said("10.72.2.50").contains("10.72.2.50 is the arbiter's and client1's"));
        assert!(
            said("10.72.9.101")
                .contains("10.72.9.101 is the arbiter's and that of the BMC of head1")
        );
    }

    #[test]
    fn the_key_goes_from_the_first_head_to_the_others_and_the_authority_to_all() {
        let mut done = Vec::new();
        let names = ["head1", "head2", "head3"].map(HostName::from);
        certify(&"arbiter".into(), &names, &mut |node, step, input| {
            let words: Vec<&str> = step.what.split(' ').collect();
            done.push(format!("{node} {} {input}", words[1]));
            Ok(format!("<{node} {}>", words[1]))
        })
        .unwrap();
        assert_eq!(
            done,
            [
                "arbiter -i ",
                "head1 -i <arbiter -i>",
                "head2 -i <arbiter -i>",
                "head3 -i <arbiter -i>",
                "head1 -r ",
                "arbiter -s <head1 -r>",
                "head1 -M <arbiter -s>",
                "head2 -m <head1 -M>",
                "head3 -m <head1 -M>",
            ]
        );
    }
}
