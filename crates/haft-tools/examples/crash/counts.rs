//! How often what happened, and the table of it.

use std::collections::BTreeMap;

use crate::Failure;

/// Counts by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    by_name: BTreeMap<String, u64>,
}

impl Counts {
    pub(crate) fn add(&mut self, name: &str) {
        self.add_many(name, 1);
    }

    pub(crate) fn add_many(&mut self, name: &str, count: u64) {
        *self.by_name.entry(name.to_owned()).or_default() += count;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (name, count) in &other.by_name {
            self.add_many(name, *count);
        }
    }

    pub(crate) fn to_json(&self) -> Result<String, Failure> {
        Ok(serde_json::to_string(&self.by_name)?)
    }

    pub(crate) fn from_json(json: &str) -> Result<Self, Failure> {
        Ok(Self { by_name: serde_json::from_str(json)? })
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (name, count) in &self.by_name {
            writeln!(f, "{count:>9}  {name}")?;
        }
        Ok(())
    }
}
