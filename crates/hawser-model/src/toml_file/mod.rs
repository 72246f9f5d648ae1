//! Files in TOML that people write: read with the place of every value, checked against their own
//! schema and rules, and all that is wrong told at once.

mod at;
mod error;
mod shape;
mod values;

use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use toml::de::DeTable;

pub use at::At;
pub use error::{FileError, FileErrors, Found, Problem, Rule, line_and_column, nearest};
pub use values::{Network, NotA, Period, SecretRef, Speed, Whom};

/// Reads a file through three gates: is it TOML, has it the shape of the schema, does it keep the
/// rules. What fails at one gate is not shown to the next, or one slip would look like many.
/// `path` is only for the errors.
pub fn read<T, R>(
    text: &str,
    path: &str,
    rules: impl Fn(&T, &mut Found<R>),
) -> Result<T, FileErrors<R>>
where
    T: DeserializeOwned + JsonSchema,
    R: Rule,
{
    let mut found = Found::default();
    let (document, syntax) = DeTable::parse_recoverable(text);
    for error in syntax {
        let span = error.span().unwrap_or(0..0);
        found.push(Problem::Syntax(error.message().to_owned()), span);
    }
    found.take_result(text, path)?;

    shape::check(schema_for!(T).as_value(), &document, &mut found);
    found.take_result(text, path)?;

    match toml::from_str::<T>(text) {
        Ok(file) => {
            rules(&file, &mut found);
            found.take_result(text, path)?;
            Ok(file)
        }
        Err(error) => {
            // The shape fits, so this is a value that only serde looks into.
            let span = error.span().unwrap_or(0..0);
            found.push(Problem::Syntax(error.message().to_owned()), span);
            Err(found.into_errors(text, path))
        }
    }
}
