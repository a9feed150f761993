//! The locked tools and their extensions, one file each. They know the contract only: whatever they reach,
//! they reach through the context of a call.

mod apply_patch;
mod bash;
mod edit;
mod glob;
mod grep;
pub mod limits;
mod profile;
mod read;
mod smithers;
mod text_file;
mod todo;
mod walk;
mod write;

#[cfg(test)]
mod testing;

pub use profile::{Profile, UnknownProfile, tools};

// The pure text engines are public for whoever wants to fuzz or reuse them.
pub mod edit_match;
pub mod patch;
