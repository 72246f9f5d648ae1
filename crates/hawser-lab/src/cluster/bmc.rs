//! Management controllers: one `ipmi_sim` (OpenIPMI) for each head, in the network of the switches,
//! so that it lives on when its node is off. What it is asked to do to the chassis is done by the
//! same code as `hawser lab power`.
//!
//! Each runs under a small process of Hawser's own that carries the lab's token on its command
//! line, and ends with it or with the lab.

use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hawser_tool::{Launch, TIED};

use super::secrets;
use super::spec::BmcSpec;
use crate::actions::{power_loss, switch_on};
use crate::error::LabError;
use crate::lab::need_root;
use crate::name::LabName;
use crate::paths::{LabDir, Root};
use crate::power::PowerLoss;
use crate::process::{self, Known};
use crate::state::State;

/// The hidden subcommand of `hawser lab` that runs a BMC.
pub const SUBCOMMAND: &str = "bmc";
/// The hidden subcommand that a BMC runs when it is asked about its node's power.
pub const CHASSIS: &str = "chassis";

/// How often a BMC looks whether its lab is still there.
const LOOKS: Duration = Duration::from_millis(200);

/// What a BMC's process is told on its command line.
#[derive(Debug)]
pub struct BmcArgs {
    /// The lab's token.
    pub token: String,
    /// The lab's folder.
    pub dir: PathBuf,
    /// The node whose BMC it is.
    pub node: String,
}

/// Starts the BMCs that do not run. The state must have been saved: they read it.
pub(crate) fn start_missing(dir: &LabDir, state: &State) -> Result<(), LabError> {
    let Some(cluster) = &state.spec.cluster else {
        return Ok(());
    };
    for bmc in &cluster.bmcs {
        let node = bmc.node.as_str();
        if !process::bmcs_of(Known::Token(&state.token), node).is_empty() {
            continue;
        }
        let folder = dir.bmc(node);
        let password = secrets::password(dir, &bmc.password)?;
        secrets::private(&folder, "lan.conf", &lan_conf(dir, state, bmc, &password))?;
        secrets::private(&folder, "sim.emu", EMULATOR)?;
        let log = folder.join("log");
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&log)
            .map_err(|e| LabError::io("open", &log, e))?;
        Launch::new(dir.binary())
            .args(["lab", SUBCOMMAND, &state.token])
            .arg(dir.path())
            .arg(node)
            .folder("/")
            .log(log)
            .daemon()?;
    }
    Ok(())
}

/// One controller without sensors (`ipmi_sim`'s command file): what it has is the chassis.
const EMULATOR: &str = "mc_setbmc 0x20\n\
     mc_add 0x20 0 no-device-sdrs 0x23 9 8 0x9f 0x1291 0xf02 persist_sdr\n\
     sel_enable 0x20 1000 0x0a\n\
     mc_enable 0x20\n";

fn lan_conf(dir: &LabDir, state: &State, bmc: &BmcSpec, password: &str) -> String {
    let BmcSpec {
        node,
        address,
        username,
        ..
    } = bmc;
    let mut text =
        format!("name \"{node}\"\nset_working_mc 0x20\nstartlan 1\n  addr {address} 623\n");
    text += "  priv_limit admin\n";
    for who in ["callback", "user", "operator", "admin"] {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "  allowed_auths_{who} none md2 md5 straight");
    }
    let guid = format!("{:.32}", format!("{:0<32}", state.token));
    let _ = writeln!(text, "  guid {guid}\nendlan");
    let _ = writeln!(
        text,
        "chassis_control \"{} lab {CHASSIS} {} {node}\"",
        dir.binary().display(),
        state.name,
    );
    text += "user 1 false \"\" \"\" user 10 none md2 md5 straight\n";
    let _ = writeln!(
        text,
        "user 2 true \"{username}\" \"{password}\" admin 10 none md2 md5 straight"
    );
    text
}

/// Runs a BMC until it or its lab ends.
///
/// # Errors
/// What kept it from running.
pub fn run(args: &BmcArgs) -> Result<(), LabError> {
    // Ctrl-C on the terminal of `lab up` is not for it.
    let _already_leader = nix::unistd::setsid();
    let dir = LabDir(args.dir.clone());
    let switches = State::load(&dir)?.and_then(|state| state.switches_running());
    let Some(switches) = switches else {
        return Err(LabError::NotWhole {
            name: args.dir.display().to_string(),
            what: "its switches have died".to_owned(),
        });
    };
    let folder = dir.bmc(&args.node);
    let state = folder.join("state");
    fs::create_dir_all(&state).map_err(|e| LabError::io("create the folder", &state, e))?;
    let mut simulator = Launch::new("nsenter")
        .arg(format!("--net=/proc/{}/ns/net", switches.pid))
        .arg("--")
        .args(TIED)
        .args(["ipmi_sim", "-n", "-c"])
        .arg(folder.join("lan.conf"))
        .arg("-f")
        .arg(folder.join("sim.emu"))
        .arg("-s")
        .arg(&state)
        .folder(&folder)
        .daemon()?;
    loop {
        if let Ok(Some(status)) = simulator.try_wait() {
            return Err(LabError::Tool {
                command: format!("ipmi_sim of {}", args.node),
                what: status.to_string(),
            });
        }
        if !switches.is_alive() {
            let _gone_already = simulator.kill();
            let _reaped = simulator.wait();
            return Ok(());
        }
        std::thread::sleep(LOOKS);
    }
}

/// Answers what a BMC asks of its chassis: `get power boot`, `set power 0`, `check power`
/// (`ipmi_sim`'s `chassis_control`). The answer is the text for its standard output.
///
/// # Errors
/// A question that makes no sense; what switching says.
pub fn chassis(lab: &LabName, node: &str, words: &[String]) -> Result<String, LabError> {
    need_root()?;
    let bad = || LabError::Impairment(format!("chassis of {node}: {}", words.join(" ")));
    let (verb, rest) = words.split_first().ok_or_else(bad)?;
    let mut said = String::new();
    match verb.as_str() {
        "get" => {
            for parameter in rest {
                let value = match parameter.as_str() {
                    "power" => u8::from(is_on(lab, node)?).to_string(),
                    "boot" => "default".to_owned(),
                    _ => return Err(bad()),
                };
                let _ = writeln!(said, "{parameter}:{value}");
            }
        }
        "set" => {
            for pair in rest.chunks(2) {
                let [parameter, value] = pair else {
                    return Err(bad());
                };
                match (parameter.as_str(), value.as_str()) {
                    ("power", "0") => {
                        switch(lab, node, false, || power_loss(lab, node, PowerLoss::Cut))?;
                    }
                    ("power", _) => switch(lab, node, true, || switch_on(lab, node))?,
                    ("reset", _) => {
                        switch(lab, node, false, || power_loss(lab, node, PowerLoss::Cut))?;
                        switch(lab, node, true, || switch_on(lab, node))?;
                    }
                    ("shutdown", _) => {
                        switch(lab, node, false, || power_loss(lab, node, PowerLoss::Off))?;
                    }
                    ("boot" | "identify", _) => {}
                    _ => return Err(bad()),
                }
            }
        }
        "check" => {}
        _ => return Err(bad()),
    }
    Ok(said)
}

/// Something that a BMC was told to do to its node's power, or had done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerChange {
    /// When, in microseconds since 1970.
    pub at_us: u64,
    /// Towards on, or off.
    pub on: bool,
    /// Done; before that, ordered.
    pub done: bool,
}

/// Does it, and writes down when it was told to and when it was done: what a fence agent says can be
/// held against it.
fn switch(
    lab: &LabName,
    node: &str,
    on: bool,
    work: impl FnOnce() -> Result<bool, LabError>,
) -> Result<(), LabError> {
    let log = Root::from_environment().lab(lab).bmc(node).join(POWER_LOG);
    note(&log, on, false)?;
    work()?;
    note(&log, on, true)
}

/// Lines of `MICROSECONDS on|off ordered|done`.
const POWER_LOG: &str = "power.log";

fn note(log: &Path, on: bool, done: bool) -> Result<(), LabError> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let line = format!(
        "{} {} {}\n",
        since.map_or(0, |t| t.as_micros()),
        if on { "on" } else { "off" },
        if done { "done" } else { "ordered" }
    );
    let file = OpenOptions::new().create(true).append(true).open(log);
    file.and_then(|mut file| std::io::Write::write_all(&mut file, line.as_bytes()))
        .map_err(|e| LabError::io("write", log, e))
}

/// What is written there.
pub(crate) fn power_log(dir: &LabDir, node: &str) -> Vec<PowerChange> {
    let text = fs::read_to_string(dir.bmc(node).join(POWER_LOG)).unwrap_or_default();
    let parsed = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [at, towards @ ("on" | "off"), stage @ ("ordered" | "done")] = words[..] else {
            return None;
        };
        Some(PowerChange {
            at_us: at.parse().ok()?,
            on: towards == "on",
            done: stage == "done",
        })
    });
    parsed.collect()
}

fn is_on(lab: &LabName, node: &str) -> Result<bool, LabError> {
    let lab = crate::lab::Lab::open(lab.as_str())?;
    Ok(lab.running().iter().any(|name| name.as_str() == node))
}

/// The addresses of the BMCs on their switch, as commands in the switches' namespace.
pub(crate) fn addresses(state: &State) -> Vec<String> {
    let Some(cluster) = &state.spec.cluster else {
        return Vec::new();
    };
    let link = state.spec.link(super::BMC_LINK);
    let Some((net, switch)) = link.and_then(|link| Some((link.ipv4?, &link.switch))) else {
        return Vec::new();
    };
    let lines = cluster
        .bmcs
        .iter()
        .map(|bmc| format!("addr add {}/{} dev {switch}", bmc.address, net.prefix_len()));
    lines.collect()
}
