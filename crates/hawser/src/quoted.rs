//! Every command line that the documentation, the causes' pages and the program's own words quote is one that the
//! program takes: its verb exists, and so does each of its options.

use std::fs;
use std::path::{Path, PathBuf};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Error};

use super::Cli;

/// A command line, and where it is quoted.
#[derive(Debug)]
struct Quoted {
    words: Vec<String>,
    place: String,
    /// In a block that a reader may copy, nothing may be missing; in a sentence, arguments may.
    whole: bool,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files below `folder` with this extension, but for what is built.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let hidden = name.to_string_lossy().starts_with('.');
        if path.is_dir() && !hidden && !["target", "cases"].contains(&&*name.to_string_lossy()) {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|it| it == extension) {
            found.push(path);
        }
    }
}

/// `hawser check --host A  # finds the links` in words; none for another program.
fn command(line: &str) -> Option<Vec<String>> {
    let line = line
        .trim_start()
        .trim_start_matches(['$', '#'])
        .trim_start();
    let line = line.strip_prefix("sudo ").unwrap_or(line);
    line.strip_prefix("hawser ")?;
    let words = line.split_whitespace();
    let words = words.take_while(|word| !["#", "|", ">", "&&", ";", "\\"].contains(word));
    // An optional argument of a synopsis is one like any other.
    let plain = |word: &str| word.trim_matches(['[', ']']).to_owned();
    Some(words.map(plain).collect())
}

/// The commands of code blocks, in which a backslash joins lines.
fn in_blocks(text: &str, place: &str, found: &mut Vec<Quoted>) {
    let mut inside = false;
    let joined = text.replace("\\\n", " ");
    for line in joined.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if inside || line.starts_with("    ") {
            for part in line.split(" && ") {
                found.extend(command(part).map(|words| Quoted {
                    words,
                    place: place.to_owned(),
                    whole: true,
                }));
            }
        }
    }
}

/// The commands between back-ticks. What a message fills in stands for a name.
fn in_sentences(text: &str, place: &str, found: &mut Vec<Quoted>) {
    for line in text.lines() {
        for quoted in line.split('`').skip(1).step_by(2) {
            let quoted = filled(quoted);
            for part in quoted.split(" && ") {
                found.extend(command(part).map(|words| Quoted {
                    words,
                    place: place.to_owned(),
                    whole: false,
                }));
            }
        }
    }
}

/// `drill{words} --lab {name}` as `drill --lab NAME`.
fn filled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let Some((_, after)) = after.split_once('}') else {
            return out;
        };
        if before.ends_with([' ', '/', ':']) {
            out.push_str("NAME");
        }
        rest = after;
    }
    out + rest
}

/// `NODE`, `HOST:DST`, `SCENARIO…`: not to be typed as it is.
fn stands_for_another(word: &str) -> bool {
    let letters = |c: char| c.is_ascii_uppercase() || "/:.|…-".contains(c);
    word.contains('…') || (word.len() < 16 && !word.starts_with('-') && word.chars().all(letters))
}

fn complaint(quoted: &Quoted) -> Option<String> {
    let error = Cli::command().try_get_matches_from(&quoted.words).err()?;
    let any = quoted.words.iter().any(|word| stands_for_another(word));
    let fine = match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => true,
        ErrorKind::MissingRequiredArgument
        | ErrorKind::MissingSubcommand
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => !quoted.whole || any,
        ErrorKind::ValueValidation => any,
        // An option may be named without its value.
        ErrorKind::InvalidValue => !quoted.whole || any,
        ErrorKind::UnknownArgument | ErrorKind::InvalidSubcommand => about(&error),
        _ => false,
    };
    (!fine).then(|| {
        let said = error.to_string();
        let first = said.lines().next().unwrap_or_default().to_owned();
        format!("{}: {}: {first}", quoted.place, quoted.words.join(" "))
    })
}

/// Whether what the program does not know stands for something else.
fn about(error: &Error) -> bool {
    [ContextKind::InvalidArg, ContextKind::InvalidSubcommand]
        .into_iter()
        .filter_map(|kind| error.get(kind))
        .any(|value| matches!(value, ContextValue::String(word) if stands_for_another(word)))
}

#[test]
fn every_command_that_is_quoted_is_one() {
    let root = root();
    let (mut pages, mut sources) = (Vec::new(), Vec::new());
    files(&root, "md", &mut pages);
    files(&root.join("crates"), "rs", &mut sources);
    let mut all = Vec::new();
    for (path, is_page) in pages
        .iter()
        .map(|path| (path, true))
        .chain(sources.iter().map(|path| (path, false)))
    {
        // The past is told as it was.
        if path.ends_with("CHANGELOG.md") || path.ends_with(file!()) {
            continue;
        }
        let text = fs::read_to_string(path).expect("a file of the source tree");
        let place = path.strip_prefix(&root).unwrap_or(path).display();
        if is_page {
            in_blocks(&text, &place.to_string(), &mut all);
        }
        in_sentences(&text, &place.to_string(), &mut all);
    }
    assert!(all.len() > 150, "only {} commands are quoted", all.len());
    let wrong: Vec<String> = all.iter().filter_map(complaint).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_does_not_exist_is_found() {
    let said = |text: &str| {
        let mut found = Vec::new();
        in_sentences(text, "here", &mut found);
        found.iter().filter_map(complaint).collect::<Vec<_>>()
    };
    for text in [
        "`hawser chek`",
        "`hawser check --hots head1`",
        "`hawser lab up --nmae t`",
        "`hawser drill{words} --hael`",
        "`hawser check --rate fast`",
    ] {
        assert_eq!(said(text).len(), 1, "{text}");
    }
    for text in [
        "`hawser lab …`",
        "`hawser check --rate N`",
        "`hawser -v VERB …`",
        "`hawser undo`",
        "`hawser lab power --lab {lab} on {node}`",
        "`hawsers of ships`",
    ] {
        assert_eq!(said(text), Vec::<String>::new(), "{text}");
    }
}
