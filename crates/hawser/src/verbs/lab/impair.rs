//! `hawser lab impair` and `clear`: from options to an order.

use std::collections::BTreeMap;

use clap::ValueEnum;
use hawser_lab::LabError;
use hawser_lab::impair::{
    BurstLoss, Clear, Direction, Fault, Gilbert, MachineSetting, Multicast, Numbers, Only, Order,
    Share,
};
use hawser_model::units::{BitsPerSec, Bytes, Mtu};

use crate::parse;

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Way {
    /// Both directions
    Both,
    /// What the node is to receive
    ToNode,
    /// What the node has sent
    FromNode,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Switching {
    On,
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    Udp,
    Tcp,
}

/// The options of `impair`, by the place they make sense at.
#[derive(clap::Args)]
pub(super) struct ImpairArgs {
    /// NODE/LINK, NODE or SWITCH
    #[arg(required_unless_present = "machine", conflicts_with = "machine", add = crate::names::places())]
    place: Option<String>,

    /// On which direction of the port
    #[arg(
        long,
        value_enum,
        default_value = "both",
        help_heading = "On NODE/LINK"
    )]
    direction: Way,
    /// Lose this share of packets by chance
    #[arg(long, value_name = "P%", help_heading = "On NODE/LINK")]
    loss: Option<Share>,
    /// Lose N packets in a row out of every M
    #[arg(long, value_name = "N/M", help_heading = "On NODE/LINK")]
    burst_loss: Option<BurstLoss>,
    /// Lose in runs of random length: the chances to turn bad, and good again
    #[arg(long, value_name = "BAD%,GOOD%", help_heading = "On NODE/LINK")]
    gilbert: Option<Gilbert>,
    /// Flip a bit of the payload of this share of packets
    #[arg(long, value_name = "P%", help_heading = "On NODE/LINK")]
    corrupt: Option<Share>,
    /// Send this share of packets twice
    #[arg(long, value_name = "P%", help_heading = "On NODE/LINK")]
    duplicate: Option<Share>,
    /// Hold this share of packets back while later ones pass
    #[arg(long, value_name = "P%", help_heading = "On NODE/LINK")]
    reorder: Option<Share>,
    /// How long to hold them, in milliseconds
    #[arg(long, value_name = "MS", requires = "reorder", help_heading = "On NODE/LINK",
          value_parser = clap::value_parser!(u32).range(1..=60_000))]
    hold: Option<u32>,
    /// Drop larger IP packets without a word
    #[arg(long, value_name = "BYTES", help_heading = "On NODE/LINK",
          value_parser = parse::within::<u32>(parse::bytes, 68..=65_535))]
    mtu: Option<u32>,
    /// Let only this rate pass (100Mbit)
    #[arg(long, value_parser = parse::lab_rate, help_heading = "On NODE/LINK")]
    rate: Option<BitsPerSec>,
    /// The queue in front of the rate (64k)
    #[arg(long, value_name = "BYTES", value_parser = parse::lab_size, requires = "rate",
          help_heading = "On NODE/LINK")]
    queue: Option<Bytes>,
    /// Towards the node: once a TCP connection has brought so many bytes (100M), lose what the
    /// node's interface merged (GRO); turning that off cures it
    #[arg(long, value_name = "BYTES", value_parser = parse::lab_size, help_heading = "On NODE/LINK")]
    lose_merged_after: Option<Bytes>,
    /// Only these packets suffer; the rate holds for all
    #[arg(long, value_enum, value_name = "KIND", help_heading = "On NODE/LINK")]
    only: Option<Kind>,

    /// Drop this share of incoming UDP packets in the node's packet filter
    #[arg(long, value_name = "P%", help_heading = "On NODE")]
    nft_drop: Option<Share>,

    /// IGMP and MLD snooping
    #[arg(long, value_enum, help_heading = "On SWITCH")]
    snooping: Option<Switching>,
    /// IGMP and MLD queries
    #[arg(long, value_enum, help_heading = "On SWITCH")]
    querier: Option<Switching>,

    /// Change settings of the whole machine: this host and all labs
    #[arg(long, help_heading = "On the whole machine")]
    machine: bool,
    /// net.core.rmem_default: receive buffer of sockets that ask for none
    #[arg(long, value_name = "BYTES", value_parser = parse::lab_size, requires = "machine",
          help_heading = "On the whole machine")]
    rmem_default: Option<Bytes>,
    /// net.core.rmem_max: largest receive buffer a socket may ask for
    #[arg(long, value_name = "BYTES", value_parser = parse::lab_size, requires = "machine",
          help_heading = "On the whole machine")]
    rmem_max: Option<Bytes>,
    /// net.core.netdev_max_backlog: packets waiting for one CPU
    #[arg(long, value_name = "N", requires = "machine", help_heading = "On the whole machine",
          value_parser = parse::within::<u64>(parse::count, 1..=1_000_000))]
    backlog: Option<u64>,
    /// net.ipv4.udp_mem: memory of all UDP sockets together, all three of its numbers
    #[arg(long, value_name = "PAGES", requires = "machine", help_heading = "On the whole machine",
          value_parser = parse::within::<u64>(parse::count, 1..=1 << 30))]
    udp_mem: Option<u64>,
    /// net.netfilter.nf_conntrack_max: connections that each node, and this host, may track
    #[arg(long, value_name = "N", requires = "machine", help_heading = "On the whole machine",
          value_parser = parse::within::<u64>(parse::count, 1..=1 << 30))]
    conntrack_max: Option<u64>,
}

impl ImpairArgs {
    /// The order, once the options are known to fit the place.
    pub fn order(&self, is_switch: impl Fn(&str) -> bool) -> Result<Order, LabError> {
        let Some(place) = &self.place else {
            self.only_for("the whole machine", [true, true, true, false])?;
            let one = |value: Option<u64>| value.map(Numbers::One);
            let bytes = |value: Option<Bytes>| one(value.map(Bytes::get));
            let settings = [
                (MachineSetting::RmemDefault, bytes(self.rmem_default)),
                (MachineSetting::RmemMax, bytes(self.rmem_max)),
                (MachineSetting::Backlog, one(self.backlog)),
                (
                    MachineSetting::UdpMem,
                    self.udp_mem.map(|pages| Numbers::Several(vec![pages; 3])),
                ),
                (MachineSetting::ConntrackMax, one(self.conntrack_max)),
            ];
            let wanted: BTreeMap<_, _> = settings
                .into_iter()
                .filter_map(|(s, v)| Some((s, v?)))
                .collect();
            return if wanted.is_empty() {
                Err(nothing(
                    "--machine",
                    "--rmem-default, --rmem-max, --backlog, --udp-mem, --conntrack-max",
                ))
            } else {
                Ok(Order::Machine(wanted))
            };
        };
        if let Some((node, link)) = place.split_once('/') {
            self.only_for("a port (NODE/LINK)", [false, true, true, true])?;
            return self.port(node, link);
        }
        if is_switch(place) {
            self.only_for("a switch", [true, true, false, true])?;
            let flag = |s: Option<Switching>| s.map(|s| s == Switching::On);
            return match (self.snooping, self.querier) {
                (None, None) => Err(nothing(place, "--snooping, --querier")),
                (snooping, querier) => Ok(Order::Switch {
                    switch: place.clone(),
                    multicast: Multicast {
                        snooping: flag(snooping),
                        querier: flag(querier),
                    },
                }),
            };
        }
        self.only_for("a node", [true, false, true, true])?;
        match self.nft_drop {
            Some(share) => Ok(Order::Filter {
                node: place.clone(),
                share,
            }),
            None => Err(nothing(place, "--nft-drop (other faults: NODE/LINK)")),
        }
    }

    fn port(&self, node: &str, link: &str) -> Result<Order, LabError> {
        let fault = Fault {
            only: self.only.map(|kind| match kind {
                Kind::Udp => Only::Udp,
                Kind::Tcp => Only::Tcp,
            }),
            mtu: self.mtu.map(Mtu),
            loss: self.loss,
            burst_loss: self.burst_loss,
            gilbert: self.gilbert,
            corrupt: self.corrupt,
            duplicate: self.duplicate,
            reorder: self.reorder,
            hold_ms: self.hold,
            rate: self.rate,
            queue: self.queue,
            lose_merged_after: self.lose_merged_after,
        };
        if fault.is_none() {
            let options = "--loss, --burst-loss, --gilbert, --corrupt, --duplicate, --reorder, \
                           --mtu, --rate, --lose-merged-after";
            return Err(nothing(&format!("{node}/{link}"), options));
        }
        if self.lose_merged_after.is_some() && self.direction == Way::FromNode {
            return Err(LabError::Impairment(
                "--lose-merged-after is a fault towards the node: leave out --direction".to_owned(),
            ));
        }
        Ok(Order::Port {
            node: node.to_owned(),
            link: link.to_owned(),
            directions: match self.direction {
                Way::Both => Direction::BOTH.to_vec(),
                Way::ToNode => vec![Direction::ToNode],
                Way::FromNode => vec![Direction::FromNode],
            },
            fault,
        })
    }

    /// Refuses options that belong to another kind of place; `foreign` says of ports, nodes,
    /// switches and the machine whether theirs do.
    fn only_for(&self, place: &str, foreign: [bool; 4]) -> Result<(), LabError> {
        let [port, node, switch, machine] = foreign;
        let given = [
            (port, "--direction", self.direction != Way::Both),
            (port, "--loss", self.loss.is_some()),
            (port, "--burst-loss", self.burst_loss.is_some()),
            (port, "--gilbert", self.gilbert.is_some()),
            (port, "--corrupt", self.corrupt.is_some()),
            (port, "--duplicate", self.duplicate.is_some()),
            (port, "--reorder", self.reorder.is_some()),
            (port, "--mtu", self.mtu.is_some()),
            (port, "--rate", self.rate.is_some()),
            (port, "--only", self.only.is_some()),
            (
                port,
                "--lose-merged-after",
                self.lose_merged_after.is_some(),
            ),
            (node, "--nft-drop", self.nft_drop.is_some()),
            (switch, "--snooping", self.snooping.is_some()),
            (switch, "--querier", self.querier.is_some()),
            (machine, "--rmem-default", self.rmem_default.is_some()),
            (machine, "--rmem-max", self.rmem_max.is_some()),
            (machine, "--backlog", self.backlog.is_some()),
        ];
        match given.iter().find(|(foreign, _, given)| *foreign && *given) {
            Some((_, option, _)) => Err(LabError::Impairment(format!(
                "{option} is no fault of {place}"
            ))),
            None => Ok(()),
        }
    }
}

fn nothing(place: &str, options: &str) -> LabError {
    LabError::Impairment(format!(
        "no fault is named for {place}; there are: {options}"
    ))
}

/// What `clear` is to clear.
#[derive(clap::Args)]
#[group(required = true, multiple = false)]
pub(super) struct ClearArgs {
    /// NODE/LINK (both directions), NODE or SWITCH
    #[arg(add = crate::names::places())]
    place: Option<String>,
    /// Put machine-wide settings back
    #[arg(long)]
    machine: bool,
    /// Everything that was planted; cut cables and power stay as they are
    #[arg(long)]
    all: bool,
}

impl ClearArgs {
    /// What to clear.
    pub fn what(&self, is_switch: impl Fn(&str) -> bool) -> Clear {
        match &self.place {
            None if self.machine => Clear::Machine,
            None => Clear::All,
            Some(place) => match place.split_once('/') {
                Some((node, link)) => Clear::Port {
                    node: node.to_owned(),
                    link: link.to_owned(),
                },
                None if is_switch(place) => Clear::Switch(place.clone()),
                None => Clear::Node(place.clone()),
            },
        }
    }
}
