//! Whether a git configuration that a command has written is one that git itself writes when it makes a repository, and
//! names no program to run, no file to include and nothing beyond the place it is in. It deliberately understands less
//! than git does: whatever is not plain is not harmless.

use std::collections::HashSet;
use std::path::Path;

/// How long a configuration can be that is looked at.
pub(crate) const CONFIG_BYTES_MAX: u64 = 64 * 1_024;

/// One setting: its section and name without regard to case, the part in quotes, the value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Setting {
    section: String,
    subsection: Option<String>,
    key: String,
    value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Value {
    /// The key stands alone, which means true.
    Absent,
    Text(String),
}

/// Tells whether every setting of a configuration is harmless, or was in the one that it replaces.
///
/// `may_be_worktree` decides about directories that `core.worktree` names, which git writes files to.
pub(super) fn is_harmless(
    text: &[u8],
    previous: Option<&[u8]>,
    may_be_worktree: impl Fn(&Path) -> bool,
) -> bool {
    if previous == Some(text) {
        return true;
    }
    let Some(settings) = parse(text) else { return false };
    let previous: HashSet<Setting> =
        previous.and_then(parse).unwrap_or_default().into_iter().collect();
    settings
        .iter()
        .all(|setting| previous.contains(setting) || setting.is_harmless(&may_be_worktree))
}

/// Reads the plain part of git's format; nothing if there is anything else in it.
fn parse(text: &[u8]) -> Option<Vec<Setting>> {
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
            section = Some(parse_section(header)?);
            continue;
        }
        let (section, subsection) = section.clone()?;
        let (key, value) = parse_setting(line)?;
        settings.push(Setting { section, subsection, key, value });
    }
    Some(settings)
}

/// Reads `name]` or `name "part"]`. A setting that follows on the same line is not plain.
fn parse_section(header: &str) -> Option<(String, Option<String>)> {
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
    (is_plain && is_word(name)).then(|| (name.to_ascii_lowercase(), subsection))
}

fn parse_setting(line: &str) -> Option<(String, Value)> {
    let (key, value) = match line.split_once('=') {
        None => (line, Value::Absent),
        Some((key, value)) => {
            let value = value.trim_matches([' ', '\t']);
            // Quotes, escapes, lines that go on and comments behind a value: none is needed, all hide something.
            if value.contains(['"', '\\', '#', ';']) {
                return None;
            }
            (key.trim_end_matches([' ', '\t']), Value::Text(value.to_owned()))
        }
    };
    is_word(key).then(|| (key.to_ascii_lowercase(), value))
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

impl Setting {
    fn is_harmless(&self, may_be_worktree: impl Fn(&Path) -> bool) -> bool {
        let has_part = self.subsection.is_some();
        let value = match &self.value {
            Value::Absent => "true",
            Value::Text(text) => text,
        };
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

/// What git writes into a new repository, and switches that only change how content is compared and stored.
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

/// Tells whether an address is of a transport that git has built in, or names a remote. Of any other, git runs a program
/// that the address itself names.
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
            // `ssh` would read such a host as an option.
            is_known && !rest.starts_with('-')
        }
    }
}

#[cfg(test)]
mod tests;
