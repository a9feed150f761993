//! The simulated fleet, in short histories.

mod fleet;
