//! Markup that cannot be injected into: names of elements and attributes are the program's own
//! literals, everything else is escaped on its way in.

use std::fmt::{Display, Write as _};

use hawser_model::visible;

/// Attributes of an element.
pub type Attributes<'a> = &'a [(&'static str, &'a dyn Display)];

/// Text of a page under construction. Well-formed as XML too, which a test can check.
#[derive(Default)]
pub struct Markup(String);

impl Markup {
    /// An element and what is inside.
    pub fn node(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Self),
    ) {
        self.open(tag, attributes);
        self.0.push('>');
        inside(self);
        let _ = write!(self.0, "</{tag}>");
    }

    /// An element with nothing but text.
    pub fn leaf(&mut self, tag: &'static str, attributes: Attributes<'_>, text: impl Display) {
        self.node(tag, attributes, |m| m.text(text));
    }

    /// An element that has no inside: `meta`, `br`, or one of SVG.
    pub fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        self.open(tag, attributes);
        self.0.push_str("/>");
    }

    /// Text.
    pub fn text(&mut self, text: impl Display) {
        escape(&mut self.0, &text.to_string());
    }

    /// A literal of the program: the document type, the style sheet.
    pub fn literal(&mut self, text: &'static str) {
        self.0.push_str(text);
    }

    /// The finished text.
    pub fn into_string(self) -> String {
        self.0
    }

    fn open(&mut self, tag: &'static str, attributes: Attributes<'_>) {
        let _ = write!(self.0, "<{tag}");
        for (name, value) in attributes {
            let _ = write!(self.0, " {name}=\"");
            escape(&mut self.0, &value.to_string());
            self.0.push('"');
        }
    }
}

/// Escapes what could end a text or an attribute. Characters without a shape, and those that turn the
/// direction of what follows, would let one name pass for another: they are shown by their numbers.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if visible::is_hidden(c) => visible::push_escape(out, c),
            c => out.push(c),
        }
    }
}

/// A share of the width, for SVG and nothing but it: `43.21%`.
pub fn percent(share: f64) -> String {
    let share = if share.is_finite() { share } else { 0.0 };
    format!("{:.2}%", share.clamp(0.0, 1.0) * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_comes_from_a_case_is_markup() {
        let mut m = Markup::default();
        let hostile = "\"><script>'&\u{202e}\u{0}";
        m.node("p", &[("class", &hostile)], |m| m.text(hostile));
        assert_eq!(
            m.into_string(),
            "<p class=\"&quot;&gt;&lt;script&gt;&#39;&amp;\\u202e\\u0000\">\
             &quot;&gt;&lt;script&gt;&#39;&amp;\\u202e\\u0000</p>"
        );
        assert_eq!(percent(f64::NAN), "0.00%");
    }
}
