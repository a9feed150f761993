//! Skills: instructions for one kind of work. haft advertises each with a name and a line, and reads it on demand. This
//! module decides where to look, which of two skills with one name counts, and why a skill is ignored. haft runs
//! nothing of a skill and does not trust its text, which is model input like any file.

mod connection;
mod directory;
mod front_matter;
mod search_paths;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::file_problem::{FileProblem, ProblemSeverity};
pub use connection::load_skill;
pub(crate) use connection::{ConnectionSkills, lists_skills};
use directory::{list_entries, read_first_lines};
use front_matter::{SkillFrontMatter, parse};
pub(crate) use search_paths::project_directories;
pub use search_paths::{BundledSkill, SkillSearchPaths};

/// The file that makes a directory a skill.
const FILE_NAME: &str = "SKILL.md";
/// Skills of one session.
///
/// Limit (agents): further skills are left out with a warning.
pub(crate) const SKILLS_MAX: usize = 256;
/// Entries of one directory of skills that are looked at.
pub(crate) const SKILL_ENTRIES_MAX: usize = 1_024;
/// Largest `SKILL.md`, in bytes.
///
/// Limit (agents): the skill is left out.
pub(crate) const SKILL_BYTES_MAX: u64 = 200_000;
/// Longest name of a skill, in characters.
///
/// Limit (agents): the skill is left out.
pub(crate) const SKILL_NAME_CHARS_MAX: usize = 64;
/// Longest description of a skill that is shown to a model, in characters.
///
/// Limit (agents): the description is cut.
pub(crate) const SKILL_DESCRIPTION_CHARS_MAX: usize = 1_024;
/// Largest size of all skill descriptions within the description of the skill tool, in characters.
pub(crate) const SKILL_INDEX_CHARS_MAX: usize = 16_000;
/// Smallest size to which a description is cut if there are many skills, in characters.
pub(crate) const SKILL_INDEX_LINE_CHARS_MIN: usize = 60;
/// Files of a skill that are listed.
pub(crate) const SKILL_FILES_MAX: usize = 100;
/// Entries of a skill's directories that are looked at for its files.
pub(crate) const SKILL_FILES_SEEN_MAX: usize = 2_000;
/// How deep below a skill's directory its files are looked for.
pub(crate) const SKILL_DEPTH_MAX: usize = 8;

/// Where a skill was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillSource {
    /// In the workspace, or above it.
    Workspace,
    /// In one of the user's own directories.
    User,
    /// In the program.
    Bundled,
    /// In a directory that the configuration names.
    Configured,
}

/// A skill that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// The purpose of the skill, on one line.
    pub description: String,
    /// Where it was found.
    pub source: SkillSource,
    /// Where the text of the skill is.
    location: SkillLocation,
}

/// Where the text of a skill is.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SkillLocation {
    /// In a directory without any link in its path.
    Directory(PathBuf),
    /// In the program, with this text.
    Bundled(&'static str),
}

/// The skills in some directories, and the problems that were found there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundSkills {
    /// The skills, sorted by name; of one name, the first that was found.
    pub skills: Vec<Skill>,
    /// The problems, in the order in which they were found.
    pub problems: Vec<FileProblem>,
}

impl Skill {
    /// Returns the directory of the skill; a bundled one has none.
    pub fn directory(&self) -> Option<&Path> {
        match &self.location {
            SkillLocation::Directory(directory) => Some(directory),
            SkillLocation::Bundled(_) => None,
        }
    }

    /// Returns the name of its file for people.
    fn file(&self) -> PathBuf {
        match &self.location {
            SkillLocation::Directory(directory) => directory.join(FILE_NAME),
            SkillLocation::Bundled(_) => PathBuf::from(format!("(bundled) {}", self.name)),
        }
    }
}

/// Finds the skills of all places. Of two with one name the first counts: the workspace's before the user's, those before
/// the program's, and the configured ones last. Reads the file system; no file but `SKILL.md` is opened.
pub fn find_skills(places: &SkillSearchPaths) -> FoundSkills {
    let mut finder = SkillFinder::default();
    let way_up =
        places.root.as_deref().map(|root| project_directories(root, places.home.as_deref()));
    let way_up = way_up.unwrap_or_default();
    // The topmost directory holds all the others.
    let top = way_up.last().cloned();
    for above in &way_up {
        for name in [".agents/skills", ".claude/skills"] {
            finder.add_directory(&above.join(name), SkillSource::Workspace, top.as_deref());
        }
    }
    for directory in &places.user {
        finder.add_directory(directory, SkillSource::User, None);
    }
    for bundled in &places.bundled {
        let file = PathBuf::from(format!("(bundled) {}", bundled.name));
        match parse(bundled.text.as_bytes()) {
            Ok(front_matter) => {
                let place = SkillLocation::Bundled(bundled.text);
                finder.add(front_matter, &file, SkillSource::Bundled, place);
            }
            Err(fault) => finder.error(&file, fault.line, &fault.message),
        }
    }
    for directory in &places.configured {
        if !directory.exists() {
            finder.error(directory, None, "expected a directory of skills, found nothing there");
        }
        // A skill inside the workspace counts as the workspace's, even if the configuration names it.
        let is_within = |top: &&Path| directory.canonicalize().is_ok_and(|it| it.starts_with(top));
        finder.add_directory(directory, SkillSource::Configured, top.as_deref().filter(is_within));
    }
    finder.finish()
}

/// Checks one directory of skills, or one skill directory, without the other search paths.
pub fn check_skills(directory: &Path) -> FoundSkills {
    let mut finder = SkillFinder::default();
    if directory.join(FILE_NAME).symlink_metadata().is_ok() {
        finder.add_candidate(directory, SkillSource::Configured, None);
    } else if directory.is_dir() {
        finder.add_directory(directory, SkillSource::Configured, None);
    } else {
        finder.error(directory, None, "expected a skill or a directory of skills");
    }
    finder.finish()
}

/// Collects skills place by place.
#[derive(Default)]
struct SkillFinder {
    /// The skills and problems so far.
    found: FoundSkills,
    /// Directories that were looked at, so that one that several links lead to counts once.
    seen: BTreeSet<PathBuf>,
    /// The targets of links that were not followed, so that each is reported once.
    refused: BTreeSet<PathBuf>,
    /// Whether the problem of too many skills was reported.
    is_full: bool,
}

impl SkillFinder {
    /// Looks at the entries of a directory of skills, if there is one.
    fn add_directory(&mut self, directory: &Path, source: SkillSource, within: Option<&Path>) {
        let entries = match list_entries(directory) {
            Ok(entries) => entries,
            Err(message) => return self.error(directory, None, &message),
        };
        if entries.len() > SKILL_ENTRIES_MAX {
            let message =
                format!("more than {SKILL_ENTRIES_MAX} entries: the rest is not looked at");
            self.warning(directory, None, &message);
        }
        for entry in entries.iter().take(SKILL_ENTRIES_MAX) {
            self.add_candidate(entry, source, within);
        }
    }

    /// Adds the skill in the directory `entry`, if it is one.
    fn add_candidate(&mut self, entry: &Path, source: SkillSource, within: Option<&Path>) {
        let Ok(directory) = entry.canonicalize() else { return };
        if !directory.is_dir() {
            return;
        }
        // Otherwise a link of a workspace could give its skill the files of any directory of the user. The target stays
        // unseen, because it may be one of the user's skills.
        if within.is_some_and(|top| !directory.starts_with(top)) {
            if !self.refused.insert(directory.clone()) {
                return;
            }
            let message = format!(
                "a link that leads out of the workspace, to {}: copy the skill, or name its directory in skills.paths",
                directory.display()
            );
            return self.error(entry, None, &message);
        }
        if !self.seen.insert(directory.clone()) {
            return;
        }
        let file = entry.join(FILE_NAME);
        let held = match read_first_lines(&directory) {
            Ok(Some(held)) => held,
            Ok(None) => return,
            Err(message) => return self.error(&file, None, &message),
        };
        match parse(&held) {
            Ok(front_matter) => {
                let folder = entry.file_name().map(|name| name.to_string_lossy().into_owned());
                let name = front_matter.name.as_str();
                // The format wants both names to be one. Many skills differ, and nothing depends on it.
                if let Some(folder) = folder.filter(|folder| folder != name) {
                    let message = format!(
                        "the name {name:?} is not that of its directory, {folder:?}: rename one of them"
                    );
                    self.warning(&file, Some(front_matter.name_line), &message);
                }
                self.add(front_matter, &file, source, SkillLocation::Directory(directory));
            }
            Err(fault) => self.error(&file, fault.line, &fault.message),
        }
    }

    /// Adds a skill, unless another one has its name or there are too many.
    fn add(
        &mut self,
        front: SkillFrontMatter,
        file: &Path,
        source: SkillSource,
        place: SkillLocation,
    ) {
        if let Some(cut) = &front.cut_warning {
            self.warning(file, cut.line, &cut.message);
        }
        if let Some(first) = self.found.skills.iter().find(|known| known.name == front.name) {
            let message = format!(
                "another skill is called {:?} and comes first, so this one is left out: {}",
                front.name,
                first.file().display()
            );
            return self.warning(file, Some(front.name_line), &message);
        }
        if self.found.skills.len() >= SKILLS_MAX {
            if !std::mem::replace(&mut self.is_full, true) {
                let message = format!(
                    "more than {SKILLS_MAX} skills: this one and those after it are left out"
                );
                self.warning(file, None, &message);
            }
            return;
        }
        let SkillFrontMatter { name, description, .. } = front;
        self.found.skills.push(Skill { name, description, source, location: place });
    }

    /// Adds a problem that leaves a skill out.
    fn error(&mut self, file: &Path, line: Option<u64>, message: &str) {
        self.problem(ProblemSeverity::Error, file, line, message);
    }

    /// Adds a problem that does not leave a skill out by itself.
    fn warning(&mut self, file: &Path, line: Option<u64>, message: &str) {
        self.problem(ProblemSeverity::Warning, file, line, message);
    }

    /// Adds a problem with a file or a directory.
    fn problem(
        &mut self,
        severity: ProblemSeverity,
        file: &Path,
        line: Option<u64>,
        message: &str,
    ) {
        let (file, message) = (file.to_path_buf(), message.to_owned());
        self.found.problems.push(FileProblem { severity, file, line, message });
    }

    /// Sorts the skills by name.
    fn finish(mut self) -> FoundSkills {
        self.found.skills.sort_by(|one, other| one.name.cmp(&other.name));
        self.found
    }
}

#[cfg(test)]
mod tests;
