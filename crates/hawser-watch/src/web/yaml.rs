//! As much of YAML as a web configuration has: mappings of texts and of mappings. Everything else is refused at its line.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::config::Wrong;

/// Mappings are no deeper.
const DEEPEST: usize = 4;

/// A value and the line where it begins.
#[derive(Debug, PartialEq, Eq)]
pub struct YamlNode {
    /// From 1.
    pub line: usize,
    /// What it is.
    pub what: What,
}

/// What a value is.
#[derive(Debug, PartialEq, Eq)]
pub enum What {
    /// Nothing stands there.
    Nothing,
    /// A text.
    Text(String),
    /// Texts and their values, in the file's order.
    Mapping(Vec<(String, YamlNode)>),
    /// A list: no field that is read here has one.
    List,
}

/// The one document of a text.
///
/// # Errors
/// The text is no YAML; it has more than the above.
pub fn parse(text: &str) -> Result<YamlNode, Wrong> {
    let mut events = Events(Parser::new_from_str(text));
    let mut document = YamlNode {
        line: 1,
        what: What::Nothing,
    };
    let mut documents = 0;
    loop {
        let (event, span) = events.next()?;
        match event {
            Event::StreamEnd => return Ok(document),
            Event::DocumentStart(_) => documents += 1,
            Event::StreamStart | Event::DocumentEnd | Event::Nothing => continue,
            _ if documents > 1 => return Err(at(span, "a second document is not taken")),
            event => document = events.node(event, span, 0)?,
        }
    }
}

struct Events<'a>(Parser<'a, saphyr_parser::StrInput<'a>>);

impl<'a> Events<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Wrong> {
        match self.0.next() {
            Some(Ok(next)) => Ok(next),
            Some(Err(e)) => Err(Wrong::new(
                e.marker().line(),
                None,
                format!("not YAML: {}", e.info()),
            )),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<YamlNode, Wrong> {
        let what = match event {
            Event::Alias(_) => return Err(at(span, "an alias is not taken")),
            Event::Scalar(_, _, 1.., _)
            | Event::SequenceStart(1.., _)
            | Event::MappingStart(1.., _) => return Err(at(span, "an anchor is not taken")),
            Event::Scalar(text, ScalarStyle::Plain, ..)
                if matches!(&*text, "" | "~" | "null" | "Null" | "NULL") =>
            {
                What::Nothing
            }
            Event::Scalar(text, ..) => What::Text(text.into_owned()),
            Event::MappingStart(..) if depth < DEEPEST => self.mapping(depth)?,
            Event::MappingStart(..) => return Err(at(span, "too deep")),
            Event::SequenceStart(..) => {
                self.skip_list()?;
                What::List
            }
            _ => return Err(at(span, "a value is missing")),
        };
        Ok(YamlNode {
            line: span.start.line(),
            what,
        })
    }

    fn mapping(&mut self, depth: usize) -> Result<What, Wrong> {
        let mut all: Vec<(String, YamlNode)> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let name = match event {
                Event::MappingEnd => return Ok(What::Mapping(all)),
                Event::Scalar(text, _, 0, _) => text.into_owned(),
                _ => return Err(at(span, "a field's name is a text")),
            };
            if all.iter().any(|(other, _)| *other == name) {
                let twice = "stands there twice".to_owned();
                return Err(Wrong::new(span.start.line(), Some(name), twice));
            }
            let (event, value) = self.next()?;
            let node = self.node(event, value, depth + 1)?;
            // A value on a line of its own belongs to the line of its name.
            let line = span.start.line();
            all.push((name, YamlNode { line, ..node }));
        }
    }

    /// Passes over a list without going into it.
    fn skip_list(&mut self) -> Result<(), Wrong> {
        let mut open = 1_usize;
        while open > 0 {
            match self.next()?.0 {
                Event::SequenceStart(..) | Event::MappingStart(..) => open += 1,
                Event::SequenceEnd | Event::MappingEnd => open -= 1,
                Event::StreamEnd => return Ok(()),
                _ => {}
            }
        }
        Ok(())
    }
}

fn at(span: Span, what: &str) -> Wrong {
    Wrong::new(span.start.line(), None, what.to_owned())
}
