//! The skills of one connection. haft looks for them on first use and reads each skill once. A model that loads a skill
//! again gets the same text, even if the file changed.

use std::fmt::Write as _;
use std::sync::{Arc, OnceLock};

use haft_contract::{
    ConnectionStore, Contract, ErrorCode, LoadedSkill, SkillSummary, Skills, ToolError, ToolOrigin,
};
use haft_sandbox::Root;

use super::directory;
use super::front_matter::body;
use super::{
    FoundSkills, SKILL_INDEX_CHARS_MAX, SKILL_INDEX_LINE_CHARS_MIN, Skill, SkillLocation,
    SkillSearchPaths, find_skills,
};
use crate::suggestions::near_matches;

/// The skills of one session.
#[derive(Default)]
pub(crate) struct ConnectionSkills {
    /// The directories to search.
    places: SkillSearchPaths,
    /// The skills, once a caller needed them.
    found: OnceLock<FoundSkillEntries>,
}

/// The skills that were found.
struct FoundSkillEntries {
    /// The problems of skills that were left out, one line each.
    problems: Vec<String>,
    /// The skills, sorted by name.
    entries: Vec<SkillEntry>,
}

/// A skill, and its text once it was loaded.
struct SkillEntry {
    /// The skill as it was found.
    skill: Skill,
    /// The text and files, set when the skill is first loaded.
    loaded: OnceLock<LoadedSkillFiles>,
}

/// A loaded skill with its open directory.
struct LoadedSkillFiles {
    /// The text and the names of the files.
    skill: LoadedSkill,
    /// The directory, from which calls can read the files. A bundled skill has none.
    root: Option<Root>,
}

impl ConnectionSkills {
    /// Returns the skills of these directories, which are not searched yet.
    pub(crate) fn new(places: SkillSearchPaths) -> Self {
        Self { places, found: OnceLock::new() }
    }

    /// Returns a contract as a front end publishes it: the description of `skill` ends with the names and descriptions of
    /// all skills.
    pub(crate) fn describe_with_skills(&self, contract: Arc<Contract>) -> Arc<Contract> {
        if lists_skills(&contract) { Arc::new(self.with_index(&contract)) } else { contract }
    }

    /// Returns the contract with the list of skills at the end of its description.
    fn with_index(&self, contract: &Contract) -> Contract {
        let description = format!("{}{}", contract.description, skill_index(&self.index()));
        Contract { description, ..contract.clone() }
    }

    /// Returns the problems of the found skills, one line each.
    pub(crate) fn problems(&self) -> &[String] {
        &self.entries().problems
    }

    /// Returns the directories of loaded skills, each with its number.
    pub(crate) fn loaded_roots(&self) -> impl Iterator<Item = (usize, &Root)> {
        // Nothing was loaded before the skills were found.
        let entries = self.found.get().map(|found| found.entries.as_slice()).unwrap_or_default();
        let roots = entries.iter().enumerate();
        roots.filter_map(|(place, entry)| Some((place, entry.loaded.get()?.root.as_ref()?)))
    }

    /// Returns the directory with this number.
    pub(crate) fn loaded_root(&self, place: usize) -> Option<&Root> {
        self.found.get()?.entries.get(place)?.loaded.get()?.root.as_ref()
    }

    /// Returns the skills, and searches for them with the first call.
    fn entries(&self) -> &FoundSkillEntries {
        self.found.get_or_init(|| {
            let FoundSkills { skills, problems } = find_skills(&self.places);
            let entry = |skill| SkillEntry { skill, loaded: OnceLock::new() };
            FoundSkillEntries {
                problems: problems.iter().map(ToString::to_string).collect(),
                entries: skills.into_iter().map(entry).collect(),
            }
        })
    }
}

impl SkillSearchPaths {
    /// Returns a contract as a session with these places publishes it: the description of `skill` ends with the names and
    /// descriptions of all skills. Reads the file system.
    pub fn describe_with_skills(&self, contract: &Contract) -> Contract {
        if lists_skills(contract) {
            ConnectionSkills::new(self.clone()).with_index(contract)
        } else {
            contract.clone()
        }
    }
}

/// Returns whether this is haft's own tool that loads skills.
pub(crate) fn lists_skills(contract: &Contract) -> bool {
    contract.connection_store == Some(ConnectionStore::Skills)
        && contract.origin == ToolOrigin::Native
}

impl Skills for ConnectionSkills {
    fn index(&self) -> Vec<SkillSummary> {
        let entries = self.entries().entries.iter();
        let summary = |skill: &Skill| SkillSummary {
            name: skill.name.clone(),
            description: skill.description.clone(),
        };
        entries.map(|entry| summary(&entry.skill)).collect()
    }

    fn load(&self, name: &str) -> Result<LoadedSkill, ToolError> {
        let entries = &self.entries().entries;
        let entry = entries.iter().find(|entry| entry.skill.name == name);
        let Some(entry) = entry else {
            let names = || entries.iter().map(|entry| entry.skill.name.as_str());
            let (near, all) = (near_matches(name, names()), names().collect::<Vec<_>>().join(", "));
            let advice = if entries.is_empty() {
                "there are none here".to_owned()
            } else if near.is_empty() {
                format!("expected one of {all}")
            } else {
                format!("did you mean {}? There are {all}", near.join(" or "))
            };
            let shown: String = name.chars().take(super::SKILL_NAME_CHARS_MAX + 1).collect();
            let message = format!("no skill is called {shown:?}: {advice}");
            return Err(ToolError::new(ErrorCode::InvalidInput, message));
        };
        if let Some(kept) = entry.loaded.get() {
            return Ok(kept.skill.clone());
        }
        // If two calls load the skill first at the same time, both get the text that was stored first.
        let kept = read(&entry.skill)?;
        Ok(entry.loaded.get_or_init(|| kept).skill.clone())
    }
}

/// Returns the list of skills at the end of a description. All descriptions share the allowed length equally.
fn skill_index(skills: &[SkillSummary]) -> String {
    if skills.is_empty() {
        return "\n\nThere are no skills here.".to_owned();
    }
    let share = (SKILL_INDEX_CHARS_MAX / skills.len()).max(SKILL_INDEX_LINE_CHARS_MIN);
    let mut text = "\n\nThe skills are:".to_owned();
    for SkillSummary { name, description } in skills {
        let _ = match description.char_indices().nth(share) {
            Some((end, _)) => {
                write!(text, "\n- {name}: {}…", description.split_at(end).0.trim_end())
            }
            None => write!(text, "\n- {name}: {description}"),
        };
    }
    text
}

/// Reads a skill as it is now.
///
/// # Errors
///
/// Says that the directory of the skill was replaced by a link, or that its text is gone or not valid.
pub fn load_skill(skill: &Skill) -> Result<LoadedSkill, ToolError> {
    read(skill).map(|kept| kept.skill)
}

/// Reads a skill. Fails if the directory was replaced by a link, or the text is gone or not valid.
fn read(skill: &Skill) -> Result<LoadedSkillFiles, ToolError> {
    let failed = |message: String| {
        let message = format!("skill {:?} cannot be read any more: {message}", skill.name);
        ToolError::new(ErrorCode::ToolFailed, message)
    };
    let (held, root, files) = match &skill.location {
        SkillLocation::Bundled(text) => {
            (text.as_bytes().to_vec(), None, directory::SkillFiles::default())
        }
        SkillLocation::Directory(directory) => {
            let root = directory::open(directory).map_err(failed)?;
            // It was found at a place without links, and may lend its files to the session for that.
            if root.path() != directory {
                let place = root.path().display();
                return Err(failed(format!("a link to {place} has taken its place")));
            }
            let held = directory::read_whole(&root).map_err(failed)?;
            let files = directory::list_files(&root);
            (held, Some(root), files)
        }
    };
    let body = body(&held).map_err(|fault| failed(fault.message))?.to_owned();
    let loaded = LoadedSkill {
        name: skill.name.clone(),
        body,
        directory: root.as_ref().map(|root| root.path().to_path_buf()),
        files: files.names,
        has_more_files: files.has_more,
    };
    Ok(LoadedSkillFiles { skill: loaded, root })
}

#[cfg(test)]
mod tests;
