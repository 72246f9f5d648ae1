//! Whether the running Corosync has what its configuration says.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use hawser_host::{Answers, Ask, Declined, Stop};
use hawser_model::cmap;
use hawser_tool::processes;
use serde::{Deserialize, Serialize};

use super::{Machine, USUAL};
use crate::corosync::{Conf, Entry};
use crate::host::{files, run};
use crate::plan::COROSYNC_CONF;

/// What this node's Corosync has otherwise than its `corosync.conf` says of the token, the links and the nodes; nothing where it
/// does not run. Who has all nodes read their files again (`corosync-cfgtool -R`) hears of a refusal of its own node alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CompareRunning;

/// A setting that Corosync has otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunningSetting {
    /// Its name in Corosync's map: `totem.token`, `nodelist.node.0.ring1_addr`.
    pub name: String,
    /// As Corosync has it; absent: it does not have it.
    pub runs: Option<String>,
    /// As the file says it.
    pub written: String,
}

impl Ask for CompareRunning {
    type Answer = Vec<RunningSetting>;
    const NAME: &'static str = "compare the running Corosync";
    const PATIENCE: Duration = USUAL;
}

impl Answers<Machine> for CompareRunning {
    fn answer(self, _: &mut Machine, _: &Stop) -> Result<Vec<RunningSetting>, Declined> {
        if processes::named("corosync").is_empty() {
            return Ok(Vec::new());
        }
        let file = files::read(COROSYNC_CONF)?.ok_or("it has no corosync.conf")?;
        let text = String::from_utf8_lossy(&file.content.0);
        let conf = Conf::parse(&text).map_err(|e| e.to_string())?;
        let map = run::tool("corosync-cmapctl", &["totem.", "nodelist.node."], None)?;
        Ok(differences(&conf, &cmap::chosen(&map, |_| true)))
    }
}

/// Of what the file says, under the names that Corosync gives it (`main_config_parser_cb` in its exec/coroparse.c): sections of links
/// have their number, those of nodes their position.
fn differences(conf: &Conf, map: &BTreeMap<String, String>) -> Vec<RunningSetting> {
    let mut said: Vec<(String, &str)> = Vec::new();
    for totem in conf.sections("totem") {
        said.extend(values(totem).map(|(key, value)| (format!("totem.{key}"), value)));
        for link in totem.sections("interface") {
            let number = link.value("linknumber").unwrap_or("0");
            let of_link = values(link).filter(|(key, _)| *key != "linknumber");
            said.extend(
                of_link.map(|(key, value)| (format!("totem.interface.{number}.{key}"), value)),
            );
        }
    }
    let lists = conf.sections("nodelist");
    for (position, node) in lists.flat_map(|list| list.sections("node")).enumerate() {
        let of_node = values(node);
        said.extend(of_node.map(|(key, value)| (format!("nodelist.node.{position}.{key}"), value)));
    }
    let differs = |(name, written): (String, &str)| {
        let runs = map.get(&name).cloned();
        let same = runs.as_ref().is_some_and(|runs| is_same(runs, written));
        (!same).then(|| RunningSetting {
            name,
            runs,
            written: written.to_owned(),
        })
    };
    said.into_iter().filter_map(differs).collect()
}

fn values(section: &Conf) -> impl Iterator<Item = (&str, &str)> {
    section.entries.iter().filter_map(|entry| match entry {
        Entry::Value(key, value, _) => Some((key.as_str(), value.as_str())),
        Entry::Section(..) => None,
    })
}

/// Numbers and addresses may be spelt in several ways.
fn is_same(runs: &str, written: &str) -> bool {
    let number = |text: &str| text.parse::<u64>().ok();
    let address = |text: &str| text.parse::<IpAddr>().ok();
    let both = |a: Option<u64>, b: Option<u64>| a.is_some() && a == b;
    runs == written
        || both(number(runs), number(written))
        || address(runs).is_some_and(|runs| address(written) == Some(runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Corosync 3.1.7 prints it.
    const MAP: &str = "nodelist.node.0.name (str) = head1\nnodelist.node.0.nodeid (u32) = 1\n\
        nodelist.node.0.ring0_addr (str) = fd00::1\nnodelist.node.1.name (str) = head2\n\
        nodelist.node.1.nodeid (u32) = 2\nnodelist.node.1.ring0_addr (str) = fd00::2\n\
        totem.cluster_name (str) = t\ntotem.interface.0.bindnetaddr (str) = fd00::1\n\
        totem.interface.0.knet_ping_interval (u32) = 500\ntotem.token (u32) = 2000\ntotem.version (u32) = 2\n";

    const CONF: &str = "totem {\n version: 2\n cluster_name: t\n token: 02000\n interface {\n linknumber: 0\n\
        knet_ping_interval: 500\n }\n}\nnodelist {\n node {\n name: head1\n nodeid: 1\n ring0_addr: fd00:0::1\n }\n\
        node {\n name: head2\n nodeid: 2\n ring0_addr: fd00::2\n }\n}\nlogging {\n to_syslog: no\n}\n";

    fn told(conf: &str) -> Vec<(String, Option<String>, String)> {
        let found = differences(&Conf::parse(conf).unwrap(), &cmap::chosen(MAP, |_| true));
        let each = found.into_iter().map(|it| (it.name, it.runs, it.written));
        each.collect()
    }

    #[test]
    fn what_corosync_has_otherwise_than_its_file_says_is_told() {
        assert_eq!(told(CONF), []);
        let token = (
            "totem.token".to_owned(),
            Some("2000".to_owned()),
            "3000".to_owned(),
        );
        assert_eq!(told(&CONF.replace("token: 02000", "token: 3000")), [token]);
        let link = (
            "nodelist.node.1.ring1_addr".to_owned(),
            None,
            "fd01::2".to_owned(),
        );
        let more = CONF.replace(
            "ring0_addr: fd00::2\n",
            "ring0_addr: fd00::2\nring1_addr: fd01::2\n",
        );
        assert_eq!(told(&more), [link]);
        let ping = told(&CONF.replace("knet_ping_interval: 500", "knet_ping_interval: 200"));
        assert_eq!(ping[0].0, "totem.interface.0.knet_ping_interval");
    }
}
