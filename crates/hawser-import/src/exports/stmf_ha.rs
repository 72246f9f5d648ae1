//! `stmf-ha.conf`: variables of bash, read without bash.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::path::is_dataset;
use super::{Offered, PoolFile, TargetOut, UnitOut, ViewOut};
use crate::Options;
use crate::page::Page;
use crate::picture::usable;
use crate::place::{Malformed, SourceLine, quoted};
use crate::source::Source;

/// What clients see before a target's name (its manual, Example 3).
const AUTHORITY: &str = "iqn.2010-08.org.illumos:stmf-ha:";

/// A variable.
struct Variable {
    values: Vec<String>,
    at: SourceLine,
    used: bool,
}

/// The file's variables.
struct Variables(BTreeMap<String, Variable>);

impl Variables {
    fn list(&mut self, name: &str) -> Vec<String> {
        let Some(variable) = self.0.get_mut(name) else {
            return Vec::new();
        };
        variable.used = true;
        variable.values.clone()
    }

    fn one(&mut self, name: &str) -> Option<String> {
        self.list(name).into_iter().next()
    }

    fn at(&self, name: &str) -> Option<&SourceLine> {
        self.0.get(name).map(|variable| &variable.at)
    }
}

/// Reads the file.
pub(crate) fn read(
    source: &Source,
    options: &Options,
    offered: &mut Offered,
    page: &mut Page,
) -> Result<(), Malformed> {
    let mut all = variables(source)?;
    let mut file = PoolFile::default();
    let units = all.list("logical_units");
    let views = all.list("views");
    let prefixes: Vec<Option<String>> = views
        .iter()
        .map(|view| all.one(&format!("{view}_lu_prefix")))
        .collect();
    let pool = pool_of(
        source,
        options,
        units.iter().chain(prefixes.iter().flatten()),
    )?;
    let inside = |name: &str, at: &SourceLine| {
        let rest = name
            .strip_prefix(&pool)
            .and_then(|rest| rest.strip_prefix('/'));
        let wrong = |why: String, allowed: &str| {
            Malformed::new(at, format!("{}, which {why}", quoted(name)), allowed)
        };
        match rest {
            None => Err(wrong(
                format!("is not below pool {pool}"),
                "volumes of one pool",
            )),
            Some(rest) if !is_dataset(rest) => Err(wrong(
                "is no name of a volume of ZFS".into(),
                "POOL/NAME of letters, digits, '-', '_', '.', ':' and blanks: no snapshot, and no . or .. in it",
            )),
            Some(rest) => Ok(rest.to_owned()),
        }
    };
    let top = source.at(1);
    portals(&mut all, &mut file, page)?;
    targets(&mut all, &pool, &top, &mut file, page)?;
    for name in &units {
        let at = all.at("logical_units").unwrap_or(&top).clone();
        let volume = inside(name, &at)?;
        page.understood(&at, quoted(name), "[[unit]]");
        file.units.insert(volume, UnitOut::new(&at));
    }
    for (kind, groups) in [
        ("host_groups", &mut file.host_groups),
        ("target_groups", &mut file.target_groups),
    ] {
        for name in all.list(kind) {
            let key = format!("{name}_members");
            let at = all.at(&key).or(all.at(kind)).unwrap_or(&top).clone();
            page.understood(
                &at,
                &key,
                format!("[[{}]] {}", kind.trim_end_matches('s'), quoted(&name)),
            );
            groups.push((name, all.list(&key)));
        }
    }
    for (view, prefix) in views.iter().zip(prefixes) {
        let at = all.at("views").unwrap_or(&top).clone();
        let prefix = match prefix.as_deref().map(|p| p.trim_end_matches('/')) {
            Some(whole) if whole == pool => None,
            Some(below) => Some(inside(below, &at)?),
            None => None,
        };
        file.views.push(ViewOut {
            name: view.clone(),
            prefix,
            host_group: all.one(&format!("{view}_hg")),
            target_group: all.one(&format!("{view}_tg")),
            ..ViewOut::default()
        });
        page.understood(&at, quoted(view), "[[view]]");
    }
    if views.len() > 1 {
        let at = all.at("views").unwrap_or(&top);
        page.changed(
            at,
            format!("{} views", views.len()),
            "a volume may be in several views, and is then seen in each; stmf-ha took one",
        );
    }
    for (name, variable) in all.0.iter().filter(|(_, variable)| !variable.used) {
        page.unsaid(
            &variable.at,
            quoted(name),
            "stmf-ha has no such variable, or nothing of the file refers to it",
        );
    }
    offered.confs.insert(pool, file);
    Ok(())
}

/// The pool that the file lies on.
fn pool_of<'a>(
    source: &Source,
    options: &Options,
    names: impl Iterator<Item = &'a String>,
) -> Result<String, Malformed> {
    let first = |name: &String| name.split('/').next().map(str::to_owned);
    let named = names.filter_map(first).next();
    let folder = source.path.rsplit('/').nth(1).map(str::to_owned);
    let found = named.or_else(|| options.pool.clone()).or(folder);
    let found = found.filter(|name| usable(name).as_deref() == Some(name));
    found.ok_or_else(|| {
        let found = "nothing that says which pool this file lies on";
        Malformed::new(
            &source.at(1),
            found,
            "--pool NAME, or the file in a folder of the pool's name",
        )
    })
}

fn portals(all: &mut Variables, file: &mut PoolFile, page: &mut Page) -> Result<(), Malformed> {
    for name in all.list("target_portal_groups") {
        let key = format!("{name}_portals");
        let Some(at) = all.at(&key).cloned() else {
            if let Some(at) = all.at("target_portal_groups") {
                page.changed(
                    at,
                    quoted(&name),
                    "without portals it was every address; targets listen on the pool's own",
                );
            }
            continue;
        };
        let portals = all.list(&key);
        for portal in &portals {
            if portal.parse::<IpAddr>().is_err() && portal.parse::<SocketAddr>().is_err() {
                return Err(Malformed::new(
                    &at,
                    quoted(portal),
                    "ADDRESS or ADDRESS:PORT",
                ));
            }
        }
        page.understood(&at, &key, format!("[[portal_group]] {}", quoted(&name)));
        file.portal_groups.push((name, portals));
    }
    let default = all.one("default_tpg");
    file.default_portal_group =
        default.filter(|name| file.portal_groups.iter().any(|(known, _)| known == name));
    Ok(())
}

fn targets(
    all: &mut Variables,
    pool: &str,
    top: &SourceLine,
    file: &mut PoolFile,
    page: &mut Page,
) -> Result<(), Malformed> {
    let default_type = all.one("default_target_type");
    let mut named = all.list("targets");
    let at = all.at("targets").unwrap_or(top).clone();
    if named.is_empty() {
        named.push(pool.to_owned());
        page.understood(
            &at,
            "no targets",
            format!("one target, named as stmf-ha named it: {AUTHORITY}{pool}"),
        );
    }
    let (mut groups, mut everywhere) = (Vec::new(), false);
    for name in named {
        let kind = all
            .one(&format!("{name}_type"))
            .or_else(|| default_type.clone());
        let kind = kind.unwrap_or_else(|| "iscsi".into());
        if kind != "iscsi" {
            return Err(Malformed::new(
                &at,
                format!("target {} of type {}", quoted(&name), quoted(&kind)),
                "iscsi",
            ));
        }
        let group = all.one(&format!("{name}_tpg"));
        let known = |group: &String| file.portal_groups.iter().any(|(name, _)| name == group);
        let iqn = format!("{AUTHORITY}{name}");
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.:".contains(c);
        let fits = iqn.chars().all(plain);
        match fits {
            true => page.understood(
                &at,
                format!("target {}", quoted(&name)),
                format!("its name is kept: {iqn}"),
            ),
            false => page.unsaid(
                &at,
                quoted(&iqn),
                "an iSCSI name has small letters, digits, '.', '-' and ':': clients see a new name",
            ),
        }
        // One whose group has no portals listens everywhere, also where others have a default.
        everywhere |= group.as_ref().is_some_and(|group| !known(group));
        let default = || file.default_portal_group.clone();
        let own = match group {
            Some(group) => Some(group).filter(known),
            None => default(),
        };
        groups.push(own);
        file.targets.push(TargetOut {
            iqn: fits.then_some(iqn),
            portal_group: None,
            name,
            chap: None,
            mutual: None,
            at: at.clone(),
        });
    }
    let default = file.default_portal_group.take_if(|_| everywhere);
    for (target, group) in file.targets.iter_mut().zip(groups) {
        let said = group
            .filter(|group| default.is_some() || file.default_portal_group.as_ref() != Some(group));
        target.portal_group = said;
    }
    Ok(())
}

/// `NAME=VALUE` and `NAME=( VALUE … )`.
fn variables(source: &Source) -> Result<Variables, Malformed> {
    const ALLOWED: &str = "NAME=VALUE, NAME=( VALUE … ) and comments: commands of bash are not run";
    let mut all = BTreeMap::new();
    let mut open: Option<(String, Variable)> = None;
    for (i, line) in source.text.lines().enumerate() {
        let at = source.at(i + 1);
        let words = words(line).ok_or_else(|| Malformed::new(&at, quoted(line.trim()), ALLOWED))?;
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if let Some((name, mut variable)) = open.take() {
                match word.as_str() {
                    ")" => {
                        all.insert(name, variable);
                    }
                    "(" => return Err(Malformed::new(&at, "a list in a list", ALLOWED)),
                    _ => {
                        variable.values.push(word);
                        open = Some((name, variable));
                    }
                }
                continue;
            }
            let wrong = || Malformed::new(&at, quoted(&word), ALLOWED);
            let (name, value) = word.split_once('=').ok_or_else(wrong)?;
            let fine = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || !name.chars().all(fine) {
                return Err(wrong());
            }
            let at = at.clone();
            let mut variable = Variable {
                values: Vec::new(),
                at,
                used: false,
            };
            match value {
                "(" => open = Some((name.to_owned(), variable)),
                "" if words.as_slice().first().is_some_and(|next| next == "(") => {
                    words.next();
                    open = Some((name.to_owned(), variable));
                }
                value => {
                    variable.values.push(value.to_owned());
                    all.insert(name.to_owned(), variable);
                }
            }
        }
    }
    match open {
        Some((name, variable)) => Err(Malformed::new(
            &variable.at,
            format!("{}=( without its end", quoted(&name)),
            ")",
        )),
        None => Ok(Variables(all)),
    }
}

/// Words of a line, brackets as words of their own; `None`: something that bash would do something about.
fn words(line: &str) -> Option<Vec<String>> {
    let mut all = Vec::new();
    let mut word = String::new();
    let mut within = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '#' if word.is_empty() && !within => break,
            '"' | '\'' => {
                within = true;
                loop {
                    match chars.next()? {
                        end if end == c => break,
                        '$' | '`' | '\\' if c == '"' => return None,
                        other => word.push(other),
                    }
                }
            }
            '$' | '`' | ';' | '|' | '&' | '<' | '>' | '\\' | '{' | '}' | '*' | '?' => return None,
            '(' | ')' => {
                if within || !word.is_empty() {
                    all.push(std::mem::take(&mut word));
                    within = false;
                }
                // `NAME=(` is one word, as it is written.
                match (c, all.last_mut()) {
                    ('(', Some(last)) if last.ends_with('=') => last.push('('),
                    _ => all.push(c.to_string()),
                }
            }
            c if c.is_whitespace() => {
                if within || !word.is_empty() {
                    all.push(std::mem::take(&mut word));
                }
                within = false;
            }
            c => word.push(c),
        }
    }
    if within || !word.is_empty() {
        all.push(word);
    }
    Some(all)
}
