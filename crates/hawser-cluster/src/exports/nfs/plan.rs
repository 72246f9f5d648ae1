//! From what is exported to what is wanted.

use std::collections::{BTreeMap, BTreeSet};

use super::options::NfsOptions;
use super::table::{Found, Pair};
use crate::exports::desired::DesiredDirectory;

/// One call of `exportfs`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Exports a directory, or exports it otherwise.
    Export {
        /// The directory.
        directory: String,
        /// To whom.
        clients: Vec<String>,
        /// How.
        options: NfsOptions,
        /// Whether somebody may be using it now.
        again: bool,
    },
    /// Takes these exports away.
    Unexport(Vec<Pair>),
}

/// What leads from the table to what is wanted. `ours` was made by this pool: what of it is no longer
/// wanted goes. An export whose options change is made again in place; nobody loses it for a moment.
pub fn plan(
    wanted: &BTreeMap<String, DesiredDirectory>,
    found: &Found,
    ours: &BTreeSet<Pair>,
) -> Vec<Operation> {
    let mut operations = Vec::new();
    for (path, directory) in wanted {
        let mut calls: BTreeMap<(&NfsOptions, bool), Vec<String>> = BTreeMap::new();
        for (client, options) in &directory.clients {
            let there = found.get(&(path.clone(), client.clone()));
            if there != Some(options) {
                let call = calls.entry((options, there.is_some())).or_default();
                call.push(client.clone());
            }
        }
        operations.extend(
            calls
                .into_iter()
                .map(|((options, again), clients)| Operation::Export {
                    directory: path.clone(),
                    clients,
                    options: options.clone(),
                    again,
                }),
        );
    }
    let kept = |(path, client): &Pair| {
        let wanted = wanted.get(path);
        wanted.is_some_and(|it| it.clients.contains_key(client))
    };
    let goes = |pair: &&Pair| found.contains_key(*pair) && !kept(pair);
    let gone: Vec<Pair> = ours.iter().filter(goes).cloned().collect();
    if !gone.is_empty() {
        operations.push(Operation::Unexport(gone));
    }
    operations
}

impl Operation {
    /// In words, a line for each directory.
    pub fn words(&self) -> Vec<String> {
        match self {
            Self::Export {
                directory,
                clients,
                options,
                again,
            } => {
                let (clients, how) = (clients.join(", "), options.brief());
                vec![match again {
                    true => format!("{directory} is exported to {clients} as {how} from now on"),
                    false => format!("{directory} is exported to {clients} ({how})"),
                }]
            }
            Self::Unexport(pairs) => pairs
                .chunk_by(|(one, _), (next, _)| one == next)
                .map(|of_one| {
                    let clients: Vec<&str> = of_one.iter().map(|(_, client)| &**client).collect();
                    format!(
                        "{} is no longer exported to {}",
                        of_one[0].0,
                        clients.join(", ")
                    )
                })
                .collect(),
        }
    }
}
