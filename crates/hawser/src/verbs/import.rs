//! `hawser import`: from the configuration that a cluster has to hawser.toml and exports.toml. It changes no host.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use hawser_agent::questions::ReadFacts;
use hawser_cluster::host::questions::{ListOffers, ReadCib, ReadFile, ReadOffers};
use hawser_cluster::host::{OffersFile, OwnedFile};
use hawser_cluster::plan::COROSYNC_CONF;
use hawser_host::{HostError, on_all};
use hawser_import::{Imported, Kind, Malformed, Options, Secret, Source, import, live};
use hawser_model::visible::one_line;
use miette::{IntoDiagnostic, MietteDiagnostic, Report, WrapErr, bail};

use crate::cluster::{Cluster, Running};
use crate::output;
use crate::waiting::aloud;

/// Bytes that a source may have; a CIB of a thousand resources has one MiB.
const LARGEST: u64 = 16 << 20;

/// Arguments of `hawser import`.
#[derive(clap::Args)]
pub struct Args {
    /// What to read: ha.cf, authkeys, haresources, corosync.conf, a CIB, `crm configure show`, stmf-ha.conf, `stmfadm
    /// list-lu -v`, `zfs get`, saveconfig.json, targets.conf, /etc/exports. KIND:FILE says what a file is
    #[arg(
        value_name = "[KIND:]FILE",
        required_unless_present_any = ["hosts", "lab"],
        value_hint = clap::ValueHint::FilePath
    )]
    files: Vec<String>,
    #[command(flatten)]
    running: Running,
    /// A node's addresses, as `ip address` or `ipadm show-addr` printed them there
    #[arg(long, value_name = "NODE=FILE")]
    interfaces: Vec<String>,
    /// Where hawser.toml, POOL/exports.toml, import.txt and the secrets are written
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    to: PathBuf,
    /// The cluster's name, if no source says one
    #[arg(long)]
    name: Option<String>,
    /// The pool that a stmf-ha.conf lies on, if it does not say it
    #[arg(long)]
    pool: Option<String>,
    /// Of a running cluster: let Hawser make the resources of the pools again, instead of keeping those that are there.
    /// Clients wait once
    #[arg(long)]
    replace: bool,
    /// Write over what is there
    #[arg(long)]
    force: bool,
}

/// A file that is to be written.
struct Out {
    path: PathBuf,
    text: String,
    mode: u32,
}

/// Runs the verb.
pub fn run(args: Args) -> miette::Result<ExitCode> {
    let cluster = args.running.cluster()?;
    let runs = cluster.is_some();
    if args.replace && !runs {
        bail!(
            help = "name its heads: --host head1 --host head2",
            "--replace is about the resources of a running cluster"
        );
    }
    let mut sources = match cluster {
        Some(cluster) => live::sources(&heads(&cluster)?).map_err(|e| malformed(&e))?,
        None => Vec::new(),
    };
    for given in &args.files {
        let word = given.split_once(':');
        let known = word.and_then(|(word, path)| Some((Kind::of_word(word)?, path)));
        let (kind, path) = known.map_or((None, given.as_str()), |(kind, path)| (Some(kind), path));
        let text = read(path)?;
        let kind = match kind {
            Some(Kind::Interfaces) => bail!(
                help = "write --interfaces NODE=FILE",
                "{path}: addresses are a node's, and it is not named"
            ),
            Some(kind) => kind,
            None => Kind::of(path, &text).map_err(|e| malformed(&e))?,
        };
        let path = path.to_owned();
        sources.push(Source {
            path,
            text,
            kind,
            node: None,
        });
    }
    for given in &args.interfaces {
        let Some((node, path)) = given.split_once('=') else {
            bail!(
                help = "write --interfaces NODE=FILE",
                "--interfaces {given}: no node is named"
            );
        };
        let text = read(path)?;
        let (path, node, kind) = (path.to_owned(), Some(node.to_owned()), Kind::Interfaces);
        sources.push(Source {
            path,
            text,
            kind,
            node,
        });
    }
    let to = std::path::absolute(&args.to)
        .into_diagnostic()
        .wrap_err_with(|| format!("no path to {}", args.to.display()))?;
    let secrets = to.join("secrets");
    let options = Options {
        name: args.name,
        pool: args.pool,
        secrets: secrets.display().to_string(),
        adopt: runs && !args.replace,
    };
    let imported = import(&sources, &options).map_err(|e| malformed(&e))?;
    let files = outputs(&imported, &to);
    if !args.force {
        let there: Vec<&Out> = files
            .iter()
            .filter(|out| out.path.symlink_metadata().is_ok())
            .collect();
        if let Some(first) = there.first() {
            bail!(
                help = "--force writes over it, --to FOLDER writes elsewhere",
                "{} is there already; nothing was written",
                first.path.display()
            );
        }
    }
    for out in &files {
        write(out)?;
    }
    tell(&imported, &files);
    Ok(ExitCode::from(u8::from(!imported.complete())))
}

/// What the heads of a running cluster say. All of them are asked: each alone knows its addresses.
fn heads(cluster: &Cluster) -> miette::Result<Vec<live::Head>> {
    let mut hosts = aloud("the heads are being reached", || cluster.connect())?;
    let heads = on_all(&mut hosts, |name, host| {
        let facts = host.ask(&ReadFacts)?;
        let path = COROSYNC_CONF.to_owned();
        let conf = host.ask(&ReadFile { path })?;
        // What is no text is no corosync.conf either, and its reader says so.
        let text = |file: OwnedFile| String::from_utf8_lossy(&file.content.0).into_owned();
        let addresses = facts.interfaces.into_iter().flat_map(|(interface, about)| {
            let addresses = about.addresses.into_iter();
            addresses.map(move |(ip, prefix)| (interface.to_string(), ip, prefix))
        });
        let head = live::Head {
            name: name.to_string(),
            hostname: facts.hostname,
            corosync_conf: conf.map(text),
            cib: host.ask(&ReadCib)?,
            addresses: addresses.collect(),
            ..live::Head::default()
        };
        let mut offers = Vec::new();
        for path in host.ask(&ListOffers)? {
            let file = host.ask(&ReadOffers { path: path.clone() })?;
            offers.push((path, file));
        }
        Ok::<_, HostError>((head, offers))
    });
    let mut all = Vec::new();
    for (mut head, offers) in heads.into_diagnostic()?.into_values() {
        for (path, file) in offers {
            match file {
                OffersFile::Read(content) => {
                    let place = format!("{}:{path}", head.name);
                    let text = text_of(&one_line(&place), content.0)?;
                    head.offers.push((path, Secret(text)));
                }
                OffersFile::Refused(why) => head.unread.push((path, why)),
                OffersFile::Absent => {}
            }
        }
        all.push(head);
    }
    Ok(all)
}

fn read(path: &str) -> miette::Result<String> {
    let bytes = hawser_files::read_named(Path::new(path), LARGEST).into_diagnostic();
    text_of(path, bytes.wrap_err_with(|| format!("cannot read {path}"))?)
}

fn text_of(path: &str, bytes: Vec<u8>) -> miette::Result<String> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(e) => {
            let valid = &e.as_bytes()[..e.utf8_error().valid_up_to()];
            let line = valid.iter().filter(|byte| **byte == b'\n').count() + 1;
            bail!(
                help = "text in UTF-8 is read",
                "{path}:{line}: this is no text"
            )
        }
    }
}

fn malformed(error: &Malformed) -> Report {
    let diagnostic = MietteDiagnostic::new(format!("{error}; nothing was written"));
    Report::new(diagnostic.with_help(format!("allowed: {}", error.allowed)))
}

fn outputs(imported: &Imported, to: &Path) -> Vec<Out> {
    let plain = |path: PathBuf, text: &str| Out {
        path,
        text: text.to_owned(),
        mode: 0o644,
    };
    let mut files = Vec::new();
    if let Some(text) = &imported.cluster {
        files.push(plain(to.join("hawser.toml"), text));
    }
    for (pool, text) in &imported.exports {
        files.push(plain(to.join(pool).join("exports.toml"), text));
    }
    for (name, secret) in &imported.secrets {
        files.push(Out {
            path: to.join("secrets").join(name),
            text: format!("{}\n", secret.0),
            mode: 0o600,
        });
    }
    files.push(plain(to.join("import.txt"), &imported.page.to_string()));
    files
}

fn write(out: &Out) -> miette::Result<()> {
    let path = out.path.display();
    if let Some(folder) = out.path.parent() {
        // Nobody but its owner looks for secrets, and a pool's folder has none.
        let mode = if out.mode == 0o600 { 0o700 } else { 0o755 };
        let made = fs::DirBuilder::new()
            .recursive(true)
            .mode(mode)
            .create(folder);
        match made {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                return Err(e)
                    .into_diagnostic()
                    .wrap_err_with(|| format!("cannot create {}", folder.display()));
            }
            _ => {}
        }
    }
    hawser_files::replace(&out.path, out.text.as_bytes(), out.mode)
        .into_diagnostic()
        .wrap_err_with(|| format!("cannot write {path}"))
}

fn tell(imported: &Imported, files: &[Out]) {
    output::print_fitted(&imported.page.to_string());
    let mut end = String::from("\nWritten\n");
    for out in files {
        let secret = if out.mode == 0o600 {
            " (a secret, mode 0600)"
        } else {
            ""
        };
        end += &format!("  {}{secret}\n", one_line(&out.path.display().to_string()));
    }
    let cluster = files.iter().find(|out| out.path.ends_with("hawser.toml"));
    if let (Some(out), true) = (cluster, imported.complete()) {
        end += &format!(
            "\nNext: `hawser plan -f {} --print cib` shows what is made of it, without reaching a node.\n",
            one_line(&out.path.display().to_string())
        );
    }
    output::print_fitted(&end);
}
