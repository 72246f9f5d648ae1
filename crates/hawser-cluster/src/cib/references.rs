//! What a CIB says by reference, written out: primitives that are made from a template, and sets of values or single values
//! that stand elsewhere (`id-ref`). Whoever reads a resource alone would take it for one without parameters.

use std::collections::BTreeMap;

use crate::xml::Element;

/// Elements that are copied at most; a CIB of a thousand resources has some ten thousand. A hostile one could name a large
/// set from each of many places.
const MOST: usize = 100_000;

/// The attributes that a template gives to what is made from it.
const AGENT: [&str; 3] = ["class", "provider", "type"];

/// The CIB with all references to templates, sets and pairs written out. What refers to nothing, or nests references, stays as
/// it is.
#[must_use]
pub(crate) fn written_out(cib: &Element) -> Element {
    let Some(configuration) = cib.first("configuration") else {
        return cib.clone();
    };
    let all = configuration.walk();
    let named = all.iter().filter_map(|it| Some((it.get("id")?, *it)));
    let mut copies = Copies {
        named: named.collect(),
        left: MOST,
    };
    let mut cib = cib.clone();
    let resources = cib.first_or_new("configuration").first_or_new("resources");
    copies.resolve(resources);
    cib
}

struct Copies<'a> {
    named: BTreeMap<&'a str, &'a Element>,
    left: usize,
}

impl<'a> Copies<'a> {
    fn resolve(&mut self, element: &mut Element) {
        if let (Some(id), None) = (element.get("id-ref"), element.get("id")) {
            if let Some(found) = self.of(id, &element.name.clone()) {
                let own = std::mem::replace(element, found.clone());
                // A pair that is referred to may have another name here.
                if let Some(name) = own.get("name") {
                    element.set("name", name);
                }
            }
        }
        if element.name == "primitive" {
            self.add_template(element);
        }
        for child in &mut element.children {
            self.resolve(child);
        }
    }

    /// A primitive's own values come before those of its template.
    fn add_template(&mut self, primitive: &mut Element) {
        let template = primitive.get("template").map(str::to_owned);
        let Some(template) = template.and_then(|id| self.of(&id, "template")) else {
            return;
        };
        for name in AGENT {
            if let (None, Some(value)) = (primitive.get(name), template.get(name)) {
                primitive.set(name, value);
            }
        }
        primitive.children.extend(template.children.iter().cloned());
    }

    /// The element of that identity and tag, unless too much was copied already.
    fn of(&mut self, id: &str, tag: &str) -> Option<&'a Element> {
        let found = *self.named.get(id)?;
        let size = found.walk().len();
        if found.name != tag || size > self.left {
            return None;
        }
        self.left -= size;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::parameter;

    fn primitive(resources: &str) -> Element {
        let text = format!(
            "<cib><configuration><rsc_defaults><meta_attributes id=\"d\"/></rsc_defaults>\
             <resources>{resources}</resources></configuration></cib>"
        );
        let cib = written_out(&Element::parse(&text, "test").unwrap());
        let resources = cib.at(&["configuration", "resources"]).unwrap();
        resources.first("primitive").unwrap().clone()
    }

    #[test]
    fn a_template_gives_what_the_primitive_does_not_say() {
        let made = primitive(
            r#"<template id="t" class="ocf" provider="heartbeat" type="Filesystem">
                 <instance_attributes id="t-a"><nvpair id="t1" name="device" value="/dev/sdb1"/>
                 <nvpair id="t2" name="directory" value="/web"/></instance_attributes></template>
               <primitive id="p" template="t"><instance_attributes id="p-a">
                 <nvpair id="p1" name="directory" value="/other"/></instance_attributes></primitive>"#,
        );
        assert_eq!(made.get("type"), Some("Filesystem"));
        assert_eq!(parameter(&made, "device"), Some("/dev/sdb1"));
        assert_eq!(parameter(&made, "directory"), Some("/other"));
    }

    #[test]
    fn sets_and_pairs_that_stand_elsewhere_are_written_out() {
        let made = primitive(
            r#"<primitive id="p" class="ocf" provider="heartbeat" type="IPaddr2">
                 <instance_attributes id-ref="q-a"/></primitive>
               <primitive id="q" class="ocf" provider="heartbeat" type="IPaddr2">
                 <instance_attributes id="q-a"><nvpair id-ref="r1" name="ip"/></instance_attributes></primitive>
               <primitive id="r" class="ocf" provider="heartbeat" type="Dummy">
                 <instance_attributes id="r-a"><nvpair id="r1" name="fake" value="10.0.0.1"/></instance_attributes>
               </primitive>"#,
        );
        assert_eq!(parameter(&made, "ip"), Some("10.0.0.1"));
    }

    #[test]
    fn circles_and_multiplied_references_end() {
        let pairs: String = (0..2000)
            .map(|n| format!("<nvpair id=\"n{n}\" name=\"n{n}\" value=\"\"/>"))
            .collect();
        let many: String = (0..2000)
            .map(|n| {
                format!("<primitive id=\"m{n}\"><instance_attributes id-ref=\"s\"/></primitive>")
            })
            .collect();
        let circle = r#"<primitive id="p" template="t"/><template id="t" template="t"/>"#;
        let text = format!(
            "<cib><configuration><resources>{circle}<primitive id=\"o\"><instance_attributes id=\"s\">{pairs}\
             </instance_attributes></primitive>{many}</resources></configuration></cib>"
        );
        let cib = Element::parse(&text, "test").unwrap();
        assert!(written_out(&cib).walk().len() < cib.walk().len() + MOST);
    }
}
