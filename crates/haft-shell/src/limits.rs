//! The limits of an analysis, gathered for documentation and tests. Each is defined where it is
//! used. Beyond most of them the whole line is unknown, because a decision must not be based on a
//! part of it.

pub use crate::directories::PLACES_MAX;
pub use crate::findings::{COMMANDS_MAX, FILES_MAX, THROUGH_MAX};
pub use crate::syntax::{FUEL_MAX, LINE_BYTES_MAX, NESTING_MAX};
