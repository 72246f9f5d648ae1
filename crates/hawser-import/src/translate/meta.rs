//! What resources and groups say of themselves beside their agents' parameters, and tickets.

use std::collections::BTreeSet;

use super::members::{Owners, owners};
use super::{millis, primitives_of};
use crate::SourceLine;
use crate::crm::Pairs;
use crate::crm::by_id::ById;
use crate::page::Page;
use crate::picture::Picture;
use crate::place::quoted;

pub(super) fn translate(crm: &ById, picture: &Picture, page: &mut Page) {
    let owners = owners(crm, picture);
    for primitive in &crm.primitives {
        if owners.get(&primitive.id).is_some() {
            meta(&primitive.id, &primitive.meta, &primitive.at, page);
            if primitive.utilization {
                let what = format!("utilization of {}", quoted(&primitive.id));
                let why = "Hawser's file does not say how much a node or a pool needs";
                page.unsaid(&primitive.at, what, why);
            }
        }
    }
    for around in crm.around.iter().filter(|around| around.kind == "group") {
        if around.members.iter().any(|id| owners.get(id).is_some()) {
            meta(&around.id, &around.meta, &around.at, page);
        }
    }
    tickets(crm, &owners, page);
}

fn meta(id: &str, pairs: &Pairs, at: &SourceLine, page: &mut Page) {
    for (name, value) in pairs {
        let what = format!("{name}={} of {}", quoted(value), quoted(id));
        let no = matches!(
            value.to_ascii_lowercase().as_str(),
            "false" | "no" | "off" | "0" | "n"
        );
        match name.as_str() {
            "target-role" if value.eq_ignore_ascii_case("started") => {}
            "target-role" => {
                page.unsaid(at, what, "a pool of Hawser's runs; stop it once it is made")
            }
            "is-managed" | "maintenance" if no == (name == "maintenance") => {}
            "is-managed" | "maintenance" => {
                page.unsaid(at, what, "[cluster] maintenance is that of all pools")
            }
            "resource-stickiness" => {
                page.unsaid(at, what, "[cluster] failback is that of all pools")
            }
            "migration-threshold" if value == "3" => {}
            "migration-threshold" => page.changed(at, what, "3 failures"),
            "failure-timeout" if millis(value) == Some(3_600_000) => {}
            "failure-timeout" => page.changed(at, what, "1 h"),
            _ => page.unsaid(at, what, "Hawser's resources have their own"),
        }
    }
}

/// A pool of Hawser's runs without a ticket, which a cluster that has only one site's must not do.
fn tickets(crm: &ById, owners: &Owners, page: &mut Page) {
    for ticket in &crm.tickets {
        let members = ticket
            .resources
            .iter()
            .flat_map(|id| primitives_of(crm, id));
        let pools: BTreeSet<&str> = members
            .filter_map(|id| owners.get(id).map(String::as_str))
            .collect();
        let what = format!(
            "ticket {} of {}",
            quoted(&ticket.name),
            ticket.resources.join(", ")
        );
        match pools.is_empty() {
            true => page.foreign(&ticket.at, what, "it stays as it is"),
            false => page.unsaid(
                &ticket.at,
                what,
                format!(
                    "{} would run without the ticket, on both sites at a time: Hawser builds a cluster of one site",
                    pools.into_iter().collect::<Vec<_>>().join(", ")
                ),
            ),
        }
    }
}
