//! Is the file of the right shape? The very schema that editors get is what checks it, against
//! the parsed text with its places, so every unknown key and wrong type is found in one pass.

use std::ops::Range;
use std::str::FromStr;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Found, Problem, nearest};
use super::values::{Network, NotA, Period, SecretRef, Speed, Whom};

/// Checks `document` against `schema` and pushes whatever does not fit.
pub(super) fn check<R>(schema: &Value, document: &Spanned<DeTable<'_>>, found: &mut Found<R>) {
    let shape = Shape { root: schema };
    let place = FieldPlace {
        table: "the file".into(),
        key: String::new(),
    };
    if let Some(object) = schema.as_object() {
        shape.table(object, document.get_ref(), document.span(), &place, found);
    }
}

struct Shape<'s> {
    root: &'s Value,
}

/// Where in the file a value stands, in words.
#[derive(Clone)]
struct FieldPlace {
    /// The table around it: `[[node]] "head1"`.
    table: String,
    /// Its key.
    key: String,
}

impl<'s> Shape<'s> {
    /// Follows `$ref` into the schema's definitions.
    fn resolve(&self, schema: &'s Value) -> &'s Value {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => self
                .root
                .pointer(reference.trim_start_matches('#'))
                .map_or(schema, |target| self.resolve(target)),
            None => schema,
        }
    }

    /// The alternatives a schema leaves, `null` aside: an absent key is what TOML has for it.
    fn alternatives(&self, schema: &'s Value) -> Vec<&'s Value> {
        let schema = self.resolve(schema);
        match schema
            .get("anyOf")
            .or(schema.get("oneOf"))
            .and_then(Value::as_array)
        {
            Some(several) => several
                .iter()
                .flat_map(|one| self.alternatives(one))
                .filter(|one| one.get("type").and_then(Value::as_str) != Some("null"))
                .collect(),
            None => vec![schema],
        }
    }

    fn value<R>(
        &self,
        schema: &'s Value,
        value: &Spanned<DeValue<'_>>,
        place: &FieldPlace,
        found: &mut Found<R>,
    ) {
        let alternatives = self.alternatives(schema);
        let Some(fitting) = alternatives.iter().find(|one| fits(one, value.get_ref())) else {
            let mut wanted: Vec<&str> = alternatives.iter().flat_map(|one| wanted(one)).collect();
            wanted.dedup();
            let problem = Problem::WrongType {
                key: place.key.clone(),
                wanted: wanted.join(" or "),
                found: type_in_words(value.get_ref()).into(),
            };
            return found.push(problem, value.span());
        };
        match value.get_ref() {
            DeValue::Table(table) => {
                if let Some(object) = fitting.as_object() {
                    self.table(object, table, value.span(), place, found);
                }
            }
            DeValue::Array(items) => {
                let Some(item_schema) = fitting.get("items") else {
                    return;
                };
                for item in items {
                    let place = FieldPlace {
                        table: table_in_words(&place.key, Some(item.get_ref())),
                        key: place.key.clone(),
                    };
                    self.value(item_schema, item, &place, found);
                }
            }
            DeValue::String(text) => {
                self.word(&alternatives, text, value.span(), place, found);
                if let Some(format) = fitting.get("format").and_then(Value::as_str) {
                    written(format, text, value.span(), place, found);
                }
            }
            // A range stands on the field, or on the type it refers to.
            DeValue::Integer(_) => whole_number(&[schema, fitting], value, place, found),
            _ => {}
        }
    }

    fn table<R>(
        &self,
        schema: &'s Map<String, Value>,
        table: &DeTable<'_>,
        span: Range<usize>,
        place: &FieldPlace,
        found: &mut Found<R>,
    ) {
        let none = Map::new();
        let properties = schema.get("properties").and_then(Value::as_object);
        let others = schema.get("additionalProperties").filter(|s| s.is_object());
        // What a slip in a key was to be is not missing.
        let mut slips = Vec::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let inner = |table: &str| FieldPlace {
                table: match value.get_ref() {
                    DeValue::Table(_) if !table.starts_with("[[") => table_in_words(name, None),
                    DeValue::Table(_) => format!("{name} of {table}"),
                    _ => table.to_owned(),
                },
                key: name.to_owned(),
            };
            match properties.unwrap_or(&none).get(name).or(others) {
                Some(schema) => self.value(schema, value, &inner(&place.table), found),
                None => {
                    let allowed: Vec<String> =
                        properties.unwrap_or(&none).keys().cloned().collect();
                    slips.extend(nearest(name, &allowed).map(str::to_owned));
                    let problem = Problem::UnknownKey {
                        found: name.to_owned(),
                        table: place.table.clone(),
                        allowed,
                    };
                    found.push(problem, key.span());
                }
            }
        }
        let required = schema.get("required").and_then(Value::as_array);
        for key in required.into_iter().flatten().filter_map(Value::as_str) {
            if !table.contains_key(key) && !slips.iter().any(|slip| slip == key) {
                let problem = Problem::MissingKey {
                    key: key.to_owned(),
                    table: place.table.clone(),
                };
                found.push(problem, span.clone());
            }
        }
    }

    /// A text where only certain words may stand.
    fn word<R>(
        &self,
        alternatives: &[&'s Value],
        text: &str,
        span: Range<usize>,
        place: &FieldPlace,
        found: &mut Found<R>,
    ) {
        let mut allowed = Vec::new();
        for one in alternatives {
            let listed = one.get("enum").and_then(Value::as_array);
            let words = listed.into_iter().flatten().chain(one.get("const"));
            allowed.extend(words.filter_map(Value::as_str).map(str::to_owned));
            if one.get("type").and_then(Value::as_str) == Some("string")
                && listed.is_none()
                && one.get("const").is_none()
            {
                return;
            }
        }
        if !allowed.is_empty() && !allowed.iter().any(|word| word == text) {
            let problem = Problem::UnknownWord {
                key: place.key.clone(),
                found: text.to_owned(),
                allowed,
            };
            found.push(problem, span);
        }
    }
}

/// Does the value's type fit this schema? What is inside it is looked at afterwards.
fn fits(schema: &Value, value: &DeValue<'_>) -> bool {
    let named = match value {
        DeValue::Table(_) => "object",
        DeValue::Array(_) => "array",
        DeValue::String(_) => "string",
        DeValue::Integer(_) => "integer",
        DeValue::Float(_) => "number",
        DeValue::Boolean(_) => "boolean",
        DeValue::Datetime(_) => "date",
    };
    types(schema).contains(&named) || schema.get("const").is_some_and(|_| named == "string")
}

fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

fn wanted(schema: &Value) -> Vec<&'static str> {
    let words = types(schema).into_iter().filter_map(|name| match name {
        "object" => Some("a table"),
        "array" => Some("a list"),
        "string" => Some("text in quotes"),
        "integer" => Some("a whole number"),
        "number" => Some("a number"),
        "boolean" => Some("true or false"),
        _ => None,
    });
    words.collect()
}

fn type_in_words(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::Table(_) => "a table",
        DeValue::Array(_) => "a list",
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
    }
}

/// `[[node]] "head1"` for an item of a list that has a name, `[cluster]` for a table.
fn table_in_words(key: &str, item: Option<&DeValue<'_>>) -> String {
    match item {
        None => format!("[{key}]"),
        Some(item) => match item.get("name").and_then(|name| name.get_ref().as_str()) {
            Some(name) => format!("[[{key}]] \"{name}\""),
            None => format!("[[{key}]]"),
        },
    }
}

fn whole_number<R>(
    schemas: &[&Value],
    value: &Spanned<DeValue<'_>>,
    place: &FieldPlace,
    found: &mut Found<R>,
) {
    let DeValue::Integer(number) = value.get_ref() else {
        return;
    };
    let limit = |name: &str| schemas.iter().find_map(|schema| schema.get(name)?.as_i64());
    let parsed = i64::from_str_radix(number.as_str(), number.radix()).ok();
    let low = limit("minimum").unwrap_or(i64::MIN);
    let high = limit("maximum").unwrap_or(i64::MAX);
    if parsed.is_none_or(|n| n < low || n > high) {
        let written = match limit("maximum") {
            Some(high) => format!("a number from {low} to {high}"),
            None => format!("a number from {low} on"),
        };
        let problem = Problem::NotA {
            key: place.key.clone(),
            reason: format!("{} is out of range", number.as_str()),
            written,
        };
        found.push(problem, value.span());
    }
}

/// A text whose format has a parser: the same one that will read it.
fn written<R>(
    format: &str,
    text: &str,
    span: Range<usize>,
    place: &FieldPlace,
    found: &mut Found<R>,
) {
    fn tried<T: FromStr<Err = NotA>>(text: &str) -> Result<(), NotA> {
        text.parse::<T>().map(drop)
    }
    let outcome = match format {
        Speed::FORMAT => tried::<Speed>(text),
        Whom::FORMAT => tried::<Whom>(text),
        Period::FORMAT => tried::<Period>(text),
        Network::FORMAT => tried::<Network>(text),
        SecretRef::FORMAT => tried::<SecretRef>(text),
        "ip" => text
            .parse::<std::net::IpAddr>()
            .map(drop)
            .map_err(|_| NotA {
                reason: format!("\"{text}\" is no IP address"),
                written: "an address such as \"10.0.1.1\" or \"fd00::1\", without a prefix length",
            }),
        _ => Ok(()),
    };
    if let Err(NotA { reason, written }) = outcome {
        let problem = Problem::NotA {
            key: place.key.clone(),
            reason,
            written: written.to_owned(),
        };
        found.push(problem, span);
    }
}
