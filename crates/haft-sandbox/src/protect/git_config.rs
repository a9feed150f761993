//! Decides whether a git configuration is harmless: one that git itself writes for a new
//! repository, which names no program to run, no file to include and no path outside. The parser
//! deliberately understands less than git does. Anything that it does not understand is not
//! harmless.

use std::collections::HashSet;
use std::path::Path;

/// Maximum size of a configuration that is checked, in bytes.
pub(crate) const CONFIG_BYTES_MAX: u64 = 64 * 1_024;

/// One setting: section and name without regard to case, the quoted part, and the value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct GitSetting {
    section: String,
    subsection: Option<String>,
    key: String,
    /// A key without a value means true.
    value: Option<String>,
}

/// Returns whether every setting of a configuration is harmless or was in the previous
/// configuration.
///
/// `may_be_worktree` decides whether a directory is allowed in `core.worktree`, because git writes
/// files there.
pub(super) fn is_config_harmless(
    text: &[u8],
    previous: Option<&[u8]>,
    may_be_worktree: impl Fn(&Path) -> bool,
) -> bool {
    if previous == Some(text) {
        return true;
    }
    let Some(settings) = parse(text) else { return false };
    let previous: HashSet<GitSetting> =
        previous.and_then(parse).unwrap_or_default().into_iter().collect();
    settings
        .iter()
        .all(|setting| previous.contains(setting) || setting.is_harmless(&may_be_worktree))
}

/// Parses the plain part of git's format. Returns `None` if the text contains anything else.
fn parse(text: &[u8]) -> Option<Vec<GitSetting>> {
    let text = std::str::from_utf8(text).ok()?;
    let mut settings = Vec::new();
    let mut section = None;
    for line in text.split('\n') {
        let line = line.trim_matches([' ', '\t']);
        if line.chars().any(|character| character.is_control() && character != '\t') {
            return None;
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            // `name]` or `name "part"]`. A setting on the same line is not accepted.
            let header = header.strip_suffix(']')?;
            let (name, subsection) = match header.split_once([' ', '\t']) {
                None => (header, None),
                Some((name, rest)) => {
                    let rest = rest.trim_start_matches([' ', '\t']);
                    let part = rest.strip_prefix('"')?.strip_suffix('"')?;
                    (name, Some(part.to_owned()))
                }
            };
            let is_plain = subsection.as_ref().is_none_or(|part| !part.contains(['"', '\\']));
            if !is_plain || !is_word(name) {
                return None;
            }
            section = Some((name.to_ascii_lowercase(), subsection));
            continue;
        }
        let (section, subsection) = section.clone()?;
        let (key, value) = match line.split_once('=') {
            None => (line, None),
            Some((key, value)) => {
                let value = value.trim_matches([' ', '\t']);
                // A new repository needs no quotes, escapes, continuation lines or comments after a
                // value, and each of them can hide a value.
                if value.contains(['"', '\\', '#', ';']) {
                    return None;
                }
                (key.trim_end_matches([' ', '\t']), Some(value.to_owned()))
            }
        };
        if !is_word(key) {
            return None;
        }
        let key = key.to_ascii_lowercase();
        settings.push(GitSetting { section, subsection, key, value });
    }
    Some(settings)
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl GitSetting {
    fn is_harmless(&self, may_be_worktree: impl Fn(&Path) -> bool) -> bool {
        let has_part = self.subsection.is_some();
        let value = self.value.as_deref().unwrap_or("true");
        match (self.section.as_str(), has_part, self.key.as_str()) {
            ("core", false, "worktree") => may_be_worktree(Path::new(value)),
            ("core", false, key) => CORE.contains(&key),
            ("remote", true, "url" | "pushurl") => is_plain_address(value),
            (
                "remote",
                true,
                "fetch" | "tagopt" | "promisor" | "partialclonefilter" | "gh-resolved",
            ) => true,
            ("branch", true, "remote" | "pushremote") => is_plain_address(value),
            (
                "branch",
                true,
                "merge" | "rebase" | "description" | "vscode-merge-base" | "gh-merge-base",
            ) => true,
            ("user", false, "name" | "email") => true,
            ("extensions", false, key) => EXTENSIONS.contains(&key),
            ("submodule", true, "url") => is_plain_address(value),
            ("submodule", true, "active" | "branch") | ("submodule", false, "active") => true,
            ("pull", false, "rebase" | "ff") => true,
            ("push", false, "default" | "autosetupremote") => true,
            ("init", false, "defaultbranch") => true,
            ("index", false, "sparse" | "version") => true,
            ("gc", false, "auto") => true,
            ("lfs", false, "repositoryformatversion") => true,
            _ => false,
        }
    }
}

/// Settings that git writes into a new repository, and switches that only change how content is
/// compared and stored.
const CORE: &[&str] = &[
    "repositoryformatversion",
    "filemode",
    "bare",
    "logallrefupdates",
    "ignorecase",
    "precomposeunicode",
    "symlinks",
    "autocrlf",
    "eol",
    "safecrlf",
    "longpaths",
    "quotepath",
    "abbrev",
    "sparsecheckout",
    "sparsecheckoutcone",
    "sharedrepository",
];

const EXTENSIONS: &[&str] = &[
    "noop",
    "objectformat",
    "compatobjectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "relativeworktrees",
    "worktreeconfig",
];

/// Returns whether an address uses one of git's built-in transports or names a remote. For other
/// transports git runs a program that the address names.
fn is_plain_address(address: &str) -> bool {
    if address.is_empty() || address.starts_with('-') || address.contains("::") {
        return false;
    }
    match address.split_once("://") {
        None => true,
        Some((scheme, rest)) => {
            let is_known = ["https", "http", "ssh", "git", "file", "git+ssh", "ssh+git"]
                .iter()
                .any(|known| scheme.eq_ignore_ascii_case(known));
            // `ssh` would parse such a host as an option.
            is_known && !rest.starts_with('-')
        }
    }
}

#[cfg(test)]
mod tests;
