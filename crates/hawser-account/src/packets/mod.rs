//! The packets account: sent − received, and every lost packet in a named layer of a named
//! host, between the hosts, or honestly unattributed. `docs/account.md` states the rules.

use hawser_model::account::{Account, FlowAccount, Layer, PacketsAccount};
use hawser_model::case::{Case, Measurement};
use hawser_model::traffic::Transport;

mod blocks;
pub(crate) mod books;
mod bounds;
mod counters;
pub(crate) mod events;
pub(crate) mod facts;
mod fragments;
pub(crate) mod own_socket;
mod phase;
pub(crate) mod reasons;

pub(crate) use blocks::{frames, frames_a_block};
pub(crate) use counters::{DAMAGE, damage, is_ring_counter, ring, rule_counters};
pub(crate) use own_socket::{FILTER, POLICY, POLICY_COUNTERS, is_unnamed_refusal};

use books::add_account;
use events::Direction;
use facts::{PhaseFacts, Side};

/// The account of every directed flow of a case, and their sum.
///
/// TCP phases have no packets of their own to account for and are left out.
pub fn packets_account(case: &Case) -> PacketsAccount {
    let mut flows: Vec<FlowAccount> = Vec::new();
    for measurement in &case.measurements {
        let mut sum = Account::default();
        for facts in phases(case, measurement) {
            add_account(&mut sum, &phase::account(&facts));
        }
        let same = flows.iter_mut().find(|f| {
            f.from == measurement.from && f.to == measurement.to && f.link == measurement.link
        });
        match same {
            Some(flow) => add_account(&mut flow.account, &sum),
            None => flows.push(FlowAccount {
                from: measurement.from.clone(),
                to: measurement.to.clone(),
                link: measurement.link.clone(),
                account: sum,
            }),
        }
    }
    let mut total = Account::default();
    for flow in &mut flows {
        sort_lines(&mut flow.account);
        add_account(&mut total, &flow.account);
    }
    sort_lines(&mut total);
    PacketsAccount { total, flows }
}

/// The UDP phases of a measurement.
pub(crate) fn phases<'a>(case: &'a Case, measurement: &'a Measurement) -> Vec<PhaseFacts<'a>> {
    let mut phases: Vec<PhaseFacts<'a>> = measurement
        .phases
        .iter()
        .filter(|p| p.spec.transport == Transport::Udp)
        .map(|phase| PhaseFacts::new(case, measurement, phase))
        .collect();
    let neighbour_dead = phases.iter().any(|facts| {
        events::own(facts, Side::Sender, Direction::Forward)
            .iter()
            .any(|e| e.stage.layer == Layer::Neighbour)
    });
    for facts in &mut phases {
        facts.neighbour_dead = neighbour_dead;
    }
    phases
}

/// The account of one phase, its lines in the path's order.
pub(crate) fn phase_account(facts: &PhaseFacts<'_>) -> Account {
    let mut account = phase::account(facts);
    sort_lines(&mut account);
    account
}

/// Lines in the order in which a packet meets the layers.
fn sort_lines(account: &mut Account) {
    account
        .layers
        .sort_by(|a, b| (a.layer, &a.host, &a.reason).cmp(&(b.layer, &b.host, &b.reason)));
}
