//! The tools as callers meet them: through the whole pipeline, on real files.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop where it stands")]

mod apply_patch;
mod edit;
mod journal;
mod question;
mod read;
mod skill;
mod smithers;
mod todo;
mod web;
mod workspace;
mod write;
