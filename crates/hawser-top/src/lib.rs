//! `hawser top`: a picture of a cluster on a terminal, and as lines for a screen reader. Pure.
//!
//! [`draw`] makes a screen of a picture and of where its reader stands in it ([`View`]); [`pressed`] is what a key does;
//! [`plain`] has the lines. Nothing is judged here, and every text from outside goes through [`ink`].
#![forbid(unsafe_code)]

mod heights;
pub mod ink;
mod keys;
mod more;
pub mod plain;
mod rows;
mod screen;
mod view;
mod words;

pub use ink::Looks;
pub use keys::{Then, pressed};
pub use screen::draw;
pub use view::{Part, View, ViewInput};
