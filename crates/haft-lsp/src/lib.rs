//! The tool `lsp`: definitions and uses of a name, its description, and diagnostics of a file,
//! found by language servers. Servers are third-party programs that read the whole workspace. Each
//! is started on first use and confined like any command: it can change nothing and reach no host.
//! Its answers are not trusted. Nothing here edits a file; edits that a server requests are
//! refused.

mod answer_text;
mod diagnostics;
mod document;
mod framing;
mod language;
pub mod limits;
mod link;
mod options;
mod pool;
mod position;
mod project_files;
mod server;
mod server_state;
#[cfg(test)]
mod testing;
mod text;
mod tool;
mod wire;

pub use language::{
    Language, LanguageChange, ServerProgram, ServerProgramError, ServerProgramFinder,
    builtin_languages,
};
pub use options::LspOptions;
pub use tool::{LSP_TOOL, lsp};
