//! From the configuration that a cluster has to `hawser.toml` and `exports.toml`.
//!
//! Each source is parsed by a pure function that keeps the line of everything. What they say goes into one neutral
//! [`picture`], and from there into text. A page says of every line what became of it. Nothing here reads a file or
//! reaches a host.
//!
//! [`draft`] is for a cluster that is not there yet: from what heads show to a first `hawser.toml`.
#![forbid(unsafe_code)]

mod corosync;
mod crm;
pub mod draft;
mod exports;
pub mod heartbeat;
mod interfaces;
pub mod live;
mod page;
mod picture;
mod place;
mod source;
mod translate;
mod write;

pub use page::{Line, LineVerdict, Page};
pub use place::{Malformed, SourceLine};
use source::BYTE_ORDER_MARK;
pub use source::{Kind, Source};

use std::collections::BTreeMap;
use std::fmt;

use hawser_model::cluster_file;

use picture::Picture;

/// What holds beside the sources.
#[derive(Clone, Debug)]
pub struct Options {
    /// The cluster's name, if no source says one.
    pub name: Option<String>,
    /// The pool that a source belongs to which does not say it (`stmf-ha.conf`).
    pub pool: Option<String>,
    /// The folder where secrets are written on this machine, an absolute path.
    pub secrets: String,
    /// The cluster runs, and the resources of its pools are kept as they are.
    pub adopt: bool,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// `hawser.toml`; `None` when no source describes a cluster.
    pub cluster: Option<String>,
    /// `exports.toml` of each pool.
    pub exports: BTreeMap<String, String>,
    /// Secrets that the sources held, by the name of their file.
    pub secrets: BTreeMap<String, Secret>,
    /// What became of each line.
    pub page: Page,
}

impl Imported {
    /// Whether a cluster can be planned from the file as it is.
    pub fn complete(&self) -> bool {
        !self.page.has(LineVerdict::Missing)
    }
}

/// A secret, which is written into a file of its own and nowhere else.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

/// It is not shown, whoever asks.
impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Reads the sources and says the same in Hawser's files.
///
/// # Errors
/// The first thing in a source that cannot be read: its file, its line, what was found and what is allowed.
pub fn import(sources: &[Source], options: &Options) -> Result<Imported, Malformed> {
    let marked = |source: &Source| source.text.starts_with(BYTE_ORDER_MARK);
    if sources.iter().any(marked) {
        let mut bare = sources.to_vec();
        for source in bare.iter_mut().filter(|source| marked(source)) {
            source.text.remove(0);
        }
        return import_bare(&bare, options);
    }
    import_bare(sources, options)
}

/// The same, without a byte-order mark before a text.
fn import_bare(sources: &[Source], options: &Options) -> Result<Imported, Malformed> {
    let mut picture = Picture::default();
    let mut page = Page::default();
    picture.name.clone_from(&options.name);
    let mut crm = crm::Crm::default();
    let mut offered = exports::agree::Parts::default();
    let mut order: Vec<&Source> = sources.iter().collect();
    // Links have their names from the messaging layer, and what is offered belongs to pools.
    order.sort_by_key(|source| source.kind);
    // Which nodes there are, only all other sources together say.
    let of_node = |source: &&Source| source.kind == Kind::Interfaces;
    let (interfaces, others): (Vec<_>, Vec<_>) = order.into_iter().partition(of_node);
    for (i, source) in others.iter().enumerate() {
        let mut same = others[..i].iter().filter(|other| {
            source.node.is_some() && other.node.is_some() && other.kind == source.kind
        });
        // What another head has word for word is told once.
        let mut again = Page::default();
        let told = same.any(|other| other.text == source.text);
        let mut all = All {
            picture: &mut picture,
            crm: &mut crm,
            offered: offered.of(source),
            page: if told { &mut again } else { &mut page },
        };
        read(source, options, &mut all).map_err(|e| e.within(source))?;
    }
    crm::templates::write_out(&mut crm, &mut page);
    let of_cluster = offered.of_cluster();
    let crm = crm::by_id::ById::new(crm);
    translate::crm(&crm, options.adopt, &mut picture, of_cluster, &mut page);
    let offered = exports::agree::agree(offered, &picture, &mut page);
    for source in interfaces {
        interfaces::read(source, &mut picture, &mut page).map_err(|e| e.within(source))?;
    }
    let exports = exports::of_pools(&offered, &mut picture, &mut page);
    picture::finish::finish(&mut picture, &mut page);
    let mut imported = Imported {
        secrets: picture.secrets.clone(),
        ..Imported::default()
    };
    for (pool, file) in exports {
        let text = write::exports::text(&pool, &file);
        if let Err(errors) = hawser_cluster::exports::parse(&text, "exports.toml") {
            let path = format!("{pool}/exports.toml");
            for error in errors.errors {
                let help = error.problem.help().unwrap_or_default();
                let place = SourceLine::new(&path, error.line);
                page.add(
                    LineVerdict::Missing,
                    Some(&place),
                    error.problem.to_string(),
                    help,
                );
            }
        }
        imported.exports.insert(pool, text);
    }
    if !picture.nodes.is_empty() || !picture.pools.is_empty() {
        let text = write::cluster::text(&picture, &options.secrets);
        missing(&text, &mut page);
        imported.cluster = Some(text);
    }
    let nothing = imported.cluster.is_none() && imported.exports.is_empty();
    if let (Some(first), true, false) = (sources.first(), nothing, page.has(LineVerdict::Missing)) {
        page.add(
            LineVerdict::Missing,
            Some(&first.at(1)),
            "a node or a pool",
            "the sources have none, so no hawser.toml was written: give a file that names the nodes",
        );
    }
    page.sort();
    imported.page = page;
    Ok(imported)
}

/// What is read into.
struct All<'a> {
    picture: &'a mut Picture,
    crm: &'a mut crm::Crm,
    offered: &'a mut exports::Offered,
    page: &'a mut Page,
}

fn read(source: &Source, options: &Options, all: &mut All<'_>) -> Result<(), Malformed> {
    let All {
        picture,
        crm,
        offered,
        page,
    } = all;
    match source.kind {
        Kind::HaCf => heartbeat::ha_cf::read(source, picture, page),
        Kind::Authkeys => heartbeat::authkeys::read(source, picture, page),
        Kind::CorosyncConf => corosync::read(source, picture, page),
        Kind::Interfaces => interfaces::read(source, picture, page),
        Kind::Cib => crm::cib::parse(source, page).and_then(|read| crm.add(read)),
        Kind::Crm => crm::shell::parse(source, page).and_then(|read| crm.add(read)),
        Kind::Haresources => heartbeat::haresources::read(source, picture, page),
        Kind::StmfHa => exports::stmf_ha::read(source, options, offered, page),
        Kind::ZfsGet => exports::zfs_get::read(source, offered, page),
        Kind::ListLu => exports::list_lu::read(source, offered, page),
        Kind::Saveconfig => exports::saveconfig::read(source, offered, page),
        Kind::TargetsConf => exports::targets_conf::read(source, offered, page),
        Kind::EtcExports => exports::etc_exports::read(source, offered, page),
        Kind::Unread => {
            let why = format!("{}; it can be given as a file", source.text);
            page.unsaid(&source.at(1), "it was not read", why);
            Ok(())
        }
    }
}

/// What the file still lacks before a cluster can be built from it, by the rules of the file itself.
fn missing(text: &str, page: &mut Page) {
    let Err(errors) = cluster_file::parse_complete(text, "hawser.toml") else {
        return;
    };
    for error in errors.errors {
        let help = error.problem.help().unwrap_or_default();
        page.add(
            LineVerdict::Missing,
            Some(&SourceLine::new("hawser.toml", error.line)),
            error.problem.to_string(),
            help,
        );
    }
}
