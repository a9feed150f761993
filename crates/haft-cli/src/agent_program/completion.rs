//! Tab completes a typed line: slash commands, names of agents, and files of the workspace after `@` or in a command.

use std::fs;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::slash::SLASH_COMMANDS;

/// Files that are offered for one word.
const FILES_OFFERED_MAX: usize = 200;
/// Entries of a directory that are looked at.
const ENTRIES_READ_MAX: usize = 10_000;

/// The names that lines are completed with.
pub(crate) struct LineCompletion {
    pub(super) root: PathBuf,
    pub(super) agents: Vec<String>,
}

impl LineCompletion {
    /// Returns where the word before the cursor begins, and the words that it can become.
    fn offers(&self, before: &str) -> (usize, Vec<String>) {
        let start = before.rfind(char::is_whitespace).map_or(0, |gap| gap + 1);
        let word = before.get(start..).unwrap_or_default();
        let offered = |names: &mut dyn Iterator<Item = String>| {
            names.filter(|name| name.starts_with(word)).collect::<Vec<_>>()
        };
        if start == 0 && word.starts_with('/') {
            let mut names = SLASH_COMMANDS.iter().map(|command| format!("/{}", command.name));
            return (0, offered(&mut names));
        }
        if before.get(..start).is_some_and(|first| first.trim() == "/agent") {
            return (start, offered(&mut self.agents.iter().cloned()));
        }
        if let Some(path) = word.strip_prefix('@') {
            let paths = self.paths(path).into_iter().map(|path| format!("@{path}"));
            return (start, paths.collect());
        }
        if let Some(first) = before.strip_prefix('!') {
            // The first word of a command follows its mark.
            let path = if start == 0 { first } else { word };
            return (before.len() - path.len(), self.paths(path));
        }
        (start, Vec::new())
    }

    /// Returns the paths in the workspace that begin like this one. Hidden files need their dot.
    fn paths(&self, begun: &str) -> Vec<String> {
        // The part up to the last slash is kept as it was typed.
        let (above, name) = begun.split_at(begun.rfind('/').map_or(0, |slash| slash + 1));
        let Ok(entries) = fs::read_dir(self.root.join(above)) else { return Vec::new() };
        let entries = entries.take(ENTRIES_READ_MAX).flatten().filter_map(|entry| {
            let file = entry.file_name().into_string().ok()?;
            let is_hidden = file.starts_with('.') && !name.starts_with('.');
            if is_hidden || !file.starts_with(name) || file.chars().any(char::is_control) {
                return None;
            }
            let end = if entry.path().is_dir() { "/" } else { "" };
            Some(format!("{above}{file}{end}"))
        });
        let mut paths: Vec<String> = entries.collect();
        paths.sort();
        paths.truncate(FILES_OFFERED_MAX);
        paths
    }
}

impl Completer for LineCompletion {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.offers(line.get(..pos).unwrap_or_default()))
    }
}

impl Hinter for LineCompletion {
    type Hint = String;
}

impl Highlighter for LineCompletion {}

impl Validator for LineCompletion {}

impl Helper for LineCompletion {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("src/deep")).unwrap();
        for file in ["src/lib.rs", "src/line.rs", "notes.txt", ".hidden"] {
            fs::write(directory.path().join(file), "").unwrap();
        }
        let agents = vec!["build".to_owned(), "plan".to_owned()];
        let completion = LineCompletion { root: directory.path().to_owned(), agents };
        let check = |before: &str, start: usize, expect: &[&str]| {
            let (found, offers) = completion.offers(before);
            assert_eq!(
                (found, offers),
                (start, expect.iter().map(|it| (*it).to_owned()).collect()),
                "{before}"
            );
        };
        check("/co", 0, &["/compact", "/cost"]);
        check("/agent p", 7, &["plan"]);
        check("fix /co", 4, &[]);
        check("see @", 4, &["@notes.txt", "@src/"]);
        check("see @src/li", 4, &["@src/lib.rs", "@src/line.rs"]);
        check("@.h", 0, &["@.hidden"]);
        check("!cat src/d", 5, &["src/deep/"]);
        check("!no", 1, &["notes.txt"]);
        check("see @nowhere/x", 4, &[]);
        check("", 0, &[]);
    }
}
