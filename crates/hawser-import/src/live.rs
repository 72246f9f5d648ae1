//! What the heads of a running cluster say, as sources.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::IpAddr;

use hawser_cluster::host::{EXPORTS, SAVECONFIGS, TARGETS_CONF};
use hawser_cluster::live::has_quorum;
use hawser_cluster::plan::COROSYNC_CONF;

use crate::Secret;
use crate::corosync;
use crate::page::Page;
use crate::picture::{Picture, Said};
use crate::place::{Malformed, SourceLine, quoted};
use crate::source::{Kind, Source};

/// What one head says.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// As it was named to reach it.
    pub name: String,
    /// As it calls itself.
    pub hostname: String,
    /// Its corosync.conf; `None` where there is none.
    pub corosync_conf: Option<String>,
    /// The CIB that it has; `None` where Pacemaker does not run.
    pub cib: Option<String>,
    /// Its addresses, each with its interface and the length of its prefix.
    pub addresses: Vec<(String, IpAddr, u8)>,
    /// The files by which it offers volumes and directories, by their paths. They may have passwords.
    pub offers: Vec<(String, Secret)>,
    /// Those that could not be read, and why.
    pub unread: Vec<(String, String)>,
}

/// The sources of a running cluster: its corosync.conf, its CIB, and of each head its addresses and what it offers.
///
/// # Errors
/// No head has the first or the second, the heads do not have the same corosync.conf, or one is no node of it or a node that
/// another is already.
pub fn sources(heads: &[Head]) -> Result<Vec<Source>, Malformed> {
    let conf = corosync_conf(heads)?;
    let cib = cib(heads)?;
    let nodes = nodes(&conf)?;
    let mut all = Vec::new();
    let mut known: BTreeMap<&str, &str> = BTreeMap::new();
    for head in heads {
        let path = format!("{}:addresses", head.name);
        let mut text = String::new();
        for (interface, ip, prefix) in &head.addresses {
            // As `ip -br address` prints it.
            _ = writeln!(text, "{interface} UP {ip}/{prefix}");
        }
        let Some(node) = nodes.iter().find(|node| is(head, node)) else {
            let names: Vec<&str> = nodes.iter().map(|(name, _)| &**name).collect();
            return Err(Malformed::new(
                &SourceLine::new(&path, 1),
                format!("{} is no node of the cluster", quoted(&head.name)),
                format!("a head that corosync.conf names: {}", names.join(", ")),
            ));
        };
        if let Some(other) = known.insert(&node.0, &head.name) {
            return Err(Malformed::new(
                &SourceLine::new(&path, 1),
                format!(
                    "{} is {}, and so is {}",
                    quoted(&head.name),
                    node.0,
                    quoted(other)
                ),
                "each head once",
            ));
        }
        all.push(Source {
            path,
            text,
            kind: Kind::Interfaces,
            node: Some(node.0.clone()),
        });
        all.extend(offers(head, &node.0));
    }
    all.extend([conf, cib]);
    Ok(all)
}

/// What a head offers. One without a file offers nothing by it, which is not the same as a head that was not asked.
fn offers(head: &Head, node: &str) -> Vec<Source> {
    let source = |path: &str, text: &str, kind| Source {
        path: format!("{}:{path}", head.name),
        text: text.to_owned(),
        kind,
        node: Some(node.to_owned()),
    };
    let read = head.offers.iter();
    let unread = head.unread.iter();
    let absent = [TARGETS_CONF, EXPORTS].into_iter();
    let absent = absent.filter(|path| !head.offers.iter().any(|(known, _)| known == path));
    read.map(|(path, text)| source(path, &text.0, kind_of(path)))
        .chain(unread.map(|(path, why)| source(path, why, Kind::Unread)))
        .chain(absent.map(|path| source(path, "", kind_of(path))))
        .collect()
}

/// What a file is by which a head offers something.
pub fn kind_of(path: &str) -> Kind {
    match path {
        _ if SAVECONFIGS.contains(&path) => Kind::Saveconfig,
        _ if path.starts_with("/etc/tgt/") => Kind::TargetsConf,
        _ => Kind::EtcExports,
    }
}

/// The file that all heads have.
fn corosync_conf(heads: &[Head]) -> Result<Source, Malformed> {
    let of = |head: &Head| format!("{}:{COROSYNC_CONF}", head.name);
    let mut first: Option<(&Head, &str)> = None;
    for head in heads {
        let Some(text) = head.corosync_conf.as_deref() else {
            return Err(Malformed::new(
                &SourceLine::new(&of(head), 1),
                "no such file",
                "the corosync.conf of a node of the cluster",
            ));
        };
        let Some((other, known)) = first else {
            first = Some((head, text));
            continue;
        };
        if known != text {
            let same = known.lines().zip(text.lines());
            let line = same.take_while(|(a, b)| a == b).count() + 1;
            let found = text.lines().nth(line - 1).unwrap_or_default();
            return Err(Malformed::new(
                &SourceLine::new(&of(head), line),
                format!(
                    "{}, and {} has another line there",
                    quoted(found.trim()),
                    other.name
                ),
                "the same corosync.conf on all heads, or the right one given as a file, with the CIB as another",
            ));
        }
    }
    let Some((head, text)) = first else {
        return Err(Malformed::new(
            &SourceLine::new("the cluster", 1),
            "no heads",
            "two heads or more",
        ));
    };
    Ok(Source {
        path: of(head),
        text: text.to_owned(),
        kind: Kind::CorosyncConf,
        node: None,
    })
}

/// The CIB of the first head that has quorum, else of the first that has one.
fn cib(heads: &[Head]) -> Result<Source, Malformed> {
    let having: Vec<(&Head, &String)> = heads
        .iter()
        .filter_map(|head| Some((head, head.cib.as_ref()?)))
        .collect();
    let quorate = |(_, cib): &&(&Head, &String)| has_quorum(cib);
    let Some((head, cib)) = having.iter().find(quorate).or(having.first()) else {
        return Err(Malformed::new(
            &SourceLine::new("the cluster", 1),
            "Pacemaker runs on none of the heads",
            "a running cluster, or its files: corosync.conf and the CIB that `cibadmin --query` printed",
        ));
    };
    Ok(Source {
        path: format!("{}:cib", head.name),
        text: (*cib).clone(),
        kind: Kind::Cib,
        node: None,
    })
}

/// The nodes of a corosync.conf, each with its addresses.
fn nodes(conf: &Source) -> Result<Vec<(String, Vec<IpAddr>)>, Malformed> {
    let mut picture = Picture::default();
    corosync::read(conf, &mut picture, &mut Page::default()).map_err(|e| e.within(conf))?;
    let nodes = picture.nodes.into_iter();
    let of = |addresses: BTreeMap<String, Said<IpAddr>>| {
        addresses.into_values().map(|said| said.value).collect()
    };
    Ok(nodes
        .map(|node| (node.name.value, of(node.addresses)))
        .collect())
}

/// Whether a head is this node: it has one of its addresses, or its name.
fn is(head: &Head, (name, addresses): &(String, Vec<IpAddr>)) -> bool {
    let has = |ip: &IpAddr| head.addresses.iter().any(|(_, own, _)| own == ip);
    let short = head.hostname.split('.').next().unwrap_or_default();
    addresses.iter().any(has) || [&*head.name, &*head.hostname, short].contains(&&**name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONF: &str = "totem {\n  cluster_name: lab\n}\nnodelist {\n  node {\n    name: head1\n    nodeid: 1\n    \
                        ring0_addr: 10.0.0.1\n  }\n  node {\n    name: head2\n    nodeid: 2\n    ring0_addr: 10.0.0.2\n  }\n}\n";

    fn head(name: &str, address: &str, quorum: u8) -> Head {
        Head {
            name: name.into(),
            hostname: "localhost".into(),
            corosync_conf: Some(CONF.into()),
            cib: Some(format!(
                "<?xml version=\"1.0\"?><cib have-quorum=\"{quorum}\"><configuration/></cib>"
            )),
            addresses: vec![("eth0".into(), address.parse().unwrap(), 24)],
            ..Head::default()
        }
    }

    #[test]
    fn times_beyond_any_cluster_are_read_without_a_search() {
        let times = "totem {\n token: 1\n consensus: 4294967295\n token_coefficient: 0\n token_warning: 7\n interface {\n \
                     knet_ping_interval: 1\n knet_ping_timeout: 4294967294\n }\n";
        let heads = [("a", "10.0.0.1"), ("b", "10.0.0.2")].map(|(name, address)| Head {
            corosync_conf: Some(CONF.replacen("totem {\n", times, 1)),
            ..head(name, address, 1)
        });
        sources(&heads).unwrap();
    }

    fn refused(heads: &[Head]) -> String {
        let error = sources(heads).unwrap_err();
        format!("{error}; allowed: {}", error.allowed)
    }

    #[test]
    fn a_head_is_known_by_its_address_and_the_side_with_quorum_has_the_cib() {
        let mut heads = [head("root@a", "10.0.0.2", 0), head("b", "10.0.0.1", 1)];
        heads[0].offers = vec![
            (SAVECONFIGS[1].into(), Secret("{}".into())),
            (
                "/etc/tgt/conf.d/a.conf".into(),
                Secret("incominguser a b".into()),
            ),
        ];
        assert!(!format!("{heads:?}").contains("incominguser"));
        let (offers, all): (Vec<Source>, Vec<Source>) = sources(&heads)
            .unwrap()
            .into_iter()
            .partition(|source| source.kind > Kind::Crm);
        let offers: Vec<_> = offers
            .into_iter()
            .map(|source| (source.path, source.node.unwrap_or_default(), source.kind))
            .collect();
        let of = |path: &str, node: &str, kind| (path.to_owned(), node.to_owned(), kind);
        assert_eq!(
            offers,
            [
                of(
                    "root@a:/etc/target/saveconfig.json",
                    "head2",
                    Kind::Saveconfig
                ),
                of("root@a:/etc/tgt/conf.d/a.conf", "head2", Kind::TargetsConf),
                of("root@a:/etc/tgt/targets.conf", "head2", Kind::TargetsConf),
                of("root@a:/etc/exports", "head2", Kind::EtcExports),
                of("b:/etc/tgt/targets.conf", "head1", Kind::TargetsConf),
                of("b:/etc/exports", "head1", Kind::EtcExports),
            ]
        );
        let nodes: Vec<_> = all
            .iter()
            .filter_map(|source| source.node.as_deref())
            .collect();
        assert_eq!(nodes, ["head2", "head1"]);
        assert_eq!(all[0].text, "eth0 UP 10.0.0.2/24\n");
        let paths: Vec<&str> = all.iter().map(|source| &*source.path).collect();
        assert_eq!(
            paths,
            [
                "root@a:addresses",
                "b:addresses",
                "root@a:/etc/corosync/corosync.conf",
                "b:cib"
            ]
        );
    }

    #[test]
    fn what_was_not_read_is_told() {
        let mut heads = [head("a", "10.0.0.1", 1), head("b", "10.0.0.2", 1)];
        let conf = "<target iqn.2019-05.lab:a>\nbacking-store /dev/vms/one\n</target>";
        heads[0].offers = vec![(TARGETS_CONF.into(), Secret(conf.into()))];
        let told = |heads: &[Head]| {
            let options = crate::Options {
                name: None,
                pool: None,
                secrets: "/s".into(),
                adopt: true,
            };
            let sources = sources(heads).unwrap();
            crate::import(&sources, &options).unwrap().page.to_string()
        };
        let lacks = "head2 does not offer it";
        assert!(told(&heads).contains(lacks));
        // Whether it is in there nobody knows.
        heads[1].unread = vec![(TARGETS_CONF.into(), "it is a symbolic link".into())];
        let page = told(&heads);
        let why = "b:/etc/tgt/targets.conf:1  it was not read: it is a symbolic link; it can be given as a file";
        assert!(page.contains(why) && !page.contains(lacks), "{page}");
    }

    #[test]
    fn what_the_heads_do_not_agree_on_is_an_error_with_its_line() {
        let good = [head("a", "10.0.0.1", 1), head("b", "10.0.0.2", 1)];
        let mut heads = good.clone();
        heads[1].corosync_conf = Some(CONF.replace("nodeid: 2", "nodeid: 3"));
        let said = refused(&heads);
        assert!(
            said.starts_with("b:/etc/corosync/corosync.conf:12: \"nodeid: 3\", and a has another line there; allowed: the same"),
            "{said}"
        );
        let mut heads = good.clone();
        heads[0].corosync_conf = None;
        assert!(refused(&heads).starts_with("a:/etc/corosync/corosync.conf:1: no such file"));
        let mut heads = good.clone();
        heads.iter_mut().for_each(|head| head.cib = None);
        assert!(refused(&heads).contains("Pacemaker runs on none of the heads"));
        let mut heads = good.clone();
        heads[1].addresses = heads[0].addresses.clone();
        let said = refused(&heads);
        assert!(
            said.contains("\"b\" is head1, and so is \"a\"; allowed: each head once"),
            "{said}"
        );
        let mut heads = good;
        heads[1].addresses = vec![("eth0".into(), "10.0.0.9".parse().unwrap(), 24)];
        let said = refused(&heads);
        assert!(
            said.contains("\"b\" is no node of the cluster; allowed: a head that corosync.conf names: head1, head2"),
            "{said}"
        );
    }
}
