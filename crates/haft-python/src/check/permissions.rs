//! What METADATA requires of the outside, and whether a process can be held to it.
//!
//! A worker sees all of the workspace, so reading less of it cannot be promised; it changes whole directories; hosts are
//! reached through its own proxy. What it starts is confined with it, so commands need no grant of their own.

use haft_contract::{Access, FsRequirement, NetRequirement, RequirementSet, Writable};
use serde::Deserialize;
use serde_json::Value;

use super::Permissions;
use super::findings::Findings;
use crate::problem::ProblemCode;

const WORKSPACE: &str = "{workspace}";

/// Returns what a tool needs, or nothing if it cannot have that.
pub(super) fn check(requires: Option<&Value>, findings: &mut Findings<'_>) -> Option<Permissions> {
    let declared = match requires {
        None | Some(Value::Null) => RequirementSet::default(),
        Some(value) => match RequirementSet::deserialize(value) {
            Ok(declared) => declared,
            Err(err) => {
                findings.error(
                    findings.in_metadata("/requires"),
                    ProblemCode::Requires,
                    format!("requires cannot be understood: {err}"),
                    "write {\"fs\": {\"write\": [\"out/**\"]}, \"net\": {\"hosts\": [\"api.example.com\"]}}, each part \
                     if it is needed",
                );
                return None;
            }
        },
    };
    report_reads(&declared, findings);
    report_commands(&declared, findings);
    let directories = directories(&declared.fs.write, findings)?;
    let hosts = hosts(&declared.net.hosts, findings)?;
    Some(permissions(directories, hosts, declared.capabilities))
}

fn permissions(
    directories: Vec<String>,
    hosts: Vec<String>,
    capabilities: Vec<String>,
) -> Permissions {
    let mut accesses = vec![Access::read(".")];
    let is_everything = directories.iter().any(|directory| directory == ".");
    let directories = if is_everything { vec![".".to_owned()] } else { directories };
    accesses.extend(directories.iter().map(Access::write));
    accesses.extend(hosts.iter().map(|host| Access::Net { host: host.clone() }));
    accesses.extend(capabilities.iter().map(|name| Access::Named { name: name.clone() }));
    let pattern = |directory: &String| match directory.as_str() {
        "." => format!("{WORKSPACE}/**"),
        directory => format!("{directory}/**"),
    };
    let requires = RequirementSet {
        fs: FsRequirement {
            read: vec![format!("{WORKSPACE}/**")],
            write: directories.iter().map(pattern).collect(),
        },
        net: NetRequirement { hosts },
        shell: Vec::new(),
        capabilities,
    };
    let writable = match directories.as_slice() {
        [] => Writable::Nothing,
        _ if is_everything => Writable::Roots,
        _ => Writable::Beneath(directories),
    };
    Permissions { requires, accesses, writable }
}

fn report_reads(declared: &RequirementSet, findings: &mut Findings<'_>) {
    for (index, pattern) in declared.fs.read.iter().enumerate() {
        let at = findings.in_metadata(&format!("/requires/fs/read/{index}"));
        if is_within_workspace(pattern) {
            if !matches!(pattern.as_str(), "**" | "*" | "{workspace}" | "{workspace}/**") {
                findings.warning(
                    at,
                    ProblemCode::Requires,
                    format!("reading cannot be limited to {pattern:?}: the tool's process sees all of the workspace"),
                    "leave it out, which grants reading the workspace",
                );
            }
            continue;
        }
        findings.error(
            at,
            ProblemCode::Requires,
            format!("{pattern:?} is outside the workspace, which tools do not read"),
            "add the directory to the roots, or to what the directory of tools may read",
        );
    }
}

fn is_within_workspace(pattern: &str) -> bool {
    let rest = pattern.strip_prefix(WORKSPACE).unwrap_or(pattern);
    let is_relative = rest.len() < pattern.len() || !rest.starts_with(['/', '{', '~']);
    is_relative && !rest.split('/').any(|name| name == "..")
}

fn report_commands(declared: &RequirementSet, findings: &mut Findings<'_>) {
    if !declared.shell.is_empty() {
        findings.warning(
            findings.in_metadata("/requires/shell"),
            ProblemCode::Requires,
            "shell means nothing for a Python tool: what it starts is confined with it",
            "leave it out",
        );
    }
}

/// Returns the directories that the tool changes, relative to the root.
fn directories(patterns: &[String], findings: &mut Findings<'_>) -> Option<Vec<String>> {
    let mut directories = Vec::new();
    let mut all_good = true;
    for (index, pattern) in patterns.iter().enumerate() {
        match directory_of(pattern) {
            Some(directory) if directories.contains(&directory) => {}
            Some(directory) => directories.push(directory),
            None => {
                all_good = false;
                findings.error(
                    findings.in_metadata(&format!("/requires/fs/write/{index}")),
                    ProblemCode::Requires,
                    format!("a process cannot be held to writing {pattern:?}: only whole directories can be confined"),
                    "name a directory of the workspace and all in it, such as \"out/**\" or \"{workspace}/**\"",
                );
            }
        }
    }
    all_good.then_some(directories)
}

/// Returns the directory that a pattern names with all in it; `.` is the root.
fn directory_of(pattern: &str) -> Option<String> {
    if !is_within_workspace(pattern) {
        return None;
    }
    let within = pattern.strip_prefix(WORKSPACE).map_or(Some(pattern), |rest| {
        if rest.is_empty() { None } else { rest.strip_prefix('/') }
    })?;
    if within == "**" {
        return Some(".".to_owned());
    }
    let directory = within.strip_suffix("/**")?;
    let is_plain = !directory.contains(['*', '?', '[', ']', '{', '}', '\\', '\0']);
    let names_all = directory.split('/').all(|name| !name.is_empty() && name != ".");
    (is_plain && names_all).then(|| directory.to_owned())
}

fn hosts(patterns: &[String], findings: &mut Findings<'_>) -> Option<Vec<String>> {
    let mut hosts = Vec::new();
    let mut all_good = true;
    for (index, pattern) in patterns.iter().enumerate() {
        let host = pattern.to_ascii_lowercase();
        if is_host(&host) {
            hosts.push(host);
            continue;
        }
        all_good = false;
        findings.error(
            findings.in_metadata(&format!("/requires/net/hosts/{index}")),
            ProblemCode::Requires,
            format!("{pattern:?} is no host"),
            "name the host alone, such as \"api.example.com\" or \"*.example.com\", without scheme, port and path",
        );
    }
    all_good.then_some(hosts)
}

fn is_host(text: &str) -> bool {
    let name = text.strip_prefix("*.").unwrap_or(text);
    let is_good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let is_address = name.parse::<std::net::Ipv6Addr>().is_ok();
    let is_name = !name.is_empty() && !name.starts_with(['.', '-']) && name.bytes().all(is_good);
    text == "*" || is_address || is_name
}
