//! The saved imports of `cases/import`: each folder has `sources`, a line for each (`[KIND:]FILE`, `NODE=FILE`, and
//! `NODE:PATH<FILE` for a file that was read on a head, which may be none), and in `expected/` what must come of it.
//! `UPDATE_CASES=1 cargo test -p hawser-import --test it golden::` writes that again, for a person to read the difference.
//!
//! `public-…` are other people's, written anew and small: `origin` says whose, and what is worth reading in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hawser_cluster::numbering::Numbering;
use hawser_cluster::{cib, corosync};
use hawser_import::{Imported, Kind, LineVerdict, Malformed, Options, Source, import};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A file of the case's own folder, or one of the repository.
fn text(case: &Path, name: &str) -> String {
    let own = case.join(name);
    let path = if own.exists() { own } else { root().join(name) };
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn source(case: &Path, line: &str) -> Result<Source, Malformed> {
    if let Some((node, path)) = line.split_once('=') {
        let (kind, node) = (Kind::Interfaces, Some(node.to_owned()));
        let (path, text) = (path.to_owned(), text(case, path));
        return Ok(Source {
            path,
            text,
            kind,
            node,
        });
    }
    if let Some((path, file)) = line.split_once('<') {
        let (node, on_head) = path.split_once(':').expect("NODE:PATH<FILE");
        return Ok(Source {
            path: path.to_owned(),
            text: match file {
                "" => String::new(),
                file => text(case, file),
            },
            kind: hawser_import::live::kind_of(on_head),
            node: Some(node.to_owned()),
        });
    }
    let (word, path) = line
        .split_once(':')
        .map_or((None, line), |(word, path)| (Some(word), path));
    let text = text(case, path);
    let kind = match word {
        Some(word) => Kind::of_word(word).unwrap_or_else(|| panic!("kind {word}")),
        None => Kind::of(path, &text)?,
    };
    Ok(Source {
        path: path.to_owned(),
        text,
        kind,
        node: None,
    })
}

fn run(case: &Path) -> Result<Imported, Malformed> {
    let lines = fs::read_to_string(case.join("sources")).expect("sources");
    let sources: Result<Vec<Source>, Malformed> =
        lines.lines().map(|line| source(case, line)).collect();
    let options = Options {
        name: None,
        pool: None,
        secrets: "/etc/hawser/secrets".into(),
        // As of a cluster that runs.
        adopt: case.join("adopt").exists(),
    };
    import(&sources?, &options)
}

/// What a case comes to, by file.
fn files(outcome: &Result<Imported, Malformed>) -> BTreeMap<String, String> {
    match outcome {
        Err(e) => BTreeMap::from([(
            "error.txt".into(),
            format!("{e}\n  allowed: {}\n", e.allowed),
        )]),
        Ok(imported) => {
            let mut all = BTreeMap::from([("import.txt".to_owned(), imported.page.to_string())]);
            all.extend(
                imported
                    .cluster
                    .clone()
                    .map(|text| ("hawser.toml".to_owned(), text)),
            );
            for (pool, text) in &imported.exports {
                all.insert(format!("{pool}.exports.toml"), text.clone());
            }
            all
        }
    }
}

#[test]
fn every_saved_import_comes_to_what_is_expected() {
    let folder = root().join("cases/import");
    let mut cases: Vec<PathBuf> = fs::read_dir(folder)
        .expect("cases")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    cases.sort();
    assert!(cases.len() > 10, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let outcome = run(&case);
        let found = files(&outcome);
        let folder = case.join("expected");
        if std::env::var_os("UPDATE_CASES").is_some() {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).expect("expected");
            for (name, text) in &found {
                fs::write(folder.join(name), text).expect("a file");
            }
        }
        let there = fs::read_dir(&folder).into_iter().flatten().count();
        if there != found.len() {
            wrong.push(format!(
                "{}: {there} files are expected, {} came",
                case.display(),
                found.len()
            ));
        }
        for (name, text) in &found {
            let expected = fs::read_to_string(folder.join(name)).unwrap_or_default();
            if expected != *text {
                wrong.push(format!("{}/{name} is now:\n{text}", case.display()));
            }
        }
        ends_well(&case, &outcome);
        if let Ok(imported) = &outcome {
            holds(&case, imported);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A case that is another's says whose, and there are thirty of them.
#[test]
fn the_cases_of_others_have_their_origin() {
    let mut others = 0;
    for entry in fs::read_dir(root().join("cases/import")).expect("cases") {
        let case = entry.expect("an entry").path();
        let name = case.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with("public-") {
            continue;
        }
        others += 1;
        let origin = fs::read_to_string(case.join("origin")).unwrap_or_default();
        let lines: Vec<&str> = origin.lines().collect();
        let named = |line: &&str| {
            ["github ", "http", "("]
                .iter()
                .any(|word| line.contains(word))
        };
        assert!(
            lines.len() == 2 && lines.first().is_some_and(named),
            "{}: origin has a line with the source and one with what is in it",
            case.display()
        );
    }
    assert!(others >= 30, "{others} cases");
}

/// Each ends in a file that is accepted or in a reason with its place; a file that is not accepted says why on the page.
fn ends_well(case: &Path, outcome: &Result<Imported, Malformed>) {
    let imported = match outcome {
        Err(e) => {
            assert!(
                e.place.line > 0 && !e.found.is_empty() && !e.allowed.is_empty(),
                "{}: {e:?}",
                case.display()
            );
            return;
        }
        Ok(imported) => imported,
    };
    let page = &imported.page;
    let nothing = imported.cluster.is_none() && imported.exports.is_empty();
    assert!(
        !nothing || page.has(LineVerdict::Missing) || page.has(LineVerdict::Unsaid),
        "{}: nothing came of it, and the page does not say why",
        case.display()
    );
    for line in &page.lines {
        let reason = matches!(
            line.verdict,
            LineVerdict::Mistake
                | LineVerdict::Unsaid
                | LineVerdict::Changed
                | LineVerdict::Missing
        );
        assert!(
            !reason || line.place.is_some() && !line.why.is_empty(),
            "{}: {line:?} has no place or no reason",
            case.display()
        );
    }
    for (pool, text) in &imported.exports {
        let file = format!("{pool}/exports.toml");
        let said = |line: &hawser_import::Line| {
            line.verdict == LineVerdict::Missing
                && line.place.as_ref().is_some_and(|at| at.file == file)
        };
        assert_eq!(
            hawser_cluster::exports::parse(text, "exports.toml").is_err(),
            page.lines.iter().any(said),
            "{}: {file}",
            case.display()
        );
    }
}

/// What holds of every import: the file is accepted or the page says what it lacks, and no secret is anywhere but in
/// its own file.
fn holds(case: &Path, imported: &Imported) {
    if let Some(text) = &imported.cluster {
        let accepted = hawser_model::cluster_file::parse_complete(text, "hawser.toml");
        let complete = !imported.page.lines.iter().any(|line| {
            line.verdict == LineVerdict::Missing
                && line
                    .place
                    .as_ref()
                    .is_some_and(|at| at.file == "hawser.toml")
        });
        assert_eq!(
            accepted.is_ok(),
            complete,
            "{}: {accepted:?}",
            case.display()
        );
        // What `plan --print corosync.conf` and `plan --print cib` make of the file alone.
        if let Ok(file) = accepted {
            let numbering = Numbering::of(&file, None);
            let cib = cib::generate(&file, &numbering).to_text();
            for pool in &file.pools {
                let id = format!("id=\"{}\"", pool.storage_id());
                assert!(cib.contains(&id), "{}: no {id} in {cib}", case.display());
            }
            assert!(corosync::generate(&file, &numbering).contains("nodelist"));
        }
    }
    for secret in imported.secrets.values() {
        let shown = format!("{}{:?}", imported.page, imported);
        assert!(
            !shown.contains(&secret.0),
            "{}: a secret is shown",
            case.display()
        );
        let texts = imported.cluster.iter().chain(imported.exports.values());
        assert!(
            texts.into_iter().all(|text| !text.contains(&secret.0)),
            "{}",
            case.display()
        );
    }
}

/// The documentation has the very table.
#[test]
fn the_page_has_every_directive() {
    let page = fs::read_to_string(root().join("docs/import.md")).expect("docs/import.md");
    let table = hawser_import::heartbeat::directives::table();
    assert!(
        page.ends_with(&table),
        "docs/import.md must end with:\n{table}"
    );
}
