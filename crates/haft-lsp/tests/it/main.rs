//! The tool `lsp` through the whole pipeline, with real and misbehaving servers in the kernel
//! sandbox.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it stands")]

mod failures;
mod questions;
mod real;
mod stage;
