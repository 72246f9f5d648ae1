//! A value that knows where in the file it stands, so that a rule broken far from the parser
//! still points at the very characters.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::ops::{Deref, Range};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};

/// A value and its byte range in the file. Compares, orders and prints as the value alone.
#[derive(Clone, Debug)]
pub struct At<T> {
    value: T,
    span: Range<usize>,
}

impl<T> At<T> {
    /// A value that stands at `span`.
    pub fn new(value: T, span: Range<usize>) -> Self {
        Self { value, span }
    }

    /// Byte range of the value in the file.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The bare value.
    pub fn get(&self) -> &T {
        &self.value
    }
}

/// A value that the file leaves out stands nowhere: an empty range at its beginning.
impl<T: Default> Default for At<T> {
    fn default() -> Self {
        Self::new(T::default(), 0..0)
    }
}

impl<T> Deref for At<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for At<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T: Eq> Eq for At<T> {}

impl<T: PartialOrd> PartialOrd for At<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

impl<T: Ord> Ord for At<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.value.cmp(&other.value)
    }
}

impl<T: fmt::Display> fmt::Display for At<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = toml::Spanned::<T>::deserialize(deserializer)?;
        let span = spanned.span();
        Ok(Self::new(spanned.into_inner(), span))
    }
}

/// The place is not part of the format: the schema is the value's own.
impl<T: JsonSchema> JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
