//! A type name leads to one type: visible names are unique in the workspace, private ones nearly so.
//!
//! Types that macros generate are not seen, and neither are types of tests.

use std::collections::BTreeMap;

use super::TidyViolation;
use crate::syntax::{DefinitionVisibility, ProductionFile, TypeDefinition};

/// From how many definitions on a private name counts as repeated.
const REPEATED_DEFINITIONS_MIN: usize = 3;

/// Of all types, the share in percent whose name may be repeated.
const REPEATED_PERCENT_MAX: usize = 3;

/// Fails visible types that share their name, and too many private ones that do.
pub(super) fn check(files: &[ProductionFile]) -> Vec<TidyViolation> {
    let mut definitions: BTreeMap<&str, Vec<(&ProductionFile, &TypeDefinition)>> = BTreeMap::new();
    for file in files {
        for definition in &file.types {
            definitions.entry(&definition.name).or_default().push((file, definition));
        }
    }
    let mut violations = Vec::new();
    let mut repeated = Vec::new();
    for (name, places) in &definitions {
        for (index, (file, definition)) in places.iter().enumerate() {
            let other = places.get(usize::from(index == 0));
            let Some((other, _)) = other else { continue };
            if definition.visibility == DefinitionVisibility::Visible {
                let message = format!(
                    "the visible type `{name}` has the name of a type in {}; add to it the noun \
                     that tells them apart",
                    other.path
                );
                violations.push(TidyViolation::new(&file.path, definition.line, message));
            }
        }
        if places.len() >= REPEATED_DEFINITIONS_MIN {
            repeated.extend(places.iter().copied());
        }
    }
    let types: usize = definitions.values().map(Vec::len).sum();
    if repeated.len() * 100 >= types * REPEATED_PERCENT_MAX {
        for (file, definition) in repeated {
            let message = format!(
                "{} definitions or more are called `{}`, and such types are {REPEATED_PERCENT_MAX} % \
                 of all or more; add a noun",
                REPEATED_DEFINITIONS_MIN, definition.name
            );
            violations.push(TidyViolation::new(&file.path, definition.line, message));
        }
    }
    violations
}
