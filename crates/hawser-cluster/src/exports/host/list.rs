//! What a program lists: a line for each thing.

use hawser_tool::Tool;

/// There is no list.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    /// A program is missing or fails.
    #[error("{program}: {reason}")]
    Program {
        /// Its command line.
        program: String,
        /// What it says.
        reason: String,
    },
    /// Its output is not understood.
    #[error("{program} says \"{line}\", which is not understood")]
    Output {
        /// Its command line.
        program: String,
        /// The line.
        line: String,
    },
}

/// What a command says of this.
pub fn output(command: &str, of: &str) -> Result<String, ListError> {
    let mut words = command.split(' ');
    let tool = Tool::new(words.next().unwrap_or_default());
    let text = tool.args(words).args([of]).text();
    text.map_err(|error| ListError::Program {
        program: format!("{command} {of}"),
        reason: error.reason(),
    })
}

/// Each line of that.
pub fn lines<'a, T>(
    text: &'a str,
    program: &str,
    one: impl Fn(&'a str) -> Option<T>,
) -> Result<Vec<T>, ListError> {
    let read = |line: &'a str| {
        one(line).ok_or_else(|| ListError::Output {
            program: program.to_owned(),
            line: line.to_owned(),
        })
    };
    text.lines().map(read).collect()
}
