//! What became of each line of the sources.

use std::fmt;

use hawser_model::visible::one_line;

use crate::SourceLine;

/// What became of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LineVerdict {
    /// It is wrong in the source itself.
    Mistake,
    /// Hawser's file cannot say it.
    Unsaid,
    /// A resource that is not Hawser's.
    Foreign,
    /// Hawser does it otherwise, on purpose.
    Changed,
    /// Without meaning for Hawser's cluster.
    NotNeeded,
    /// It is in the file.
    Understood,
    /// The file lacks it.
    Missing,
}

impl LineVerdict {
    /// Every verdict, in the order of the page.
    pub const ALL: [Self; 7] = [
        Self::Mistake,
        Self::Unsaid,
        Self::Foreign,
        Self::Changed,
        Self::NotNeeded,
        Self::Understood,
        Self::Missing,
    ];

    /// The heading of its part of the page.
    pub fn heading(self) -> &'static str {
        match self {
            Self::Mistake => "Mistakes in the source",
            Self::Unsaid => "Could not be said",
            Self::Foreign => "Foreign: not Hawser's, kept as it is",
            Self::Changed => "Changed on purpose",
            Self::NotNeeded => "Not needed",
            Self::Understood => "Understood",
            Self::Missing => "Still needed",
        }
    }
}

/// A line of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What became of it.
    pub verdict: LineVerdict,
    /// Where it stands.
    pub place: Option<SourceLine>,
    /// What it says. Never a secret.
    pub what: String,
    /// What it became, or why not.
    pub why: String,
}

/// What became of each line of the sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    /// The lines, by verdict and place.
    pub lines: Vec<Line>,
}

impl Page {
    /// One more line.
    pub(crate) fn add(
        &mut self,
        verdict: LineVerdict,
        place: Option<&SourceLine>,
        what: impl AsRef<str>,
        why: impl AsRef<str>,
    ) {
        self.lines.push(Line {
            verdict,
            place: place.cloned(),
            what: one_line(what.as_ref()).into_owned(),
            why: one_line(why.as_ref()).into_owned(),
        });
    }

    /// It is in the file.
    pub(crate) fn understood(
        &mut self,
        place: &SourceLine,
        what: impl AsRef<str>,
        why: impl AsRef<str>,
    ) {
        self.add(LineVerdict::Understood, Some(place), what, why);
    }

    /// Hawser does it otherwise.
    pub(crate) fn changed(
        &mut self,
        place: &SourceLine,
        what: impl AsRef<str>,
        why: impl AsRef<str>,
    ) {
        self.add(LineVerdict::Changed, Some(place), what, why);
    }

    /// It has no meaning here.
    pub(crate) fn not_needed(
        &mut self,
        place: &SourceLine,
        what: impl AsRef<str>,
        why: impl AsRef<str>,
    ) {
        self.add(LineVerdict::NotNeeded, Some(place), what, why);
    }

    /// It cannot be said.
    pub(crate) fn unsaid(
        &mut self,
        place: &SourceLine,
        what: impl AsRef<str>,
        why: impl AsRef<str>,
    ) {
        self.add(LineVerdict::Unsaid, Some(place), what, why);
    }

    /// It is wrong in the source.
    pub(crate) fn mistake(
        &mut self,
        place: &SourceLine,
        what: impl AsRef<str>,
        why: impl AsRef<str>,
    ) {
        self.add(LineVerdict::Mistake, Some(place), what, why);
    }

    /// It is not Hawser's.
    pub(crate) fn foreign(
        &mut self,
        place: &SourceLine,
        what: impl AsRef<str>,
        why: impl AsRef<str>,
    ) {
        self.add(LineVerdict::Foreign, Some(place), what, why);
    }

    /// Whether anything has this verdict.
    pub fn has(&self, verdict: LineVerdict) -> bool {
        self.lines.iter().any(|line| line.verdict == verdict)
    }

    pub(crate) fn sort(&mut self) {
        self.lines.sort_by(|a, b| {
            let key = |line: &Line| (line.verdict, line.place.clone());
            key(a).cmp(&key(b))
        });
        self.lines.dedup();
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for verdict in LineVerdict::ALL {
            let of = self.lines.iter().filter(|line| line.verdict == verdict);
            let place = |line: &Line| {
                line.place
                    .as_ref()
                    .map_or("-".into(), SourceLine::to_string)
            };
            let lines: Vec<(String, &str, &str)> = of
                .map(|line| (place(line), line.what.as_str(), line.why.as_str()))
                .collect();
            part(f, &mut first, verdict.heading(), &lines)?;
        }
        Ok(())
    }
}

/// A part of a page: its heading, and of each line its place, what it says and why. Nothing if there are no lines.
pub(crate) fn part(
    f: &mut fmt::Formatter<'_>,
    first: &mut bool,
    heading: &str,
    lines: &[(String, &str, &str)],
) -> fmt::Result {
    let width = lines.iter().map(|(place, ..)| place.chars().count()).max();
    let Some(width) = width else { return Ok(()) };
    if !*first {
        f.write_str("\n")?;
    }
    *first = false;
    writeln!(f, "{heading}")?;
    for (place, what, why) in lines {
        write!(f, "  {place:width$}  {what}")?;
        match why.is_empty() {
            true => writeln!(f)?,
            false => writeln!(f, ": {why}")?,
        }
    }
    Ok(())
}
