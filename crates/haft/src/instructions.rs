//! The instructions of a project for every agent: the files AGENTS.md, CLAUDE.md and CONTEXT.md of the workspace and of
//! the directories above it. haft returns them as one text for a front end that builds a prompt. The front end decides
//! whether a model sees them. Their text comes from the project, not from the user or from haft.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use haft_sandbox::{Root, RootError};
use serde::Serialize;

use crate::skills::project_directories;

/// The files, in the order in which those of one directory come.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", "CONTEXT.md"];
/// Longest project instructions, in tokens of four bytes.
///
/// Limit (agents): the outermost files are cut.
pub(crate) const INSTRUCTIONS_TOKENS_MAX: usize = 8_000;
/// Files of project instructions.
///
/// Limit (agents): the outermost files are left out.
pub(crate) const INSTRUCTION_FILES_MAX: usize = 32;
/// How many bytes are counted as one token. Tokens differ from model to model; of English text one is about four bytes.
const TOKEN_BYTES: usize = 4;
/// Bytes of all files together.
const BYTES_MAX: usize = INSTRUCTIONS_TOKENS_MAX * TOKEN_BYTES;

/// The instructions of a project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Instructions {
    /// The files, outermost first, so that the nearest have the last word.
    pub files: Vec<InstructionFile>,
    /// Files that are not used, and why, one line each.
    pub problems: Vec<String>,
}

/// One file of instructions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InstructionFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The text of the file, or the beginning of it.
    pub text: String,
    /// Whether the end of the text was cut off.
    pub is_cut: bool,
}

impl Instructions {
    /// Returns the text of all files, each with a heading that names the file. Without files, the text is empty.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for file in &self.files {
            let gap = if text.is_empty() { "" } else { "\n\n" };
            let cut = if file.is_cut { "\n\n(The rest of this file is left out.)" } else { "" };
            let _ = write!(text, "{gap}# {}\n\n{}{cut}", file.path.display(), file.text.trim());
        }
        text
    }

    /// Returns the estimated number of tokens: a quarter of the bytes of all files.
    pub fn tokens(&self) -> usize {
        let bytes: usize = self.files.iter().map(|file| file.text.len()).sum();
        bytes.div_ceil(TOKEN_BYTES)
    }
}

/// Collects the instructions for a workspace, from its root and the directories above it.
///
/// The search ends at the top of the repository. Without a repository, it ends below `home`. All files together have at
/// most 8,000 tokens, and the nearest files come first. Unreadable files are problems, not errors.
pub fn load_instructions(root: &Path, home: Option<&Path>) -> Instructions {
    let way_up = project_directories(root, home);
    let Some(top) = way_up.last() else { return Instructions::default() };
    let top = match Root::open(top) {
        Ok(top) => top,
        Err(err) => return Instructions { files: Vec::new(), problems: vec![err.to_string()] },
    };
    let mut collected = Instructions::default();
    let mut seen = BTreeSet::new();
    let mut bytes_left = BYTES_MAX;
    let is_name = |name: &OsStr| NAMES.iter().any(|known| name == *known);
    for directory in &way_up {
        // A file with several names counts once, and so does a file of a nearer directory.
        let mut places = Vec::new();
        for path in NAMES.map(|name| directory.join(name)) {
            let relative = path.strip_prefix(top.path()).unwrap_or(&path);
            let problem = match top.resolve(relative) {
                Ok(resolved) if resolved.kind.is_none() => continue,
                // No rule judges these reads. A link therefore must not show a model a file that rules protect.
                Ok(resolved) if !resolved.path.file_name().is_some_and(is_name) => {
                    OTHER_NAME.to_owned()
                }
                Ok(resolved) => {
                    if seen.insert(resolved.path.clone()) {
                        places.push((path, resolved.path));
                    }
                    continue;
                }
                Err(err) => refused(err),
            };
            collected.problems.push(format!("{}: {problem}", path.display()));
        }
        // Nearest first here, so within a directory the last name comes first, too.
        for (path, place) in places.into_iter().rev() {
            let (text, is_cut) = match read(&top, &place, bytes_left) {
                Ok(read) => read,
                Err(problem) => {
                    collected.problems.push(format!("{}: {problem}", path.display()));
                    continue;
                }
            };
            if collected.files.len() == INSTRUCTION_FILES_MAX || (text.is_empty() && is_cut) {
                let why = "left out, because nearer files take all the room that there is";
                collected.problems.push(format!("{}: {why}", path.display()));
                continue;
            }
            bytes_left = bytes_left.saturating_sub(text.len());
            collected.files.push(InstructionFile { path, text, is_cut });
        }
    }
    collected.files.reverse();
    collected
}

/// Why a link is not followed within the project.
const OTHER_NAME: &str = "left out, because it is a link to a file that is not called AGENTS.md, CLAUDE.md or CONTEXT.md: copy the \
                          file, or rename it";

/// Returns why a file of the project is not read.
fn refused(err: RootError) -> String {
    match err {
        RootError::Escape { .. } | RootError::Outside { .. } => {
            "left out, because it is a link that leads out of the project".to_owned()
        }
        err => format!("left out: {err}"),
    }
}

/// Returns the text of a file up to `bytes_max` bytes, and whether the file is longer.
fn read(top: &Root, place: &Path, bytes_max: usize) -> Result<(String, bool), String> {
    let opened = top.open_file(place).map_err(refused)?;
    let mut bytes = Vec::new();
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    opened.file.take(limit).read_to_end(&mut bytes).map_err(|err| format!("left out: {err}"))?;
    let is_cut = bytes.len() > bytes_max;
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // Only a character at the very end can be cut in two.
        Err(err) if is_cut && err.utf8_error().error_len().is_none() => {
            let end = err.utf8_error().valid_up_to();
            let bytes = err.into_bytes();
            String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
        }
        Err(_) => return Err("left out: expected UTF-8, found other bytes".to_owned()),
    };
    let end = text.floor_char_boundary(bytes_max);
    Ok((text.get(..end).unwrap_or_default().to_owned(), is_cut))
}

#[cfg(test)]
mod tests;
