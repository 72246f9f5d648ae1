//! What `crm configure show` prints.

use super::{Around, Crm, Location, Pairs, Primitive, Score, Together};
use crate::Place;
use crate::page::Page;
use crate::place::{Malformed, quoted};
use crate::source::Source;

/// A statement's words. In quotes a word may have spaces.
fn words(at: &Place, text: &str) -> Result<Vec<String>, Malformed> {
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
    let mut open: Option<(Place, String)> = None;
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
                statement(&at, &words(&at, &whole)?, &mut crm, page)?;
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

/// Statements of crmsh that say nothing of how the cluster is built.
const SILENT: [&str; 8] = [
    "op_defaults",
    "role",
    "user",
    "acl_target",
    "acl_group",
    "tag",
    "alert",
    "rsc_ticket",
];

fn statement(
    at: &Place,
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
        ("node", rest) => {
            let mut plain = rest.iter().filter(|word| !word.contains('='));
            let first = plain.next();
            // `node 1: head1`, `node head1:`, `node $id="…" head1`.
            let name = match first.and_then(|word| word.strip_suffix(':')) {
                Some(id) if id.parse::<u32>().is_ok() => plain.next().map(String::as_str),
                Some(name) => Some(name),
                None => first.map(String::as_str),
            };
            let Some(name) = name else {
                return lacks("a name");
            };
            crm.nodes
                .push((name.trim_end_matches(':').to_owned(), at.clone()));
        }
        ("primitive", [id, agent, rest @ ..]) => {
            let primitive = primitive(at, id, agent, rest);
            crm.primitives.push(primitive);
        }
        ("rsc_template", [id, agent, rest @ ..]) => {
            crm.templates.push(primitive(at, id, agent, rest));
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
            crm.around.push(Around {
                kind,
                id: id.clone(),
                members: members.cloned().collect(),
            });
        }
        ("location", [id, rest @ ..]) => crm.locations.extend(location(at, id, rest)?),
        ("colocation" | "collocation", [_, rest @ ..]) => crm.colocations.push(together(at, rest)?),
        ("order", [_, rest @ ..]) => crm.orders.push(together(at, rest)?),
        ("property", rest) => crm.properties.extend(named(rest, at)),
        ("rsc_defaults", rest) => crm.defaults.extend(named(rest, at)),
        ("fencing_topology", rest) => topology(at, rest, crm),
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

fn named(words: &[String], at: &Place) -> Vec<(String, String, Place)> {
    let pairs = words.iter().filter_map(|word| word.split_once('='));
    let plain = pairs.filter(|(name, _)| !name.starts_with('$') && !name.is_empty());
    plain
        .map(|(name, value)| (name.to_owned(), value.to_owned(), at.clone()))
        .collect()
}

fn primitive(at: &Place, id: &str, agent: &str, rest: &[String]) -> Primitive {
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
        at: at.clone(),
    };
    let mut section = "params";
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "params" | "meta" | "utilization" | "operations" => section = word,
            "op" => {
                section = "op";
                let name = words.next().cloned().unwrap_or_default();
                new.ops.push((name, Pairs::new()));
            }
            word => {
                let Some((name, value)) = word.split_once('=') else {
                    continue;
                };
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
                    to.insert(name.to_owned(), value.to_owned());
                }
            }
        }
    }
    new
}

/// `100:` of a constraint.
fn score(at: &Place, word: &str) -> Result<Option<Score>, Malformed> {
    let Some(text) = word.strip_suffix(':') else {
        return Ok(None);
    };
    match Score::read(text) {
        Some(score) => Ok(Some(score)),
        None => Err(Malformed::new(
            at,
            format!("the score {}", quoted(text)),
            "a number, inf, -inf, Mandatory or Optional",
        )),
    }
}

fn location(at: &Place, id: &str, rest: &[String]) -> Result<Vec<Location>, Malformed> {
    let wrong = || {
        Malformed::new(
            at,
            format!("location {}", quoted(id)),
            "location ID RESOURCE SCORE: NODE",
        )
    };
    let mut resources = Vec::new();
    let mut words = rest.iter().map(String::as_str).peekable();
    match words.next() {
        Some("{") => resources.extend(
            words
                .by_ref()
                .take_while(|word| *word != "}")
                .map(str::to_owned),
        ),
        Some(resource) => resources.push(resource.to_owned()),
        None => return Err(wrong()),
    }
    let place = |node: Option<String>, score| Location {
        id: id.to_owned(),
        resources: resources.clone(),
        node,
        score,
        at: at.clone(),
    };
    let mut found = Vec::new();
    let mut rule = false;
    while let Some(word) = words.next() {
        if word == "rule" {
            rule = true;
            continue;
        }
        let Some(score) = score(at, word)? else {
            continue;
        };
        if !rule {
            let node = words.next().ok_or_else(wrong)?;
            found.push(place(Some(node.to_owned()), score));
            continue;
        }
        let mut expression = Vec::new();
        while let Some(word) = words.peek() {
            if *word == "rule" {
                break;
            }
            expression.extend(words.next());
        }
        rule = false;
        let node = match expression[..] {
            ["#uname", "eq", node] => Some(node.to_owned()),
            _ => None,
        };
        found.push(place(node, score));
    }
    match found.is_empty() {
        true => Err(wrong()),
        false => Ok(found),
    }
}

fn together(at: &Place, rest: &[String]) -> Result<Together, Malformed> {
    let (mut strength, mut resources) = (Score::Infinity, Vec::new());
    for word in rest {
        if let Some(found) = score(at, word)? {
            strength = found;
            continue;
        }
        if word.contains('=') || matches!(word.as_str(), "(" | ")" | "[" | "]") {
            continue;
        }
        // `resource:start`, `resource:Master`; brackets may stand close to a name.
        let name = word.trim_matches(|c| "()[]".contains(c));
        let name = name.split(':').next().unwrap_or(name);
        if !name.is_empty() {
            resources.push(name.to_owned());
        }
    }
    if resources.len() < 2 {
        return Err(Malformed::new(
            at,
            "a constraint that joins fewer than two resources",
            "SCORE: RESOURCE RESOURCE …",
        ));
    }
    Ok(Together {
        resources,
        score: strength,
        at: at.clone(),
    })
}

fn topology(at: &Place, rest: &[String], crm: &mut Crm) {
    let (mut node, mut level) = (String::new(), 0_u8);
    for word in rest {
        match word.strip_suffix(':') {
            Some(name) => {
                node = name.to_owned();
                level = 0;
            }
            None => {
                level = level.saturating_add(1);
                let devices = word.split(',').map(str::to_owned).collect();
                crm.levels.push((node.clone(), level, devices, at.clone()));
            }
        }
    }
}
