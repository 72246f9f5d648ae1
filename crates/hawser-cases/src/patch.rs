//! Changes to a JSON value by pointer, each of which must name something.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

/// What differs from a base. Every pointer counts in the base: nothing moves before `remove`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// Another value for what is there. A step `*` stands for every item of an array: the values
    /// are then a list with one for each.
    #[serde(default)]
    pub set: BTreeMap<String, Value>,
    /// A key that its object has not.
    #[serde(default)]
    pub add: BTreeMap<String, Value>,
    /// More items for the end of an array.
    #[serde(default)]
    pub append: BTreeMap<String, Vec<Value>>,
    /// Keys and items that go.
    #[serde(default)]
    pub remove: Vec<String>,
}

impl Patch {
    /// Makes the changes.
    ///
    /// # Errors
    /// A pointer names nothing, or adds what is there already; the error names it.
    pub fn apply(&self, to: &mut Value) -> Result<(), String> {
        for (pointer, value) in &self.set {
            match pointer.split_once("/*/") {
                Some((array, rest)) => set_each(to, pointer, array, rest, value)?,
                None => *there(to, "set", pointer)? = value.clone(),
            }
        }
        for (pointer, value) in &self.add {
            let (object, key) = object(to, "add", pointer)?;
            if object.insert(key, value.clone()).is_some() {
                return Err(format!("add {pointer}: it is there already; use set"));
            }
        }
        for (pointer, more) in &self.append {
            array(to, "append", pointer)?.extend(more.iter().cloned());
        }
        self.remove(to)
    }

    /// From the last item to the first, so that each pointer still counts in the base.
    fn remove(&self, from: &mut Value) -> Result<(), String> {
        let mut pointers: Vec<(Option<usize>, &String)> =
            self.remove.iter().map(|p| (last(p), p)).collect();
        pointers.sort();
        for (index, pointer) in pointers.into_iter().rev() {
            there(from, "remove", pointer)?;
            let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
            match (there(from, "remove", parent)?, index) {
                (Value::Array(items), Some(index)) => drop(items.remove(index)),
                _ => {
                    let (object, key) = object(from, "remove", pointer)?;
                    object.remove(&key);
                }
            }
        }
        Ok(())
    }
}

/// The index that a pointer ends with.
fn last(pointer: &str) -> Option<usize> {
    pointer.rsplit_once('/')?.1.parse().ok()
}

fn set_each(
    to: &mut Value,
    pointer: &str,
    items: &str,
    rest: &str,
    values: &Value,
) -> Result<(), String> {
    let items = array(to, "set", items)?;
    let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
    if values.len() != items.len() {
        let (values, items) = (values.len(), items.len());
        return Err(format!("set {pointer}: {values} values for {items} items"));
    }
    for (item, value) in items.iter_mut().zip(values) {
        *item
            .pointer_mut(&format!("/{rest}"))
            .ok_or_else(|| format!("set {pointer}: no such place"))? = value.clone();
    }
    Ok(())
}

fn there<'a>(value: &'a mut Value, verb: &str, pointer: &str) -> Result<&'a mut Value, String> {
    let place = value.pointer_mut(pointer);
    place.ok_or_else(|| format!("{verb} {pointer}: no such place"))
}

fn array<'a>(
    value: &'a mut Value,
    verb: &str,
    pointer: &str,
) -> Result<&'a mut Vec<Value>, String> {
    let place = there(value, verb, pointer)?.as_array_mut();
    place.ok_or_else(|| format!("{verb} {pointer}: not an array"))
}

/// The object that holds the key a pointer ends with, and the key.
fn object<'a>(
    value: &'a mut Value,
    verb: &str,
    pointer: &str,
) -> Result<(&'a mut Map<String, Value>, String), String> {
    let (parent, key) = pointer
        .rsplit_once('/')
        .ok_or_else(|| format!("{verb} {pointer}: not a pointer"))?;
    let parent = value.pointer_mut(parent);
    let parent = parent.ok_or_else(|| format!("{verb} {pointer}: no such place"))?;
    let object = parent.as_object_mut();
    let object = object.ok_or_else(|| format!("{verb} {pointer}: not in an object"))?;
    Ok((object, key.replace("~1", "/").replace("~0", "~")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(patch: Value) -> Result<Value, String> {
        let mut value =
            json!({ "name": "a", "hosts": [{ "n": 1 }, { "n": 2 }, { "n": 3 }], "counters": {} });
        let patch: Patch = serde_json::from_value(patch).expect("a patch");
        patch.apply(&mut value).map(|()| value)
    }

    #[test]
    fn every_kind_of_change_counts_in_the_base() {
        let all = json!({
            "set": { "/name": "b", "/hosts/2/n": 9 },
            "add": { "/counters/softnet~10~1dropped": 5 },
            "append": { "/hosts": [{ "n": 4 }] },
            "remove": ["/hosts/0", "/hosts/1"],
        });
        let expected = json!({ "name": "b", "hosts": [{ "n": 9 }, { "n": 4 }], "counters": { "softnet/0/dropped": 5 } });
        assert_eq!(patched(all), Ok(expected));
    }

    #[test]
    fn a_star_gives_each_item_its_own_value() {
        let hosts = patched(json!({ "set": { "/hosts/*/n": [7, 8, 9] } })).expect("hosts");
        assert_eq!(hosts["hosts"], json!([{ "n": 7 }, { "n": 8 }, { "n": 9 }]));
    }

    #[test]
    fn a_pointer_that_names_nothing_is_named() {
        for (patch, error) in [
            (json!({ "set": { "/nam": 1 } }), "set /nam: no such place"),
            (
                json!({ "set": { "/hosts/3/n": 1 } }),
                "set /hosts/3/n: no such place",
            ),
            (
                json!({ "set": { "/hosts/*/m": [1, 2, 3] } }),
                "set /hosts/*/m: no such place",
            ),
            (
                json!({ "set": { "/hosts/*/n": [1, 2] } }),
                "set /hosts/*/n: 2 values for 3 items",
            ),
            (
                json!({ "add": { "/name": 1 } }),
                "add /name: it is there already; use set",
            ),
            (
                json!({ "add": { "/no/name": 1 } }),
                "add /no/name: no such place",
            ),
            (
                json!({ "add": { "/hosts/-": 1 } }),
                "add /hosts/-: not in an object",
            ),
            (
                json!({ "append": { "/counters": [1] } }),
                "append /counters: not an array",
            ),
            (json!({ "remove": ["/nam"] }), "remove /nam: no such place"),
        ] {
            assert_eq!(patched(patch), Err(error.to_owned()));
        }
    }
}
