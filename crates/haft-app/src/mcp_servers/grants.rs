//! Describes the grants of MCP servers, and says which grant a failed server may lack. The sandbox enforces the grants.

use std::path::{Path, PathBuf};

use haft_contract::{ErrorCode, ToolError};

use super::runners::Download;
use crate::app_error::NextStep;
use crate::manifest::ServerEntry;

/// Words of programs that were not granted the files that they look for. The names of errors are in capitals, because a part of
/// `FileNotFoundError` would otherwise be one of hosts.
const FILES_LACKING: [&str; 8] = [
    "No such file",
    "no such file",
    "Permission denied",
    "permission denied",
    "not permitted",
    "ENOENT",
    "EACCES",
    "EPERM",
];
/// Words of programs that may read the files, but were not granted to change them.
const CHANGES_LACKING: [&str; 4] =
    ["Read-only file system", "read-only file system", "readonly database", "EROFS"];
/// Words of programs that were not granted the hosts that they look for.
const HOSTS_LACKING: [&str; 13] = [
    "Connection refused",
    "connection refused",
    "name resolution",
    "Name or service not known",
    "Network is unreachable",
    "fetch failed",
    "ould not resolve",
    "getaddrinfo",
    "is not granted to this call",
    "ECONNREFUSED",
    "EAI_AGAIN",
    "ENOTFOUND",
    "ENETUNREACH",
];

/// Returns the grants of a server of this machine in words, such as `reads src/**; reaches api.example.org`.
pub fn grant_summary(entry: &ServerEntry) -> String {
    let requires = &entry.requires;
    let grants = [
        ("reads", &requires.fs.read),
        ("changes", &requires.fs.write),
        ("reaches", &requires.net.hosts),
    ];
    let named = grants.iter().filter(|(_, items)| !items.is_empty());
    let words: Vec<String> =
        named.map(|(verb, items)| format!("{verb} {}", items.join(", "))).collect();
    if words.is_empty() { "nothing".to_owned() } else { words.join("; ") }
}

/// Returns which grant a failed server may lack, judging by its words; nothing if they are about something else. `directories`
/// are those that it sees.
pub(super) fn missing_grant(
    name: &str,
    entry: &ServerEntry,
    directories: &[PathBuf],
    said: &str,
) -> Option<String> {
    if entry.url.is_some() {
        return None;
    }
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    let keys = if says(&CHANGES_LACKING) {
        "requires.fs.write"
    } else if says(&HOSTS_LACKING) {
        "requires.net.hosts"
    } else if says(&FILES_LACKING) {
        "requires.fs.read, requires.fs.write or readable"
    } else if unseen_path(said, directories).is_some() {
        // Some programs say the path and nothing else.
        "requires.fs.read or requires.fs.write"
    } else {
        return None;
    };
    let granted = grant_summary(entry);
    Some(format!(
        "the server is granted this: {granted}; if it lacks something, name it with {keys} in [mcp.{name}] of haft.toml"
    ))
}

/// Directories of the system that a server sees without a grant.
const SYSTEM_DIRECTORIES: [&str; 8] =
    ["/bin", "/dev", "/etc", "/lib", "/proc", "/sys", "/tmp", "/usr"];

/// Returns an absolute path in what a server said that is there and that the server does not see.
fn unseen_path<'s>(said: &'s str, directories: &[PathBuf]) -> Option<&'s Path> {
    let is_around = |letter: char| letter.is_whitespace() || "'\"`()[]{}<>,;".contains(letter);
    let words = said.split(is_around).map(|word| word.trim_end_matches(['.', ':']));
    let paths = words.map(Path::new).filter(|path| path.is_absolute() && path.parent().is_some());
    let is_seen = |path: &Path| {
        SYSTEM_DIRECTORIES.iter().any(|directory| path.starts_with(directory))
            || directories.iter().any(|directory| path.starts_with(directory))
    };
    paths.into_iter().find(|path| !is_seen(path) && path.exists())
}

/// Returns the step that helps when a server of this machine did not start: the program is installed, or the server is
/// granted more. `is_startable` says whether haft had everything to start the server.
pub(super) fn start_step(
    name: &str,
    entry: &ServerEntry,
    err: &ToolError,
    is_startable: bool,
) -> Option<NextStep> {
    if let Some(download) = Download::of(entry).filter(|_| entry.requires.net.hosts.is_empty()) {
        return Some(NextStep::InstallServer(Box::new(download.install(name))));
    }
    let is_granted = entry.url.is_some() || !entry.requires.is_empty();
    let has_failed = is_startable && err.code == ErrorCode::Unavailable;
    let advice = missing_grant(name, entry, &[], &err.message).or_else(|| {
        (has_failed && !is_granted).then(|| {
            format!(
                "the server is granted nothing; if it needs files or hosts, name them with requires in [mcp.{name}] of haft.toml"
            )
        })
    });
    advice.map(NextStep::Advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory that is there on every machine that builds this, and is none of the system's.
    const SEEN: &str = env!("CARGO_MANIFEST_DIR");

    #[test]
    fn a_plain_path_that_a_server_does_not_see_is_told() {
        let entry: ServerEntry = toml::from_str("command = \"a\"").unwrap();
        let found =
            |said: &str, directories: &[PathBuf]| missing_grant("git", &entry, directories, said);
        let said = format!("Error executing tool git_status: {SEEN}");
        let expect = "the server is granted this: nothing; if it lacks something, name it with requires.fs.read or requires.fs.write in [mcp.git] of haft.toml";
        assert_eq!(found(&said, &[]).as_deref(), Some(expect));
        assert_eq!(found(&said, &[SEEN.into()]), None);
        assert_eq!(found("Error executing tool git_status: /nowhere/at/all", &[]), None);
        assert_eq!(found("the rate is 3 km / h, see /usr.", &[]), None);
    }

    #[test]
    fn what_a_server_may_lack_is_told_from_its_words() {
        let check = |more: &str, said: &str, expect: Option<&str>| {
            let entry: ServerEntry = toml::from_str(more).unwrap();
            let directories = [PathBuf::from(SEEN)];
            let found = missing_grant("odd", &entry, &directories, said);
            assert_eq!(found.as_deref(), expect, "{said}");
        };
        check(
            "command = \"a\"",
            "FileNotFoundError: [Errno 2] No such file or directory: 'x'",
            Some(
                "the server is granted this: nothing; if it lacks something, name it with requires.fs.read, requires.fs.write or readable in [mcp.odd] of haft.toml",
            ),
        );
        check(
            "command = \"a\"\nrequires.fs.read = [\"src/**\"]",
            "TypeError: fetch failed",
            Some(
                "the server is granted this: reads src/**; if it lacks something, name it with requires.net.hosts in [mcp.odd] of haft.toml",
            ),
        );
        check(
            "command = \"a\"\nrequires.fs.read = [\"src/**\"]",
            "EROFS: read-only file system, open 'src/a.txt'",
            Some(
                "the server is granted this: reads src/**; if it lacks something, name it with requires.fs.write in [mcp.odd] of haft.toml",
            ),
        );
        check("command = \"a\"", "the city is not known", None);
        check("url = \"https://a.example\"", "Connection refused", None);
    }
}
