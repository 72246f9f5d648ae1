//! Errors on the terminal: what they say is escaped before it is drawn, and the drawing keeps its colours.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Debug, Display};
use std::io::IsTerminal;

use hawser_model::visible;
use miette::{
    Diagnostic, LabeledSpan, MietteHandler, MietteHandlerOpts, NamedSource, ReportHandler,
    Severity, SourceCode, SourceSpan,
};

use super::paint::mark_styles;
use super::width;

/// Errors are wrapped for a person's terminal, or to `COLUMNS`, at spaces; a log or a script gets whole lines.
pub fn show_whole() {
    let hook = miette::set_hook(Box::new(|_| {
        let told = width::told();
        let mut options = MietteHandlerOpts::new()
            .break_words(false)
            .terminal_links(false)
            .wrap_lines(told.is_some() || std::io::stderr().is_terminal());
        if let Some(columns) = told {
            options = options.width(columns);
        }
        Box::new(Drawn(options.build()))
    }));
    debug_assert!(hook.is_ok(), "nobody else sets the hook");
}

/// Draws an error of which every text was escaped.
struct Drawn(MietteHandler);

impl ReportHandler for Drawn {
    fn debug(&self, error: &dyn Diagnostic, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let drawing = Drawing(&self.0, Escaped::of(error)).to_string();
        // Nothing but the drawing itself can have put a sequence there.
        f.write_str(&mark_styles(&drawing))
    }
}

struct Drawing<'a>(&'a MietteHandler, Escaped);

impl Display for Drawing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.debug(&self.1, f)
    }
}

/// An error whose texts hold no hidden character.
struct Escaped {
    message: String,
    code: Option<String>,
    severity: Option<Severity>,
    help: Option<String>,
    url: Option<String>,
    source_code: Option<NamedSource<String>>,
    labels: Option<Vec<LabeledSpan>>,
    related: Vec<Escaped>,
    cause: Option<Box<Escaped>>,
}

impl Escaped {
    fn of(error: &dyn Diagnostic) -> Self {
        let text = |text: Option<Box<dyn Display + '_>>| text.map(shown);
        let cause = match (error.diagnostic_source(), error.source()) {
            (Some(cause), _) => Some(Self::of(cause)),
            (None, Some(cause)) => Some(Self::plain(cause)),
            (None, None) => None,
        };
        let label = |label: LabeledSpan| {
            LabeledSpan::new_with_span(label.label().map(shown), *label.inner())
        };
        Self {
            message: shown(error),
            code: text(error.code()),
            severity: error.severity(),
            help: text(error.help()),
            url: text(error.url()),
            source_code: error.source_code().and_then(source),
            labels: error.labels().map(|labels| labels.map(label).collect()),
            related: error
                .related()
                .into_iter()
                .flatten()
                .map(Self::of)
                .collect(),
            cause: cause.map(Box::new),
        }
        .on_one_line()
    }

    fn plain(error: &dyn Error) -> Self {
        Self {
            message: shown(error),
            code: None,
            severity: None,
            help: None,
            url: None,
            source_code: None,
            labels: None,
            related: Vec::new(),
            cause: error.source().map(|cause| Box::new(Self::plain(cause))),
        }
        .on_one_line()
    }

    /// A cause that says nothing but a sentence goes on in the sentence before it, which may end with it already.
    fn on_one_line(mut self) -> Self {
        let Some(cause) = self.cause.take_if(|cause| cause.is_sentence()) else {
            return self;
        };
        if !self.message.ends_with(&cause.message) {
            self.message = format!("{}: {}", self.message, cause.message);
        }
        self
    }

    fn is_sentence(&self) -> bool {
        let bare = self.help.is_none() && self.labels.is_none() && self.source_code.is_none();
        bare && self.related.is_empty() && self.cause.is_none()
    }
}

fn shown(text: impl Display) -> String {
    visible::lines(&text.to_string()).into_owned()
}

/// The whole source, with a stand-in as long as what it stands for: spans are counted in bytes.
fn source(code: &dyn SourceCode) -> Option<NamedSource<String>> {
    let whole = code
        .read_span(&SourceSpan::from(0..0), 0, usize::MAX)
        .ok()?;
    let text = String::from_utf8_lossy(whole.data());
    // Bytes that are no text would move every span behind them.
    let Cow::Borrowed(text) = text else {
        return None;
    };
    let stand_in = |c: char| match (
        visible::is_hidden(c) && c != '\n' && c != '\t',
        c.len_utf8(),
    ) {
        (false, _) => c,
        (true, 1) => '?',
        (true, 2) => '¿',
        (true, 3) => '\u{fffd}',
        (true, _) => '🯄',
    };
    let name = whole.name().map(shown).unwrap_or_default();
    Some(NamedSource::new(name, text.chars().map(stand_in).collect()))
}

impl Debug for Escaped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Display for Escaped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Escaped {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as &dyn Error)
    }
}

impl Diagnostic for Escaped {
    fn code<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        boxed(&self.code)
    }

    fn severity(&self) -> Option<Severity> {
        self.severity
    }

    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        boxed(&self.help)
    }

    fn url<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        boxed(&self.url)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.source_code
            .as_ref()
            .map(|code| code as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let labels = self.labels.as_ref()?;
        Some(Box::new(labels.iter().cloned()))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        if self.related.is_empty() {
            return None;
        }
        let related = self.related.iter();
        Some(Box::new(related.map(|one| one as &dyn Diagnostic)))
    }

    fn diagnostic_source(&self) -> Option<&dyn Diagnostic> {
        self.cause.as_deref().map(|cause| cause as &dyn Diagnostic)
    }
}

fn boxed<'a>(text: &'a Option<String>) -> Option<Box<dyn Display + 'a>> {
    let text = text.as_ref()?;
    Some(Box::new(text))
}

#[cfg(test)]
mod tests {
    use miette::{GraphicalTheme, MietteDiagnostic, Report};

    use super::super::paint;
    use super::*;

    /// A clear screen, a title, a turned name.
    const HOSTILE: &str = "\u{1b}[2Jpwned\u{1b}]0;t\u{7}\u{202e}\u{9b}1m";

    fn drawn(report: &Report) -> String {
        let handler = MietteHandlerOpts::new()
            .graphical_theme(GraphicalTheme::unicode())
            .build();
        let text = Drawing(&handler, Escaped::of(report.as_ref())).to_string();
        paint::shown(&mark_styles(&text), |_| false)
    }

    #[test]
    fn every_part_of_an_error_is_escaped_and_the_drawing_keeps_its_colours() {
        let text = format!("a = 1\nb = \"{HOSTILE}\"\nc = here\n");
        let span = text.find("here").expect("it is there");
        let diagnostic = MietteDiagnostic::new(format!("inner {HOSTILE}"))
            .with_help(HOSTILE)
            .with_code(HOSTILE)
            .with_label(LabeledSpan::at(span..span + 4, HOSTILE));
        let report = Report::new(diagnostic)
            .with_source_code(NamedSource::new(HOSTILE, text))
            .wrap_err(HOSTILE);
        let shown = drawn(&report);
        let outside = shown.replace("\u{1b}[", "");
        assert!(shown.contains("\u{1b}[31"), "no colour: {shown}");
        assert!(
            !outside.contains('\u{1b}') && !shown.contains("\u{1b}[2J"),
            "{shown}"
        );
        let hidden = |c: char| visible::is_hidden(c) && c != '\n';
        assert!(!outside.chars().any(hidden), "{outside:?}");
        assert!(shown.contains("\\u001b[2Jpwned"), "{shown}");
        // The label still stands below its word.
        let plain = console::strip_ansi_codes(&shown).into_owned();
        let lines: Vec<&str> = plain.lines().collect();
        let row = lines.iter().position(|line| line.contains("c = here"));
        let row = row.expect("the line is shown");
        let at = lines[row].chars().position(|c| c == 'h');
        let below = lines[row + 1].chars().position(|c| c == '─');
        assert_eq!(at, below, "{plain}");
    }

    #[test]
    fn causes_that_are_no_diagnostics_are_escaped_too() {
        let error = std::io::Error::other(HOSTILE);
        let report = miette::IntoDiagnostic::into_diagnostic(Err::<(), _>(error)).unwrap_err();
        let shown = drawn(&report.wrap_err("read the file"));
        assert!(
            shown.contains("read the file") && shown.contains("\\u001b[2Jpwned"),
            "{shown}"
        );
    }

    #[test]
    fn causes_of_a_sentence_are_one_line_that_says_nothing_twice() {
        let error = std::io::Error::other("gone");
        let report = miette::IntoDiagnostic::into_diagnostic(Err::<(), _>(error)).unwrap_err();
        let report = report.wrap_err("stat /x: gone").wrap_err("cannot read /x");
        let plain = console::strip_ansi_codes(&drawn(&report)).into_owned();
        assert_eq!(plain.trim(), "× cannot read /x: stat /x: gone");
    }
}
