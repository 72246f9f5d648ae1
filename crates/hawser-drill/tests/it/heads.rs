//! The heads of a simulated cluster: what they answer.

use hawser_cluster::host::drill::{LogTexts, Look, StampedLine};
use hawser_cluster::host::questions::{
    ForgetFailures, LookAround, MakeFault, MendFault, ReadCib, ReadCorosyncMap, ReadFenceHistory,
    ReadLogs, ShowFault, StampLog,
};
use hawser_host::sim::Simulated;
use hawser_host::{Answers, Clock, Declined, Entry, Host, HostError, Reach, Stop};
use hawser_model::names::HostName;

use crate::bench::World;

struct Head {
    name: HostName,
    world: World,
}

const QUESTIONS: &[Entry<Head>] = &[
    Entry::of::<MakeFault>(),
    Entry::of::<ShowFault>(),
    Entry::of::<MendFault>(),
    Entry::of::<LookAround>(),
    Entry::of::<StampLog>(),
    Entry::of::<ForgetFailures>(),
    Entry::of::<ReadLogs>(),
    Entry::of::<ReadCib>(),
    Entry::of::<ReadCorosyncMap>(),
    Entry::of::<ReadFenceHistory>(),
];

impl Answers<Head> for ReadLogs {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<LogTexts, Declined> {
        let texts = head.world.story().logs(&head.name);
        Ok(LogTexts {
            texts: self.from.map(|_| texts).unwrap_or_default(),
            ..LogTexts::default()
        })
    }
}

impl Answers<Head> for ReadCib {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<Option<String>, Declined> {
        Ok(Some(head.world.story().cib()))
    }
}

impl Answers<Head> for ReadCorosyncMap {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<String, Declined> {
        Ok(head.world.story().cmap())
    }
}

impl Answers<Head> for ReadFenceHistory {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<String, Declined> {
        Ok(head.world.story().fencing(head.world.now()))
    }
}

impl Answers<Head> for MakeFault {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<(), Declined> {
        let there = (head.name.clone(), self.fault);
        head.world.broken().on_heads.push(there);
        head.world.breaks(false);
        Ok(())
    }
}

impl Answers<Head> for ShowFault {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<Option<String>, Declined> {
        let there = (head.name.clone(), self.0);
        let broken = head.world.broken();
        let there = broken.on_heads.contains(&there);
        drop(broken);
        Ok(there.then(|| head.world.evidence(false)))
    }
}

impl Answers<Head> for MendFault {
    fn answer(self, head: &mut Head, _: &Stop) -> Result<(), Declined> {
        let mut broken = head.world.broken();
        let there = (head.name.clone(), self.0);
        broken.on_heads.retain(|it| *it != there);
        drop(broken);
        head.world.mends();
        Ok(())
    }
}

impl Answers<Head> for LookAround {
    fn answer(self, _: &mut Head, _: &Stop) -> Result<Look, Declined> {
        Err("nobody looks here".into())
    }
}

impl Answers<Head> for StampLog {
    fn answer(self, _: &mut Head, _: &Stop) -> Result<StampedLine, Declined> {
        Err("nothing is logged here".into())
    }
}

impl Answers<Head> for ForgetFailures {
    fn answer(self, _: &mut Head, _: &Stop) -> Result<(), Declined> {
        Ok(())
    }
}

impl Reach for World {
    fn connect(&self, host: &HostName) -> Result<Box<dyn Host>, HostError> {
        let (name, world) = (host.clone(), self.clone());
        let head = Head {
            name: name.clone(),
            world,
        };
        Ok(Box::new(Simulated::new(name, head, QUESTIONS, &self.wire)))
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }
}
