//! What a person does to a running cluster: standby, online, move.

use super::settle::wait_settled;
use super::{Heads, LiveError, live_cib};
use crate::host::Order;
use crate::simulate::Directory;
use crate::xml::Element;

/// Puts a node in standby, or out of it, and waits until its pools are where they belong.
///
/// # Errors
/// No such node; what Pacemaker says.
pub fn set_standby(heads: &mut Heads, node: &str, on: bool) -> Result<(), LiveError> {
    let (via, cib) = live(heads)?;
    member(&cib, node)?;
    if let Some(head) = heads.get_mut(via.as_str()) {
        let node = node.to_owned();
        head.order(&Order::Standby { node, on })?;
    }
    wait_settled(heads)
}

/// Moves a pool to a node, waits until it is there, and takes the order back: with it in force
/// the pool could never leave again.
///
/// # Errors
/// No such pool or node; the pool did not get there.
pub fn move_pool(heads: &mut Heads, pool: &str, node: &str) -> Result<(), LiveError> {
    let (via, cib) = live(heads)?;
    member(&cib, node)?;
    let directory = Directory::of(&cib);
    let known: Vec<String> = directory.pools().map(str::to_owned).collect();
    if !known.iter().any(|name| name == pool) {
        return Err(LiveError::NoSuch {
            kind: "pool",
            found: pool.to_owned(),
            known,
        });
    }
    let resource = pool.to_owned();
    let order = Order::Move {
        resource: resource.clone(),
        node: node.to_owned(),
    };
    let Some(head) = heads.get_mut(via.as_str()) else {
        return Err(LiveError::NotRunning);
    };
    head.order(&order)?;
    let settled = wait_settled(heads);
    // Whatever came of it.
    if let Some(head) = heads.get_mut(via.as_str()) {
        head.order(&Order::ForgetMove { resource })?;
    }
    settled?;
    wait_settled(heads)
}

fn live(heads: &mut Heads) -> Result<(String, Element), LiveError> {
    let (via, text) = live_cib(heads)?.ok_or(LiveError::NotRunning)?;
    Ok((via.to_string(), Element::parse(&text, "the live CIB")?))
}

fn member(cib: &Element, node: &str) -> Result<(), LiveError> {
    let nodes = cib.at(&["configuration", "nodes"]).into_iter();
    let known: Vec<String> = nodes
        .flat_map(|nodes| nodes.all("node"))
        .filter_map(|node| Some(node.get("uname")?.to_owned()))
        .collect();
    match known.iter().any(|name| name == node) {
        true => Ok(()),
        false => Err(LiveError::NoSuch {
            kind: "node",
            found: node.to_owned(),
            known,
        }),
    }
}
