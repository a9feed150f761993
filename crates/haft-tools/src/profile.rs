//! Which tools are published, under which shapes.

use std::sync::Arc;

use haft_contract::Tool;

use crate::options::ToolOptions;
use crate::web_fetch::PageReaderPool;
use crate::{
    apply_patch, bash, edit, glob, grep, question, read, repo_clone, repo_overview, skill,
    smithers, task, todo, tool_search, view, web_fetch, web_search, write,
};

/// A set of tools with the shapes of one published specification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The agent tool contract: the locked tools and the extensions.
    #[default]
    Contract,
    /// The five Smithers tools with their exact schemas and messages.
    Smithers,
}

/// A profile of that name does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown profile {0:?}: expected \"contract\" or \"smithers\"")]
pub struct UnknownProfile(pub String);

impl std::str::FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        match name {
            "contract" => Ok(Self::Contract),
            "smithers" => Ok(Self::Smithers),
            other => Err(UnknownProfile(other.to_owned())),
        }
    }
}

/// Returns the tools of a profile.
pub fn tools(profile: Profile, options: &ToolOptions) -> Vec<Tool> {
    let reader = Arc::new(PageReaderPool::new(options.page_reader.clone()));
    match profile {
        Profile::Contract => vec![
            apply_patch::apply_patch(),
            bash::bash(),
            edit::edit(),
            glob::glob(),
            grep::grep(),
            question::question(),
            read::read(),
            repo_clone::repo_clone(),
            repo_overview::repo_overview(),
            skill::skill(),
            task::task(),
            todo::todo(),
            tool_search::tool_search(),
            view::view(Arc::clone(&reader)),
            web_fetch::web_fetch(reader),
            web_search::web_search(&options.web_search),
            write::write(),
        ],
        Profile::Smithers => smithers::tools(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_the_contract_gives_an_example_of_its_output() {
        for tool in tools(Profile::Contract, &ToolOptions::default()) {
            let contract = tool.valid_contract().unwrap();
            assert!(contract.example_output.is_some(), "{}: add `.example_output(…)`", contract.id);
        }
    }
}
