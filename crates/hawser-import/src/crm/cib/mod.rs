//! Pacemaker's CIB.

mod constraints;

use std::collections::{BTreeMap, BTreeSet};

use hawser_cluster::xml::Element;

use super::{Around, Crm, Node, Pairs, Primitive, Score, Set, twice};
use crate::SourceLine;
use crate::page::Page;
use crate::place::{Malformed, quoted};
use crate::source::Source;

/// Resources and constraints: no two of them have one id.
const WITH_ID: [&str; 10] = [
    "primitive",
    "template",
    "group",
    "clone",
    "master",
    "bundle",
    "rsc_location",
    "rsc_colocation",
    "rsc_order",
    "rsc_ticket",
];

/// Reads a CIB, or its `configuration` alone.
pub(crate) fn parse(source: &Source, page: &mut Page) -> Result<Crm, Malformed> {
    let root = Element::parse(&source.text, "a CIB")
        .map_err(|e| Malformed::new(&source.at(e.line), e.reason, "Pacemaker's XML, whole"))?;
    let mut all = root.walk().into_iter();
    let Some(configuration) = all.find(|it| it.name == "configuration") else {
        let found = format!("<{}> without a <configuration>", root.name);
        return Err(Malformed::new(
            &source.at(root.line.0),
            found,
            "a CIB: what `cibadmin --query` prints",
        ));
    };
    let mut ids = BTreeMap::new();
    let (mut alone, mut again) = (BTreeMap::new(), None);
    for element in configuration.walk() {
        let Some(id) = element.get("id") else {
            continue;
        };
        ids.entry(id).or_insert(element);
        if WITH_ID.contains(&element.name.as_str()) {
            let first: &Element = alone.entry(id).or_insert(element);
            if !std::ptr::eq(first, element) && again.is_none() {
                again = Some((id, element, first));
            }
        }
    }
    if let Some((id, element, first)) = again {
        let (at, first) = (source.at(element.line.0), source.at(first.line.0));
        return Err(twice(&at, &format!("<{}>", element.name), id, &first));
    }
    let mut reading = Reading {
        source,
        ids,
        page,
        crm: Crm::default(),
    };
    for part in &configuration.children {
        match part.name.as_str() {
            "crm_config" => {
                let pairs = reading.nvpairs(part, "cluster_property_set", "properties")?;
                reading.crm.properties.extend(pairs);
            }
            "rsc_defaults" => {
                let pairs = reading.nvpairs(part, "meta_attributes", "rsc_defaults")?;
                reading.crm.defaults.extend(pairs);
            }
            "op_defaults" => {
                let pairs = reading.nvpairs(part, "meta_attributes", "op_defaults")?;
                reading.crm.operations.extend(pairs);
            }
            "nodes" => {
                let others = part.children.iter().filter(|it| it.name != "node");
                others.for_each(|other| reading.unknown(other));
                for node in part.all("node") {
                    let node = reading.node(node)?;
                    reading.crm.nodes.push(node);
                }
            }
            "resources" => reading.resources(part, None)?,
            "constraints" => reading.constraints(part)?,
            "tags" => {
                for tag in part.all("tag") {
                    let set = reading.tag(tag)?;
                    reading.crm.sets.push(set);
                }
            }
            "fencing-topology" => {
                for level in part.all("fencing-level") {
                    reading.level(level)?;
                }
            }
            "acls" | "alerts" if !part.children.is_empty() => reading.page.not_needed(
                &reading.source.at(part.line.0),
                quoted(&part.name),
                "Hawser's file has no counterpart, and the cluster does without",
            ),
            "acls" | "alerts" => {}
            _ => reading.unknown(part),
        }
    }
    Ok(reading.crm)
}

fn lacks(at: &SourceLine, element: &Element, attribute: &str) -> Malformed {
    let found = format!("<{}> without {attribute}", element.name);
    Malformed::new(at, found, format!("{attribute}=\"…\""))
}

struct Reading<'a> {
    source: &'a Source,
    /// Every element by its id: another may refer to it.
    ids: BTreeMap<&'a str, &'a Element>,
    page: &'a mut Page,
    crm: Crm,
}

impl<'a> Reading<'a> {
    fn at(&self, element: &Element) -> SourceLine {
        self.source.at(element.line.0)
    }

    /// An element that Pacemaker's configuration does not have there.
    fn unknown(&mut self, element: &Element) {
        let (at, what) = (self.at(element), format!("<{}>", element.name));
        self.page
            .unsaid(&at, what, "no such element is known here: it is left out");
    }

    fn need<'e>(&self, element: &'e Element, attribute: &str) -> Result<&'e str, Malformed> {
        let value = element.get(attribute);
        value.ok_or_else(|| lacks(&self.at(element), element, attribute))
    }

    /// What an element refers to by `id-ref`, or itself.
    fn meant<'e>(&self, element: &'e Element) -> Result<&'e Element, Malformed>
    where
        'a: 'e,
    {
        let Some(id) = element.get("id-ref") else {
            return Ok(element);
        };
        let found = self.ids.get(id).filter(|it| it.name == element.name);
        found.copied().ok_or_else(|| {
            let found = format!(
                "id-ref={}, and no <{}> of that id",
                quoted(id),
                element.name
            );
            Malformed::new(&self.at(element), found, "the id of such an element")
        })
    }

    /// The values of all sets of that tag. Of two that have the same one, that of the higher score counts, and else the
    /// first. A rule says when a set holds: such a set is told, and left out.
    fn nvpairs(
        &mut self,
        of: &Element,
        tag: &str,
        what: &str,
    ) -> Result<Vec<(String, String, SourceLine)>, Malformed> {
        let mut sets = Vec::new();
        for set in of.all(tag) {
            let meant = self.meant(set)?;
            if let Some(rule) = meant.all("rule").next() {
                let at = self.at(rule);
                self.page.unsaid(
                    &at,
                    format!("{what} with a rule"),
                    "they hold at times or on some nodes alone: Hawser's file has one value for always",
                );
                continue;
            }
            let score = meant.get("score").and_then(Score::read);
            sets.push((score.unwrap_or(Score::Finite(0)), meant));
        }
        sets.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        let mut all: Vec<(String, String, SourceLine)> = Vec::new();
        let mut known = BTreeSet::new();
        for (_, set) in sets {
            for pair in set.all("nvpair") {
                let (at, meant) = (self.at(pair), self.meant(pair)?);
                let name = match pair.get("name") {
                    Some(name) => name,
                    None => self.need(meant, "name")?,
                };
                if !known.insert(name.to_owned()) {
                    continue;
                }
                let value = meant.get("value").unwrap_or_default().to_owned();
                all.push((name.to_owned(), value, at));
            }
        }
        Ok(all)
    }

    fn pairs(&mut self, of: &Element, tag: &str) -> Result<Pairs, Malformed> {
        let what = format!("{tag} of {}", quoted(of.get("id").unwrap_or_default()));
        let pairs = self.nvpairs(of, tag, &what)?;
        Ok(pairs
            .into_iter()
            .map(|(name, value, _)| (name, value))
            .collect())
    }

    fn node(&mut self, element: &Element) -> Result<Node, Malformed> {
        let at = self.at(element);
        let id = element.get("id").map(str::to_owned);
        let name = element.get("uname").map(str::to_owned);
        let name = name.or(id.clone());
        Ok(Node {
            name: name.ok_or_else(|| lacks(&at, element, "uname"))?,
            id,
            attributes: self.pairs(element, "instance_attributes")?,
            utilization: element.all("utilization").next().is_some(),
            remote: element.get("type") == Some("remote"),
            at,
        })
    }

    fn tag(&self, element: &Element) -> Result<Set, Malformed> {
        let members = element.all("obj_ref");
        let members = members.map(|member| Ok(self.need(member, "id")?.to_owned()));
        Ok(Set {
            id: self.need(element, "id")?.to_owned(),
            members: members.collect::<Result<_, _>>()?,
        })
    }

    /// Resources, and of what holds others its members.
    fn resources(
        &mut self,
        part: &Element,
        mut members: Option<&mut Vec<String>>,
    ) -> Result<(), Malformed> {
        for element in &part.children {
            if element.name == "template" {
                let id = self.need(element, "id")?.to_owned();
                let template = self.primitive(element, id, self.at(element))?;
                self.crm.templates.push(template);
                continue;
            }
            let kind = match element.name.as_str() {
                "primitive" => "primitive",
                "group" => "group",
                "clone" => "clone",
                "master" => "ms",
                "bundle" => "bundle",
                // What a group, a clone or a bundle says of itself.
                "meta_attributes"
                | "instance_attributes"
                | "utilization"
                | "operations"
                | "docker"
                | "podman"
                | "rkt"
                | "network"
                | "storage"
                    if members.is_some() =>
                {
                    continue;
                }
                _ => {
                    self.unknown(element);
                    continue;
                }
            };
            let id = self.need(element, "id")?.to_owned();
            if let Some(members) = members.as_mut() {
                members.push(id.clone());
            }
            if kind == "primitive" {
                let primitive = self.primitive(element, id, self.at(element))?;
                self.crm.primitives.push(primitive);
                continue;
            }
            let mut inner = Vec::new();
            self.resources(element, Some(&mut inner))?;
            let meta = self.pairs(element, "meta_attributes")?;
            let at = self.at(element);
            self.crm.around.push(Around {
                kind,
                id,
                members: inner,
                meta,
                at,
            });
        }
        Ok(())
    }

    fn primitive(
        &mut self,
        element: &Element,
        id: String,
        at: SourceLine,
    ) -> Result<Primitive, Malformed> {
        let parts = [
            element.get("class"),
            element.get("provider"),
            element.get("type"),
        ];
        let agent: Vec<&str> = parts.into_iter().flatten().collect();
        let mut operations = Vec::new();
        for all in element.all("operations") {
            for op in self.meant(all)?.all("op") {
                operations.push(self.meant(op)?);
            }
        }
        let mut ops = Vec::new();
        for op in operations {
            let mut pairs: Pairs = op.attributes.iter().cloned().collect();
            // Old versions keep what belongs to the operation in attributes of its own.
            pairs.extend(self.pairs(op, "instance_attributes")?);
            pairs.extend(self.pairs(op, "meta_attributes")?);
            ops.push((self.need(op, "name")?.to_owned(), pairs));
        }
        Ok(Primitive {
            agent: agent.join(":"),
            params: self.pairs(element, "instance_attributes")?,
            meta: self.pairs(element, "meta_attributes")?,
            template: element.get("template").map(str::to_owned),
            utilization: element.all("utilization").next().is_some(),
            id,
            ops,
            at,
        })
    }
}
