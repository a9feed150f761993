//! Plans driven through a real runtime.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it stands")]

mod agent_nodes;
mod ahead;
mod asks;
mod drive;
mod kept;
mod past;
mod random;
mod resume;
mod stage;
