//! The configuration with its resources by their ids: a source may have many thousands.

use std::collections::HashMap;
use std::ops::Deref;

use super::{Around, Crm, Primitive, Set};

/// The configuration, which changes no more. Of two resources with one id the first is found.
pub(crate) struct ById {
    crm: Crm,
    primitives: HashMap<String, usize>,
    around: HashMap<String, usize>,
    sets: HashMap<String, usize>,
    /// By member, what it is in.
    holders: HashMap<String, usize>,
}

impl Deref for ById {
    type Target = Crm;

    fn deref(&self) -> &Crm {
        &self.crm
    }
}

fn by<'a>(ids: impl Iterator<Item = (usize, &'a String)>) -> HashMap<String, usize> {
    let mut all = HashMap::new();
    for (i, id) in ids {
        all.entry(id.clone()).or_insert(i);
    }
    all
}

impl ById {
    pub fn new(crm: Crm) -> Self {
        let around = || crm.around.iter().enumerate();
        let held = around().flat_map(|(i, it)| it.members.iter().map(move |member| (i, member)));
        Self {
            primitives: by(crm.primitives.iter().map(|it| &it.id).enumerate()),
            around: by(around().map(|(i, it)| (i, &it.id))),
            sets: by(crm.sets.iter().map(|it| &it.id).enumerate()),
            holders: by(held),
            crm,
        }
    }

    /// The resource of that id.
    pub fn primitive(&self, id: &str) -> Option<&Primitive> {
        self.position(id).map(|i| &self.crm.primitives[i])
    }

    /// Its place among the resources.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.primitives.get(id).copied()
    }

    /// The group or clone of that id.
    pub fn around(&self, id: &str) -> Option<&Around> {
        self.around.get(id).map(|i| &self.crm.around[*i])
    }

    /// The tag or template of that id.
    pub fn set(&self, id: &str) -> Option<&Set> {
        self.sets.get(id).map(|i| &self.crm.sets[*i])
    }

    /// The group or clone that has this member.
    pub fn holder(&self, member: &str) -> Option<&Around> {
        self.holders.get(member).map(|i| &self.crm.around[*i])
    }
}
