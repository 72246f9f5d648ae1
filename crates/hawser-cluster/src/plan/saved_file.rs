//! The file of a plan: whatever is not as it was written is named, with its line and field.

use hawser_model::saved_plan::{PLAN_FORMAT, SavedPlan};
use serde_json::{Map, Value};

use super::saved::sha256;

/// The field that has the digests of the others.
const DIGESTS: &str = "digests";

/// Why a file is no plan that can be applied.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    /// It ends before its end.
    #[error("the saved plan is cut off after {0} bytes")]
    CutOff(usize),
    /// It is something else.
    #[error(
        "not a saved plan: a JSON object with `\"format\": \"{PLAN_FORMAT}\"` is expected, as `hawser plan -o FILE` \
         writes it; `-f` names a cluster file"
    )]
    Foreign,
    /// It is no JSON.
    #[error("line {line}: not JSON: {source}")]
    Json {
        /// Where it stops to be JSON.
        line: usize,
        /// Why it does.
        source: serde_json::Error,
    },
    /// Another format.
    #[error("line {line}: its format is `{found}`; this version reads `{PLAN_FORMAT}`")]
    Format {
        /// Where it says so.
        line: usize,
        /// What it says.
        found: String,
    },
    /// Another Hawser made it.
    #[error("line {line}: hawser {found} made it, and this is {}: another version may do something else; plan again", env!("CARGO_PKG_VERSION"))]
    Version {
        /// Where it says so.
        line: usize,
        /// The other.
        found: String,
    },
    /// A field is not what was written.
    #[error(
        "line {line}: `{field}` was edited: a saved plan is applied as it was made; plan again"
    )]
    Edited {
        /// Where it begins.
        line: usize,
        /// Which one.
        field: String,
    },
    /// A field is not there.
    #[error("`{0}` is missing: a saved plan is applied as it was made; plan again")]
    Missing(String),
    /// A field is none of a plan's.
    #[error("{0}")]
    Field(serde_json::Error),
}

/// The text of a plan's file.
///
/// # Errors
/// Never: a plan is always JSON.
pub fn saved_text(plan: &SavedPlan) -> Result<String, serde_json::Error> {
    let mut plan = plan.clone();
    plan.digests.clear();
    if let Value::Object(fields) = serde_json::to_value(&plan)? {
        let fields = fields.iter().filter(|(name, _)| *name != DIGESTS);
        let digests = fields.map(|(name, value)| (name.clone(), sha256(&value.to_string())));
        plan.digests = digests.collect();
    }
    Ok(serde_json::to_string_pretty(&plan)? + "\n")
}

/// The plan that was written.
///
/// # Errors
/// It was not, or not so.
pub fn parse_saved(text: &str) -> Result<SavedPlan, PlanFileError> {
    if !text.trim_start().starts_with('{') {
        return Err(PlanFileError::Foreign);
    }
    let value: Value = serde_json::from_str(text).map_err(|e| match e.is_eof() {
        true => PlanFileError::CutOff(text.len()),
        false => PlanFileError::Json {
            line: e.line(),
            source: e,
        },
    })?;
    let fields = value.as_object().ok_or(PlanFileError::Foreign)?;
    let said = |name: &str| fields.get(name).and_then(Value::as_str);
    match said("format") {
        None => return Err(PlanFileError::Foreign),
        Some(PLAN_FORMAT) => {}
        Some(other) => {
            let (line, found) = (line_of(text, "format"), other.to_owned());
            return Err(PlanFileError::Format { line, found });
        }
    }
    unedited(text, fields)?;
    let hawser = said("hawser").unwrap_or_default();
    if hawser != env!("CARGO_PKG_VERSION") {
        let (line, found) = (line_of(text, "hawser"), hawser.to_owned());
        return Err(PlanFileError::Version { line, found });
    }
    serde_json::from_value(value).map_err(PlanFileError::Field)
}

/// Each field is the one of which the digest is, and each digest is one of a field.
fn unedited(text: &str, fields: &Map<String, Value>) -> Result<(), PlanFileError> {
    let digests = fields.get(DIGESTS).and_then(Value::as_object);
    let digests = digests.ok_or_else(|| PlanFileError::Missing(DIGESTS.into()))?;
    for (name, value) in fields.iter().filter(|(name, _)| *name != DIGESTS) {
        let digest = digests.get(name).and_then(Value::as_str);
        if digest != Some(&sha256(&value.to_string())) {
            let (line, field) = (line_of(text, name), name.clone());
            return Err(PlanFileError::Edited { line, field });
        }
    }
    match digests.keys().find(|name| !fields.contains_key(*name)) {
        Some(name) => Err(PlanFileError::Missing(name.clone())),
        None => Ok(()),
    }
}

/// The line on which a field of the outermost object begins. What is within a text has its quotes escaped.
fn line_of(text: &str, field: &str) -> usize {
    let name = Value::from(field).to_string();
    let starts = text.match_indices(&name).map(|(at, _)| at);
    let mut names = starts.filter(|at| text[at + name.len()..].trim_start().starts_with(':'));
    let at = names.next().unwrap_or(0);
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Action, Change};

    fn plan() -> SavedPlan {
        let change = Change {
            object: "property stonith-timeout".into(),
            action: Action::Change,
            disruptive: false,
            text: "\"90s\" on the cluster, the file says \"60s\"".into(),
        };
        SavedPlan {
            format: PLAN_FORMAT.into(),
            hawser: env!("CARGO_PKG_VERSION").into(),
            made: 1_700_000_000,
            cluster: "storage".into(),
            lab: None,
            path: "hawser.toml".into(),
            file: "[cluster]\nname = \"storage\"\n# \"changes\": none\n".into(),
            changes: vec![change],
            pacemaker: Vec::new(),
            problems: Vec::new(),
            steps: Vec::new(),
            digests: std::collections::BTreeMap::new(),
        }
    }

    #[track_caller]
    fn refused(text: &str) -> String {
        parse_saved(text).unwrap_err().to_string()
    }

    #[test]
    fn what_was_written_is_read_however_it_is_laid_out() {
        let text = saved_text(&plan()).unwrap();
        let read = parse_saved(&text).unwrap();
        let digests = read.digests.clone();
        assert_eq!(SavedPlan { digests, ..plan() }, read);
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parse_saved(&value.to_string()).unwrap(), read);
    }

    #[test]
    fn what_was_edited_is_named_with_its_line() {
        let text = saved_text(&plan()).unwrap();
        let edited = |from: &str, to: &str| {
            assert!(text.contains(from), "{text}");
            refused(&text.replacen(from, to, 1))
        };
        for (from, to, line, field) in [
            (
                "the file says \\\"60s\\\"",
                "the file says \\\"6s\\\"",
                8,
                "changes",
            ),
            ("name = \\\"storage\\\"", "name = \\\"other\\\"", 7, "file"),
            ("1700000000", "\"yesterday\"", 4, "made"),
            ("\"steps\": []", "\"steps\": [], \"more\": 1", 18, "more"),
        ] {
            let said = edited(from, to);
            let wanted = format!("line {line}: `{field}` was edited");
            assert!(said.starts_with(&wanted), "{said}\n{text}");
        }
        assert!(edited("  \"problems\": [],\n", "").starts_with("`problems` is missing"));
    }

    #[test]
    fn what_is_no_plan_is_told_from_a_plan_that_is_cut_off() {
        let text = saved_text(&plan()).unwrap();
        let cut = refused(&text[..300]);
        assert_eq!(cut, "the saved plan is cut off after 300 bytes");
        for foreign in ["", "[]", "[cluster]\n", "{}", "{\"format\": 7}"] {
            assert!(
                refused(foreign).starts_with("not a saved plan"),
                "{foreign}"
            );
        }
        let other = refused("{\n\"format\": \"hawser-case/1\"}");
        assert!(
            other.starts_with("line 2: its format is `hawser-case/1`"),
            "{other}"
        );
        let json = refused("{\n\"format\" 7}");
        let wanted = "line 2: not JSON: expected `:` at line 2 column 10";
        assert_eq!(json, wanted);
    }

    #[test]
    fn another_version_may_do_something_else() {
        let other = SavedPlan {
            hawser: "0.0.9".into(),
            ..plan()
        };
        let said = refused(&saved_text(&other).unwrap());
        assert!(said.starts_with("line 3: hawser 0.0.9 made it"), "{said}");
    }
}
