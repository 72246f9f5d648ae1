//! What would happen, as it is told.

use std::fmt;

use super::story::Story;
use super::tell;

/// What would happen: one chapter for each time that Pacemaker decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prediction {
    /// The chapters.
    pub chapters: Vec<Chapter>,
}

/// One decision of Pacemaker and what it leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chapter {
    /// What happened before it.
    pub heading: String,
    /// What follows.
    pub story: Option<Story>,
    /// What else is to be said.
    pub remarks: Vec<String>,
}

impl fmt::Display for Prediction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, chapter) in self.chapters.iter().enumerate() {
            if i > 0 {
                writeln!(f)?;
            }
            writeln!(f, "{}", chapter.heading)?;
            if let Some(story) = &chapter.story {
                f.write_str(&tell(story))?;
            }
            for remark in &chapter.remarks {
                writeln!(f, "{remark}")?;
            }
        }
        Ok(())
    }
}
