//! JSON that a human can read in a diff: what fits on a line stands on one.

use serde_json::Value;

const WIDTH: usize = 110;

/// Prints a value.
pub fn print(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, 0, &mut out);
    out.push('\n');
    out
}

fn write(value: &Value, indent: usize, used: usize, out: &mut String) {
    let flat = flat(value);
    if indent + used + flat.len() <= WIDTH {
        out.push_str(&flat);
        return;
    }
    let inner = indent + 2;
    let pad = |n: usize| " ".repeat(n);
    match value {
        Value::Object(map) => {
            out.push_str("{\n");
            for (i, (key, value)) in map.iter().enumerate() {
                let comma = if i + 1 < map.len() { "," } else { "" };
                let key = format!("{}: ", Value::from(key.as_str()));
                out.push_str(&pad(inner));
                out.push_str(&key);
                write(value, inner, key.len() + 1, out);
                out.push_str(comma);
                out.push('\n');
            }
            out.push_str(&pad(indent));
            out.push('}');
        }
        Value::Array(items) => {
            out.push_str("[\n");
            for (i, item) in items.iter().enumerate() {
                let comma = if i + 1 < items.len() { "," } else { "" };
                out.push_str(&pad(inner));
                write(item, inner, 1, out);
                out.push_str(comma);
                out.push('\n');
            }
            out.push_str(&pad(indent));
            out.push(']');
        }
        _ => out.push_str(&flat),
    }
}

fn flat(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let parts: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), flat(value)))
                .collect();
            format!("{{{}}}", parts.join(", "))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(flat).collect();
            format!("[{}]", parts.join(", "))
        }
        other => other.to_string(),
    }
}
