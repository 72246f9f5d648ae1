//! The heads of a simulated cluster: what they answer.

use hawser_cluster::host::FenceQuestion;
use hawser_cluster::host::drill::{HostFault, LogTexts, Look, StampedLine};
use hawser_cluster::host::questions::{
    FitsFault, ForgetFailures, LookAround, MakeFault, MendFault, Power, ReadCib, ReadCorosyncMap,
    ReadFenceHistory, ReadFenceMetadata, ReadLogs, ShowFault, StampLog,
};
use hawser_host::sim::Simulated;
use hawser_host::site::SiteFault;
use hawser_host::{Clock, Host, HostError, Reach};
use hawser_model::date::utc_millis;
use hawser_model::drill::Moment;
use hawser_model::names::HostName;

use crate::bench::World;

/// What `fence_ipmilan` of fence-agents says that it can, as far as a drill reads it.
pub const FENCE_AGENT: &str = r#"<resource-agent name="fence_ipmilan"><actions><action name="on" automatic="0"/>
<action name="off"/><action name="reboot"/><action name="status"/></actions></resource-agent>"#;

/// How long a head that gets power is without its engine, in microseconds.
const BOOTS_US: u64 = 2_000_000;

struct Head {
    name: HostName,
    world: World,
}

impl Head {
    /// The clock of its services.
    fn clock(&self) -> Moment {
        let broken = self.world.broken();
        let own = broken
            .on_heads
            .iter()
            .find_map(|(head, fault)| match fault {
                HostFault::Clock { ahead_s } if *head == self.name => Some(*ahead_s),
                _ => None,
            });
        let mut around = broken.around.iter();
        let pretended = around.find_map(|fault| match fault {
            SiteFault::Clock { host, ahead_s } if *host == self.name => Some(*ahead_s),
            _ => None,
        });
        let ahead_s = own.or(pretended).unwrap_or(0);
        self.world.now().shifted(i64::from(ahead_s) * 1_000_000)
    }
}

/// As Pacemaker stamps a line.
fn stamp(at: Moment) -> String {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let time = utc_millis(at.0);
    let (month, day) = (&time[5..7], &time[8..10]);
    let month = MONTHS[month.parse::<usize>().unwrap() - 1];
    format!("{month} {day} {}", &time[11..23])
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
    ReadFenceHistory: |_, head| {
        let broken = head.world.broken();
        let (shooting, since) = (broken.shooting.clone(), broken.forgotten);
        drop(broken);
        head.world.story().fencing(since..=head.world.now(), shooting.as_ref())
    };
    FitsFault: |ask, head| head.world.unfit(&ask.0);
    MakeFault: |ask, head| {
        let silence = |it: &HostFault| matches!(it, HostFault::Silence { .. });
        let mut broken = head.world.broken();
        // It has one table for them.
        let mut there = broken.on_heads.iter();
        if silence(&ask.fault) && there.any(|(name, it)| *name == head.name && silence(it)) {
            Err("there is a table inet hawser_drill already")?;
        }
        broken.on_heads.push((head.name.clone(), ask.fault));
        drop(broken);
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
        let on = world.broken().on.get(name).copied();
        let since = world.now().0 - on.unwrap_or_default().0;
        let boots = on.is_some() && since < BOOTS_US;
        Look {
            mounts: world.mounts(name),
            clock_us: world.now().0,
            engine_us: (ask.engine && !boots).then_some(since),
            nfs_grace: false,
        }
    };
    ReadFenceMetadata: |_, _| FENCE_AGENT.to_owned();
    Power: |ask, head| {
        let FenceQuestion { name, parameters, .. } = &ask.device;
        let own = name.trim_start_matches("fence-");
        let victim = parameters.get("port").map_or(own, String::as_str).into();
        head.world.outlet(name, &victim, ask.on)
    };
    StampLog: |_, head| StampedLine {
        line: Some(format!("{} [1] {} attrd", stamp(head.clock()), head.name)),
        utc_offset_s: 0,
    };
    ForgetFailures: |_, head| {
        let now = head.world.now();
        head.world.broken().forgotten = now;
    };
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
