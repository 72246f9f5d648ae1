//! `hawser lab`: a whole cluster on one machine.

mod args;
mod cluster;
mod images;
mod impair;
mod show;

use std::process::ExitCode;
use std::time::Duration;

use hawser_lab::cluster::bmc;
use hawser_lab::cluster::services;
use hawser_lab::impair::{clear, reorder_line};
use hawser_lab::{
    CutPoint, Interrupt, Kind, Lab, LabError, LabName, LabSpec, PowerLoss, Release, UpOutcome,
    UpRequest, init,
};
use hawser_model::toml_file::Problem;
use miette::Report;

use crate::bad_file;
use crate::output::{self, complain, say};

pub use args::Args;
use args::{Action, HoldLine, Layout, Machines, Name, NodeInit, Power};
use impair::{ClearArgs, ImpairArgs};

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    if let Action::Up { name, layout } = &args.action {
        if layout.cluster {
            let begun = std::time::Instant::now();
            let mut spec = cluster::spec(layout.file.as_deref(), kind(layout))?;
            spec.release = release(layout);
            let name = name.lab().map_err(report)?;
            let interrupt = Interrupt::hold().map_err(report)?;
            let found = up(&name, Some(&spec), &interrupt).map_err(report)?;
            return match layout.bare {
                true => Ok(ExitCode::SUCCESS),
                false => cluster::apply(&name, &found, begun, &interrupt, !layout.no_watch),
            };
        }
    }
    act(args.action).map_err(report)
}

fn act(action: Action) -> Result<ExitCode, LabError> {
    match action {
        Action::NodeInit(args) => node_init(args)?,
        Action::HoldLine(args) => hold_line(args)?,
        Action::Join { init, command } => hawser_lab::cgroup::run(init, &command)?,
        Action::NodeService { action } => services::run(action)?,
        Action::Bmc(args) => bmc::run(&bmc::BmcArgs {
            token: args.token,
            dir: args.dir,
            node: args.node,
        })?,
        Action::Chassis { lab, node, words } => {
            output::print(&bmc::chassis(&LabName::new(&lab)?, &node, &words)?);
        }
        Action::Up { name, layout } => {
            let interrupt = Interrupt::hold()?;
            up(&name.lab()?, spec(&layout)?.as_ref(), &interrupt)?;
        }
        Action::Down { name } => down(&name.lab()?)?,
        Action::List { json } => {
            let labs = hawser_lab::list()?;
            print(json, &labs, || show::list(&labs))?;
        }
        Action::Status { name, json } => {
            let lab = hawser_lab::status(&name.lab()?)?;
            print(json, &lab, || show::status(&lab))?;
        }
        Action::Exec {
            name,
            node,
            command,
        } => return exec(name.as_str(), &node, &command),
        Action::Shell { name, node } => {
            // A machine has the shells of its image, not those of this host.
            let own = Lab::open(name.as_str())?.nodes_have_kernels();
            let shell = std::env::var("SHELL").ok().filter(|_| !own);
            let shell =
                shell.unwrap_or_else(|| if own { "/bin/bash" } else { "/bin/sh" }.to_owned());
            return exec(name.as_str(), &node, &[shell]);
        }
        Action::Console { name, node, follow } => return console(name.as_str(), &node, follow),
        Action::Images { what } => images::run(what)?,
        Action::Cut { name, place } => {
            let _held = Interrupt::hold()?;
            let place = CutPoint::parse(&place);
            let changed = hawser_lab::cut(&name.lab()?, &place)?;
            said(
                changed,
                &format!("{place} is cut"),
                &format!("{place} was cut already"),
            );
        }
        Action::Heal { name, place } => {
            let _held = Interrupt::hold()?;
            let place = CutPoint::parse(&place);
            let changed = hawser_lab::heal(&name.lab()?, &place)?;
            said(
                changed,
                &format!("{place} is healed"),
                &format!("{place} was not cut"),
            );
        }
        Action::Power { name, how, node } => power(&name.lab()?, how, &node)?,
        Action::Impair { name, order } => impair(&name, &order)?,
        Action::Clear { name, what } => clear_faults(&name, &what)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The layout that was asked for; `None`: as it stands, or the default.
fn spec(layout: &Layout) -> Result<Option<LabSpec>, LabError> {
    let mut spec = match layout {
        Layout {
            file: Some(path), ..
        } => Some(LabSpec::from_file(path)?),
        Layout {
            nodes: None,
            links: None,
            machines: None,
            ..
        } => None,
        Layout { nodes, links, .. } => Some(LabSpec::grid(
            nodes.map_or(2, usize::from),
            links.map_or(2, usize::from),
        )),
    };
    if let (Some(spec), Some(_)) = (&mut spec, layout.machines) {
        spec.kind = kind(layout);
        spec.release = release(layout);
    } else if spec.as_ref().is_some_and(LabSpec::says_of_machines) {
        let what = "the file says which machines nodes are, or what they are joined by (`machine`, `card`, `serial`): add --machines";
        return Err(LabError::Machines(what.to_owned()));
    }
    Ok(spec)
}

/// What the nodes are to be.
fn kind(layout: &Layout) -> Kind {
    match layout.machines {
        Some(Machines::Uml) => Kind::Uml,
        Some(Machines::Qemu) => Kind::Qemu,
        None => Kind::Namespace,
    }
}

/// The release of Debian that machines are to have.
fn release(layout: &Layout) -> Release {
    layout.release.map(Release::from).unwrap_or_default()
}

fn up(
    name: &LabName,
    spec: Option<&LabSpec>,
    interrupt: &Interrupt,
) -> Result<UpOutcome, LabError> {
    let begun = std::time::Instant::now();
    let binary = std::env::current_exe().map_err(|source| LabError::Io {
        call: "find",
        path: "/proc/self/exe".into(),
        source,
    })?;
    let up = hawser_lab::up(&UpRequest {
        name,
        spec,
        binary: &binary,
        told: &|what| complain!("{what}"),
        interrupted: &|| interrupt.requested(),
    })?;
    let took = begun.elapsed().as_secs_f64();
    output::print_fitted(&show::restored(&up.restored));
    match &up.outcome {
        UpOutcome::AlreadyUp => say!("lab {name} is up already"),
        UpOutcome::Restarted(nodes) => {
            say!(
                "lab {name}: {} had died and runs again ({took:.2} s)",
                nodes.join(", ")
            );
        }
        UpOutcome::Rebuilt { because } => {
            say!("lab {name}: rebuilt, because {because}");
            describe(name, took)?;
        }
        UpOutcome::Built => describe(name, took)?,
    }
    Ok(up.outcome)
}

fn describe(name: &LabName, took: f64) -> Result<(), LabError> {
    let lab = Lab::open(name.as_str())?;
    let spec = lab.spec();
    let nodes: Vec<&str> = spec.nodes.iter().map(|n| n.name.as_str()).collect();
    let links: Vec<String> = spec
        .links
        .iter()
        .map(|link| format!("{} on {}", link.name, link.switch))
        .collect();
    say!(
        "lab {name} is up in {took:.2} s: {}; {}",
        nodes.join(", "),
        links.join(", ")
    );
    Ok(())
}

fn down(name: &LabName) -> Result<(), LabError> {
    let _held = Interrupt::hold()?;
    let down = hawser_lab::down(name)?;
    output::print_fitted(&show::restored(&down.restored));
    if down.existed {
        say!("lab {name} is down");
    } else {
        complain!("there is no lab {name}; nothing to take down");
    }
    Ok(())
}

/// Becomes the command: its streams, signals and exit code are the caller's own.
fn exec(name: &str, node: &str, command: &[String]) -> Result<ExitCode, LabError> {
    Err(Lab::open(name)?.tied_command(node, command)?.exec().into())
}

/// Shows the console's file, by the program that does so.
fn console(name: &str, node: &str, follow: bool) -> Result<ExitCode, LabError> {
    let lab = Lab::open(name)?;
    let console = lab.console_of(node)?;
    let follow: &[&str] = if follow { &["-f"] } else { &[] };
    let tail = hawser_tool::Launch::new("tail")
        .args(["-n", "+1"])
        .args(follow);
    Err(tail.arg(console).exec().into())
}

fn power(name: &LabName, how: Power, node: &str) -> Result<(), LabError> {
    let held = Interrupt::hold()?;
    match how {
        Power::On => {
            let changed = hawser_lab::power_on(name, node, &|| held.requested())?;
            said(
                changed,
                &format!("{node} is on"),
                &format!("{node} was on already"),
            );
        }
        Power::Off | Power::Cut => {
            let loss = if how == Power::Cut {
                PowerLoss::Cut
            } else {
                PowerLoss::Off
            };
            let changed = hawser_lab::power_loss(name, node, loss)?;
            said(
                changed,
                &format!("{node} is off"),
                &format!("{node} was off already"),
            );
        }
    }
    Ok(())
}

fn said(changed: bool, now: &str, before: &str) {
    say!("{}", if changed { now } else { before });
}

fn impair(name: &Name, order: &ImpairArgs) -> Result<(), LabError> {
    let _held = Interrupt::hold()?;
    let lab = Lab::open(name.as_str())?;
    let order = order.order(|place| lab.spec().switch(place).is_some())?;
    hawser_lab::impair::impair(&name.lab()?, &order)?;
    let now = hawser_lab::status(&name.lab()?)?;
    output::print_fitted(&show::planted(&order, &now));
    Ok(())
}

fn clear_faults(name: &Name, what: &ClearArgs) -> Result<(), LabError> {
    let _held = Interrupt::hold()?;
    let lab = Lab::open(name.as_str())?;
    let what = what.what(|place| lab.spec().switch(place).is_some());
    output::print_fitted(&show::restored(&clear(&name.lab()?, &what)?));
    Ok(())
}

/// Prints a value for scripts or for people.
fn print(
    json: bool,
    value: &impl serde::Serialize,
    text: impl Fn() -> String,
) -> Result<(), LabError> {
    if json {
        let json = serde_json::to_string_pretty(value).map_err(|e| LabError::Io {
            call: "write",
            path: "/dev/stdout".into(),
            source: e.into(),
        })?;
        say!("{json}");
    } else {
        output::print_fitted(&text());
    }
    Ok(())
}

fn node_init(args: NodeInit) -> Result<(), LabError> {
    init::run(&init::InitArgs {
        token: args.token,
        dir: args.dir,
        node: args.node,
        inside: args.inside,
        machine_net: args.machine_net,
    })
}

fn hold_line(args: HoldLine) -> Result<(), LabError> {
    reorder_line::run(&reorder_line::HoldArgs {
        token: args.token,
        dir: args.dir,
        device: args.device,
        hold: Duration::from_millis(args.hold_ms),
    })
}

/// An error as it is shown: a mistake in a lab file with the place in the file.
fn report(error: LabError) -> Report {
    match error {
        LabError::File(errors) => {
            let is_of_a_cluster = errors.errors.iter().any(|it| match &it.problem {
                Problem::UnknownKey { found, table, .. } => {
                    found == "cluster" && table == "the file"
                }
                _ => false,
            });
            match is_of_a_cluster {
                true => miette::miette!(
                    help = "`hawser lab up --cluster --file FILE` builds its lab",
                    "{} is a cluster file",
                    errors.path
                ),
                false => bad_file::all(&errors),
            }
        }
        other => Report::msg(other.to_string()),
    }
}
