//! What a drill asks of a head, and the faults that a head makes on itself.
//!
//! A fault is a value: the same one makes it, shows it and mends it. Before it is made a process of its own
//! stands guard ([`dead_man`]), which mends it when the agent is gone, however it went.

mod clock;
pub mod dead_man;
mod logs;
mod look;
mod processes;
mod silence;

use std::net::IpAddr;
use std::time::Duration;

use hawser_model::drill::ClockStep;
use serde::{Deserialize, Serialize};

use super::{FenceQuestion, HostError, engine, fence_status, run};

pub use look::Look;

/// What a head is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrillOrder {
    /// What is mounted now. Answer: [`DrillAnswer::Look`].
    Look {
        /// Also for how long Pacemaker has been running, which costs a reading of all processes.
        engine: bool,
    },
    /// Corosync's runtime map: its timing, or its statistics. Answer: [`DrillAnswer::Text`].
    CorosyncMap {
        /// The statistics.
        statistics: bool,
    },
    /// What Corosync's and Pacemaker's logs hold from these bytes on. Answer: [`DrillAnswer::Logs`].
    Logs {
        /// Bytes of the two to leave out; absent: all, so that only the lengths are told.
        from: Option<[u64; 2]>,
    },
    /// What Pacemaker remembers of failures is forgotten. Answer: [`DrillAnswer::Done`].
    CleanUp,
    /// What a fence agent says of itself: its metadata. Answer: [`DrillAnswer::Text`].
    FenceMetadata {
        /// Which agent.
        agent: String,
    },
    /// A fence agent asks for, or switches, the power of what it fences. Answer: [`DrillAnswer::Power`].
    Power {
        /// The device, with the files that are installed.
        device: FenceQuestion,
        /// What is wanted; absent: only to know.
        on: Option<bool>,
        /// How long the agent may take, in seconds.
        seconds: u32,
    },
    /// The head makes a fault on itself, and mends it after so many seconds if nobody has. Answer:
    /// [`DrillAnswer::Done`].
    Make {
        /// Which.
        fault: HostFault,
        /// At most so long.
        seconds: u32,
    },
    /// Whether a fault is there now. Answer: [`DrillAnswer::Shown`].
    Show(HostFault),
    /// It is mended, also when it is not there. Answer: [`DrillAnswer::Done`].
    Mend(HostFault),
}

/// What it answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrillAnswer {
    /// Done.
    Done,
    /// What is mounted.
    Look(Look),
    /// The words of a tool.
    Text(String),
    /// The logs.
    Logs(Box<LogTexts>),
    /// Whether there is power.
    Power(bool),
    /// What shows a fault; absent: nothing.
    Shown(Option<String>),
}

/// The logs of Corosync and Pacemaker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogTexts {
    /// How long each is now, in bytes.
    pub lengths: [u64; 2],
    /// What they hold, from where it was asked.
    pub texts: [String; 2],
    /// The head's time zone in seconds east of UTC.
    pub utc_offset_s: i32,
    /// How its clock was stepped since; asked for the lengths alone, it is forgotten.
    #[serde(default)]
    pub step: Option<ClockStep>,
    /// Why that is not all.
    pub problem: Option<String>,
}

/// A fault that a head makes on itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HostFault {
    /// A program dies, or stands still.
    Program {
        /// Which.
        program: Program,
        /// What becomes of it.
        how: How,
    },
    /// Its wall clock is set.
    Clock {
        /// So many seconds ahead of what it would be.
        ahead_s: i32,
    },
    /// Packets of interfaces vanish.
    Silence {
        /// An address of each of the interfaces.
        addresses: Vec<IpAddr>,
        /// Those that come.
        incoming: bool,
        /// Those that are sent.
        outgoing: bool,
        /// So many of a hundred.
        percent: u8,
    },
}

/// A program that a drill may hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Program {
    /// Corosync.
    Corosync,
    /// Pacemaker's first process.
    Pacemakerd,
    /// Its controller.
    Controld,
    /// The iSCSI target in user space.
    Tgtd,
}

impl Program {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Corosync => "corosync",
            Self::Pacemakerd => "pacemakerd",
            Self::Controld => "pacemaker-controld",
            Self::Tgtd => "tgtd",
        }
    }
}

/// What becomes of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// `SIGKILL`.
    Killed,
    /// `SIGSTOP`.
    Stopped,
}

impl DrillOrder {
    /// What it is called in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Look { .. } => "look at the mounts",
            Self::CorosyncMap { .. } => "read Corosync's map",
            Self::Logs { .. } => "read the logs",
            Self::CleanUp => "forget failures",
            Self::FenceMetadata { .. } => "read a fence agent's metadata",
            Self::Power { .. } => "ask for power",
            Self::Make { .. } => "make a fault",
            Self::Show(_) => "look for a fault",
            Self::Mend(_) => "mend a fault",
        }
    }

    /// How long it may take.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(match self {
            // Whoever looks all the time has to know soon that nobody answers.
            Self::Look { .. } => 2,
            Self::Power { seconds, .. } => u64::from(*seconds) + 5,
            Self::Mend(_) => 100,
            _ => 45,
        })
    }
}

impl HostFault {
    fn make(&self) -> Result<(), HostError> {
        match self {
            Self::Program { program, how } => processes::hit(*program, *how),
            Self::Clock { ahead_s } => clock::make(*ahead_s),
            Self::Silence {
                addresses,
                incoming,
                outgoing,
                percent,
            } => silence::make(addresses, *incoming, *outgoing, *percent),
        }
    }

    fn shown(&self) -> Result<Option<String>, HostError> {
        match self {
            Self::Program { program, how } => processes::shown(*program, *how),
            Self::Clock { .. } => clock::shown(),
            Self::Silence {
                addresses,
                outgoing,
                ..
            } => silence::shown(addresses, *outgoing),
        }
    }

    /// Takes it back, also when it is not there.
    fn mend(&self) -> Result<(), HostError> {
        match self {
            Self::Program {
                program,
                how: How::Stopped,
            } => processes::go_on(*program),
            // What systemd would have done by itself, or an operator.
            Self::Program {
                program: Program::Tgtd,
                ..
            } => engine::start_target(),
            Self::Program { .. } => engine::start(),
            Self::Clock { .. } => clock::mend(),
            Self::Silence { .. } => silence::mend(),
        }
    }
}

/// Does what a drill asks.
pub(super) fn obey(order: &DrillOrder) -> Result<DrillAnswer, HostError> {
    Ok(match order {
        DrillOrder::Look { engine } => DrillAnswer::Look(look::now(*engine)?),
        DrillOrder::CorosyncMap { statistics: true } => {
            DrillAnswer::Text(run::tool("corosync-cmapctl", &["-m", "stats"], None)?)
        }
        DrillOrder::CorosyncMap { statistics: false } => {
            let keys = ["runtime.config.totem"];
            DrillAnswer::Text(run::tool("corosync-cmapctl", &keys, None)?)
        }
        DrillOrder::Logs { from } => DrillAnswer::Logs(Box::new(logs::read(*from))),
        DrillOrder::CleanUp => {
            run::tool("crm_resource", &["--cleanup"], None)?;
            run::tool("stonith_admin", &["--cleanup", "--history", "*"], None)?;
            DrillAnswer::Done
        }
        DrillOrder::FenceMetadata { agent } => DrillAnswer::Text(fence_status::metadata(agent)?),
        DrillOrder::Power {
            device,
            on,
            seconds,
        } => DrillAnswer::Power(fence_status::power(device, *on, *seconds)?),
        DrillOrder::Make { fault, seconds } => {
            dead_man::stand(fault, *seconds)?;
            if let Err(e) = fault.make() {
                // Part of it may be there.
                dead_man::dismiss(fault)?;
                return Err(e);
            }
            DrillAnswer::Done
        }
        DrillOrder::Show(fault) => DrillAnswer::Shown(fault.shown()?),
        DrillOrder::Mend(fault) => {
            dead_man::dismiss(fault)?;
            DrillAnswer::Done
        }
    })
}
