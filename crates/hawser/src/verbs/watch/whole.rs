//! A watch that stays where all heads can be reached, and reads all of them.

use std::process::ExitCode;

use hawser_host::Clock;
use hawser_watch::board::Board;
use hawser_watch::changes::Changes;
use hawser_watch::metrics::Health;
use hawser_watch::notify::Manager;
use hawser_watch::readers::Seen;
use hawser_watch::run::EVERY;
use hawser_watch::tell::Whose;
use hawser_watch::threads::Threads;
use miette::{IntoDiagnostic, bail};

use super::{Args, Voice};
use crate::all_heads;
use crate::cluster::Cluster;

/// Stays, and reads all heads from here.
pub fn stay(args: &Args, cluster: Cluster, whose: &Whose) -> miette::Result<ExitCode> {
    if args.keep.is_some_and(|keep| keep > 0) {
        bail!(
            help = "a watch on the head itself keeps them (--node NAME, or a machine with a head's name)",
            "--keep: readings are kept on the disk of the head that is read, and this watch reads all heads from here"
        );
    }
    let (whole, clock) = (all_heads::whole(&cluster)?, Clock::default());
    let board = Board::whole(whole.layout().clone(), clock.clone());
    let names: Vec<String> = cluster.nodes.iter().map(|(n, _)| n.to_string()).collect();
    let what = format!("{} from here", names.join(" and "));
    let mut threads = Threads::default();
    let to = args.tell.clone();
    let mut voice = Voice::begin(&mut threads, args, to, &board, &what, whose, &clock)?;
    let readers = all_heads::read(cluster, whole)?;
    let manager = Manager::here();
    manager.tell("READY=1");
    let mut changes = Changes::default();
    let mut known = None;
    let mut health = Health::default();
    loop {
        let begun = clock.now();
        let Seen {
            shown,
            incidents,
            problem,
            failures,
        } = readers.seen();
        health.readings += 1;
        health.failures = failures;
        let told = voice.say(&changes.take(&shown), problem.as_deref());
        health.tells = told.as_ref().is_some_and(|told| !told.fails);
        health.told = told.map(|told| told.counts);
        board.show(shown, health, problem.as_deref());
        if known.as_ref() != Some(&incidents) {
            board.incidents(incidents.clone());
            known = Some(incidents);
        }
        threads.check().into_diagnostic()?;
        readers.threads().check().into_diagnostic()?;
        manager.tell("WATCHDOG=1");
        clock.sleep(EVERY.saturating_sub(clock.since(begun)));
    }
}
