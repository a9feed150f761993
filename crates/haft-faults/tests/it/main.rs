//! What this crate offers to the tests of others.

mod fleet;
