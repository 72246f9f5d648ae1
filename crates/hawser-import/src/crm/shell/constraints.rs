//! Constraints and levels of fencing, as crmsh writes them.

use crate::SourceLine;
use crate::crm::{Crm, Location, Score, Ticket, Together};
use crate::place::{Malformed, quoted};

/// `100:` of a constraint.
fn score(at: &SourceLine, word: &str) -> Result<Option<Score>, Malformed> {
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

pub(super) fn location(
    at: &SourceLine,
    id: &str,
    rest: &[String],
) -> Result<Vec<Location>, Malformed> {
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
        let (score, by_attribute) = match score(at, word) {
            Ok(Some(score)) => (score, false),
            Ok(None) => continue,
            // A rule may have the value of a node's attribute as its score.
            Err(_) if rule => (Score::Finite(0), true),
            Err(e) => return Err(e),
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
            ["#uname", "eq", node] if !by_attribute => Some(node.to_owned()),
            _ => None,
        };
        found.push(place(node, score));
    }
    match found.is_empty() {
        true => Err(wrong()),
        false => Ok(found),
    }
}

pub(super) fn together(at: &SourceLine, rest: &[String]) -> Result<Together, Malformed> {
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

pub(super) fn topology(at: &SourceLine, rest: &[String], crm: &mut Crm) {
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

/// `rsc_ticket ID TICKET: RESOURCE … loss-policy=POLICY`.
pub(super) fn ticket(at: &SourceLine, rest: &[String]) -> Ticket {
    let mut plain = rest.iter().filter(|word| !word.contains('=')).skip(1);
    let name = plain.next().map_or("", |word| word.trim_end_matches(':'));
    let resources = plain.filter(|word| !matches!(word.as_str(), "(" | ")" | "[" | "]"));
    let bare = |word: &String| word.split(':').next().unwrap_or_default().to_owned();
    Ticket {
        name: name.to_owned(),
        resources: resources.map(bare).collect(),
        at: at.clone(),
    }
}
