//! Values out of a TOML document, each with its place and its field's path, so that an error
//! can say all of it.

use std::ops::{Range, RangeInclusive};

use hawser_model::toml_file::{line_and_column, nearest};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::FileError;

/// The file being read.
pub(super) struct Source<'a> {
    pub path: &'a str,
    pub text: &'a str,
}

pub(super) type Wrong = Box<FileError>;

impl Source<'_> {
    pub fn wrong(
        &self,
        span: Range<usize>,
        field: &str,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Wrong {
        let (line, column) = line_and_column(self.text, span.start);
        Box::new(FileError {
            path: self.path.to_owned(),
            text: self.text.to_owned(),
            span,
            line,
            column,
            field: field.to_owned(),
            found: found.into(),
            allowed: allowed.into(),
            suggestion: None,
        })
    }

    /// `found` is none of `words`.
    pub fn unknown<'w>(
        &self,
        span: Range<usize>,
        field: &str,
        what: &str,
        found: &str,
        words: impl IntoIterator<Item = &'w str>,
    ) -> Wrong {
        let words: Vec<&str> = words.into_iter().collect();
        let allowed = if words.is_empty() {
            "none is declared".to_owned()
        } else {
            words.join(", ")
        };
        let mut wrong = self.wrong(span, field, format!("{what} \"{found}\""), allowed);
        wrong.suggestion = nearest(found, &words).map(str::to_owned);
        wrong
    }
}

/// A value with its place and path.
#[derive(Clone, Debug)]
pub(super) struct Located<T> {
    pub value: T,
    pub span: Range<usize>,
    pub field: String,
}

/// A key with its text or list of texts.
pub(super) type TextEntry<'d> = (Located<&'d str>, Vec<Located<&'d str>>);

/// A table of the file.
pub(super) struct Table<'s, 'd> {
    source: &'s Source<'s>,
    entries: &'d DeTable<'s>,
    pub span: Range<usize>,
    pub field: String,
}

impl<'s, 'd> Table<'s, 'd> {
    pub fn new(
        source: &'s Source<'s>,
        entries: &'d DeTable<'s>,
        span: Range<usize>,
        field: String,
    ) -> Self {
        Self {
            source,
            entries,
            span,
            field,
        }
    }

    /// Refuses any key that is not in `keys`.
    pub fn only(&self, keys: &[&str]) -> Result<(), Wrong> {
        let mut unknown: Vec<_> = self
            .entries
            .iter()
            .filter(|(key, _)| !keys.contains(&key.get_ref().as_ref()))
            .collect();
        // The map is sorted by key; the reader of the message goes by line.
        unknown.sort_by_key(|(key, _)| key.span().start);
        match unknown.first() {
            None => Ok(()),
            Some((key, _)) => Err(self.source.unknown(
                key.span(),
                &self.path(key.get_ref()),
                "unknown key",
                key.get_ref(),
                keys.iter().copied(),
            )),
        }
    }

    pub fn text(&self, key: &str) -> Result<Option<Located<&'d str>>, Wrong> {
        self.take(key, "a text in quotes", DeValue::as_str)
    }

    /// A text that must be there.
    pub fn needed_text(&self, key: &str) -> Result<Located<&'d str>, Wrong> {
        self.text(key)?.ok_or_else(|| {
            let field = self.path(key);
            self.source.wrong(
                self.span.clone(),
                &field,
                "missing",
                format!("{key} = \"…\""),
            )
        })
    }

    /// What one of these words stands for.
    pub fn one_of<T, const N: usize>(
        &self,
        key: &str,
        words: [(&'static str, T); N],
    ) -> Result<Option<T>, Wrong> {
        let Some(found) = self.text(key)? else {
            return Ok(None);
        };
        let known = words.each_ref().map(|(word, _)| *word);
        let chosen = words.into_iter().find(|(word, _)| *word == found.value);
        match chosen {
            Some((_, meant)) => Ok(Some(meant)),
            None => {
                let (span, field) = (found.span.clone(), &found.field);
                Err(self
                    .source
                    .unknown(span, field, &format!("no {key}"), found.value, known))
            }
        }
    }

    pub fn flag(&self, key: &str) -> Result<bool, Wrong> {
        let value = self.take(key, "true or false", DeValue::as_bool)?;
        Ok(value.is_some_and(|located| located.value))
    }

    pub fn integer(&self, key: &str, range: RangeInclusive<u32>) -> Result<Option<u32>, Wrong> {
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        let value = self.take(key, &wanted, |value| {
            let number = value.as_integer()?;
            Some(u32::from_str_radix(number.as_str(), number.radix()).ok())
        })?;
        match value {
            None => Ok(None),
            Some(Located {
                value: Some(number),
                ..
            }) if range.contains(&number) => Ok(Some(number)),
            Some(located) => {
                let found = &self.source.text[located.span.clone()];
                Err(self
                    .source
                    .wrong(located.span.clone(), &located.field, found, wanted))
            }
        }
    }

    /// A list of texts.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<Located<&'d str>>>, Wrong> {
        let wanted = "a list of texts, such as [\"a\", \"b\"]";
        let Some(list) = self.take(key, wanted, DeValue::as_array)? else {
            return Ok(None);
        };
        let items = list.value.iter().enumerate();
        items
            .map(|(i, item)| {
                let field = format!("{}[{}]", list.field, i + 1);
                match item.get_ref().as_str() {
                    Some(value) => Ok(Located {
                        value,
                        span: item.span(),
                        field,
                    }),
                    None => Err(self.other_type(item, &field, "a text in quotes")),
                }
            })
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// A table inside, with any keys.
    pub fn table(&self, key: &str, wanted: &str) -> Result<Option<Self>, Wrong> {
        let table = self.take(key, wanted, DeValue::as_table)?;
        Ok(table.map(|it| Self::new(self.source, it.value, it.span, it.field)))
    }

    /// All entries, in the file's order, that are texts or lists of texts.
    pub fn entries_as_texts(&self) -> Result<Vec<TextEntry<'d>>, Wrong> {
        let mut entries = Vec::new();
        for (key, value) in self.entries {
            let name: &'d str = key.get_ref();
            let values = match value.get_ref() {
                DeValue::Array(_) => self.texts(name)?.unwrap_or_default(),
                _ => self.text(name)?.into_iter().collect(),
            };
            let key = Located {
                value: name,
                span: key.span(),
                field: self.path(name),
            };
            entries.push((key, values));
        }
        entries.sort_by_key(|(key, _)| key.span.start);
        Ok(entries)
    }

    /// The tables of `[[key]]`.
    pub fn tables(&self, key: &str) -> Result<Vec<Self>, Wrong> {
        let wanted = format!("[[{key}]] tables");
        let Some(list) = self.take(key, &wanted, DeValue::as_array)? else {
            return Ok(Vec::new());
        };
        let items = list.value.iter().enumerate();
        items
            .map(|(i, item)| {
                let field = format!("{}[{}]", list.field, i + 1);
                match item.get_ref().as_table() {
                    Some(table) => Ok(Self::new(self.source, table, item.span(), field)),
                    None => Err(self.other_type(item, &field, &wanted)),
                }
            })
            .collect()
    }

    fn take<T>(
        &self,
        key: &str,
        wanted: &str,
        convert: impl FnOnce(&'d DeValue<'s>) -> Option<T>,
    ) -> Result<Option<Located<T>>, Wrong> {
        let Some(value) = self.entries.get(key) else {
            return Ok(None);
        };
        let field = self.path(key);
        match convert(value.get_ref()) {
            Some(converted) => Ok(Some(Located {
                value: converted,
                span: value.span(),
                field,
            })),
            None => Err(self.other_type(value, &field, wanted)),
        }
    }

    fn other_type(&self, value: &Spanned<DeValue<'_>>, field: &str, wanted: &str) -> Wrong {
        let found = format!("is of type {}", value.get_ref().type_str());
        self.source.wrong(value.span(), field, found, wanted)
    }

    fn path(&self, key: &str) -> String {
        if self.field.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.field)
        }
    }
}
