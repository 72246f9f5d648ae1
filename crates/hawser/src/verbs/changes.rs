//! `hawser changes` and `hawser undo`: what was changed on the nodes, and taking it back.

use std::process::ExitCode;
use std::time::Duration;

use hawser_agent::questions::{ReadChanges, UndoChange};
use hawser_host::{Clock, Hosts, clock};
use hawser_model::knob::{Change, Undone, change_id};
use hawser_model::names::HostName;
use hawser_model::output::tune::{ChangesReport, UndoReport, UndoneChange, UnreadableChange};
use miette::{bail, miette};

use crate::cluster::{Which, beside_switches};
use crate::interrupted;
use crate::output::{self, complain, say};
use crate::render;
use crate::waiting::aloud;

/// Arguments of `hawser changes`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Print one JSON object (docs/schema/changes.schema.json)
    #[arg(long)]
    json: bool,
}

/// Arguments of `hawser undo`.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["id", "all"])))]
pub struct UndoArgs {
    /// A change, by the id that `hawser changes` shows; or --all
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Undo all changes on all nodes, the last first
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    which: Which,
    /// How long all of it may take; what is not begun by then is not undone, and is named
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = humantime::parse_duration)]
    timeout: Duration,
    /// Print one JSON object (docs/schema/undo.schema.json)
    #[arg(long)]
    json: bool,
}

/// Runs `hawser changes`.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    let mut hosts = hosts(&args.which)?;
    let (changes, unreadable) = changes(&mut hosts)?;
    let report = ChangesReport {
        changes: changes
            .iter()
            .map(|(host, change)| hawser_account::trial::change(host, change))
            .collect(),
        unreadable,
    };
    if args.json {
        let text = serde_json::to_string_pretty(&report).expect("a report is always JSON");
        say!("{text}");
    } else {
        output::print_fitted(&render::tune::changes(&report.changes));
    }
    for line in alone(&changes.iter().collect::<Vec<_>>()) {
        complain!("{line}");
    }
    match unreadable_error(&report.unreadable) {
        Some(error) => {
            complain!("{error:?}");
            Ok(ExitCode::from(1))
        }
        None => Ok(ExitCode::SUCCESS),
    }
}

/// What cannot be read, and what to do about it.
fn unreadable_error(unreadable: &[UnreadableChange]) -> Option<miette::Report> {
    let all: Vec<String> = unreadable
        .iter()
        .map(|one| format!("{}: {}", one.host, one.error))
        .collect();
    (!all.is_empty()).then(|| {
        miette!(
            help = "the entry stays as it is; look at the change that it holds, undo it by hand, and \
                    remove the file",
            "an entry of the journal cannot be read: {}",
            all.join("; ")
        )
    })
}

/// Runs `hawser undo`.
pub fn undo(args: UndoArgs) -> miette::Result<ExitCode> {
    let begun = Clock::default().now();
    interrupted::says("what was undone stays so; `hawser changes` shows what is left")?;
    let mut hosts = aloud("the nodes are being reached", || hosts(&args.which))?;
    let (all, unreadable) = changes(&mut hosts)?;
    let due = due(&all, args.id.as_deref());
    if due.is_empty() && (args.id.is_some() || unreadable.is_empty()) {
        match &args.id {
            Some(id) => {
                let known: Vec<String> = all.iter().map(|(h, c)| change_id(h, c.number)).collect();
                bail!(
                    help = if known.is_empty() {
                        "there are no changes".to_owned()
                    } else {
                        format!("there are: {}", known.join(", "))
                    },
                    "no change {id}"
                );
            }
            None if args.json => {}
            None => say!("There is nothing to undo."),
        }
    }
    for line in alone(&due) {
        complain!("{line}");
    }
    let report = undo_all(&mut hosts, &due, begun, args.timeout, |name, undone| {
        if !args.json {
            let later = later(&all, name, undone);
            say!("{}", render::tune::undone(name, undone, later));
        }
    });
    if args.json {
        let text = serde_json::to_string_pretty(&report).expect("a report is always JSON");
        say!("{text}");
    }
    if !report.failed.is_empty() {
        bail!("{}", report.failed.join("\n"));
    }
    match unreadable_error(&unreadable) {
        // One that was named is undone.
        Some(error) if args.all => Err(error),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Undoes changes in this order. What is not begun within `limit` of `begun` is not undone, and is named.
fn undo_all(
    hosts: &mut Hosts,
    due: &[&(HostName, Change)],
    begun: Duration,
    limit: Duration,
    mut said: impl FnMut(&HostName, &Undone),
) -> UndoReport {
    let clock = clock(hosts);
    let mut report = UndoReport::default();
    for (name, change) in due {
        let host = hosts.get_mut(name).expect("its changes were read");
        let id = change_id(name, change.number);
        if clock.since(begun) >= limit {
            let limit = humantime::format_duration(limit);
            report.failed.push(format!(
                "{id} is not undone: the {limit} of --timeout are over"
            ));
            continue;
        }
        match aloud(&format!("{id} is undone"), || {
            host.ask(&UndoChange(change.number))
        }) {
            Ok(undone) => {
                said(name, &undone);
                report.undone.push(UndoneChange {
                    change: hawser_account::trial::change(name, &undone.change),
                    left_at: undone.left_at,
                    gone: undone.gone,
                });
            }
            Err(e) => report.failed.push(e.to_string()),
        }
    }
    report
}

/// The later change of the same knob that has left it at what was found.
fn later<'a>(
    all: &'a [(HostName, Change)],
    host: &HostName,
    undone: &Undone,
) -> Option<&'a Change> {
    let mut own = all.iter().filter(|(name, _)| name == host);
    let found = own.rfind(|(_, it)| {
        it.knob == undone.change.knob
            && it.number > undone.change.number
            && undone.left_at.as_ref() == Some(&it.after)
    });
    found.map(|(_, later)| later)
}

/// The nodes, and who is beside switches that have changes of their own.
fn hosts(which: &Which) -> miette::Result<Hosts> {
    let cluster = which.cluster()?;
    let mut hosts = cluster.connect()?;
    for lab in cluster.labs()? {
        if lab.switch_journal().exists() {
            let host = beside_switches(&lab)?;
            hosts.insert(host.name().clone(), host);
        }
    }
    Ok(hosts)
}

/// The changes to undo, in that order: the last first, and those that are one change together, back
/// the way they came.
fn due<'a>(all: &'a [(HostName, Change)], id: Option<&str>) -> Vec<&'a (HostName, Change)> {
    let name = |(host, change): &(HostName, Change)| change_id(host, change.number);
    let mut due: Vec<&(HostName, Change)> = Vec::new();
    for one in all.iter().rev() {
        let wanted = id.is_none_or(|id| name(one) == id);
        let known = |due: &[&(HostName, Change)], one| due.iter().any(|d| name(d) == name(one));
        if !wanted || known(&due, one) {
            continue;
        }
        if one.1.together.is_empty() {
            due.push(one);
        }
        for part in one.1.together.iter().rev() {
            // One that was never kept has left its number to another.
            let is = |other: &&(HostName, Change)| {
                name(other) == *part && other.1.together == one.1.together
            };
            due.extend(all.iter().find(is));
        }
    }
    due
}

/// What is to be known of changes whose other parts no node has: a `tune` was ended while it kept them, or a node was not asked.
fn alone(changes: &[&(HostName, Change)]) -> Vec<String> {
    let has = |id: &String, of: &Change| {
        let mut all = changes.iter();
        all.any(|(host, it)| change_id(host, it.number) == *id && it.together == of.together)
    };
    let parts = changes.iter().flat_map(|(host, change)| {
        let lacks = change.together.iter().filter(|id| !has(id, change));
        lacks.map(|id| (change_id(host, change.number), id))
    });
    parts
        .map(|(one, id)| {
            format!("{one} was made together with {id}, which is not there: that node has its value from before, or was not asked")
        })
        .collect()
}

/// The changes of all nodes, oldest first on each, and what of the journals cannot be read.
fn changes(hosts: &mut Hosts) -> miette::Result<Recorded> {
    let mut all = Vec::new();
    let mut unreadable = Vec::new();
    for (name, host) in hosts.iter_mut() {
        let recorded = host.ask(&ReadChanges).map_err(|e| miette!("{e}"))?;
        all.extend(recorded.changes.into_iter().map(|c| (name.clone(), c)));
        unreadable.extend(
            recorded
                .unreadable
                .into_iter()
                .map(|error| UnreadableChange {
                    host: name.clone(),
                    error,
                }),
        );
    }
    Ok((all, unreadable))
}

/// By node.
type Recorded = (Vec<(HostName, Change)>, Vec<UnreadableChange>);

#[cfg(test)]
mod tests {
    use hawser_host::sim::{Simulated, Wire};
    use hawser_host::{Answers, Declined, Entry, Host, Stop};
    use hawser_model::knob::{Knob, Scope, Standing};

    use super::*;

    /// A node on which each change takes a minute to undo.
    struct Slow(Clock);

    impl Answers<Slow> for UndoChange {
        fn answer(self, node: &mut Slow, _: &Stop) -> Result<Undone, Declined> {
            node.0.sleep(Duration::from_secs(60));
            Ok(Undone {
                change: change(self.0),
                left_at: None,
                gone: false,
            })
        }
    }

    const QUESTIONS: &[Entry<Slow>] = &[Entry::of::<UndoChange>()];

    fn change(number: u64) -> Change {
        Change {
            number,
            knob: Knob::Sysctl {
                name: "net.core.rmem_max".into(),
            },
            scope: Scope::Machine,
            before: "212992".into(),
            after: "425984".into(),
            standing: Standing::Kept,
            persisted_in: None,
            not_persisted: None,
            together: Vec::new(),
        }
    }

    #[test]
    fn a_later_change_of_the_same_knob_is_named_and_not_somebody_else() {
        let host = HostName::from("head1");
        let all = [1, 2].map(|number| (host.clone(), change(number)));
        let told = |left_at: &str, number| {
            let undone = Undone {
                change: change(number),
                left_at: Some(left_at.into()),
                gone: false,
            };
            render::tune::undone(&host, &undone, later(&all, &host, &undone))
        };
        assert_eq!(
            told("425984", 1),
            "head1-1: net.core.rmem_max stays 425984, as head1-2 has set it since: `hawser undo head1-2` takes that back"
        );
        assert!(told("1", 1).contains("which somebody else has set since"));
        assert!(told("425984", 2).contains("which somebody else has set since"));
        let gone = Undone {
            change: change(1),
            left_at: None,
            gone: true,
        };
        assert_eq!(
            render::tune::undone(&host, &gone, None),
            "head1-1: net.core.rmem_max does not exist any more, and nothing is left of the change"
        );
    }

    #[test]
    fn a_part_that_was_never_kept_is_named_and_no_other_change_taken_for_it() {
        let of = |host: &str, together: &[&str]| {
            let together = together.iter().map(|id| (*id).to_owned()).collect();
            let change = Change {
                together,
                ..change(1)
            };
            (HostName::from(host), change)
        };
        let both = ["head1-1", "head2-1"];
        let whole = [of("head1", &both), of("head2", &both)];
        assert_eq!(due(&whole, Some("head1-1")).len(), 2);
        assert_eq!(alone(&due(&whole, None)), [""; 0]);
        // head2 gave its number to the next change, which is another.
        let half = [of("head1", &both), of("head2", &[])];
        let due = due(&half, Some("head1-1"));
        assert_eq!(due, [&half[0]]);
        let said = alone(&due);
        assert!(
            said[0].starts_with("head1-1 was made together with head2-1, which is not there"),
            "{said:?}"
        );
    }

    #[test]
    fn what_is_not_begun_in_time_is_named_and_stays() {
        let wire = Wire::default();
        let name = HostName::from("head1");
        let node = Slow(wire.clock());
        let host: Box<dyn Host> = Box::new(Simulated::new(name.clone(), node, QUESTIONS, &wire));
        let mut hosts: Hosts = [(name.clone(), host)].into();
        let all = [3, 2, 1].map(|number| (name.clone(), change(number)));
        let due: Vec<_> = all.iter().collect();
        let limit = Duration::from_secs(90);
        let mut said = Vec::new();
        let report = undo_all(&mut hosts, &due, Duration::ZERO, limit, |_, undone| {
            said.push(undone.change.number);
        });
        assert_eq!(said, [3, 2]);
        assert_eq!(report.undone.len(), 2);
        assert_eq!(
            report.failed,
            ["head1-1 is not undone: the 1m 30s of --timeout are over"]
        );
        assert_eq!(wire.asked().len(), 2);
    }
}
