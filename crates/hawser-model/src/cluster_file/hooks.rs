//! Programs of the site that run on the head around a pool's import and export.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Pool;
use crate::toml_file::{At, Period};

/// Programs that run on the head that takes a pool or gives it up, each at its moment.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hooks {
    /// Before the storage is imported or mounted. If it fails, the pool is not imported there.
    pub pre_import: Option<Hook>,
    /// After that, before the pool is offered. If it fails, the pool is not offered there.
    pub post_import: Option<Hook>,
    /// Before the storage is exported or unmounted, when the pool is not offered any more.
    pub pre_export: Option<Hook>,
    /// After that.
    pub post_export: Option<Hook>,
}

/// A program that is run.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hook {
    /// Its path on the heads. It is root's, and no other user can write it.
    pub program: At<String>,
    /// How long it may take; it is killed then, and has failed. Default: 30 s.
    pub timeout: Option<At<Period>>,
    /// Whether what follows waits for its success. Default: `true` of an import. `false` of an export, since a stop that
    /// fails gets the head fenced.
    pub required: Option<bool>,
}

impl Hook {
    /// How long it may take.
    pub fn timeout(&self) -> Period {
        self.timeout.as_ref().map_or(USUAL, |given| **given)
    }

    /// Whether what follows waits for its success, as the hook of that moment.
    pub fn is_required(&self, moment: HookMoment) -> bool {
        self.required.unwrap_or(moment.is_required())
    }
}

/// How long a hook may take if the file says nothing.
const USUAL: Period = Period::from_secs(30);

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the fields of `Hooks` say it")]
pub enum HookMoment {
    PreImport,
    PostImport,
    PreExport,
    PostExport,
}

impl HookMoment {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::PreImport,
        Self::PostImport,
        Self::PreExport,
        Self::PostExport,
    ];

    /// As people and the program itself read it.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreImport => "pre-import",
            Self::PostImport => "post-import",
            Self::PreExport => "pre-export",
            Self::PostExport => "post-export",
        }
    }

    /// The key of the cluster file, and the parameter of the resource agent.
    pub fn key(self) -> &'static str {
        match self {
            Self::PreImport => "pre_import",
            Self::PostImport => "post_import",
            Self::PreExport => "pre_export",
            Self::PostExport => "post_export",
        }
    }

    /// Whether what follows waits for the hook's success, if nobody says.
    pub fn is_required(self) -> bool {
        matches!(self, Self::PreImport | Self::PostImport)
    }
}

/// Where a resource that runs hooks stands in the order of its pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookPlace {
    /// Before the storage: it starts before it and stops after it.
    Before,
    /// After the storage, before what offers it.
    After,
}

impl HookPlace {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Before, Self::After];

    /// The value of the agent's parameter `place`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::After => "after",
        }
    }

    /// How a resource's name ends.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Before => "-before-import",
            Self::After => "-after-import",
        }
    }

    /// What runs when the resource starts, and when it stops.
    pub fn moments(self) -> (HookMoment, HookMoment) {
        match self {
            Self::Before => (HookMoment::PreImport, HookMoment::PostExport),
            Self::After => (HookMoment::PostImport, HookMoment::PreExport),
        }
    }

    /// The place of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|it| it.name() == name)
    }
}

impl Hooks {
    /// The hook of a moment.
    pub fn at(&self, moment: HookMoment) -> Option<&Hook> {
        match moment {
            HookMoment::PreImport => self.pre_import.as_ref(),
            HookMoment::PostImport => self.post_import.as_ref(),
            HookMoment::PreExport => self.pre_export.as_ref(),
            HookMoment::PostExport => self.post_export.as_ref(),
        }
    }

    /// Those that there are.
    pub fn all(&self) -> impl Iterator<Item = (HookMoment, &Hook)> {
        let all = HookMoment::ALL.into_iter();
        all.filter_map(|moment| Some((moment, self.at(moment)?)))
    }

    /// The hooks that the resource at this place runs.
    pub fn of(&self, place: HookPlace) -> impl Iterator<Item = (HookMoment, &Hook)> {
        let (start, stop) = place.moments();
        self.all()
            .filter(move |(moment, _)| [start, stop].contains(moment))
    }
}

impl Pool {
    /// The resource that runs its hooks at this place; none if there are none.
    pub fn hooks_id(&self, place: HookPlace) -> Option<String> {
        self.hooks.of(place).next()?;
        Some(format!("{}{}", self.name, place.suffix()))
    }
}

/// Whether this is the path of a program as a hook names it: absolute, without `.`, `..` and control characters.
pub fn is_program_path(path: &str) -> bool {
    let Some(below) = path.strip_prefix('/') else {
        return false;
    };
    let plain = |part: &str| !["", ".", ".."].contains(&part);
    below.split('/').all(plain) && !path.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_by_a_plain_absolute_path() {
        for good in ["/usr/local/sbin/pool-hook", "/opt/a b/ü"] {
            assert!(is_program_path(good), "{good}");
        }
        for bad in [
            "",
            "/",
            "hook",
            "./hook",
            "/opt/../hook",
            "/opt/./hook",
            "/opt//hook",
            "/opt/hook/",
            "/opt/hook\n",
            "/opt/hook/.",
        ] {
            assert!(!is_program_path(bad), "{bad}");
        }
    }
}
