//! Hooks are programs that a head can run, in a time that a takeover can bear.

use super::{Found, Problem};
use crate::cluster_file::{At, ClusterFile, Pool, is_program_path};
use crate::toml_file::Period;

/// A program cannot even be started in less.
const SHORTEST: Period = Period::from_secs(1);

/// No client waits longer for a pool.
const LONGEST: Period = Period::from_secs(3600);

/// What can be wrong with hooks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BrokenHooks {
    /// A path that could be any program's.
    #[error("{} is not the path of a program", quoted(.program))]
    Program {
        /// As it is written.
        program: String,
    },
    /// A limit that is none.
    #[error("a {moment} hook of pool \"{pool}\" may take {timeout}")]
    Timeout {
        /// The pool.
        pool: String,
        /// When it runs.
        moment: &'static str,
        /// How long.
        timeout: Period,
    },
    /// Others start and stop the members of a group.
    #[error("pool \"{pool}\" is in a group of others, which runs no hooks")]
    Grouped {
        /// The pool.
        pool: String,
    },
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.escape_default())
}

impl BrokenHooks {
    /// What to do about it.
    pub fn help(&self) -> String {
        match self {
            Self::Program { .. } => {
                "write where it is on the heads, from \"/\" on, without arguments, \".\" and \"..\": \
                 \"/usr/local/sbin/pool-hook\""
                    .into()
            }
            Self::Timeout { .. } => format!("a time from {SHORTEST} to {LONGEST}"),
            Self::Grouped { .. } => {
                "remove its hooks, or remove `adopted` and let Hawser make the pool's resources".into()
            }
        }
    }
}

impl From<BrokenHooks> for Problem {
    fn from(broken: BrokenHooks) -> Self {
        Self::Rule(broken.into())
    }
}

pub(super) fn check(file: &ClusterFile, found: &mut Found) {
    for pool in &file.pools {
        for (moment, hook) in pool.hooks.all() {
            if !is_program_path(&hook.program) {
                let program = hook.program.to_string();
                found.push(BrokenHooks::Program { program }, hook.program.span());
            }
            if let Some(timeout) = hook.timeout.as_ref().filter(|it| !bearable(it)) {
                let broken = BrokenHooks::Timeout {
                    pool: pool.name.to_string(),
                    moment: moment.name(),
                    timeout: **timeout,
                };
                found.push(broken, timeout.span());
            }
        }
        grouped(pool, found);
    }
}

fn bearable(timeout: &At<Period>) -> bool {
    (SHORTEST..=LONGEST).contains(&**timeout)
}

fn grouped(pool: &Pool, found: &mut Found) {
    let group = pool.adopted.as_ref().and_then(|it| it.group.as_ref());
    let first = pool.hooks.all().next();
    if let (Some(group), Some((_, hook))) = (group, first) {
        let pool = pool.name.to_string();
        let broken = BrokenHooks::Grouped { pool };
        found.push_with(broken, hook.program.span(), group.span());
    }
}
