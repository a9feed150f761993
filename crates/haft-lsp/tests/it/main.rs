//! The tool `lsp` as callers meet it: through the whole pipeline, with servers in the kernel sandbox, real ones and such
//! that do everything wrong.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it stands")]

mod failures;
mod questions;
mod real;
mod stage;
