//! Constraints and levels of fencing in the CIB.

use hawser_cluster::xml::Element;

use super::Reading;
use crate::crm::{Location, Score, Ticket, Together};
use crate::place::{Malformed, quoted};

impl Reading<'_> {
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

    pub(super) fn constraints(&mut self, part: &Element) -> Result<(), Malformed> {
        for element in &part.children {
            match element.name.as_str() {
                "rsc_location" => self.location(element)?,
                "rsc_colocation" => {
                    let together = self.together(element, ["rsc", "with-rsc"])?;
                    self.crm.colocations.extend(together);
                }
                "rsc_order" => {
                    let together = self.together(element, ["first", "then"])?;
                    self.crm.orders.extend(together);
                }
                "rsc_ticket" => {
                    let mut resources = self.references(element)?;
                    resources.extend(element.get("rsc").map(str::to_owned));
                    let ticket = Ticket {
                        name: self.need(element, "ticket")?.to_owned(),
                        resources,
                        at: self.at(element),
                    };
                    self.crm.tickets.push(ticket);
                }
                _ => self.unknown(element),
            }
        }
        Ok(())
    }

    fn references(&self, element: &Element) -> Result<Vec<String>, Malformed> {
        let mut all = Vec::new();
        for set in element.all("resource_set") {
            for reference in self.meant(set)?.all("resource_ref") {
                all.push(self.need(reference, "id")?.to_owned());
            }
        }
        Ok(all)
    }

    fn together(
        &mut self,
        element: &Element,
        ends: [&str; 2],
    ) -> Result<Option<Together>, Malformed> {
        if let Some(attribute) = element.get("node-attribute") {
            let what = format!("a colocation by the nodes' {}", quoted(attribute));
            let why = "Hawser's file has no attributes of nodes";
            self.page.unsaid(&self.at(element), what, why);
        }
        let mut resources = self.references(element)?;
        resources.extend(
            ends.iter()
                .filter_map(|end| element.get(end))
                .map(str::to_owned),
        );
        if resources.len() < 2 {
            let id = element.get("id").unwrap_or_default();
            let what = format!("<{}> {}", element.name, quoted(id));
            let why = "it joins fewer than two resources";
            self.page.mistake(&self.at(element), what, why);
            return Ok(None);
        }
        Ok(Some(Together {
            resources,
            score: self.score(element, Score::Infinity)?,
            at: self.at(element),
        }))
    }

    fn location(&mut self, element: &Element) -> Result<(), Malformed> {
        let at = self.at(element);
        let mut resources = self.references(element)?;
        resources.extend(element.get("rsc").map(str::to_owned));
        let id = element.get("id").unwrap_or_default().to_owned();
        if element.get("resource-discovery") == Some("exclusive") {
            self.page.unsaid(
                &at,
                format!("resource-discovery of location {}", quoted(&id)),
                "its resource runs on such nodes alone: write `nodes` of the pool",
            );
        }
        if let Some(pattern) = element.get("rsc-pattern") {
            self.page.unsaid(
                &at,
                format!(
                    "location {} of all that match {}",
                    quoted(&id),
                    quoted(pattern)
                ),
                "write `prefer` or `nodes` of each pool that is meant",
            );
            return Ok(());
        }
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
            let rule = self.meant(rule)?;
            let by_attribute = rule.get("score-attribute").is_some();
            let expressions: Vec<&Element> = rule.children.iter().collect();
            // `#uname eq NODE` is what `node=` says in fewer words.
            let node = match expressions[..] {
                [one]
                    if one.get("attribute") == Some("#uname")
                        && one.get("operation") == Some("eq")
                        && !by_attribute =>
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

    pub(super) fn level(&mut self, element: &Element) -> Result<(), Malformed> {
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
