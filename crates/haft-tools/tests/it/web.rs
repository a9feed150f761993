//! The tools that use the web, through the whole pipeline, against servers of this machine that behave as badly as the web
//! does.

mod encrypted;
mod fetch;
mod search;
mod stage;
mod zoo;
