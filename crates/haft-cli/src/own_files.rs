//! Rules that keep haft's own files from the tools where a root encloses them: whoever could write the journal, the
//! record of trust or the manifest would decide what is allowed and what is remembered. And rules that keep tools from
//! writing what others run by themselves. A command is not held by them.

use std::path::{Path, PathBuf};

use haft::{Registry, Roots};
use haft_contract::Contract;
use haft_policy::{Action, Rule, escape_path};

use crate::manifest::FILE_NAME;
use crate::state::State;

/// What git, editors, shells and agents run or obey by themselves: whoever writes it runs commands without `bash`.
const RUN_BY_OTHERS: &[&str] = &[
    "**/.git/hooks/**",
    "**/.git/config",
    "**/.vscode/**",
    "**/.idea/**",
    "**/.mcp.json",
    "**/.claude/**",
    "**/.envrc",
];

/// Where haft's own files are.
pub(crate) struct OwnFiles<'a> {
    /// The state directory, which is neither read nor written.
    pub(crate) state: &'a State,
    /// The journal, wherever it is; neither read nor written.
    pub(crate) journal: PathBuf,
    /// The manifest, which is not written.
    pub(crate) manifest: Option<&'a Path>,
}

impl OwnFiles<'_> {
    /// Returns the rules that are needed for these roots.
    pub(crate) fn rules(&self, roots: &Roots, registry: &Registry) -> Vec<Rule> {
        let encloses = |path: &Path| roots.paths().iter().any(|root| path.starts_with(root));
        let state = canonical(self.state.directory());
        let journal = canonical(&self.journal);
        let mut rules = Vec::new();
        if encloses(&state) {
            rules.extend(deny(&["fs.read", "fs.write"], &escape_path(&state), registry));
        }
        if encloses(&journal) && !journal.starts_with(&state) {
            // SQLite keeps what was written last beside the file, under its name and something more.
            let pattern = format!("{}*", escape_path(&journal));
            rules.extend(deny(&["fs.read", "fs.write"], &pattern, registry));
        }
        // Also where there is none yet: one that lies nearer comes before the one that holds now.
        rules.extend(deny(&["fs.write"], &format!("**/{FILE_NAME}"), registry));
        for pattern in RUN_BY_OTHERS {
            rules.extend(deny(&["fs.write"], pattern, registry));
        }
        let has_other_name = |path: &&Path| path.file_name().is_some_and(|name| name != FILE_NAME);
        if let Some(manifest) = self.manifest.filter(has_other_name).filter(|path| encloses(path)) {
            rules.extend(deny(&["fs.write"], &escape_path(manifest), registry));
        }
        rules
    }
}

/// A rule that names a tool comes before one that names a capability, so that the tools are named as well. Patterns of
/// a tool that runs commands are about command lines.
fn deny(capabilities: &[&str], pattern: &str, registry: &Registry) -> Vec<Rule> {
    let needs_one = |contract: &&Contract| {
        let fs = &contract.requires.fs;
        contract.requires.shell.is_empty()
            && ((capabilities.contains(&"fs.read") && !fs.read.is_empty()) || !fs.write.is_empty())
    };
    let tools = registry.contracts().filter(needs_one).map(|contract| contract.id.as_str());
    let permissions = capabilities.iter().copied().chain(tools);
    permissions.map(|permission| Rule::new(permission, pattern, Action::Deny)).collect()
}

/// Returns the canonical path of something that need not exist yet.
fn canonical(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = absolute.ancestors().find_map(|ancestor| {
        let rest = absolute.strip_prefix(ancestor).ok()?;
        // Component by component, because joining nothing would leave a slash at the end.
        Some(ancestor.canonicalize().ok()?.components().chain(rest.components()).collect())
    });
    existing.unwrap_or(absolute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_yet_is_found_through_links() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink("real", directory.path().join("link")).unwrap();
        let check = |path: &str, expect: &Path| {
            let found = canonical(&directory.path().join(path));
            // As texts: paths are equal with a slash at the end and without, patterns are not.
            assert_eq!(found.as_os_str(), expect.as_os_str());
        };
        check("link/a/b", &real.join("a/b"));
        check("link", &real);
    }
}
