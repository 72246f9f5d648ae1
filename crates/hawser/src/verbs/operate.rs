//! `hawser standby`, `hawser online` and `hawser move`.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use hawser_cluster::live::{self, LiveError, Manner, Operated, Waiting};
use hawser_host::Hosts;
use hawser_model::cluster_file::ClusterFile;
use hawser_model::output::cluster::{OperateOrder, OperateOutput, OperatedPool};
use miette::{IntoDiagnostic, WrapErr};

use crate::cluster::FileOrLab;
use crate::interrupted;
use crate::names;
use crate::output::{complain, print, say};
use crate::waiting::aloud;

/// Arguments of `hawser standby` and `hawser online`.
#[derive(clap::Args)]
pub struct NodeArgs {
    #[command(flatten)]
    cluster: FileOrLab,
    #[command(flatten)]
    how: How,
    /// The node
    #[arg(add = names::nodes())]
    node: String,
}

/// Arguments of `hawser move`.
#[derive(clap::Args)]
pub struct MoveArgs {
    #[command(flatten)]
    cluster: FileOrLab,
    #[command(flatten)]
    how: How,
    /// The pool
    #[arg(add = names::pools())]
    pool: String,
    /// The node it is sent to
    #[arg(add = names::nodes())]
    node: String,
}

/// How long Pacemaker is waited for unless somebody says otherwise.
const WAITS: Duration = Duration::from_secs(120);

/// How an order is carried out.
#[derive(clap::Args)]
struct How {
    /// Also when a pool that is served now would be served nowhere
    #[arg(long)]
    allow_disruption: bool,
    /// How long Pacemaker is waited for; the order stays in force after that [default: 2m, and more on machines of a lab]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    timeout: Option<Duration>,
    /// Print one JSON object (docs/schema/operate.schema.json)
    #[arg(long)]
    json: bool,
}

/// An order as it was given.
struct Given<'a> {
    order: OperateOrder,
    node: &'a str,
    pool: Option<&'a str>,
}

impl Given<'_> {
    /// What is left of it when nobody waits for its end.
    fn left(&self) -> String {
        let stays = match self.order {
            OperateOrder::Standby => format!("{} is in standby and stays so", self.node),
            OperateOrder::Online => format!("{} is let back and stays so", self.node),
            OperateOrder::Move => format!(
                "{} is ordered to {}, and the order ends by itself in some minutes",
                self.pool.unwrap_or("the pool"),
                self.node
            ),
        };
        format!("{stays}; `hawser status` shows where the pools are")
    }
}

/// Puts a node in standby, or out of it.
pub fn standby(args: &NodeArgs, on: bool) -> miette::Result<ExitCode> {
    let NodeArgs { cluster, how, node } = args;
    let order = match on {
        true => OperateOrder::Standby,
        false => OperateOrder::Online,
    };
    let given = Given {
        order,
        node,
        pool: None,
    };
    act(cluster, how, &given, |file, heads, manner| {
        live::set_standby(file, heads, node, on, manner)
    })
}

/// Moves a pool.
pub fn move_pool(args: &MoveArgs) -> miette::Result<ExitCode> {
    let MoveArgs {
        cluster,
        how,
        pool,
        node,
    } = args;
    let given = Given {
        order: OperateOrder::Move,
        node,
        pool: Some(pool),
    };
    act(cluster, how, &given, |file, heads, manner| {
        live::move_pool(file, heads, pool, node, manner)
    })
}

/// Does something, waits until Pacemaker is done, and says where everything is then.
fn act(
    cluster: &FileOrLab,
    how: &How,
    given: &Given<'_>,
    what: impl FnOnce(&ClusterFile, &mut Hosts, &mut Manner<'_>) -> Result<Operated, LiveError>,
) -> miette::Result<ExitCode> {
    let words = interrupted::says("no order was given")?;
    let known = cluster.known_to_look()?;
    let mut reached = aloud(&known.reaching(), || known.reach())?;
    for unreached in &reached.failed {
        complain!("{unreached}");
    }
    let begun = Instant::now();
    let mut manner = Manner {
        allow_disruption: how.allow_disruption,
        waiting: Waiting {
            timeout: Some(how.timeout.unwrap_or(WAITS * known.slowness())),
            said: &mut |text| complain!("  {text}"),
        },
        giving: &mut || words.now(given.left()),
    };
    let operated =
        what(&known.file, &mut reached.heads, &mut manner).map_err(|e| miette::miette!("{e}"))?;
    let seconds = begun.elapsed().as_secs_f64();
    let output = OperateOutput {
        order: given.order,
        node: given.node.into(),
        pool: given.pool.map(str::to_owned),
        seconds,
        not_served: not_served(given, &operated.pools),
        not_done: not_done(given, &operated),
        pools: operated.pools,
    };
    match how.json {
        true => {
            let json = serde_json::to_string_pretty(&output)
                .into_diagnostic()
                .wrap_err("cannot write what was done as JSON")?;
            print(&(json + "\n"));
        }
        false => say!("{}", in_words(&output)),
    }
    let mut wrong = output.not_done.iter().chain(&output.not_served).peekable();
    let code = match wrong.peek() {
        None => ExitCode::SUCCESS,
        Some(_) => ExitCode::from(1),
    };
    wrong.for_each(|line| complain!("{line}"));
    Ok(code)
}

fn in_words(output: &OperateOutput) -> String {
    let node = &output.node;
    let done = match output.order {
        _ if !output.not_done.is_empty() => "ordered".to_owned(),
        OperateOrder::Standby => format!("{node} is in standby"),
        OperateOrder::Online => format!("{node} is online"),
        OperateOrder::Move => "done".to_owned(),
    };
    let places: Vec<String> = output
        .pools
        .iter()
        .map(|pool| match &pool.is_on {
            Some(node) => format!("{} on {node}", pool.name),
            None => format!("{} nowhere", pool.name),
        })
        .collect();
    format!(
        "{done} after {:.1} s: {}",
        output.seconds,
        places.join(", ")
    )
}

/// Why the node is not what was ordered, in words.
fn not_done(given: &Given<'_>, operated: &Operated) -> Vec<String> {
    let node = given.node;
    match given.order {
        OperateOrder::Move => Vec::new(),
        OperateOrder::Online => {
            let why = operated.closed.iter();
            why.map(|why| format!("{why}: no pool runs there"))
                .collect()
        }
        OperateOrder::Standby => {
            let open = operated.closed.is_none();
            let open = open.then(|| format!("{node} is not in standby: pools may run there"));
            let pools = operated.pools.iter();
            let there =
                pools.filter(|pool| pool.is_on.as_ref().is_some_and(|it| it.as_str() == node));
            let there = there.map(|pool| format!("{} is still on {node}", pool.name));
            open.into_iter().chain(there).collect()
        }
    }
}

/// What clients do not have now, in words.
fn not_served(given: &Given<'_>, pools: &[OperatedPool]) -> Vec<String> {
    let mut lines = Vec::new();
    for pool in pools {
        let name = &pool.name;
        let is_on = pool.is_on.as_ref().map(|node| node.as_str());
        if given.pool == Some(name) && is_on != Some(given.node) {
            let place = is_on.unwrap_or("no node");
            lines.push(format!("{name} is on {place}, not on {}", given.node));
        }
        if let Some(why) = &pool.why_not {
            let was = if pool.was_served {
                "and was served before"
            } else {
                "as before"
            };
            lines.push(format!("{name} is served nowhere, {was}: {why}"));
        }
        if let (Some(node), false) = (is_on, pool.down.is_empty()) {
            lines.push(format!(
                "{name} is on {node}, and this of it does not run there: {}",
                pool.down.join(", ")
            ));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(is_on: Option<&str>, served: bool, down: &[&str]) -> OperatedPool {
        OperatedPool {
            name: "vmpool01".into(),
            was_on: Some("head1".into()),
            is_on: is_on.map(Into::into),
            was_served: true,
            served,
            down: down.iter().map(|id| (*id).to_owned()).collect(),
            why_not: (!served).then(|| "head2 is in standby".to_owned()),
        }
    }

    fn moved_to(node: &'static str) -> Given<'static> {
        Given {
            order: OperateOrder::Move,
            node,
            pool: Some("vmpool01"),
        }
    }

    #[test]
    fn ctrl_c_says_what_the_order_leaves() {
        assert_eq!(
            moved_to("head2").left(),
            "vmpool01 is ordered to head2, and the order ends by itself in some minutes; `hawser status` shows where \
             the pools are"
        );
    }

    #[test]
    fn a_move_that_leaves_an_address_down_is_no_success() {
        let lines = not_served(
            &moved_to("head2"),
            &[pool(Some("head2"), true, &["vmpool01-san02"])],
        );
        assert_eq!(
            lines,
            ["vmpool01 is on head2, and this of it does not run there: vmpool01-san02"]
        );
        let there = not_served(&moved_to("head2"), &[pool(Some("head2"), true, &[])]);
        assert_eq!(there, Vec::<String>::new());
        let not_there = not_served(&moved_to("head2"), &[pool(Some("head1"), true, &[])]);
        assert_eq!(not_there, ["vmpool01 is on head1, not on head2"]);
    }

    #[test]
    fn a_pool_that_nobody_serves_is_named_with_the_reason() {
        let given = Given {
            order: OperateOrder::Standby,
            node: "head1",
            pool: None,
        };
        let lines = not_served(&given, &[pool(None, false, &["vmpool01-exports"])]);
        assert_eq!(
            lines,
            ["vmpool01 is served nowhere, and was served before: head2 is in standby"]
        );
    }

    #[test]
    fn a_node_that_is_not_what_was_ordered_is_no_success() {
        let given = |order| Given {
            order,
            node: "head1",
            pool: None,
        };
        let of = |order, closed: Option<&str>, is_on| {
            let operated = Operated {
                pools: vec![pool(is_on, true, &[])],
                closed: closed.map(str::to_owned),
            };
            not_done(&given(order), &operated)
        };
        let none = Vec::<String>::new();
        let off = Some("head1 is not a member");
        let lines = of(OperateOrder::Online, off, Some("head2"));
        assert_eq!(lines, ["head1 is not a member: no pool runs there"]);
        assert_eq!(of(OperateOrder::Online, None, Some("head2")), none);

        let away = Some("head1 is in standby");
        assert_eq!(of(OperateOrder::Standby, away, Some("head2")), none);
        let lines = of(OperateOrder::Standby, away, Some("head1"));
        assert_eq!(lines, ["vmpool01 is still on head1"]);
        let lines = of(OperateOrder::Standby, None, Some("head2"));
        assert_eq!(lines, ["head1 is not in standby: pools may run there"]);
    }
}
