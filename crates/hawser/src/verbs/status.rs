//! `hawser status`: is it redundant now, what is degraded, what would happen if a node died.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use hawser_cluster::host::view::Limits;
use hawser_cluster::live::{JUDGE_PATIENTLY, JUDGE_PROMPTLY, StatusFacts, judged, observe};
use hawser_drill::left;
use hawser_host::Hosts;
use hawser_lab::Lab;
use hawser_model::output::cluster::ClusterStatus;
use miette::{IntoDiagnostic, WrapErr, bail};

use crate::cluster::{FileOrLab, KnownCluster, Reached, none_reached, why_not};
use crate::{output, render};

/// How long all of it may take, and each of its parts, on hosts that are not slow.
const WHOLE: Duration = Duration::from_secs(10);

/// How long the heartbeat links are watched for losses: some ten of kronosnet's pings from each end.
const WATCH: Duration = Duration::from_secs(2);

/// Arguments of `hawser status`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    cluster: FileOrLab,
    /// Print one JSON object (docs/schema/status.schema.json)
    #[arg(long)]
    json: bool,
    /// Also write what each head answered to this file, as JSON: what a bug report needs
    #[arg(long, value_name = "FILE")]
    facts: Option<PathBuf>,
}

/// Runs the verb.
pub fn run(args: &Args) -> miette::Result<ExitCode> {
    let known = args.cluster.known_to_look()?;
    let begun = Instant::now();
    let slowness = known.slowness();
    let mut reached = known.reach_promptly()?;
    let left = (WHOLE * slowness).saturating_sub(JUDGE_PROMPTLY * slowness + begun.elapsed());
    // Rounded, so that a connection within half a second takes nothing from the heads.
    let left = left.as_secs_f64().round() as u32;
    let mut facts = ask(
        &known,
        &mut reached,
        Limits::PROMPT.times(slowness).within(left),
        WATCH,
    );
    facts.left = drill_left(&args.cluster, &known)?;
    if let Some(path) = &args.facts {
        let text = serde_json::to_string_pretty(&facts)
            .into_diagnostic()
            .wrap_err("cannot write what the heads answered as JSON")?;
        std::fs::write(path, text + "\n")
            .into_diagnostic()
            .wrap_err_with(|| format!("cannot write {}", path.display()))?;
    }
    if facts.views.is_empty() {
        bail!(none_reached(&facts.unreached));
    }
    let now = judge(
        &known,
        &mut reached.heads,
        &facts,
        JUDGE_PROMPTLY * slowness,
    )?;
    match args.json {
        true => {
            let json = serde_json::to_string_pretty(&now)
                .into_diagnostic()
                .wrap_err("cannot write the status as JSON")?;
            output::print(&(json + "\n"));
        }
        false => output::print_fitted(&render::status::text(&now)),
    }
    Ok(match now.redundant && now.degraded.is_empty() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    })
}

/// The status of a cluster, for a caller that asks repeatedly: its links are not watched.
pub fn look(known: &KnownCluster, reached: &mut Reached) -> miette::Result<ClusterStatus> {
    let slowness = known.slowness();
    let facts = ask(
        known,
        reached,
        Limits::PATIENT.times(slowness),
        Duration::ZERO,
    );
    judge(
        known,
        &mut reached.heads,
        &facts,
        JUDGE_PATIENTLY * slowness,
    )
}

fn ask(
    known: &KnownCluster,
    reached: &mut Reached,
    limits: Limits,
    watch: Duration,
) -> StatusFacts {
    let unreached = why_not(&reached.failed);
    observe(&known.file, &mut reached.heads, unreached, limits, watch)
}

fn judge(
    known: &KnownCluster,
    heads: &mut Hosts,
    facts: &StatusFacts,
    limit: Duration,
) -> miette::Result<ClusterStatus> {
    let judged = judged(&known.file, facts, heads, limit);
    Ok(judged.map_err(|e| miette::miette!("{e}"))?.status)
}

/// What a drill from this machine, that was killed or could not heal, may have left, with what takes it back.
fn drill_left(cluster: &FileOrLab, known: &KnownCluster) -> miette::Result<Option<String>> {
    let (notes, words) = match (&cluster.lab, &cluster.file) {
        (Some(name), _) => {
            let lab = Lab::open(name).map_err(|e| miette::miette!("{e}"))?;
            (lab.notes().to_owned(), format!(" --lab {name}"))
        }
        (None, Some(file)) => (
            left::notes(known.file.cluster.name.as_str()),
            format!(" -f {}", file.display()),
        ),
        (None, None) => (left::notes(known.file.cluster.name.as_str()), String::new()),
    };
    Ok(left::behind(&notes).map(|(left, at)| {
        let at = at.duration_since(std::time::UNIX_EPOCH);
        format!(
            "{left}, begun at {}: what it did may still be there; `hawser drill{words} --heal` takes it back",
            hawser_model::date::utc_seconds(at.map_or(0, |since| since.as_secs()))
        )
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn of_a_cluster_that_does_not_answer_nothing_is_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("hawser.toml");
        // Names that nobody has (RFC 6761).
        let node = |n: u8| {
            format!(
                "[[node]]\nname = \"head{n}\"\nssh = \"root@head{n}.invalid\"\naddresses = {{ ring0 = \"10.0.1.{n}\" }}\n"
            )
        };
        let text = "[cluster]\nname = \"storage\"\n[[link]]\nname = \"ring0\"\nnetwork = \"10.0.1.0/24\"\n";
        fs::write(&file, format!("{text}{}{}", node(1), node(2))).expect("a file");
        let args = Args {
            cluster: FileOrLab {
                file: Some(file),
                lab: None,
                ssh_config: Some("/dev/null".into()),
            },
            json: false,
            facts: None,
        };
        let error = run(&args).expect_err("nobody answers").to_string();
        let begin = "none of the nodes was reached, so nothing is known of the cluster:\nhead1: ";
        assert!(error.starts_with(begin), "{error}");
    }
}
