//! How long it takes when a head dies: lost after X at most, fenced by Y, clients expected back by Z.

use std::fmt;

use hawser_model::cluster_file::{ClusterFile, NodeEntry, Period};

use super::waits::starts;
use crate::timing::EngineTiming;
use crate::xml::Element;

/// What is to be expected when a head dies, counted from its last sign of life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// The head.
    pub node: String,
    /// After so long at most the others have declared it lost: Corosync's token and consensus.
    pub lost: Period,
    /// By then it is known to be off; none in a cluster without fencing.
    pub fenced: Option<Period>,
    /// By then its clients are served again; none where it is not known how long a pool takes to start.
    pub back: Option<Period>,
}

/// A head that decides sleeps a second in some of the cases before it asks for the CIB again
/// (`do_pe_invoke_callback` of Pacemaker's controld_schedulerd.c), and needs little else.
const DECIDES: Period = Period::from_secs(1);

/// The order to a BMC and the question whether it was carried out: 0.3 to 0.8 s measured with `fence_ipmilan`.
const SHOOTS: Period = Period::from_secs(1);

/// `power_wait` of fence_ipmilan where nothing else is said.
const POWER_WAIT: Period = Period::from_secs(2);

/// The forecast of each head. `live`: the live CIB, whose status says how long pools took to start.
pub fn forecast(file: &ClusterFile, live: &Element) -> Vec<Forecast> {
    let lost = EngineTiming::of(file).declared_lost(file.nodes.len());
    let pool = |pool: &hawser_model::cluster_file::Pool| starts(live, &pool.storage_id());
    let slowest: Option<Vec<u64>> = file.pools.iter().map(pool).collect();
    let slowest = slowest.and_then(|all| all.into_iter().max());
    let of = |node: &NodeEntry| {
        let fenced = fenced(file, node);
        let back = match (fenced, slowest) {
            (Some(fenced), Some(start)) => Some(sum(&[fenced, Period::from_millis(start)])),
            _ => None,
        };
        Forecast {
            node: node.name.to_string(),
            lost,
            fenced,
            back,
        }
    };
    file.nodes.iter().map(of).collect()
}

/// By when a head that has died is known to be off, counted from its last sign of life; none in a cluster without
/// fencing.
pub fn fenced(file: &ClusterFile, node: &NodeEntry) -> Option<Period> {
    let lost = EngineTiming::of(file).declared_lost(file.nodes.len());
    shot(file, node).map(|shot| sum(&[lost, DECIDES, shot]))
}

fn sum(parts: &[Period]) -> Period {
    Period::from_millis(parts.iter().map(|part| part.as_millis()).sum())
}

/// How long the shot at a head takes, with what it is held back.
fn shot(file: &ClusterFile, node: &NodeEntry) -> Option<Period> {
    let fencing = file.fencing.as_ref();
    if fencing.is_some_and(|fencing| fencing.none.is_some()) {
        return None;
    }
    let delay = fencing.map_or(Period::from_secs(0), |fencing| {
        fencing.delay_of(node.name.as_str())
    });
    let wait = match &node.bmc {
        Some(bmc) if bmc.is_ipmi() => {
            let said = bmc.power_wait.or(EngineTiming::of(file).power_wait);
            said.unwrap_or(POWER_WAIT)
        }
        _ => Period::from_secs(0),
    };
    Some(sum(&[delay, wait, SHOOTS]))
}

impl Forecast {
    /// The latest that is known: until its clients are served again, until it is off, or until it is declared lost.
    pub fn latest(&self) -> Period {
        self.back.or(self.fenced).unwrap_or(self.lost)
    }

    /// The same of any head, if all heads have the same.
    pub fn of_any(all: &[Self]) -> Option<Self> {
        let any = |it: &Self| Self {
            node: "a head".into(),
            ..it.clone()
        };
        let first = any(all.first()?);
        all.iter().all(|it| any(it) == first).then_some(first)
    }
}

impl fmt::Display for Forecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |period: Period| period.as_millis() as f64 / 1000.0;
        write!(
            f,
            "when {} dies it is declared lost after at most {:.1} s of silence",
            self.node,
            seconds(self.lost)
        )?;
        let Some(fenced) = self.fenced else {
            return f.write_str(", and nobody sees to it that it is off");
        };
        write!(f, ", fenced by {:.1} s", seconds(fenced))?;
        match self.back {
            Some(back) => write!(
                f,
                ", and clients are expected back by {:.1} s",
                seconds(back)
            ),
            None => f.write_str("; how long its pools then take to start is not known yet"),
        }
    }
}
