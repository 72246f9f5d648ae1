//! `hawser top`: a picture of a cluster in the terminal, or as lines.

mod screen;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hawser_model::output::live::Light;
use hawser_model::output::top::{Answers, TopPicture};
use hawser_top::plain::Teller;
use hawser_watch::group;
use hawser_watch::readers::Readers;
use hawser_watch::run::EVERY;
use miette::{IntoDiagnostic, WrapErr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::all_heads::{read, whole};
use crate::cluster::{Which, set_verbosity};
use crate::output;

/// The first lines wait so long for all of it.
const FIRST: Duration = Duration::from_secs(20);

/// How often it is looked whether somebody wants it to end.
const LOOKS: Duration = Duration::from_millis(100);

/// Arguments of `hawser top`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// Print lines: all of it once, then what changes. So it is too where standard output is no terminal
    #[arg(long)]
    plain: bool,
}

/// Runs the verb.
pub fn run(args: &Args) -> miette::Result<ExitCode> {
    let cluster = args.which.cluster()?;
    let whole = whole(&cluster)?;
    let ends = ends()?;
    let full = !args.plain && std::io::stdout().is_terminal() && screen::can_draw();
    if full && std::io::stderr().is_terminal() {
        // What `-v` says would stand in the picture.
        set_verbosity(0);
    }
    let readers = read(cluster, whole)?;
    let last = match full {
        true => screen::run(&readers, &ends)?,
        false => lines(&readers, &ends)?,
    };
    Ok(match last.light() {
        Light::Good => ExitCode::SUCCESS,
        Light::Unknown if last.alarms.is_empty() => ExitCode::SUCCESS,
        Light::Unknown | Light::Warning | Light::Bad => ExitCode::from(1),
    })
}

/// Prints lines until it is to end, or nobody reads them.
fn lines(readers: &Readers, ends: &AtomicBool) -> miette::Result<TopPicture> {
    let mut teller = Teller::default();
    let begun = Instant::now();
    let mut known = false;
    loop {
        let picture = readers.picture();
        known = known || is_known(&picture) || begun.elapsed() > FIRST;
        if known {
            for line in teller.lines(&picture) {
                output::print(&(line + "\n"));
            }
        }
        let drawn = Instant::now();
        while drawn.elapsed() < EVERY {
            if ends.load(Ordering::Relaxed) || output::is_unheard() {
                return Ok(picture);
            }
            readers.threads().check().into_diagnostic()?;
            std::thread::sleep(LOOKS);
        }
    }
}

/// Whether all that is asked at the beginning was answered.
fn is_known(picture: &TopPicture) -> bool {
    let mut heads = picture.heads.iter();
    let tried = heads.all(|head| head.answers != Answers::NotYet);
    let is_cluster = !picture.cluster.is_empty();
    let looked = picture.look.at.is_some() && picture.incidents.read;
    tried && (!is_cluster || looked || picture.look.problem.is_some())
}

/// What a code means.
fn explained(code: &str) -> Option<String> {
    let page = hawser_account::page(code).map(hawser_account::plain);
    page.or_else(|| group::meaning(code).map(str::to_owned))
}

/// True from the first signal on that ends a program.
fn ends() -> miette::Result<Arc<AtomicBool>> {
    let ends = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // The second one ends the program whatever it does.
        let registered = signal_hook::flag::register_conditional_shutdown(signal, 1, ends.clone())
            .and_then(|_| signal_hook::flag::register(signal, ends.clone()));
        let registered = registered.into_diagnostic();
        registered.wrap_err("cannot take a signal")?;
    }
    Ok(ends)
}
