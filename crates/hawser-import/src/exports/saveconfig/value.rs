//! Values of JSON, as LIO takes them: what it would take for something else is refused, not left out.

use hawser_cluster::exports::LAST_LUN;
use serde_json::Value;

use crate::place::{Malformed, SourceLine, quoted};

/// An object of the file: what it is called in an error, and the nearest line that is known.
#[derive(Clone, Copy)]
pub(super) struct Object<'a> {
    pub value: &'a Value,
    pub what: &'a str,
    pub at: &'a SourceLine,
}

impl Object<'_> {
    /// A switch; `None`: it is not there.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, Malformed> {
        let Some(value) = self.there(key) else {
            return Ok(None);
        };
        match value.as_bool().or_else(|| match integer(value)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }) {
            Some(flag) => Ok(Some(flag)),
            None => Err(self.wrong(key, value, "true or false")),
        }
    }

    /// A number from 0; `None`: it is not there.
    pub fn number(&self, key: &str) -> Result<Option<u64>, Malformed> {
        let Some(value) = self.there(key) else {
            return Ok(None);
        };
        let number = integer(value).and_then(|n| u64::try_from(n).ok());
        let number = number.ok_or_else(|| self.wrong(key, value, "a number"))?;
        Ok(Some(number))
    }

    /// The number of a LUN as clients see it, which has to be there.
    pub fn lun(&self, key: &str) -> Result<u16, Malformed> {
        const ALLOWED: &str = "a number from 0 to 16383";
        let value = self.value.get(key).unwrap_or(&Value::Null);
        let number = value.as_u64().and_then(|n| u16::try_from(n).ok());
        let number = number.filter(|n| *n <= LAST_LUN);
        number.ok_or_else(|| self.wrong(key, value, ALLOWED))
    }

    /// A text; `None`: it is not there, or empty.
    pub fn text(&self, key: &str) -> Result<Option<&str>, Malformed> {
        let Some(value) = self.there(key) else {
            return Ok(None);
        };
        let text = value.as_str();
        let text = text.ok_or_else(|| self.wrong(key, value, "a text in quotes"))?;
        Ok(Some(text).filter(|text| !text.is_empty()))
    }

    fn there(&self, key: &str) -> Option<&Value> {
        self.value.get(key).filter(|value| !value.is_null())
    }

    fn wrong(&self, key: &str, value: &Value, allowed: &str) -> Malformed {
        let found = match value {
            Value::Null => format!("no {key} of {}", self.what),
            Value::String(text) => format!("{key} of {}: the text {}", self.what, quoted(text)),
            other => format!("{key} of {}: {}", self.what, shown(&other.to_string())),
        };
        Malformed::new(self.at, found, allowed)
    }
}

/// LIO's files take the digits of a text as a number.
fn integer(value: &Value) -> Option<i64> {
    let digits = || value.as_str()?.trim().parse().ok();
    value.as_i64().or_else(digits)
}

fn shown(json: &str) -> String {
    quoted(json).trim_matches('"').to_owned()
}

/// A text where anything else counts as none.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The members of a list that may not be there.
pub(super) fn list<'a>(value: &'a Value, key: &str) -> Vec<&'a Value> {
    let array = value.get(key).and_then(Value::as_array);
    array.into_iter().flatten().collect()
}

/// The attributes of an object.
pub(super) fn attributes(value: &Value) -> &Value {
    value.get("attributes").unwrap_or(&Value::Null)
}
