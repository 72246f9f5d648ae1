//! The parameters of a pool's exports as Pacemaker has them, so that a person need not repeat them.

use std::collections::BTreeMap;

use hawser_tool::{Tool, ToolError};

use super::parameters::Parameters;
use crate::exports::ocf;
use crate::xml::{Element, XmlError};

/// They cannot be had.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message says it")]
pub enum CibError {
    #[error(transparent)]
    Tool(#[from] ToolError),
    #[error(transparent)]
    Xml(#[from] XmlError),
    #[error("Pacemaker's resource of pool {pool}: {reason}")]
    Parameters { pool: String, reason: String },
}

/// What Pacemaker tells the exports of this pool. `None`: it has no such resource.
pub fn parameters(pool: &str) -> Result<Option<Parameters>, CibError> {
    find(&live()?, pool)
}

/// The pools that Pacemaker offers by this agent.
pub fn pools() -> Result<Vec<String>, CibError> {
    let all = environments(&live()?).into_iter();
    Ok(all.filter_map(|mut one| one.remove(POOL)).collect())
}

const POOL: &str = "OCF_RESKEY_pool";

fn live() -> Result<Element, CibError> {
    let cibadmin = Tool::new("cibadmin").args(["--query", "--scope", "resources"]);
    Ok(Element::parse(&cibadmin.text()?, "the live CIB")?)
}

/// The environment that each resource of the agent has.
fn environments(cib: &Element) -> Vec<BTreeMap<String, String>> {
    let all = cib.walk().into_iter();
    let agents = all.filter(|element| {
        element.name == "primitive"
            && element.get("provider") == Some("hawser")
            && element.get("type") == Some("exports")
    });
    let environment = |agent: &Element| {
        let pairs = agent.all("instance_attributes").flat_map(Element::walk);
        pairs
            .filter_map(|pair| Some((pair.get("name")?, pair.get("value")?)))
            .map(|(name, value)| (format!("OCF_RESKEY_{name}"), value.to_owned()))
            .collect()
    };
    agents.map(environment).collect()
}

fn find(cib: &Element, pool: &str) -> Result<Option<Parameters>, CibError> {
    for environment in environments(cib) {
        if environment.get(POOL).map(String::as_str) == Some(pool) {
            let parameters = ocf::parameters(&environment);
            return parameters.map(Some).map_err(|reason| CibError::Parameters {
                pool: pool.to_owned(),
                reason,
            });
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_generated_is_read_back() {
        let text = include_str!("../../../../../examples/lab/hawser.toml");
        let file = hawser_model::cluster_file::parse_complete(text, "hawser.toml").unwrap();
        let numbering = crate::numbering::Numbering::of(&file, None);
        let cib = crate::cib::generate(&file, &numbering);
        let found = find(&cib, "vmpool02").unwrap().unwrap();
        assert_eq!(found.pool, "vmpool02");
        assert_eq!(found.root.to_str(), Some(file.pools[1].root().as_str()));
        assert_eq!(found.authority, "iqn.2026-01.lab.hawser");
        let portals: Vec<String> = found.portals.iter().map(ToString::to_string).collect();
        assert_eq!(portals, ["10.72.2.208", "10.72.3.208"]);
        assert_eq!(find(&cib, "vmpool03").unwrap(), None);
        let pools = environments(&cib)
            .into_iter()
            .map(|mut one| one.remove(POOL).unwrap());
        assert_eq!(pools.collect::<Vec<_>>(), ["vmpool01", "vmpool02"]);
    }
}
