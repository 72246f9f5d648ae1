//! What is said of a draft beside its text.

use std::fmt;

use hawser_model::visible::one_line;

use crate::page::part;

/// What a remark is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Said {
    /// A head showed it.
    Seen,
    /// It follows from a custom alone.
    Guessed,
    /// It was seen and is not in the file.
    LeftOut,
    /// It is in the file or on the heads, and may do harm.
    Doubtful,
    /// No machine knows it.
    ToYou,
    /// The file lacks it.
    Missing,
}

impl Said {
    const ALL: [Self; 6] = [
        Self::Seen,
        Self::Guessed,
        Self::LeftOut,
        Self::Doubtful,
        Self::ToYou,
        Self::Missing,
    ];

    fn heading(self) -> &'static str {
        match self {
            Self::Seen => "Seen",
            Self::Guessed => "Guessed",
            Self::LeftOut => "Left out",
            Self::Doubtful => "Look at this",
            Self::ToYou => "Left to you",
            Self::Missing => "Still needed",
        }
    }
}

/// One thing that is said.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// What it is about.
    pub said: Said,
    /// Where it was seen.
    pub place: String,
    /// What.
    pub what: String,
    /// What became of it, or what to do.
    pub why: String,
}

/// All that is said of a draft.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// By what they are about.
    pub all: Vec<Remark>,
}

impl Remarks {
    /// One more.
    pub fn add(
        &mut self,
        said: Said,
        place: impl AsRef<str>,
        what: impl AsRef<str>,
        why: impl AsRef<str>,
    ) {
        let shown = |text: &str| one_line(text).into_owned();
        self.all.push(Remark {
            said,
            place: shown(place.as_ref()),
            what: shown(what.as_ref()),
            why: shown(why.as_ref()),
        });
    }

    /// Whether there is one of these.
    pub fn has(&self, said: Said) -> bool {
        self.all.iter().any(|remark| remark.said == said)
    }
}

impl fmt::Display for Remarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for said in Said::ALL {
            let of = self.all.iter().filter(|remark| remark.said == said);
            let lines: Vec<(String, &str, &str)> = of
                .map(|it| (it.place.clone(), it.what.as_str(), it.why.as_str()))
                .collect();
            part(f, &mut first, said.heading(), &lines)?;
        }
        Ok(())
    }
}
