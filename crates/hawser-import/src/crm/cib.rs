//! Pacemaker's CIB.

use super::xml::{self, Element};
use super::{Around, Crm, Location, Pairs, Primitive, Score, Together};
use crate::Place;
use crate::place::{Malformed, quoted};
use crate::source::Source;

/// Reads a CIB, or its `configuration` alone.
pub(crate) fn parse(source: &Source) -> Result<Crm, Malformed> {
    let root = xml::parse(source)?;
    let Some(configuration) = root.find("configuration") else {
        let found = format!("<{}> without a <configuration>", root.name);
        return Err(Malformed::new(
            &source.at(root.line),
            found,
            "a CIB: what `cibadmin --query` prints",
        ));
    };
    let mut reading = Reading {
        source,
        crm: Crm::default(),
    };
    for part in &configuration.children {
        match part.name.as_str() {
            "crm_config" => {
                for set in part.all("cluster_property_set") {
                    let pairs = reading.nvpairs(set)?;
                    reading.crm.properties.extend(pairs);
                }
            }
            "rsc_defaults" => {
                for set in part.all("meta_attributes") {
                    let pairs = reading.nvpairs(set)?;
                    reading.crm.defaults.extend(pairs);
                }
            }
            "nodes" => {
                for node in part.all("node") {
                    let at = reading.at(node);
                    let name = node.get("uname").or(node.get("id"));
                    let name = name.ok_or_else(|| lacks(&at, node, "uname"))?;
                    reading.crm.nodes.push((name.to_owned(), at));
                }
            }
            "resources" => reading.resources(part, None)?,
            "constraints" => reading.constraints(part)?,
            "fencing-topology" => {
                for level in part.all("fencing-level") {
                    reading.level(level)?;
                }
            }
            _ => {}
        }
    }
    Ok(reading.crm)
}

fn lacks(at: &Place, element: &Element, attribute: &str) -> Malformed {
    let found = format!("<{}> without {attribute}", element.name);
    Malformed::new(at, found, format!("{attribute}=\"…\""))
}

struct Reading<'a> {
    source: &'a Source,
    crm: Crm,
}

impl Reading<'_> {
    fn at(&self, element: &Element) -> Place {
        self.source.at(element.line)
    }

    fn need<'e>(&self, element: &'e Element, attribute: &str) -> Result<&'e str, Malformed> {
        let value = element.get(attribute);
        value.ok_or_else(|| lacks(&self.at(element), element, attribute))
    }

    fn nvpairs(&self, set: &Element) -> Result<Vec<(String, String, Place)>, Malformed> {
        let pair = |pair: &Element| {
            let name = self.need(pair, "name")?.to_owned();
            let value = pair.get("value").unwrap_or_default().to_owned();
            Ok((name, value, self.at(pair)))
        };
        set.all("nvpair").map(pair).collect()
    }

    fn pairs(&self, of: &Element, tag: &str) -> Result<Pairs, Malformed> {
        let mut all = Pairs::new();
        for set in of.all(tag) {
            let pairs = self.nvpairs(set)?;
            all.extend(pairs.into_iter().map(|(name, value, _)| (name, value)));
        }
        Ok(all)
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
                _ => continue,
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
            self.crm.around.push(Around {
                kind,
                id,
                members: inner,
            });
        }
        Ok(())
    }

    fn primitive(
        &mut self,
        element: &Element,
        id: String,
        at: Place,
    ) -> Result<Primitive, Malformed> {
        let parts = [
            element.get("class"),
            element.get("provider"),
            element.get("type"),
        ];
        let agent: Vec<&str> = parts.into_iter().flatten().collect();
        let operations = element.all("operations").flat_map(|all| all.all("op"));
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
            id,
            ops,
            at,
        })
    }

    fn score(&self, element: &Element, default: Score) -> Result<Score, Malformed> {
        let text = element.get("score").or(element.get("kind"));
        let Some(text) = text else {
            return Ok(default);
        };
        let wrong = || {
            let found = format!("the score {}", quoted(text));
            Malformed::new(&self.at(element), found, "a number, INFINITY or -INFINITY")
        };
        Score::read(text).ok_or_else(wrong)
    }

    fn constraints(&mut self, part: &Element) -> Result<(), Malformed> {
        for element in &part.children {
            match element.name.as_str() {
                "rsc_location" => self.location(element)?,
                "rsc_colocation" => {
                    let together = self.together(element, ["rsc", "with-rsc"])?;
                    self.crm.colocations.push(together);
                }
                "rsc_order" => {
                    let together = self.together(element, ["first", "then"])?;
                    self.crm.orders.push(together);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn references(&self, element: &Element) -> Result<Vec<String>, Malformed> {
        let sets = element.all("resource_set");
        let references = sets.flat_map(|set| set.all("resource_ref"));
        references
            .map(|reference| Ok(self.need(reference, "id")?.to_owned()))
            .collect()
    }

    fn together(&self, element: &Element, ends: [&str; 2]) -> Result<Together, Malformed> {
        let mut resources = self.references(element)?;
        resources.extend(
            ends.iter()
                .filter_map(|end| element.get(end))
                .map(str::to_owned),
        );
        Ok(Together {
            resources,
            score: self.score(element, Score::Infinity)?,
            at: self.at(element),
        })
    }

    fn location(&mut self, element: &Element) -> Result<(), Malformed> {
        let at = self.at(element);
        let mut resources = self.references(element)?;
        resources.extend(element.get("rsc").map(str::to_owned));
        let id = element.get("id").unwrap_or_default().to_owned();
        if let Some(node) = element.get("node") {
            let score = self.score(element, Score::Finite(0))?;
            let node = Some(node.to_owned());
            self.crm.locations.push(Location {
                id,
                resources,
                node,
                score,
                at,
            });
            return Ok(());
        }
        for rule in element.all("rule") {
            let expressions: Vec<&Element> = rule.children.iter().collect();
            // `#uname eq NODE` is what `node=` says in fewer words.
            let node = match expressions[..] {
                [one]
                    if one.get("attribute") == Some("#uname")
                        && one.get("operation") == Some("eq") =>
                {
                    one.get("value").map(str::to_owned)
                }
                _ => None,
            };
            let location = Location {
                id: id.clone(),
                resources: resources.clone(),
                node,
                score: self.score(rule, Score::Finite(0))?,
                at: at.clone(),
            };
            self.crm.locations.push(location);
        }
        Ok(())
    }

    fn level(&mut self, element: &Element) -> Result<(), Malformed> {
        let at = self.at(element);
        let index = self.need(element, "index")?;
        let Ok(index) = index.parse::<u8>() else {
            return Err(Malformed::new(
                &at,
                format!("index {}", quoted(index)),
                "1 to 9",
            ));
        };
        let devices = self.need(element, "devices")?.split(',');
        let devices = devices.map(|device| device.trim().to_owned()).collect();
        let node = element.get("target").unwrap_or_default().to_owned();
        self.crm.levels.push((node, index, devices, at));
        Ok(())
    }
}
