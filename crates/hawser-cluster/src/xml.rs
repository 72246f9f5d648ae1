//! XML as Pacemaker uses it: elements and attributes, no text between them.

use std::borrow::Cow;

use quick_xml::Reader;
use quick_xml::Writer;
use quick_xml::events::{BytesEnd, BytesStart, BytesText, Event};

use crate::line::Line;

/// Deepest document that is read. Pacemaker's have some ten levels; one of a million, from a node that is hostile,
/// would take the stack of whoever walks it.
const DEEPEST: usize = 100;

/// An XML element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its tag.
    pub name: String,
    /// Its attributes, in order.
    pub attributes: Vec<(String, String)>,
    /// The elements inside it, in order.
    pub children: Vec<Element>,
    /// The text inside it, trimmed; the CIB has none, agents' metadata has.
    pub text: String,
    /// Where it begins.
    pub line: Line,
}

/// A text that is not the XML it should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is not XML: {reason} (line {line})")]
pub struct XmlError {
    /// What was read: `the live CIB`, `crm_simulate's output`.
    pub what: &'static str,
    /// The parser's reason.
    pub reason: String,
    /// The line on which it stopped.
    pub line: usize,
}

impl Element {
    /// An empty element.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            attributes: Vec::new(),
            children: Vec::new(),
            text: String::new(),
            line: Line::default(),
        }
    }

    /// With one more attribute.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.set(name, value);
        self
    }

    /// With one more child.
    #[must_use]
    pub fn child(mut self, child: Element) -> Self {
        self.children.push(child);
        self
    }

    /// With more children.
    #[must_use]
    pub fn children(mut self, children: impl IntoIterator<Item = Element>) -> Self {
        self.children.extend(children);
        self
    }

    /// An attribute's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Sets an attribute, in place when it is there.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        let value = value.into();
        match self.attributes.iter_mut().find(|(n, _)| n == name) {
            Some((_, old)) => *old = value,
            None => self.attributes.push((name.to_owned(), value)),
        }
    }

    /// The first child with that tag.
    pub fn first(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The first child with that tag, made when there is none.
    pub fn first_or_new(&mut self, name: &str) -> &mut Element {
        let at = match self.children.iter().position(|child| child.name == name) {
            Some(at) => at,
            None => {
                self.children.push(Element::new(name));
                self.children.len() - 1
            }
        };
        &mut self.children[at]
    }

    /// All children with that tag.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The element at the end of a path of tags.
    pub fn at(&self, path: &[&str]) -> Option<&Element> {
        path.iter()
            .try_fold(self, |element, name| element.first(name))
    }

    /// This element and everything inside it, outermost first.
    pub fn walk(&self) -> Vec<&Element> {
        let mut all = vec![self];
        all.extend(self.children.iter().flat_map(Element::walk));
        all
    }

    /// Parses a document. `what` names it in errors.
    pub fn parse(text: &str, what: &'static str) -> Result<Self, XmlError> {
        let mut reader = Reader::from_str(text);
        // An invisible element around the document takes the root as its child.
        let mut open = vec![Element::new("")];
        let mut lines = Lines::of(text);
        loop {
            // An element is where it begins.
            let begins = reader.buffer_position();
            let event = reader.read_event();
            let line = lines.at(match &event {
                Ok(_) => begins,
                Err(_) => reader.error_position(),
            });
            let wrong = |reason: String| XmlError { what, reason, line };
            match event.map_err(|e| wrong(e.to_string()))? {
                Event::Start(_) if open.len() > DEEPEST => {
                    return Err(wrong(format!("more than {DEEPEST} elements in each other")));
                }
                Event::Start(tag) => open.push(start(&tag, line).map_err(wrong)?),
                Event::Empty(tag) => {
                    let element = start(&tag, line).map_err(wrong)?;
                    innermost(&mut open).children.push(element);
                }
                Event::End(_) => {
                    if let Some(element) = open.pop() {
                        innermost(&mut open).children.push(element);
                    }
                }
                Event::Text(text) => {
                    let text = text.decode().map_err(|e| wrong(e.to_string()))?;
                    innermost(&mut open).text.push_str(text.trim());
                }
                Event::GeneralRef(name) => {
                    let name = name.decode().map_err(|e| wrong(e.to_string()))?;
                    let text = quick_xml::escape::unescape(&format!("&{name};"))
                        .map(Cow::into_owned)
                        .map_err(|e| wrong(e.to_string()))?;
                    innermost(&mut open).text.push_str(&text);
                }
                Event::CData(data) => {
                    let text = data.decode().map_err(|e| wrong(e.to_string()))?;
                    innermost(&mut open).text.push_str(&text);
                }
                Event::Eof if open.len() > 1 => {
                    let reason = format!("<{}> is not closed", open[open.len() - 1].name);
                    return Err(wrong(reason));
                }
                Event::Eof => {
                    let root = open.pop().and_then(|mut around| around.children.pop());
                    return root.ok_or_else(|| wrong("there is no element".into()));
                }
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
    }

    /// The document, indented by two spaces, with a newline at the end.
    pub fn to_text(&self) -> String {
        let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
        // Writing into memory cannot fail, and the parts are UTF-8 by construction.
        self.write(&mut writer).expect("writing into memory");
        let mut text = String::from_utf8(writer.into_inner()).expect("UTF-8 was written");
        text.push('\n');
        text
    }

    fn write(&self, writer: &mut Writer<Vec<u8>>) -> std::io::Result<()> {
        let values: Vec<(&str, String)> = self
            .attributes
            .iter()
            .map(|(name, value)| (name.as_str(), escaped(value)))
            .collect();
        let attributes = values
            .iter()
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let tag = BytesStart::new(&self.name).with_attributes(attributes);
        if self.children.is_empty() && self.text.is_empty() {
            return writer.write_event(Event::Empty(tag));
        }
        writer.write_event(Event::Start(tag))?;
        if !self.text.is_empty() {
            writer.write_event(Event::Text(BytesText::new(&self.text)))?;
        }
        for child in &self.children {
            child.write(writer)?;
        }
        writer.write_event(Event::End(BytesEnd::new(&self.name)))
    }
}

/// A value as it stands in an attribute. A line feed or tab that is not escaped there is a blank to whoever reads it.
fn escaped(value: &str) -> String {
    let mut text = quick_xml::escape::escape(value).into_owned();
    for (c, reference) in [('\n', "&#10;"), ('\r', "&#13;"), ('\t', "&#9;")] {
        if text.contains(c) {
            text = text.replace(c, reference);
        }
    }
    text
}

fn innermost(open: &mut [Element]) -> &mut Element {
    let last = open.len() - 1;
    &mut open[last]
}

fn start(tag: &BytesStart<'_>, line: usize) -> Result<Element, String> {
    let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
    let mut element = Element::new(&name);
    element.line = Line(line);
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|e| e.to_string())?;
        let value = attribute.unescape_value().map_err(|e| e.to_string())?;
        let key = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        element.attributes.push((key, value.into_owned()));
    }
    Ok(element)
}

/// Counts lines forward, each byte once.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn of(text: &'a str) -> Self {
        let (at, line) = (0, 1);
        Self { text, at, line }
    }

    /// The line of this byte.
    fn at(&mut self, position: u64) -> usize {
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        let to = position.min(self.text.len()).max(self.at);
        let passed = &self.text.as_bytes()[self.at..to];
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.at = to;
        self.line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_back() {
        let cib = Element::new("cib").with("have-quorum", "1").child(
            Element::new("nvpair")
                .with("name", "options")
                .with("value", "a<b & \"c\" 'd'\n"),
        );
        assert_eq!(Element::parse(&cib.to_text(), "test").unwrap(), cib);
    }

    #[test]
    fn an_element_knows_its_line_and_is_the_same_on_another() {
        let read = Element::parse("<a>\n  <b/>\n  <c\n x='1'/></a>", "test").unwrap();
        let lines = read.children.iter().map(|it| it.line.0);
        assert_eq!(Vec::from_iter(lines), [2, 3]);
        assert_eq!(read, Element::parse(&read.to_text(), "test").unwrap());
        let wrong = Element::parse("<a>\n<b>\n</a>", "test").unwrap_err();
        assert_eq!(wrong.line, 3, "{wrong}");
    }

    #[test]
    fn blanks_of_a_value_are_no_line_feeds_of_the_document() {
        let text = Element::new("a").with("b", "1\n2\t3\r<").to_text();
        assert_eq!(text, "<a b=\"1&#10;2&#9;3&#13;&lt;\"/>\n");
        let read = Element::parse(&text, "test").unwrap();
        assert_eq!(read.get("b"), Some("1\n2\t3\r<"));
    }

    #[test]
    fn a_document_cut_short_is_refused() {
        let error = Element::parse("<cib><configuration>", "the live CIB").unwrap_err();
        assert!(
            error.to_string().starts_with("the live CIB is not XML"),
            "{error}"
        );
        assert!(Element::parse("", "x").is_err());
    }

    #[test]
    fn text_with_entities_is_kept() {
        let element = Element::parse("<a>x &lt; y</a>", "test").unwrap();
        assert_eq!(element.text.replace(' ', ""), "x<y");
    }

    #[test]
    fn a_document_that_is_too_deep_is_an_error_and_no_stack_overflow() {
        let deep = |levels: usize| "<a>".repeat(levels) + &"</a>".repeat(levels);
        assert!(Element::parse(&deep(DEEPEST), "CIB").is_ok());
        let error = Element::parse(&deep(1_000_000), "CIB").unwrap_err();
        assert!(error.reason.contains("more than 100 elements"), "{error}");
    }
}
