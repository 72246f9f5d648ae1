//! Where the cases lie, and how each becomes a whole one.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Patch;

/// `patch.json`: what was planted in which case, and what must be said of it. A key `what`
/// tells a reader what the name does not say.
#[derive(Clone, Debug)]
pub struct Planted {
    /// A file of `cases/bases`, or `cases/NAME` for the case of this name.
    pub base: String,
    /// What must be found. Unlike `expected.json` no command writes it.
    pub must: Must,
    /// The differences from the base.
    pub patch: Patch,
}

impl Planted {
    fn read(file: &Path) -> Result<Self, String> {
        let mut fields: Map<String, Value> = json(file)?;
        let of = |e: serde_json::Error| format!("{}: {e}", file.display());
        let mut take = |key| fields.remove(key).unwrap_or_default();
        let base = serde_json::from_value(take("base")).map_err(of)?;
        let must = serde_json::from_value(take("must")).map_err(of)?;
        let _: Option<String> = serde_json::from_value(take("what")).map_err(of)?;
        let patch = serde_json::from_value(Value::Object(fields)).map_err(of)?;
        Ok(Self { base, must, patch })
    }
}

/// What must be said of a planted fault, by the kind of its case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Must {
    /// The findings, worst first, and no others.
    pub codes: Vec<String>,
    /// Of a check: the packets lost.
    pub lost: Option<u64>,
    /// Of a check: those of them that nobody may be blamed for.
    pub unattributed: Option<u64>,
    /// Of a ladder: who is named as the bottleneck.
    pub bottleneck: Option<String>,
    /// Of a fan-out: the most receivers by series.
    pub most: Option<Vec<Option<u32>>>,
    /// What must differ between hosts, in the order in which it is told: of a comparison, or with the findings.
    pub differs: Option<Vec<String>>,
    /// Of a drill: the promises that it broke.
    pub broken: Option<Vec<String>>,
}

/// The cases that belong to no cause alone, and the bases.
const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases");

/// Each cause has its own in `cases/`.
const CAUSES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../hawser-account/src/causes");

/// Every folder that has cases.
fn folders() -> impl Iterator<Item = PathBuf> {
    let causes = fs::read_dir(CAUSES).expect("the folder of causes");
    let causes = causes.map(|entry| entry.expect("an entry").path().join("cases"));
    [PathBuf::from(SHARED)]
        .into_iter()
        .chain(causes.filter(|folder| folder.is_dir()))
}

/// The folder of a case of this name, or where it would be among those of no cause.
#[must_use]
pub fn folder(name: &str) -> PathBuf {
    let mut all = folders().map(|folder| folder.join(name));
    let found = all.find(|folder| folder.is_dir());
    found.unwrap_or_else(|| Path::new(SHARED).join(name))
}

/// The cases of a kind ("" for those of a check or a ladder), in order, as [`read`] knows them.
///
/// # Panics
/// Two have one name.
#[must_use]
pub fn names(kind: &str) -> Vec<String> {
    let folders = folders().filter_map(|folder| fs::read_dir(folder.join(kind)).ok());
    let folders = folders
        .flatten()
        .map(|entry| entry.expect("an entry").path());
    let cases = folders.filter(|f| f.join("case.json").exists() || f.join("patch.json").exists());
    let last = |path: PathBuf| path.file_name().expect("a name").to_owned();
    let mut names: Vec<String> = cases
        .map(|path| Path::new(kind).join(last(path)).display().to_string())
        .collect();
    names.sort();
    let twice = names.windows(2).find(|pair| pair[0] == pair[1]);
    assert_eq!(twice, None, "two cases of one name");
    names
}

/// The patch of a made-up case; none for a recorded one.
///
/// # Panics
/// The file is not as it should be.
#[must_use]
pub fn made(name: &str) -> Option<Planted> {
    let file = folder(name).join("patch.json");
    file.exists()
        .then(|| Planted::read(&file).unwrap_or_else(|e| panic!("{e}")))
}

/// A whole case: a saved one, or a base.
///
/// # Panics
/// It is not as it should be: the message names the file and the pointer.
#[must_use]
pub fn read<C: Serialize + DeserializeOwned>(name: &str) -> C {
    let value = value(name).unwrap_or_else(|e| panic!("{e}"));
    match folder(name).join("case.json").exists() {
        // A record keeps what an older Hawser wrote.
        true => serde_json::from_value(value).unwrap_or_else(|e| panic!("cases/{name}: {e}")),
        false => typed(&value).unwrap_or_else(|e| panic!("cases/{name}: {e}")),
    }
}

/// The same, of no type.
///
/// # Errors
/// A file cannot be read, or a pointer names nothing.
pub fn value(name: &str) -> Result<Value, String> {
    if let Some("bases") = name.split('/').next() {
        return json(&Path::new(SHARED).join(name).with_extension("json"));
    }
    let case = folder(name);
    let (whole, patch) = (case.join("case.json"), case.join("patch.json"));
    match (whole.exists(), patch.exists()) {
        (true, true) => Err(format!("cases/{name}: both case.json and patch.json")),
        (true, false) => json(&whole),
        (false, _) => {
            let planted = Planted::read(&patch)?;
            let base = match planted.base.strip_prefix("cases/") {
                Some(other) => value(other),
                None => value(&format!("bases/{}", planted.base)),
            };
            let mut case = base.map_err(|e| format!("base of cases/{name}: {e}"))?;
            let applied = planted.patch.apply(&mut case);
            applied.map_err(|e| format!("{}: {e}", patch.display()))?;
            Ok(case)
        }
    }
}

fn json<T: DeserializeOwned>(file: &Path) -> Result<T, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    serde_json::from_str(&text).map_err(|e| format!("{}: {e}", file.display()))
}

/// A value as its type, of which nothing got lost: a field that the type does not know, or knows
/// by another name, is an error that names it. The type may have more fields than the value.
///
/// # Errors
/// The value does not fit the type.
pub fn typed<C: Serialize + DeserializeOwned>(value: &Value) -> Result<C, String> {
    let case: C = C::deserialize(value).map_err(|e| e.to_string())?;
    let back = serde_json::to_value(&case).map_err(|e| e.to_string())?;
    match lost(value, &back, "") {
        Some(pointer) => Err(format!("{pointer}: the type has no such field or value")),
        None => Ok(case),
    }
}

/// The first place of a value that another one has not, or differs in.
fn lost(value: &Value, back: &Value, at: &str) -> Option<String> {
    match (value, back) {
        (Value::Object(fields), Value::Object(there)) => fields.iter().find_map(|(key, value)| {
            let at = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
            match there.get(key) {
                Some(back) => lost(value, back, &at),
                None => Some(at),
            }
        }),
        (Value::Array(items), Value::Array(there)) if items.len() == there.len() => {
            let mut both = items.iter().zip(there).enumerate();
            both.find_map(|(i, (item, back))| lost(item, back, &format!("{at}/{i}")))
        }
        _ => (value != back).then(|| at.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize, Serialize)]
    struct Host {
        name: String,
        #[serde(default)]
        cpus: Option<u32>,
    }

    #[test]
    fn a_field_that_the_type_does_not_know_is_named() {
        let renamed = json!([{ "name": "head1", "processors": 2 }]);
        let error = typed::<Vec<Host>>(&renamed).expect_err("renamed");
        assert!(error.starts_with("/0/processors: "), "{error}");
        let fewer = typed::<Host>(&json!({ "name": "head1" })).expect("fewer");
        assert_eq!(fewer.cpus, None);
    }

    #[test]
    fn every_case_has_a_base_and_every_base_a_case() {
        let mut bases = std::collections::BTreeSet::from(["three-heads-ipv6".to_owned()]);
        for name in ["", "copy", "drill"].into_iter().flat_map(names) {
            value(&name).unwrap_or_else(|e| panic!("{e}"));
            bases.extend(made(&name).map(|planted| planted.base));
        }
        let files = fs::read_dir(folder("bases")).expect("bases");
        for file in files.map(|file| file.expect("a file").path()) {
            let base = file.file_stem().expect("a name").to_string_lossy();
            assert!(bases.contains(&*base), "no case has the base {base}");
        }
    }
}
