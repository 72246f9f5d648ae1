//! Where something stands in a text.

/// A line, from 1; 0 of what was made and never read. What stands on another line is the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line(pub usize);

impl PartialEq for Line {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Line {}
