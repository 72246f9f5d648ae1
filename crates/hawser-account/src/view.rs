//! A case with its phase accounts, as the causes look at it.

use std::collections::{BTreeMap, BTreeSet};

use hawser_model::account::{Account, Layer};
use hawser_model::case::{Case, Measurement, PhaseKind};
use hawser_model::host::{HostFacts, HostWindow, Interface};
use hawser_model::names::{HostName, InterfaceName, LinkName};
use hawser_model::units::Packets;

use crate::losses::Loss;
use crate::packets::facts::{PhaseFacts, Side};
use crate::packets::{phase_account, phases};

/// Two questions are lost one after the other once in ten thousand times where one packet in a hundred is lost on the way
/// there or back; a kernel asks for a neighbour three times (`mcast_solicit`), a search for a path MTU twice.
const LOSSY: f64 = 0.01;

/// A directed path: from, to, link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Path {
    pub(crate) link: LinkName,
    pub(crate) from: HostName,
    pub(crate) to: HostName,
}

impl Path {
    /// Where this was measured.
    pub(crate) fn of(m: &Measurement) -> Self {
        Self {
            link: m.link.clone(),
            from: m.from.clone(),
            to: m.to.clone(),
        }
    }

    /// The way back.
    pub(crate) fn back(&self) -> Self {
        Self {
            link: self.link.clone(),
            from: self.to.clone(),
            to: self.from.clone(),
        }
    }
}

/// One phase and its account.
pub(crate) struct PhaseView<'a> {
    pub(crate) facts: PhaseFacts<'a>,
    pub(crate) account: Account,
}

impl PhaseView<'_> {
    /// The phase's directed path.
    pub(crate) fn path(&self) -> Path {
        Path {
            link: self.facts.link().clone(),
            from: self.facts.host(Side::Sender).clone(),
            to: self.facts.host(Side::Receiver).clone(),
        }
    }
}

/// The case as the causes look at it.
pub(crate) struct View<'a> {
    pub(crate) case: &'a Case,
    pub(crate) phases: Vec<PhaseView<'a>>,
}

impl<'a> View<'a> {
    pub(crate) fn new(case: &'a Case) -> Self {
        let phases = case
            .measurements
            .iter()
            .flat_map(|m| phases(case, m))
            .map(|facts| PhaseView {
                account: phase_account(&facts),
                facts,
            })
            .collect();
        Self { case, phases }
    }

    /// Every window that was open on a host: those of the phases, and what a watch counted.
    pub(crate) fn windows(&self) -> impl Iterator<Item = (&'a HostName, &'a HostWindow)> {
        let of = |p: &PhaseView<'a>| {
            let facts = p.facts;
            [Side::Sender, Side::Receiver].map(|side| (facts.host(side), facts.window(side)))
        };
        self.phases.iter().flat_map(of).chain(&self.case.counted)
    }

    /// Every directed path on which something was sent.
    pub(crate) fn paths(&self) -> BTreeSet<Path> {
        self.phases
            .iter()
            .filter(|p| p.facts.sent() > 0)
            .map(PhaseView::path)
            .collect()
    }

    /// The phases of a path.
    pub(crate) fn on<'s>(&'s self, path: &'s Path) -> impl Iterator<Item = &'s PhaseView<'a>> {
        self.phases.iter().filter(move |p| p.path() == *path)
    }

    /// The side on which `host` is in a loss's phase.
    pub(crate) fn side_of(&self, host: &HostName, loss: &Loss) -> Side {
        match self.phases[loss.phase].facts.host(Side::Sender) == host {
            true => Side::Sender,
            false => Side::Receiver,
        }
    }

    /// The interface of `host` that carried the lost packets.
    pub(crate) fn interface_of(&self, host: &HostName, loss: &Loss) -> Option<InterfaceName> {
        let side = self.side_of(host, loss);
        let interface = self.phases[loss.phase].facts.interface(side);
        interface.map(|(name, _)| name.clone())
    }

    /// Packets received on a path, all phases.
    pub(crate) fn received(&self, path: &Path) -> u64 {
        self.on(path).map(|p| p.account.received).sum::<Packets>().0
    }

    /// Whether unicast packets get lost often enough on the wire and in kernels, there and back together, that a question for the
    /// neighbour and what it is asked again may have been lost by chance. What waits for the answer is not among them, nor is
    /// what a socket does not take.
    pub(crate) fn loses_questions(&self, path: &Path) -> bool {
        let share = |path: &Path| {
            let (mut sent, mut lost) = (0.0, 0.0);
            for phase in self
                .on(path)
                .filter(|p| p.facts.phase.kind != PhaseKind::Multicast)
            {
                let account = &phase.account;
                let elsewhere = account
                    .layers
                    .iter()
                    .filter(|line| matches!(line.layer, Layer::SocketBuffer | Layer::Neighbour));
                let elsewhere = elsewhere.map(|line| line.packets).sum::<Packets>().0;
                sent += account.sent.0 as f64;
                lost += account.lost.0.saturating_sub(elsewhere) as f64;
            }
            lost / f64::max(sent, 1.0)
        };
        share(path) + share(&path.back()) >= LOSSY
    }

    /// Facts of a host.
    pub(crate) fn host(&self, host: &HostName) -> Option<&'a HostFacts> {
        self.case.hosts.get(host)
    }

    /// The switch of a link as the object of a place: `switch sw0`.
    pub(crate) fn switch(&self, link: &LinkName) -> Option<String> {
        let switch = self.case.topology.link(link)?.switch.as_ref()?;
        Some(format!("switch {switch}"))
    }

    /// A sysctl of a host as a number.
    pub(crate) fn sysctl(&self, host: &HostName, name: &str) -> Option<u64> {
        self.host(host)?.sysctl_number(name)
    }

    /// The interface of every host on every link: from the topology's addresses and from the
    /// flows that were run.
    pub(crate) fn ports(
        &self,
    ) -> BTreeMap<(LinkName, HostName), (&'a InterfaceName, &'a Interface)> {
        let mut ports = BTreeMap::new();
        let case = self.case;
        let listed = case.topology.nodes.iter().flat_map(|node| {
            node.addresses
                .iter()
                .map(move |(link, address)| (link, &node.name, *address))
        });
        let measured = case.measurements.iter().flat_map(|m| {
            m.phases.iter().flat_map(move |p| {
                [
                    (&m.link, &m.from, p.spec.source),
                    (&m.link, &m.to, p.spec.receiver),
                ]
            })
        });
        for (link, host, address) in listed.chain(measured) {
            let port = self.host(host).and_then(|h| h.interface_with(address));
            if let Some(port) = port {
                ports.insert((link.clone(), host.clone()), port);
            }
        }
        ports
    }

    /// Whether a layer-2 hello sent by `path.from` on the link was heard by `path.to` on it;
    /// absent when hellos were not sent.
    pub(crate) fn hello_passed(&self, path: &Path) -> Option<bool> {
        let hellos = self.case.hellos.as_ref()?;
        Some(hellos.iter().any(|h| {
            h.from == path.from
                && h.by == path.to
                && h.from_link == path.link
                && h.on_link == path.link
        }))
    }
}
