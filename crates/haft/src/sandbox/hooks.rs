//! Finds the directory for git hooks that a repository's configuration sets with `core.hooksPath`, if it is inside the
//! repository. This module deliberately reads one setting of one file, as data. It ignores included files, the user's
//! own settings, and nested repositories.

use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use haft_sandbox::worktree_directories;

#[cfg(test)]
mod tests;

/// How much of a configuration is looked at.
pub(crate) const CONFIG_BYTES_MAX: u64 = 64 * 1_024;

/// How many directories one configuration can name that are protected; of more, the last ones are, as git obeys the last.
pub(crate) const DIRECTORIES_MAX: usize = 8;

/// Returns the directories beneath a root in which git looks for the hooks of the root's repository, as they are spelled,
/// the one that git obeys first.
pub(super) fn directories(root: &Path) -> Vec<PathBuf> {
    let Some(text) = configuration(root) else { return Vec::new() };
    let named = values(&text).into_iter().rev().filter_map(|value| within(root, &value));
    named.take(DIRECTORIES_MAX).collect()
}

/// Returns the beginning of the repository's configuration, or `None` if there is none.
fn configuration(root: &Path) -> Option<String> {
    let entry = root.join(".git");
    let is_linked = entry.symlink_metadata().ok()?.is_file();
    let repository = if is_linked { worktree_directories(root).ok()??.common_dir } else { entry };
    let path = repository.join("config");
    // Opening a pipe would wait for a process at its other end.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    File::open(path).ok()?.take(CONFIG_BYTES_MAX).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the path beneath the root that a value names. The root itself never counts as a directory of hooks.
fn within(root: &Path, value: &str) -> Option<PathBuf> {
    let path = Path::new(value);
    let path = if path.is_absolute() { path.strip_prefix(root).ok()? } else { path };
    let mut directory = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => directory.push(name),
            Component::CurDir => {}
            Component::ParentDir if directory.pop() => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    // git takes this for a home directory.
    let is_home = value.starts_with('~');
    (!is_home && !directory.as_os_str().is_empty()).then_some(directory)
}

/// Returns every value that the setting is given.
fn values(text: &str) -> Vec<String> {
    let mut values = Vec::new();
    let mut is_core = false;
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        if let Some((section, after)) = rest.strip_prefix('[').and_then(|it| it.split_once(']')) {
            is_core = section.trim().eq_ignore_ascii_case("core");
            rest = after.trim_start();
            continue;
        }
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '-';
        let (key, after) = rest.split_at(rest.find(|it| !is_word(it)).unwrap_or(rest.len()));
        let assigned = after.trim_start_matches([' ', '\t']).strip_prefix('=');
        let Some(assigned) = assigned.filter(|_| !key.is_empty()) else {
            rest = after_line(rest);
            continue;
        };
        let (value, after) = value(assigned);
        if is_core && key.eq_ignore_ascii_case("hookspath") {
            values.push(value);
        }
        rest = after;
    }
    values
}

/// Parses a value as git does, with quotes, escapes and continued lines, and returns it with the rest of the text.
fn value(text: &str) -> (String, &str) {
    let mut value = String::new();
    // White space within a value counts, and around it does not.
    let mut spaces = String::new();
    let mut is_quoted = false;
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        let literal = match character {
            '"' => {
                is_quoted = !is_quoted;
                continue;
            }
            '\n' | '#' | ';' if !is_quoted || character == '\n' => {
                return (value, after_line(text.get(at..).unwrap_or_default()));
            }
            '\\' => match characters.next().map(|(_, escaped)| escaped) {
                Some('\n') | None => continue,
                Some('n') => '\n',
                Some('t') => '\t',
                Some(escaped) => escaped,
            },
            character if character.is_whitespace() && !is_quoted => {
                spaces.push(character);
                continue;
            }
            character => character,
        };
        if !value.is_empty() {
            value.push_str(&spaces);
        }
        spaces.clear();
        value.push(literal);
    }
    (value, "")
}

/// Returns what follows the line that the text begins in.
fn after_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, after)| after.trim_start())
}
