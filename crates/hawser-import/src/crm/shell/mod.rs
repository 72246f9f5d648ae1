//! What `crm configure show` prints.

mod constraints;

use std::collections::HashMap;

use super::{Around, Crm, Node, Pairs, Primitive, Set, twice};
use crate::SourceLine;
use crate::page::Page;
use crate::place::{Malformed, quoted};
use crate::source::Source;

/// A statement's words. In quotes a word may have spaces.
fn words(at: &SourceLine, text: &str) -> Result<Vec<String>, Malformed> {
    let mut all = Vec::new();
    let mut word = String::new();
    let (mut within, mut quote) = (false, None);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some('"'), '\\') if matches!(chars.peek(), Some('"' | '\\')) => {
                word.extend(chars.next());
            }
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                within = true;
            }
            (None, c) if c.is_whitespace() => {
                if within || !word.is_empty() {
                    all.push(std::mem::take(&mut word));
                }
                within = false;
            }
            (None, c) => word.push(c),
        }
    }
    if quote.is_some() {
        return Err(Malformed::new(
            at,
            "a quotation mark that is not closed",
            "one at each end",
        ));
    }
    if within || !word.is_empty() {
        all.push(word);
    }
    Ok(all)
}

/// Reads the text.
pub(crate) fn parse(source: &Source, page: &mut Page) -> Result<Crm, Malformed> {
    let mut crm = Crm::default();
    let mut ids = HashMap::new();
    let mut open: Option<(SourceLine, String)> = None;
    for (i, line) in source.text.lines().enumerate() {
        if open.is_none() && line.trim_start().starts_with('#') {
            continue;
        }
        let (at, mut whole) = open.take().unwrap_or((source.at(i + 1), String::new()));
        match line.trim_end().strip_suffix('\\') {
            Some(part) => {
                whole.push_str(part);
                whole.push(' ');
                open = Some((at, whole));
            }
            None => {
                whole.push_str(line);
                let words = words(&at, &whole)?;
                once(&at, &words, &mut ids)?;
                statement(&at, &words, &mut crm, page)?;
            }
        }
    }
    match open {
        Some((at, _)) => Err(Malformed::new(
            &at,
            "a statement that goes on at the end of the file",
            "a last line without \\",
        )),
        None => Ok(crm),
    }
}

/// Statements that give something an id, which it has alone.
const WITH_ID: [&str; 13] = [
    "primitive",
    "rsc_template",
    "group",
    "clone",
    "ms",
    "master",
    "bundle",
    "location",
    "colocation",
    "collocation",
    "order",
    "rsc_ticket",
    "tag",
];

/// That no other statement has this id.
fn once(
    at: &SourceLine,
    words: &[String],
    ids: &mut HashMap<String, SourceLine>,
) -> Result<(), Malformed> {
    let [keyword, id, ..] = words else {
        return Ok(());
    };
    if !WITH_ID.contains(&keyword.as_str()) {
        return Ok(());
    }
    match ids.insert(id.trim_end_matches(':').to_owned(), at.clone()) {
        Some(first) => Err(twice(at, keyword, id, &first)),
        None => Ok(()),
    }
}

/// Statements of crmsh that say nothing of how the cluster is built.
const SILENT: [&str; 5] = ["role", "user", "acl_target", "acl_group", "alert"];

fn statement(
    at: &SourceLine,
    words: &[String],
    crm: &mut Crm,
    page: &mut Page,
) -> Result<(), Malformed> {
    let [keyword, rest @ ..] = words else {
        return Ok(());
    };
    let lacks = |what: &str| {
        Err(Malformed::new(
            at,
            format!("{keyword} without {what}"),
            "a statement of crmsh",
        ))
    };
    match (keyword.as_str(), rest) {
        ("node", rest) => match node(at, rest) {
            Some(node) => crm.nodes.push(node),
            None => return lacks("a name"),
        },
        ("primitive", [id, agent, rest @ ..]) => {
            let primitive = primitive(at, id, agent, rest, page);
            crm.primitives.push(primitive);
        }
        ("rsc_template", [id, agent, rest @ ..]) => {
            crm.templates.push(primitive(at, id, agent, rest, page));
        }
        ("group" | "clone" | "ms" | "master" | "bundle", [id, rest @ ..]) => {
            let kind = match keyword.as_str() {
                "group" => "group",
                "clone" => "clone",
                "bundle" => "bundle",
                _ => "ms",
            };
            let section =
                |word: &&String| !matches!(word.as_str(), "meta" | "params" | "docker" | "podman");
            let members = rest
                .iter()
                .take_while(section)
                .filter(|word| !word.contains('='));
            if kind != "bundle" && members.clone().next().is_none() {
                page.mistake(
                    at,
                    format!("{keyword} {}", quoted(id)),
                    "it has no resource",
                );
            }
            crm.around.push(Around {
                kind,
                id: id.clone(),
                members: members.cloned().collect(),
                meta: rest
                    .iter()
                    .skip_while(|word| *word != "meta")
                    .take_while(|word| *word != "params")
                    .filter_map(|word| word.split_once('='))
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
                at: at.clone(),
            });
        }
        ("location", [id, rest @ ..]) => {
            if rest
                .iter()
                .any(|word| word == "resource-discovery=exclusive")
            {
                page.unsaid(
                    at,
                    format!("resource-discovery of location {}", quoted(id)),
                    "its resource runs on such nodes alone: write `nodes` of the pool",
                );
            }
            crm.locations.extend(constraints::location(at, id, rest)?);
        }
        ("colocation" | "collocation", [_, rest @ ..]) => {
            crm.colocations.push(constraints::together(at, rest)?)
        }
        ("order", [_, rest @ ..]) => crm.orders.push(constraints::together(at, rest)?),
        ("rsc_ticket", rest) => crm.tickets.push(constraints::ticket(at, rest)),
        ("tag", [id, rest @ ..]) => crm.sets.push(Set {
            id: id.trim_end_matches(':').to_owned(),
            members: rest.iter().filter(|word| *word != ":").cloned().collect(),
        }),
        ("property", rest) => crm.properties.extend(named(keyword, rest, at, page)),
        ("rsc_defaults", rest) => crm.defaults.extend(named(keyword, rest, at, page)),
        ("op_defaults", rest) => crm.operations.extend(named(keyword, rest, at, page)),
        ("fencing_topology", []) => page.mistake(at, "fencing_topology", "it has no device"),
        ("fencing_topology", rest) => constraints::topology(at, rest, crm),
        ("xml", _) => page.unsaid(
            at,
            "a part in XML",
            "give the CIB instead: `cibadmin --query`",
        ),
        (word, _) if SILENT.contains(&word) => {
            page.not_needed(
                at,
                quoted(word),
                "Hawser's file has no counterpart, and the cluster does without",
            );
        }
        ("primitive" | "rsc_template", _) => return lacks("a name and an agent"),
        (word, _) => {
            let allowed = "node, primitive, group, clone, ms, location, colocation, order, property, rsc_defaults or \
                           fencing_topology";
            return Err(Malformed::new(at, quoted(word), allowed));
        }
    }
    Ok(())
}

/// `node 1: NAME attributes NAME=VALUE … utilization NAME=VALUE …`.
fn node(at: &SourceLine, rest: &[String]) -> Option<Node> {
    let id = rest.iter().find_map(|word| word.strip_prefix("$id="));
    let mut plain = rest.iter().filter(|word| !word.contains('='));
    let first = plain.next();
    let numbered = first
        .and_then(|word| word.strip_suffix(':'))
        .filter(|id| id.parse::<u32>().is_ok());
    let name = match numbered {
        Some(_) => plain.next(),
        None => first,
    };
    let (name, kind) = match name?.split_once(':') {
        Some((name, kind)) => (name, kind),
        None => (name?.as_str(), ""),
    };
    let mut new = Node {
        name: name.to_owned(),
        id: id.or(numbered).map(str::to_owned),
        attributes: Pairs::new(),
        utilization: rest.iter().any(|word| word == "utilization"),
        remote: kind.starts_with("remote"),
        at: at.clone(),
    };
    let attributes = rest.iter().skip_while(|word| *word != "attributes");
    let attributes = attributes.take_while(|word| *word != "utilization");
    for (name, value) in attributes.filter_map(|word| word.split_once('=')) {
        new.attributes.insert(name.to_owned(), value.to_owned());
    }
    Some(new)
}

/// A rule says when values hold: such a set is told, and left out.
fn ruled(what: &str, at: &SourceLine, page: &mut Page) {
    page.unsaid(
        at,
        format!("{what} with a rule"),
        "they hold at times or on some nodes alone: Hawser's file has one value for always",
    );
}

fn named(
    keyword: &str,
    words: &[String],
    at: &SourceLine,
    page: &mut Page,
) -> Vec<(String, String, SourceLine)> {
    if words.iter().any(|word| word == "rule") {
        ruled(keyword, at, page);
        return Vec::new();
    }
    // The name of the set has a colon behind it.
    let bare = words.iter().filter(|word| !word.contains('='));
    for word in bare.filter(|word| !word.ends_with(':')) {
        page.mistake(at, format!("{keyword} {}", quoted(word)), "it has no value");
    }
    let pairs = words.iter().filter_map(|word| word.split_once('='));
    let plain = pairs.filter(|(name, _)| !name.starts_with('$') && !name.is_empty());
    plain
        .map(|(name, value)| (name.to_owned(), value.to_owned(), at.clone()))
        .collect()
}

fn primitive(
    at: &SourceLine,
    id: &str,
    agent: &str,
    rest: &[String],
    page: &mut Page,
) -> Primitive {
    let template = agent.strip_prefix('@').map(str::to_owned);
    // `IPaddr2` alone is `ocf:heartbeat:IPaddr2`.
    let whole = match agent.contains(':') || agent.starts_with('@') {
        true => agent.to_owned(),
        false => format!("ocf:heartbeat:{agent}"),
    };
    let mut new = Primitive {
        id: id.to_owned(),
        agent: whole,
        params: Pairs::new(),
        meta: Pairs::new(),
        ops: Vec::new(),
        template,
        utilization: false,
        at: at.clone(),
    };
    let mut section = "params";
    // Whether the values of this section hold under a rule.
    let mut under_rule = false;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "params" | "meta" | "utilization" | "operations" => {
                (section, under_rule) = (word, false);
                new.utilization |= word == "utilization";
            }
            "rule" => {
                under_rule = true;
                ruled(&format!("{section} of {}", quoted(id)), at, page);
            }
            "op" => {
                (section, under_rule) = ("op", false);
                let name = words.next().cloned().unwrap_or_default();
                new.ops.push((name, Pairs::new()));
            }
            word => {
                let Some((name, value)) = word.split_once('=').filter(|_| !under_rule) else {
                    continue;
                };
                if name == "$id-ref" {
                    let what =
                        format!("{section} of {}, as {} has them", quoted(id), quoted(value));
                    page.unsaid(at, what, "give the CIB instead: `cibadmin --query`");
                    continue;
                }
                let to = match section {
                    "params" => &mut new.params,
                    "meta" => &mut new.meta,
                    "op" => match new.ops.last_mut() {
                        Some((_, pairs)) => pairs,
                        None => continue,
                    },
                    _ => continue,
                };
                // `crm configure show` hides passwords: that one is not known.
                let hidden = value.len() > 2 && value.chars().all(|c| c == '*');
                if !name.starts_with('$') && name != "description" && !hidden {
                    // Of two sets the first counts.
                    to.entry(name.to_owned())
                        .or_insert_with(|| value.to_owned());
                }
            }
        }
    }
    new
}
