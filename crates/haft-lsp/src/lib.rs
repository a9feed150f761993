//! The tool `lsp`: where a name is defined and used, what it is, what is wrong with a file, found by language servers. They
//! are programs of other people that read the whole workspace: each is started when it is first asked, confined like any
//! command, able to change nothing and to reach no host, and trusted in nothing that it says. Nothing here edits a file;
//! what a server would change is refused.

mod answer;
mod diagnostics;
mod document;
mod framing;
mod hear;
mod language;
pub mod limits;
mod link;
mod pool;
mod position;
mod server;
#[cfg(test)]
mod testing;
mod text;
mod tool;
mod watch;
mod wire;

pub use language::{
    Language, LanguageChange, NoProgram, ProgramFound, Programs, builtin_languages,
};
pub use tool::{LspOptions, lsp};
