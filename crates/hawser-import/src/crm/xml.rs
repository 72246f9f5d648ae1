//! XML of which each element knows its line.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use crate::place::Malformed;
use crate::source::Source;

/// Deepest document that is read; Pacemaker's have some ten levels.
const DEEPEST: usize = 100;

/// An element.
#[derive(Clone, Debug)]
pub(super) struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub children: Vec<Element>,
    pub line: usize,
}

impl Element {
    fn new(name: String, line: usize) -> Self {
        Self {
            name,
            attributes: Vec::new(),
            children: Vec::new(),
            line,
        }
    }

    /// An attribute.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Children of that tag.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// Itself and all within it.
    pub fn each<'a>(&'a self, with: &mut impl FnMut(&'a Element)) {
        with(self);
        for child in &self.children {
            child.each(with);
        }
    }

    /// The first one of that tag, however deep.
    pub fn find(&self, name: &str) -> Option<&Element> {
        if self.name == name {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(name))
    }
}

/// Reads a document.
pub(super) fn parse(source: &Source) -> Result<Element, Malformed> {
    let text = source.text.as_str();
    let mut reader = Reader::from_str(text);
    let mut open = vec![Element::new(String::new(), 1)];
    let mut lines = Lines {
        text,
        at: 0,
        line: 1,
    };
    loop {
        // An element is where it begins.
        let start = reader.buffer_position();
        let event = reader.read_event();
        let position = match &event {
            Ok(_) => start,
            Err(_) => reader.error_position(),
        };
        let line = lines.of(usize::try_from(position).unwrap_or(usize::MAX));
        let wrong =
            |found: String| Malformed::new(&source.at(line), found, "Pacemaker's XML, whole");
        match event.map_err(|e| wrong(e.to_string()))? {
            Event::Start(_) if open.len() > DEEPEST => {
                return Err(wrong(format!("more than {DEEPEST} elements in each other")));
            }
            Event::Start(tag) => open.push(element(&tag, line).map_err(wrong)?),
            Event::Empty(tag) => {
                let element = element(&tag, line).map_err(wrong)?;
                if let Some(outer) = open.last_mut() {
                    outer.children.push(element);
                }
            }
            Event::End(_) => {
                if let (Some(inner), Some(outer)) = (open.pop(), open.last_mut()) {
                    outer.children.push(inner);
                }
            }
            Event::Eof if open.len() > 1 => {
                let name = open.last().map_or("", |inner| inner.name.as_str());
                return Err(wrong(format!("<{name}> is not closed")));
            }
            Event::Eof => {
                let root = open.pop().and_then(|mut around| around.children.pop());
                return root.ok_or_else(|| wrong("no element".into()));
            }
            _ => {}
        }
    }
}

fn element(tag: &BytesStart<'_>, line: usize) -> Result<Element, String> {
    let name = String::from_utf8_lossy(tag.name().as_ref()).into_owned();
    let mut element = Element::new(name, line);
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

impl Lines<'_> {
    fn of(&mut self, position: usize) -> usize {
        let to = position.min(self.text.len()).max(self.at);
        let passed = &self.text.as_bytes()[self.at..to];
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.at = to;
        self.line
    }
}
