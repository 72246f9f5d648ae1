//! `hawser ladder`: what each part of a path can do, and where the whole path loses it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use hawser_coordinator::check::{self, CheckError};
use hawser_coordinator::ladder::{self, LadderError, LadderOptions, Progress, Task};
use hawser_model::case::Case;
use hawser_model::copy::CopyCipher;
use hawser_model::iscsi::IscsiUnit;
use hawser_model::ladder::{CipherChoice, Storage};
use hawser_model::names::{HostName, LinkName};
use hawser_model::units::{Bytes, Nanos};
use indicatif::{ProgressBar, ProgressStyle};
use miette::{bail, miette};

use crate::cluster::{Cluster, Which, random};
use crate::output::bar;
use crate::verbs::check::now;
use crate::{case_file, interrupted, parse, verbs};

/// Arguments of `hawser ladder`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    which: Which,
    /// The host that reads and sends [default: the first]
    #[arg(long, value_name = "NODE", add = crate::names::nodes())]
    from: Option<String>,
    /// The host that receives and writes [default: the first other one]
    #[arg(long, value_name = "NODE", add = crate::names::nodes())]
    to: Option<String>,
    /// The link [default: the first that both are on]
    #[arg(long, value_name = "LINK", add = crate::names::links())]
    link: Option<String>,
    /// A file or block device to read [default: memory, through the page cache]
    #[arg(long, value_name = "PATH")]
    source: Option<PathBuf>,
    /// A folder to write into, a file without a name [default: memory, through the page cache]
    #[arg(long, value_name = "FOLDER")]
    sink: Option<PathBuf>,
    /// Go past the page cache (O_DIRECT)
    #[arg(long)]
    direct: bool,
    /// What the path is encrypted with
    #[arg(long, value_enum, default_value = "aes-128-gcm")]
    cipher: Cipher,
    /// A unit that the receiving host reads raw, with 1 to 64 requests in flight; it is never written
    /// [default: LUN 1 of the cluster file's first pool that has one]
    #[arg(long, value_name = "ADDRESS[:PORT]/IQN/LUN")]
    iscsi: Option<IscsiUnit>,
    /// Streams of the wire rung with several
    #[arg(long, value_name = "N", default_value = "4", value_parser = parse::within::<u32>(parse::count, 2..=64))]
    streams: u32,
    /// Say of this block too how many of it go through in a second and in how many frames, such as 32k
    #[arg(long, value_name = "BYTES", value_parser = parse::within::<u64>(parse::bytes, 512..=1_048_576))]
    block: Option<u64>,
    /// How long a rung is measured; all of them take about fifteen times as long
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = duration)]
    duration: Duration,
    /// Also on hosts where Corosync runs, which a full link can cost its token
    #[arg(long)]
    full: bool,
    /// Print one JSON object (docs/schema/ladder.schema.json)
    #[arg(long)]
    json: bool,
    /// Where to write the case file [default: below /var/lib/hawser/cases]
    #[arg(long, value_name = "FILE", value_parser = parse::output)]
    case: Option<PathBuf>,
}

/// `none`, or AES in a mode.
#[derive(Clone, Copy, ValueEnum)]
enum Cipher {
    None,
    #[value(name = "aes-128-gcm")]
    Aes128Gcm,
    #[value(name = "aes-256-gcm")]
    Aes256Gcm,
    #[value(name = "aes-128-ctr")]
    Aes128Ctr,
    #[value(name = "aes-256-ctr")]
    Aes256Ctr,
    #[value(name = "aes-128-cbc")]
    Aes128Cbc,
    #[value(name = "aes-256-cbc")]
    Aes256Cbc,
}

impl Cipher {
    fn choice(self) -> Option<CipherChoice> {
        let cipher = match self {
            Self::None => return None,
            Self::Aes128Gcm => CopyCipher::Aes128Gcm,
            Self::Aes256Gcm => CopyCipher::Aes256Gcm,
            Self::Aes128Ctr => CopyCipher::Aes128Ctr,
            Self::Aes256Ctr => CopyCipher::Aes256Ctr,
            Self::Aes128Cbc => CopyCipher::Aes128Cbc,
            Self::Aes256Cbc => CopyCipher::Aes256Cbc,
        };
        Some(cipher.choice())
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let time = parse::duration(text)?;
    match (Duration::from_millis(200)..=Duration::from_secs(60)).contains(&time) {
        true => Ok(time),
        false => Err("from 200ms to 60s: a shorter one is not steady".to_owned()),
    }
}

impl Args {
    fn options(&self, cluster: &Cluster) -> LadderOptions {
        let storage = |path: &Option<PathBuf>| Storage {
            path: path.clone(),
            direct: self.direct && path.is_some(),
        };
        LadderOptions {
            from: self.from.as_deref().map(HostName::from),
            to: self.to.as_deref().map(HostName::from),
            link: self.link.as_deref().map(LinkName::from),
            source: storage(&self.source),
            sink: storage(&self.sink),
            cipher: self.cipher.choice(),
            iscsi: self
                .iscsi
                .clone()
                .or_else(|| cluster.unit(self.link.as_deref())),
            streams: self.streams,
            duration: Nanos(self.duration.as_nanos() as u64),
            block: self.block.map(Bytes),
            beside_a_cluster: self.full,
        }
    }
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    if args.direct && args.source.is_none() && args.sink.is_none() {
        bail!(
            help = "name a --source or a --sink, or leave --direct out",
            "--direct goes past the page cache of a device, and memory has none"
        );
    }
    if args.from.is_some() && args.from == args.to {
        bail!("--from and --to name the same host");
    }
    interrupted::says("nothing is kept of this ladder, and its agents end with it")?;
    let cluster = args.which.cluster()?;
    let case = measure(&cluster, &args.options(&cluster))?;
    let (case, path) = case_file::write(case, args.case.as_deref())?;
    Ok(verbs::explain::show(
        &case,
        &path.display().to_string(),
        args.json,
    ))
}

fn measure(cluster: &Cluster, options: &LadderOptions) -> miette::Result<Case> {
    let bar = Bar(ProgressBar::new_spinner());
    bar::message(&bar.0, "starting agents");
    bar.0.enable_steady_tick(Duration::from_millis(100));
    let mut agents = cluster.connect()?;
    let hosts = check::facts(&mut agents).map_err(|e| miette!("{e}"))?;
    let topology = cluster.topology_of(&hosts);
    let case = ladder::ladder(
        &mut agents,
        topology,
        hosts,
        options,
        random()?,
        &bar,
        now(),
    );
    bar.0.finish_and_clear();
    case.map_err(|e| match e {
        LadderError::Check(CheckError::MissingAddress(missing)) => {
            cluster.missing_addresses(&missing)
        }
        LadderError::LiveCluster(_) => miette!(
            help = "in a maintenance window: --full. `hawser check` is safe beside a live cluster",
            "{e}"
        ),
        other => miette!("{other}"),
    })
}

/// A bar on a terminal; nothing elsewhere, where a log wants no moving lines.
struct Bar(ProgressBar);

impl Progress for Bar {
    fn begin(&self, rungs: usize) {
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} rungs  {msg}")
            .expect("a template that was tried");
        self.0.set_style(style);
        self.0.set_length(rungs as u64);
        self.0.set_position(0);
    }

    fn measuring(&self, task: &Task) {
        bar::message(&self.0, task.kind.word());
        self.0.inc(1);
    }
}
