//! The attempts, by what they try to get at. A file is an area, and a heading in the table.

mod commands;
mod deny_set;
mod environment;
mod kernel;
mod network;
mod paths;
mod races;
mod resources;
mod state;

use super::case::Case;

const AREAS: &[(&str, &[Case])] = &[
    ("Paths", paths::CASES),
    ("Races", races::CASES),
    ("Commands", commands::CASES),
    ("Kernel", kernel::CASES),
    ("Network", network::CASES),
    ("Resources", resources::CASES),
    ("Environment", environment::CASES),
    ("State", state::CASES),
    ("Deny set", deny_set::CASES),
];

/// Returns all cases with their area.
pub(super) fn all() -> impl Iterator<Item = (&'static str, &'static Case)> {
    AREAS.iter().flat_map(|(area, cases)| cases.iter().map(move |case| (*area, case)))
}
