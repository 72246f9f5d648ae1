//! The clients of the pools: what the cluster file says of them, and what they should be set to.

mod print;

use hawser_model::client::{LongestOutage, OfferedPool, SeenOutage};
use hawser_model::cluster_file::{ClusterFile, ExportKind, Period, Pool};
use hawser_model::iscsi::target_name;
use hawser_model::output::incident::IncidentsReport;

use crate::cib::start_limit;
use crate::plan::{Forecast, forecast};
use crate::xml::Element;

pub use print::{ClientFile, printed};

/// The pools as clients reach them: those that have addresses.
pub fn offered(file: &ClusterFile) -> Vec<OfferedPool> {
    let authority = file.exports.iqn.as_ref();
    let of = |pool: &Pool| OfferedPool {
        name: pool.name.to_string(),
        target: authority
            .filter(|_| *pool.exports == ExportKind::Iscsi)
            .map(|authority| target_name(authority, &pool.name, None)),
        addresses: pool
            .addresses
            .iter()
            .map(|(link, addresses)| (link.get().clone(), addresses.ips().collect()))
            .collect(),
    };
    let with_addresses = file.pools.iter().filter(|pool| !pool.addresses.is_empty());
    with_addresses.map(of).collect()
}

/// How long clients have to wait when a head dies. `live`: the live CIB, if a head told it; `incidents`: what the heads' logs
/// tell, if any did.
pub fn longest_outage(
    file: &ClusterFile,
    live: Option<&Element>,
    incidents: Option<&IncidentsReport>,
) -> LongestOutage {
    let nothing = Element::new("cib");
    let all = forecast(file, live.unwrap_or(&nothing));
    let latest = all.iter().map(Forecast::latest).max();
    let seen = incidents.into_iter().flat_map(|it| &it.incidents);
    let seen = seen.filter(|incident| !incident.fenced.is_empty());
    let seen = seen.filter_map(|incident| Some((incident, incident.outage_s?)));
    let longest = seen
        .filter(|(_, seconds)| *seconds > 0.0)
        .max_by(|(_, one), (_, other)| one.total_cmp(other));
    LongestOutage {
        expected_s: latest.map_or(0.0, |period| period.0.as_secs_f64()),
        without_start: all.iter().any(|it| it.back.is_none()),
        seen: longest.map(|(incident, seconds)| SeenOutage {
            incident: incident.id.clone(),
            seconds,
        }),
        unread: incidents.map_or_else(Vec::new, |it| it.gaps.clone()),
    }
}

/// How long a takeover may take until the cluster itself calls it failed: a client that waits so long sees no error that the
/// cluster does not see.
pub fn bearable(file: &ClusterFile) -> Period {
    let outage = longest_outage(file, None, None);
    let starts = file.pools.iter().map(start_limit).max();
    let starts = starts.unwrap_or(Period::from_secs(0));
    let millis = (outage.expected_s * 1000.0).ceil() as u64;
    Period::from_millis(millis.saturating_add(starts.as_millis()))
}
