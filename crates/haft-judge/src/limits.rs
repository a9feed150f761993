//! The bounds of a judgement, gathered for whoever lists or tests them. Each is defined where it is used; beyond most of
//! them a line is unknown as a whole, because a part of it is nothing to decide on.

pub use crate::places::PLACES_MAX;
pub use crate::syntax::{DESCRIPTOR_DIGITS_MAX, FUEL_MAX, LINE_BYTES_MAX, NESTING_MAX};
pub use crate::walk::{COMMANDS_MAX, FILES_MAX, THROUGH_MAX};
