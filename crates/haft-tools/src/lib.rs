//! The locked tools and their extensions, one file each. They know the contract only: whatever they reach,
//! they reach through the context of a call.

mod aliases;
mod apply_patch;
mod bash;
mod charset;
mod command_tool;
mod edit;
mod glob;
mod grep;
mod options;
mod profile;
mod question;
mod read;
mod repo_clone;
mod repo_overview;
mod skill;
mod smithers;
mod task;
mod text_file;
mod todo;
mod tool_search;
mod view;
mod walk;
mod web_fetch;
mod web_search;
mod write;

#[cfg(test)]
mod testing;

pub use command_tool::{ArgvItem, CommandToolProblem, CommandToolSpec, command_tool};
pub use options::ToolOptions;
pub use profile::{Profile, UnknownProfile, tools};
pub use skill::skill_text;
pub use web_fetch::PageReaderProgram;
pub use web_search::{
    SEARCH_MS_DEFAULT, SEARCHES_DEFAULT, SearchApiKey, SearchProvider, SearchProviderError,
    SearchProviderKind, UnknownSearchProviderKind, WebSearchOptions,
};
