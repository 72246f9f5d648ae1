//! A watch that stays on a head and asks no other.

use std::process::ExitCode;
use std::sync::Arc;

use hawser_cluster::units::WOKEN;
use hawser_host::Clock;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::names::HostName;
use hawser_model::topology::Reach;
use hawser_watch::board::Board;
use hawser_watch::keeping::Keeping;
use hawser_watch::notify::Manager;
use hawser_watch::past::Past;
use hawser_watch::peers::listen::{Trouble, listen, of_head};
use hawser_watch::peers::{Ring, others};
use hawser_watch::run::{EVERY, Looker, OwnView, Watch};
use hawser_watch::tell::Whose;
use hawser_watch::threads::Threads;
use hawser_watch::wake;
use miette::{IntoDiagnostic, WrapErr, bail};

use super::{Args, RING, Voice, receiver, started};
use crate::cluster::Cluster;
use crate::output;

/// The head of the cluster file that this machine is. None: it is none of them, or all are to be watched.
pub fn own(args: &Args, cluster: &Cluster) -> miette::Result<Option<HostName>> {
    let elsewhere = |(_, reach): &(HostName, Reach)| matches!(reach, Reach::Lab(_));
    let file = match (cluster.cluster_file(), &args.node) {
        (Some(file), _) => file,
        (None, Some(_)) => bail!("--node needs a cluster file (-f FILE) that has the head"),
        (None, None) => return Ok(None),
    };
    let nodes: Vec<&str> = file.nodes.iter().map(|node| node.name.as_str()).collect();
    let name = match &args.node {
        Some(name) => match named(&nodes, name) {
            Some(name) => name.to_owned(),
            None => bail!(
                "{name} is not a head of the cluster file, which has {}",
                nodes.join(", ")
            ),
        },
        None if args.all || cluster.nodes.iter().any(elsewhere) => return Ok(None),
        None => {
            let name = nix::unistd::gethostname().into_diagnostic();
            let name = name.wrap_err("cannot read this machine's name")?;
            let name = name.to_string_lossy().into_owned();
            match named(&nodes, &name) {
                Some(name) => name.to_owned(),
                None => return Ok(None),
            }
        }
    };
    Ok(Some(name.as_str().into()))
}

/// The head of this name: the whole one first, which is the one that Corosync knows (`uname -n`), then without its domain.
fn named<'a>(nodes: &[&'a str], name: &str) -> Option<&'a str> {
    let short = name.split('.').next().unwrap_or_default();
    let find = |name: &str| nodes.iter().copied().find(|node| *node == name);
    find(name).or_else(|| find(short))
}

/// Stays on this head, which no other head is asked for.
pub fn stay(
    args: &Args,
    file: &ClusterFile,
    own: HostName,
    whose: &Whose,
) -> miette::Result<ExitCode> {
    let clock = Clock::default();
    let board = Board::new(file.clone(), own.clone(), clock.clone());
    // A head whose watch ran not at all for want of somebody to tell would be worse off.
    let to = receiver(args, Some(file)).unwrap_or_else(|why| {
        output::complain!("nobody is told of alarms: {why}");
        None
    });
    let mut threads = Threads::default();
    let mut voice = Voice::begin(&mut threads, args, to, &board, own.as_str(), whose, &clock)?;
    let name = own.clone();
    let mine = move || hawser_agent::own(name.clone());
    let past = started(Past::start(
        &mut threads,
        mine(),
        file.clone(),
        board.clone(),
        clock.clone(),
    ))?;
    let mut host = mine();
    let view = OwnView::new(file.clone(), own.clone(), Box::new(mine));
    let mut look = started(Looker::start(&mut threads, view))?;
    let trouble = match file.watch.port() {
        Some(port) => {
            let ring = Arc::new(Ring::of(file, &own, port));
            started(others::ask(&mut threads, &ring, &board, &past, &clock))?;
            started(listen(
                &mut threads,
                &ring,
                &of_head(own.clone(), board.clone()),
            ))?
        }
        None => Trouble::default(),
    };
    let mut watch = Watch::new(file.clone(), own.clone()).telling(voice.tells());
    let keep = args.keep.unwrap_or(RING);
    if keep > 0 {
        watch = watch.keeping(Keeping::new(keep, file.pool_folders()));
    }
    if let Err(e) = wake::listen() {
        output::complain!("Pacemaker's alerts do not wake this watch: {WOKEN}: {e}");
    }
    let manager = Manager::here();
    manager.tell("READY=1");
    loop {
        let begun = clock.now();
        watch.certificates(&voice.doors.now().certificates);
        let changes = watch.tick(host.as_mut(), &mut look, &clock);
        for words in watch.said().into_iter().chain(trouble.said()) {
            output::complain!("{words}");
        }
        if let Some(left) = watch.left() {
            voice.resume(left);
        }
        if let Some(told) = voice.say(&changes, watch.problem()) {
            watch.told(told);
        }
        board.post(&watch);
        if watch.news() {
            past.read(watch.cib());
        }
        threads.check().into_diagnostic()?;
        manager.tell("WATCHDOG=1");
        clock.sleep(EVERY.saturating_sub(clock.since(begun)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_found_by_its_whole_name_and_without_its_domain() {
        assert_eq!(named(&["head1", "head2"], "head2.example"), Some("head2"));
        let whole = ["head1.example", "head2.example"];
        assert_eq!(named(&whole, "head2.example"), Some("head2.example"));
        assert_eq!(named(&whole, "head2"), None);
        assert_eq!(named(&["head1"], "client1"), None);
    }
}
