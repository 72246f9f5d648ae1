//! What is wrong with a file, shown at its place in the file.

use std::ops::Range;

use hawser_model::cluster_file::ClusterFileErrors;
use miette::{LabeledSpan, MietteDiagnostic, NamedSource, Report};

/// One thing wrong with a file.
pub struct Wrong {
    /// What was found and what is allowed.
    pub message: String,
    /// What to do, when that can be said.
    pub help: Option<String>,
    /// Where in the file, in bytes.
    pub span: Range<usize>,
    /// Line and column, from 1.
    pub line_column: (usize, usize),
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
    if !help.is_empty() {
        diagnostic = diagnostic.with_help(help.trim_start().to_owned());
    }
    Report::new(diagnostic).with_source_code(NamedSource::new(path, text.to_owned()))
}

/// The same for a cluster file's errors.
pub fn cluster_file(errors: &ClusterFileErrors) -> Report {
    let wrong: Vec<Wrong> = errors
        .errors
        .iter()
        .map(|e| Wrong {
            message: e.problem.to_string(),
            help: e.problem.help(),
            span: e.span.clone(),
            line_column: (e.line, e.column),
        })
        .collect();
    report(&errors.path, &errors.text, &wrong)
}
