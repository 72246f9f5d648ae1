//! What is wrong with a file, shown at its place in the file.

use std::fs;
use std::ops::Range;
use std::path::Path;

use hawser_model::cluster_file::{ClusterFile, parse, parse_complete};
use hawser_model::toml_file::{FileErrors, Problem, Rule, line_and_column};
use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Report};

/// One thing wrong with a file.
pub struct Wrong {
    /// What was found and what is allowed.
    pub message: String,
    /// What to do, when that can be said.
    pub help: Option<String>,
    /// Where in the file, in bytes.
    pub span: Range<usize>,
    /// Another place that it speaks of, in bytes.
    pub related: Option<Range<usize>>,
    /// Line and column, from 1.
    pub line_column: (usize, usize),
}

/// A cluster file as it was read.
pub struct Source {
    /// How it is shown.
    pub path: String,
    /// All of it.
    pub text: String,
}

impl Source {
    /// Reads it.
    pub fn read(path: &Path) -> miette::Result<Self> {
        let shown = path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|e| miette::miette!("cannot read the cluster file {shown}: {e}"))?;
        Ok(Self { path: shown, text })
    }

    /// What it says, when all is there that a cluster needs.
    pub fn complete(&self) -> miette::Result<ClusterFile> {
        parse_complete(&self.text, &self.path).map_err(|e| all(&e))
    }

    /// Its cluster file, which may lack what only building a cluster needs.
    pub fn parsed(&self) -> miette::Result<ClusterFile> {
        parse(&self.text, &self.path).map_err(|e| all(&e))
    }

    /// What is wrong with a part of it.
    pub fn wrong(&self, span: Range<usize>, message: String) -> Wrong {
        Wrong {
            message,
            help: None,
            related: None,
            line_column: line_and_column(&self.text, span.start),
            span,
        }
    }

    /// All that is wrong with it.
    pub fn report(&self, wrong: &[Wrong]) -> Report {
        report(&self.path, &self.text, wrong)
    }
}

/// A report that shows the first problem in its place and lists the others by line.
///
/// The first is usually the cause of some of the others; a screen of snippets hides it.
pub fn report(path: &str, text: &str, wrong: &[Wrong]) -> Report {
    let [first, others @ ..] = wrong else {
        return miette::miette!("{path}: unreadable");
    };
    let (line, column) = first.line_column;
    let mut help = first.help.clone().unwrap_or_default();
    for other in others {
        let (line, column) = other.line_column;
        help.push_str(&format!("\nalso {path}:{line}:{column}: {}", other.message));
    }
    let mut diagnostic =
        MietteDiagnostic::new(format!("{path}:{line}:{column}: {}", first.message))
            .with_label(LabeledSpan::at(first.span.clone(), "here"));
    if let Some(related) = first.related.clone() {
        diagnostic = diagnostic.and_label(LabeledSpan::at(related, "and here"));
    }
    if !help.is_empty() {
        diagnostic = diagnostic.with_help(help.trim_start().to_owned());
    }
    Report::new(diagnostic).with_source_code(NamedSource::new(path, text.to_owned()))
}

/// The same for all that is wrong with a file.
pub fn all<R: Rule>(errors: &FileErrors<R>) -> Report {
    let mut sorted: Vec<_> = errors.errors.iter().collect();
    // A slip in a key is why another one is missing.
    sorted.sort_by_key(|e| {
        !matches!(e.problem, Problem::UnknownKey { .. }) || e.problem.suggestion().is_none()
    });
    let wrong: Vec<Wrong> = sorted
        .into_iter()
        .map(|e| Wrong {
            message: e.problem.to_string(),
            help: e.problem.help(),
            span: e.span.clone(),
            related: e.related.clone(),
            line_column: (e.line, e.column),
        })
        .collect();
    report(&errors.path, &errors.text, &wrong)
}
