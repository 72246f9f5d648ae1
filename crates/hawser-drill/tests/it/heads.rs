//! The heads of a simulated cluster: what they answer.

use hawser_cluster::host::drill::{LogTexts, Look};
use hawser_cluster::host::questions::{
    FitsFault, ForgetFailures, LookAround, MakeFault, MendFault, Power, ReadCib, ReadCorosyncMap,
    ReadFenceHistory, ReadFenceMetadata, ReadLogs, ShowFault, StampLog,
};
use hawser_host::sim::Simulated;
use hawser_host::{Clock, Host, HostError, Reach};
use hawser_model::names::HostName;

use crate::bench::World;

/// What `fence_ipmilan` of fence-agents says that it can, as far as a drill reads it.
const FENCE_AGENT: &str = r#"<resource-agent name="fence_ipmilan"><actions><action name="on" automatic="0"/>
<action name="off"/><action name="reboot"/><action name="status"/></actions></resource-agent>"#;

struct Head {
    name: HostName,
    world: World,
}

hawser_host::answers! {
    Head;
    ReadLogs: |ask, head| {
        let texts = head.world.story().logs(&head.name);
        LogTexts {
            texts: ask.from.map(|_| texts).unwrap_or_default(),
            ..LogTexts::default()
        }
    };
    ReadCib: |_, head| Some(head.world.story().cib());
    ReadCorosyncMap: |_, head| head.world.story().cmap();
    ReadFenceHistory: |_, head| head.world.story().fencing(head.world.now());
    FitsFault: |_, head| head.world.unfit.clone();
    MakeFault: |ask, head| {
        let there = (head.name.clone(), ask.fault);
        head.world.broken().on_heads.push(there);
        head.world.breaks(false);
    };
    ShowFault: |ask, head| {
        let there = (head.name.clone(), ask.0);
        let broken = head.world.broken();
        let there = broken.on_heads.contains(&there);
        drop(broken);
        there.then(|| head.world.evidence(false))
    };
    MendFault: |ask, head| {
        let mut broken = head.world.broken();
        let there = (head.name.clone(), ask.0);
        broken.on_heads.retain(|it| *it != there);
        drop(broken);
        head.world.mends();
    };
    LookAround: |ask, head| {
        let (world, name) = (&head.world, &head.name);
        world.story.as_ref().ok_or("nobody looks here")?;
        let since = world.broken().on.get(name).copied().unwrap_or_default();
        Look {
            mounts: world.mounts(name),
            clock_us: world.now().0,
            engine_us: ask.engine.then(|| world.now().0 - since.0),
        }
    };
    ReadFenceMetadata: |_, _| FENCE_AGENT.to_owned();
    Power: |ask, head| {
        let victim = ask.device.name.trim_start_matches("fence-").into();
        match ask.on {
            Some(true) => head.world.gives_power(&victim),
            Some(false) => head.world.cuts_power(&victim),
            None => {}
        }
        head.world.is_on(&victim)
    };
    StampLog: |_, _| Err("nothing is logged here")?;
    ForgetFailures: |_, _| ();
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
