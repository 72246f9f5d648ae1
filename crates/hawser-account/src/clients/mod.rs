//! The clients of the storage: what each has of it, how long that waits for a head, and whether it outlasts a takeover.

use std::cmp::Reverse;
use std::net::IpAddr;

use hawser_model::case::Case;
use hawser_model::client::{
    ClientFacts, ClientTold, ClientsRun, IscsiSession, MultipathMap, NfsMount, OfferedPool, Wait,
};
use hawser_model::finding::{Confidence, Place, Severity, WordedFinding};
use hawser_model::names::HostName;
use hawser_model::output::clients::{ClientDevice, ClientReport, ClientsReport};

use crate::cause::Found;
use crate::causes::CLIENTS;

/// The code of every cause that a check of clients finds.
pub fn codes() -> impl Iterator<Item = &'static str> {
    CLIENTS.iter().map(|cause| cause.code)
}

/// A case as the causes look at it.
pub(crate) struct ClientsView<'a> {
    pub(crate) run: &'a ClientsRun,
    /// Of all clients, in order.
    pub(crate) devices: Vec<Device<'a>>,
}

/// A disk or a mount of a client, of a pool of the cluster.
pub(crate) struct Device<'a> {
    pub(crate) client: &'a HostName,
    /// `mpatha`, `sda`, or where it is mounted.
    pub(crate) name: &'a str,
    pub(crate) pool: &'a OfferedPool,
    pub(crate) kind: Kind<'a>,
}

/// What it is.
pub(crate) enum Kind<'a> {
    /// A device of dm-multipath over these sessions.
    Multipath(&'a MultipathMap, Vec<&'a IscsiSession>),
    /// A disk of a session, with nothing above it.
    Disk(&'a IscsiSession),
    /// A mount of NFS.
    Mount(&'a NfsMount),
}

impl<'a> Device<'a> {
    pub(crate) fn sessions(&self) -> &[&'a IscsiSession] {
        match &self.kind {
            Kind::Multipath(_, sessions) => sessions,
            Kind::Disk(session) => std::slice::from_ref(session),
            Kind::Mount(_) => &[],
        }
    }

    /// How long it waits for a head from the moment when the kernel has noticed; `None`: not known. What is read and written
    /// goes to each path that is left before it waits for one to come back.
    pub(crate) fn wait(&self) -> Option<Wait> {
        match &self.kind {
            Kind::Mount(mount) => Some(mount.wait),
            Kind::Disk(session) => session.recovery,
            Kind::Multipath(map, sessions) => {
                let held: Option<Vec<Wait>> = sessions.iter().map(|it| it.recovery).collect();
                let longest = held?.into_iter().reduce(Wait::longer);
                Some(longest?.then(map.without_path?))
            }
        }
    }

    /// The links over which it is reached, or addresses that are on none.
    pub(crate) fn over(&self) -> Vec<String> {
        let mount = match &self.kind {
            Kind::Mount(mount) => Some(mount.server),
            _ => None,
        };
        let sessions = self.sessions().iter();
        let addresses = sessions.filter_map(|it| it.address).chain(mount);
        let mut over: Vec<String> = addresses
            .map(|address| {
                let link = self.pool.link_of(address);
                link.map_or_else(|| address.to_string(), ToString::to_string)
            })
            .collect();
        over.sort();
        over.dedup();
        over
    }
}

/// At most so many devices of a finding have their names said.
const NAMED: usize = 3;

/// What was found of a client's devices, one finding for those of which the same is to be said: a pool may have hundreds of
/// disks.
pub(crate) fn together<'a, C: PartialEq>(
    severity: Severity,
    confidence: Confidence,
    each: impl Iterator<Item = (&'a HostName, &'a str, C)>,
) -> Vec<Found<C>> {
    let mut groups: Vec<(&HostName, Vec<&str>, C)> = Vec::new();
    for (client, device, evidence) in each {
        let same = groups
            .iter_mut()
            .find(|(of, _, said)| *of == client && *said == evidence);
        match same {
            Some((_, devices, _)) => devices.push(device),
            None => groups.push((client, vec![device], evidence)),
        }
    }
    let found = groups.into_iter().map(|(client, devices, evidence)| {
        let mut named = devices[..devices.len().min(NAMED)].join(", ");
        if devices.len() > NAMED {
            named += &format!(" and {} more", devices.len() - NAMED);
        }
        Found {
            severity,
            confidence,
            place: Place {
                object: Some(named),
                ..Place::on(client)
            },
            evidence,
        }
    });
    found.collect()
}

/// How long clients have to wait, and why that is known.
pub(crate) struct Outage {
    pub(crate) seconds: f64,
    /// The incident in which it was so long; none: it is expected.
    pub(crate) incident: Option<String>,
}

/// The longest outage that has been, or that is expected, whichever is longer.
pub(crate) fn outage(run: &ClientsRun) -> Outage {
    let seen = run.outage.seen.as_ref();
    match seen.filter(|seen| seen.seconds >= run.outage.expected_s) {
        Some(seen) => Outage {
            seconds: seen.seconds,
            incident: Some(seen.incident.clone()),
        },
        None => Outage {
            seconds: run.outage.expected_s,
            incident: None,
        },
    }
}

/// Everything Hawser says of a case of clients; `None` for a case that is none.
///
/// `case` of the report is empty: where the file lies, its reader knows.
pub fn report(case: &Case) -> Option<ClientsReport> {
    let run = case.clients.as_ref()?;
    let asked = run.clients.iter().filter_map(|(client, told)| match told {
        ClientTold::Read(facts) => Some((client, facts)),
        ClientTold::Stated(_) => None,
    });
    let view = ClientsView {
        run,
        devices: asked
            .flat_map(|(client, facts)| devices(run, client, facts))
            .collect(),
    };
    let mut findings: Vec<WordedFinding> = CLIENTS.iter().flat_map(|c| (c.find)(&view)).collect();
    findings.sort_by_key(|f| (Reverse(f.finding.severity), Reverse(f.finding.confidence)));
    Some(ClientsReport {
        absent: case.absent.clone(),
        outage: run.outage.clone(),
        clients: run
            .clients
            .iter()
            .map(|(client, told)| line(&view, client, told))
            .collect(),
        gaps: gaps(&view),
        findings,
        case: String::new(),
    })
}

/// What a client has of the cluster's pools; what it has of others is nobody's business here.
fn devices<'a>(
    run: &'a ClientsRun,
    client: &'a HostName,
    facts: &'a ClientFacts,
) -> Vec<Device<'a>> {
    let mut found = Vec::new();
    let of_disk = |disk: &String| facts.sessions.iter().find(|it| it.disks.contains(disk));
    for map in &facts.maps {
        let sessions: Vec<&IscsiSession> = map.disks.iter().filter_map(of_disk).collect();
        let pool = sessions.iter().find_map(|session| pool_of(run, session));
        found.extend(pool.map(|pool| Device {
            client,
            name: &map.name,
            pool,
            kind: Kind::Multipath(map, sessions),
        }));
    }
    for session in &facts.sessions {
        let Some(pool) = pool_of(run, session) else {
            continue;
        };
        let in_map = |disk: &String| facts.maps.iter().any(|map| map.disks.contains(disk));
        let alone = session.disks.iter().filter(|disk| !in_map(disk));
        found.extend(alone.map(|disk| Device {
            client,
            name: disk,
            pool,
            kind: Kind::Disk(session),
        }));
    }
    for mount in &facts.mounts {
        // The pool that was meant. The kernel may go on over its connection to another.
        let pool = mount.named().and_then(|it| pool_at(run, it));
        let pool = pool.or_else(|| pool_at(run, mount.server));
        found.extend(pool.map(|pool| Device {
            client,
            name: &mount.directory,
            pool,
            kind: Kind::Mount(mount),
        }));
    }
    found
}

/// The pool that a session is of: by its target's name, else by its address.
fn pool_of<'a>(run: &'a ClientsRun, session: &IscsiSession) -> Option<&'a OfferedPool> {
    let by_name = run.pools.iter().find(|pool| {
        let rest = pool.target.as_ref();
        let rest = rest.and_then(|target| session.target.strip_prefix(target.as_str()));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
    });
    by_name.or_else(|| pool_at(run, session.address?))
}

/// The pool that has an address.
pub(crate) fn pool_at(run: &ClientsRun, address: IpAddr) -> Option<&OfferedPool> {
    let mut pools = run.pools.iter();
    pools.find(|pool| pool.link_of(address).is_some())
}

fn line(view: &ClientsView<'_>, client: &HostName, told: &ClientTold) -> ClientReport {
    let own = view.devices.iter().filter(|it| it.client == client);
    let device = |device: &Device<'_>| {
        let sessions = device.sessions();
        let up = sessions.iter().filter(|it| is_up(it)).count();
        let (paths, paths_up) = match device.kind {
            Kind::Mount(_) => (1, 1),
            _ => (sessions.len() as u64, up as u64),
        };
        ClientDevice {
            device: device.name.to_owned(),
            pool: device.pool.name.clone(),
            over: device.over(),
            paths,
            paths_up,
            wait: device.wait(),
        }
    };
    ClientReport {
        client: client.clone(),
        gives_up_s: match told {
            ClientTold::Stated(seconds) => Some(*seconds),
            ClientTold::Read(_) => None,
        },
        devices: own.map(device).collect(),
    }
}

/// Whether a session is logged in (`iscsi_session_state_names` of the kernel's scsi_transport_iscsi.c).
pub(crate) fn is_up(session: &IscsiSession) -> bool {
    session.state == "LOGGED_IN"
}

fn gaps(view: &ClientsView<'_>) -> Vec<String> {
    let mut gaps = Vec::new();
    for (client, told) in &view.run.clients {
        let mut own = view
            .devices
            .iter()
            .filter(|it| it.client == client)
            .peekable();
        if matches!(told, ClientTold::Read(_)) && own.peek().is_none() {
            gaps.push(format!("{client} has nothing of this cluster's pools"));
        }
        for device in own.filter(|it| it.wait().is_none()) {
            let why = match &device.kind {
                Kind::Multipath(map, _) if map.without_path.is_none() => "multipathd does not say",
                _ => "its session does not say",
            };
            gaps.push(format!(
                "how long {} of {client} waits for a head is not known: {why}",
                device.name
            ));
        }
    }
    gaps
}
