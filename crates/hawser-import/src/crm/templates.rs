//! Templates (`rsc_template`): what a resource has of one is written out, as Pacemaker reads it.

use std::collections::HashMap;

use super::{Crm, Primitive, Set};
use crate::page::Page;
use crate::place::quoted;

/// Writes out what each resource has of its template. Its own parameters, and operations of one name and interval, count first.
pub(crate) fn write_out(crm: &mut Crm, page: &mut Page) {
    let templates = std::mem::take(&mut crm.templates);
    let mut by_id = HashMap::new();
    for (i, template) in templates.iter().enumerate() {
        by_id.entry(template.id.as_str()).or_insert(i);
    }
    let mut used: Vec<Vec<String>> = vec![Vec::new(); templates.len()];
    for primitive in &mut crm.primitives {
        let Some(named) = primitive.template.take() else {
            continue;
        };
        match by_id.get(named.as_str()) {
            Some(&i) => {
                fill(primitive, &templates[i]);
                used[i].push(primitive.id.clone());
            }
            None => page.mistake(
                &primitive.at,
                quoted(&primitive.id),
                format!("there is no template {}", quoted(&named)),
            ),
        }
    }
    for (template, used) in templates.iter().zip(used) {
        let what = format!("template {}", quoted(&template.id));
        match used.is_empty() {
            true => page.not_needed(&template.at, what, "no resource is made from it"),
            false => {
                let why = format!("read as a part of {}", used.join(", "));
                page.understood(&template.at, what, why);
                // A constraint that names the template is about all of these.
                crm.sets.push(Set {
                    id: template.id.clone(),
                    members: used,
                });
            }
        }
    }
}

fn fill(primitive: &mut Primitive, template: &Primitive) {
    primitive.agent.clone_from(&template.agent);
    for (own, more) in [
        (&mut primitive.params, &template.params),
        (&mut primitive.meta, &template.meta),
    ] {
        for (name, value) in more {
            own.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    for (name, pairs) in &template.ops {
        let same = |(own, has): &(String, super::Pairs)| {
            own == name && has.get("interval") == pairs.get("interval")
        };
        if !primitive.ops.iter().any(same) {
            primitive.ops.push((name.clone(), pairs.clone()));
        }
    }
}
