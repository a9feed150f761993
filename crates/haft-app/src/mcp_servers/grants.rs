//! What servers are granted, in words, and what to say where one fails that may lack something. What a grant means is decided
//! elsewhere.

use super::runners::Download;
use crate::manifest::ServerEntry;

/// What programs say when a confined one looks for files that it was not granted. Names of errors are in capitals, as a part of
/// `FileNotFoundError` is one of hosts otherwise.
const FILES_LACKING: [&str; 9] = [
    "No such file",
    "no such file",
    "Permission denied",
    "permission denied",
    "not permitted",
    "Read-only file system",
    "ENOENT",
    "EACCES",
    "EPERM",
];
/// What they say when it looks for hosts.
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
/// What haft says of servers that were started and failed then.
const BEGUN: [&str; 3] = ["its process", "it did not answer", "it closed its output"];

/// Returns what a server of this machine is granted, in words.
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

/// Says what a failed server may lack, judging by its words; nothing if they are about something else.
pub(super) fn missing_grant(name: &str, entry: &ServerEntry, said: &str) -> Option<String> {
    if entry.url.is_some() {
        return None;
    }
    let says = |words: &[&str]| words.iter().any(|words| said.contains(words));
    let keys = match (says(&FILES_LACKING), says(&HOSTS_LACKING)) {
        (_, true) => "requires.net.hosts",
        (true, false) => "requires.fs.read, requires.fs.write or readable",
        (false, false) => return None,
    };
    let granted = grant_summary(entry);
    Some(format!(
        "the server is granted this: {granted}; if it lacks something, name it with {keys} in [mcp.{name}] of haft.toml"
    ))
}

/// Returns the hint for a server of this machine that did not start: the commands that help, or where more is granted.
pub(super) fn hint(name: &str, entry: &ServerEntry, said: &str) -> Option<String> {
    if let Some(download) = Download::of(entry).filter(|_| entry.requires.net.hosts.is_empty()) {
        return Some(format!("{}:\n{}", download.problem(), download.install_advice(name)));
    }
    missing_grant(name, entry, said).or_else(|| {
        let is_granted = entry.url.is_some() || !entry.requires.is_empty();
        let has_begun = BEGUN.iter().any(|words| said.contains(words));
        (has_begun && !is_granted).then(|| {
            format!(
                "the server is granted nothing; if it needs files or hosts, name them with requires in [mcp.{name}] of haft.toml"
            )
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_may_lack_is_told_from_its_words() {
        let check = |more: &str, said: &str, expect: Option<&str>| {
            let entry: ServerEntry = toml::from_str(more).unwrap();
            assert_eq!(missing_grant("odd", &entry, said).as_deref(), expect, "{said}");
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
        check("command = \"a\"", "the city is not known", None);
        check("url = \"https://a.example\"", "Connection refused", None);
    }
}
