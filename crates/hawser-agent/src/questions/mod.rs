//! What an agent can be asked beside what its cluster is asked ([`hawser_cluster::host::questions`]): a type a
//! question, which says what is answered, how long that may take, and who does the work.

mod copy;
mod corosync;
mod facts;
mod fanout;
mod fanout_groups;
mod flow;
mod flow_end;
mod flow_run;
mod flow_sent;
mod flows_run;
mod frames;
mod full_size;
mod hardware;
mod hello;
mod journal;
mod kept_alarms;
mod knob;
mod multicast;
mod own_address;
mod path_mtu;
mod path_mtu_search;
mod pulse;
mod read_readings;
mod readings;
mod rung;
mod standing;
mod storage_client;
mod surroundings;
mod unjoined;
mod usage;
mod window;

use std::time::Duration;

use hawser_host::protocol::{Hello, Ping, VERSION, Welcome};
use hawser_host::{Answers, Declined, Stop};
use hawser_model::units::Nanos;

use crate::node::{Node, Session};

pub use copy::{CopyNow, FinishCopy, OpenCopyReceiver, StartCopySender};
pub use corosync::{ReadCorosync, ReadHeartbeats};
pub use facts::{ReadFacts, ReadSetup, ReadSockets};
pub use fanout::{CloseFanout, MeasureFanout, OpenFanout};
pub use fanout_groups::MeasureGroups;
pub use flow::{ExpectFrom, OpenReceiver, OpenSender};
pub use flow_end::{DropFlow, FinishReceiver};
pub use flow_run::RunSender;
pub use flow_sent::{Care, Sent, StopReason};
pub use flows_run::{RunSenders, WatchCluster};
pub use frames::{HearFrames, ListenFrames, SendFrames};
pub use full_size::ProbeFullSize;
pub use hardware::ReadHardware;
pub use hello::{AnnounceHello, HearHellos, ListenHello};
pub use journal::{KeepChange, ReadChanges, UndoChange};
pub use kept_alarms::KeepAlarms;
pub use knob::{ReadKnob, TryKnob, TurnKnob};
pub use multicast::{HearMulticast, ListenMulticast};
pub use own_address::AskForOwn;
pub use path_mtu::{ClosePathMtuResponder, OpenPathMtuResponder};
pub use path_mtu_search::SearchPathMtu;
pub use pulse::{Pulse, ReadPulse};
pub use read_readings::ReadReadings;
pub use readings::{KeepReading, OpenReadings};
pub use rung::MeasureRung;
pub use standing::{ReadStanding, Standing};
pub use storage_client::ReadClient;
pub use surroundings::ReadSurroundings;
pub use unjoined::SendUnjoined;
pub use usage::{CloseUsage, OpenUsage};
pub use window::{CloseWindow, OpenWindow};

hawser_host::questions! {
    Node:
    Hello,
    Ping,
    ReadFacts,
    ReadSetup,
    ReadSockets,
    ReadStanding,
    ReadPulse,
    OpenReadings,
    KeepReading,
    KeepAlarms,
    ReadReadings,
    ReadHeartbeats,
    ReadCorosync,
    ReadHardware,
    ReadClient,
    ReadSurroundings,
    OpenWindow,
    CloseWindow,
    OpenUsage,
    CloseUsage,
    OpenReceiver,
    OpenSender,
    ExpectFrom,
    RunSender,
    RunSenders,
    WatchCluster,
    FinishReceiver,
    DropFlow,
    OpenPathMtuResponder,
    ClosePathMtuResponder,
    SearchPathMtu,
    ProbeFullSize,
    ListenHello,
    AnnounceHello,
    HearHellos,
    AskForOwn,
    ListenFrames,
    SendFrames,
    HearFrames,
    ListenMulticast,
    SendUnjoined,
    HearMulticast,
    OpenCopyReceiver,
    StartCopySender,
    CopyNow,
    FinishCopy,
    MeasureRung,
    OpenFanout,
    MeasureFanout,
    MeasureGroups,
    CloseFanout,
    ReadKnob,
    TryKnob,
    TurnKnob,
    KeepChange,
    ReadChanges,
    UndoChange,
}

impl Answers<Node> for Hello {
    fn answer(self, node: &mut Node, _: &Stop) -> Result<Welcome, Declined> {
        // Another version understands nothing further; it reads ours and says so.
        node.session = (self.version == VERSION).then_some(Session {
            run_key: self.run_key,
            host: self.host,
        });
        Ok(Welcome::here())
    }
}

impl Answers<Node> for Ping {
    fn answer(self, _: &mut Node, _: &Stop) -> Result<(), Declined> {
        Ok(())
    }
}

fn span(time: Nanos) -> Duration {
    Duration::from_nanos(time.get())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use hawser_host::{Ask, Entry};
    use hawser_model::probe::{AddressAsked, AddressClaim, HelloHeard, OwnAddresses};

    use super::*;

    #[test]
    fn a_host_speaks_for_itself_alone() {
        let heard = |by: &str| HelloHeard {
            from: "head1".into(),
            from_link: "ring0".into(),
            by: by.into(),
            on_link: "ring0".into(),
            copies: 1,
        };
        let own = "head2".into();
        assert!(HearHellos::may_say(&vec![heard("head2")], &own));
        assert!(!HearHellos::may_say(
            &vec![heard("head2"), heard("head3")],
            &own
        ));
        let claim = |host: &str| AddressClaim {
            host: host.into(),
            link: "ring0".into(),
            address: "10.0.0.2".parse().unwrap(),
            mac: "02:00:00:00:00:01".into(),
            answers: 1,
        };
        let asked = |host: &str| AddressAsked {
            host: host.into(),
            link: "ring0".into(),
            address: "10.0.0.2".parse().unwrap(),
        };
        let says = |asking: &str, claiming: &str| {
            let found = OwnAddresses {
                asked: vec![asked(asking)],
                claims: vec![claim(claiming)],
            };
            AskForOwn::may_say(&found, &own)
        };
        assert!(says("head2", "head2"));
        assert!(!says("head2", "head3") && !says("head3", "head2"));
    }

    #[test]
    fn no_two_questions_have_one_name() {
        let cluster = hawser_cluster::host::questions::QUESTIONS;
        let own = QUESTIONS.iter().map(Entry::name);
        let all: Vec<&str> = own.chain(cluster.iter().map(Entry::name)).collect();
        let different: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), different.len(), "{all:?}");
    }
}
