//! `hawser demo`: the main job on real parts, as the commands anybody could type.
//!
//! The demo runs this very binary step by step and shows each command before its output, so what
//! is seen is what the verbs do: a check, a planted fault found, its fix proven by `tune`; then a cluster whose
//! head loses its power under load. Its labs and its machine-wide setting are gone at the end, also after
//! Ctrl-C; after `kill -9` the next `hawser lab up` or `down` puts the setting back.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use hawser_lab::Interrupt;
use hawser_tool::{Launch, Tool};
use miette::{IntoDiagnostic, WrapErr, bail, miette};

use crate::output::paint::style;
use crate::output::{READER_GONE, say};

const LAB: &str = "demo";

/// A receive buffer that one large packet fills: what the case `rcvbuf` had too little of.
const PLANTED: &str = "4096";

/// Kept, so that `hawser explain` can be tried on it.
const CASE: &str = "/var/lib/hawser/cases/demo.json";

/// The tune as a page.
const PAGE: &str = "/var/lib/hawser/cases/demo.html";

/// The drill, and the drill as a page.
const DRILL: &str = "/var/lib/hawser/cases/demo-drill.json";
const DRILL_PAGE: &str = "/var/lib/hawser/cases/demo-drill.html";

/// A lab goes within seconds; one whose nodes hang takes longer.
const DOWN: Duration = Duration::from_secs(120);

/// Arguments of `hawser demo`.
#[derive(clap::Args)]
pub struct Args {}

/// Runs the verb.
pub fn run(_args: Args) -> miette::Result<ExitCode> {
    let interrupt = Interrupt::hold().map_err(|e| miette!("{e}"))?;
    let demo = Demo {
        binary: std::env::current_exe()
            .into_diagnostic()
            .wrap_err("cannot find hawser's own program")?,
        interrupt,
    };
    // A demo that was killed may have left its lab.
    demo.quietly(&["lab", "down", "--lab", LAB])?;
    let shown = demo.network().and_then(|()| demo.heads());
    let end = demo.step(&["lab", "down", "--lab", LAB], &[0]);
    shown.and(end)?;
    tell(
        "These heads were namespaces of this machine's kernel. As machines, each with a kernel and systemd of its\n\
         own (docs/machines.md, also for pools on ZFS and LVM):\n\n\
         hawser lab up --lab m --machines --cluster\n\
         hawser drill power-cut --lab m\n\
         hawser lab down --lab m",
    );
    Ok(ExitCode::SUCCESS)
}

struct Demo {
    binary: PathBuf,
    interrupt: Interrupt,
}

impl Demo {
    fn network(&self) -> miette::Result<()> {
        tell("A cluster on this machine: two heads, two links, each over a switch of its own.");
        self.step(&["lab", "up", "--lab", LAB], &[0])?;

        tell("Nothing is wrong yet. A check should say so.");
        self.step(&["check", "--lab", LAB], &[0])?;

        tell(
            "Now a fault that operators have met: \"random disconnects, UDP tops out at 800 Mbit/s,\n\
             netstat -su shows receive errors\". The check is told nothing of it.",
        );
        let plant = [
            "lab",
            "impair",
            "--lab",
            LAB,
            "--machine",
            "--rmem-default",
            PLANTED,
        ];
        self.step(&plant, &[0])?;
        self.step(&["check", "--lab", LAB, "--case", CASE], &[1])?;

        tell(
            "What would you try? The reports this project started from tried ring sizes, IGMP versions and\n\
             interrupt modes, and none of it helped. Hawser tries them too, one at a time under the same\n\
             traffic, measures, and rolls back what is useless.",
        );
        self.step(&["tune", "--lab", LAB, "--case", CASE], &[0])?;
        tell(
            "One change was proven and kept. The same check again, and then everything is taken back:",
        );
        self.step(&["check", "--lab", LAB], &[0])?;
        self.step(&["undo", "--all", "--lab", LAB], &[0])?;
        tell("All of it as one page with pictures, to send or to keep:");
        self.step(&["report", CASE, "-o", PAGE], &[0])?;
        tell("Fault found, fix proven. The lab goes, and the machine gets its own setting back.");
        self.step(&["lab", "down", "--lab", LAB], &[0])
    }

    fn heads(&self) -> miette::Result<()> {
        tell(
            "Now the heads themselves, from one file: Corosync, Pacemaker, a BMC for each, pools that are\n\
             exported by iSCSI over two SANs.",
        );
        self.step(&["lab", "up", "--lab", LAB, "--cluster"], &[0])?;

        tell(
            "A client writes, and the head that serves it loses its power. Where did each second go that the\n\
             client waited, and is everything there that was acknowledged?",
        );
        // 1: a promise broke, which the drill says; on a machine with more to do it may be that of time.
        self.step(
            &["drill", "power-cut", "--lab", LAB, "--case", DRILL],
            &[0, 1],
        )?;
        self.step(&["report", DRILL, "-o", DRILL_PAGE], &[0])
    }

    /// Shows a command and runs it; any other exit code than those expected ends the demo.
    fn step(&self, arguments: &[&str], expected: &[i32]) -> miette::Result<()> {
        say!(
            "{} hawser {}",
            style("$").dim(),
            style(arguments.join(" ")).bold()
        );
        let step = Launch::new(&self.binary).args(arguments).attached();
        let status = step.into_diagnostic()?.wait().into_diagnostic()?;
        say!("");
        if self.interrupt.requested() {
            bail!("interrupted");
        }
        match status.code() {
            Some(code) if expected.contains(&code) => Ok(()),
            Some(code) if code == i32::from(READER_GONE) => bail!("nobody reads any more"),
            _ => bail!(
                "hawser {}: {status}, expected {expected:?}",
                arguments.join(" ")
            ),
        }
    }

    fn quietly(&self, arguments: &[&str]) -> miette::Result<()> {
        let tool = Tool::new(&self.binary).args(arguments).limit(DOWN);
        tool.output().into_diagnostic()?;
        Ok(())
    }
}

fn tell(text: &str) {
    say!("{}\n", style(text).cyan());
}
