//! The permissions that METADATA requires, and whether they can be enforced around a process.
//!
//! A worker sees the whole workspace, so reading less of it cannot be promised. Write access
//! applies to whole directories, and hosts are reached through the worker's own proxy. Child
//! processes are confined with it, so commands need no separate grant.

use haft_contract::{
    Access, FsRequirement, NetRequirement, PatternVariables, ProcessWriteAccess, RequirementSet,
    UnknownVariable,
};
use serde::Deserialize;
use serde_json::Value;

use super::findings::{Findings, escaped};
use super::metadata::show_value;
use crate::problem::ProblemCode;

/// The required permissions of a tool, as published, judged and enforced.
#[derive(Clone, Debug, PartialEq)]
pub struct PythonToolPermissions {
    /// The published form.
    pub requires: RequirementSet,
    /// The form that is judged before every call.
    pub accesses: Vec<Access>,
    /// The form that is enforced around its process.
    pub writable: ProcessWriteAccess,
}

const WORKSPACE: &str = "{workspace}";
/// The allowed keys of `requires`.
const PARTS: &[&str] = &["fs", "net", "shell", "capabilities"];
const MEND: &str = "write {\"fs\": {\"write\": [\"out/**\"]}, \"net\": {\"hosts\": [\"api.example.com\"]}}, each part if it \
                    is needed";

/// Returns the permissions of a tool, or `None` if they cannot be granted.
pub(super) fn check_permissions(
    requires: Option<&Value>,
    findings: &mut Findings<'_>,
) -> Option<PythonToolPermissions> {
    let errors_before = findings.errors();
    let declared = declared(requires, findings);
    for (index, pattern) in declared.fs.read.iter().enumerate() {
        let at = findings.in_metadata(&format!("/requires/fs/read/{index}"));
        if let Some(unknown) = unknown_variable(pattern) {
            findings.error(at, ProblemCode::Requires, unknown, VARIABLE_ADVICE);
        } else if !is_within_workspace(pattern) {
            findings.error(
                at,
                ProblemCode::Requires,
                format!(
                    "{pattern:?} is outside the workspace, and METADATA grants nothing there: what every program of the \
                     machine reads, such as most of /etc, a tool reads without asking"
                ),
                "leave it out; for a directory of your own add it to roots in haft.toml, or to readable of the [[python]] entry",
            );
        } else if !matches!(pattern.as_str(), "**" | "*" | "{workspace}" | "{workspace}/**") {
            findings.warning(
                at,
                ProblemCode::Requires,
                format!("reading cannot be limited to {pattern:?}: the tool's process sees all of the workspace"),
                "leave it out, which grants reading the workspace",
            );
        }
    }
    if !declared.shell.is_empty() {
        findings.warning(
            findings.in_metadata("/requires/shell"),
            ProblemCode::Requires,
            "shell means nothing for a Python tool: what it starts is confined with it",
            "leave it out",
        );
    }
    let mut directories = directories(&declared.fs.write, findings);
    let hosts = hosts(&declared.net.hosts, findings);
    if findings.errors() > errors_before {
        return None;
    }
    let is_everything = directories.iter().any(|directory| directory == ".");
    if is_everything {
        directories = vec![".".to_owned()];
    }
    let capabilities = declared.capabilities;
    let mut accesses = vec![Access::read(".")];
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
        [] => ProcessWriteAccess::Nothing,
        _ if is_everything => ProcessWriteAccess::Roots,
        _ => ProcessWriteAccess::Directories(directories),
    };
    Some(PythonToolPermissions { requires, accesses, writable })
}

/// Returns the declared requirements. Each part is parsed separately, so that one mistake does not
/// hide the next.
fn declared(requires: Option<&Value>, findings: &mut Findings<'_>) -> RequirementSet {
    let mut declared = RequirementSet::default();
    for (part, value) in parts(requires, "/requires", PARTS, findings) {
        let place = format!("/requires/{part}");
        match part {
            "fs" => {
                for (part, value) in parts(Some(value), &place, &["read", "write"], findings) {
                    let texts = texts(value, &format!("{place}/{part}"), findings);
                    let kept = match part {
                        "read" => &mut declared.fs.read,
                        _ => &mut declared.fs.write,
                    };
                    *kept = texts;
                }
            }
            "net" => {
                for (part, value) in parts(Some(value), &place, &["hosts"], findings) {
                    declared.net.hosts = texts(value, &format!("{place}/{part}"), findings);
                }
            }
            "capabilities" => declared.capabilities = texts(value, &place, findings),
            _ => match Vec::deserialize(value) {
                Ok(commands) => declared.shell = commands,
                Err(err) => findings.error(
                    findings.in_metadata(&place),
                    ProblemCode::Requires,
                    format!("shell cannot be understood: {err}"),
                    "leave it out: what a Python tool starts is confined with it",
                ),
            },
        }
    }
    declared
}

/// Returns the parts of a dictionary with known keys, and reports the others.
fn parts<'a>(
    value: Option<&'a Value>,
    place: &str,
    known: &[&'static str],
    findings: &mut Findings<'_>,
) -> Vec<(&'static str, &'a Value)> {
    let fields = match value {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(fields)) => fields,
        Some(other) => {
            let message =
                format!("{} is {}, expected a dictionary", named(place), show_value(other));
            findings.error(findings.in_metadata(place), ProblemCode::Requires, message, MEND);
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for (name, value) in fields {
        match known.iter().find(|part| *part == name) {
            Some(part) => found.push((*part, value)),
            None => findings.error(
                findings.in_metadata(&format!("{place}/{}", escaped(name))),
                ProblemCode::Requires,
                format!("{} has no part {name:?}, expected {}", named(place), known.join(", ")),
                MEND,
            ),
        }
    }
    found
}

/// Returns the strings of a list, and reports other values.
fn texts(value: &Value, place: &str, findings: &mut Findings<'_>) -> Vec<String> {
    let Value::Array(items) = value else {
        let message =
            format!("{} is {}, expected a list of texts", named(place), show_value(value));
        let mend = "put square brackets around it, and quotation marks around each text in it";
        findings.error(findings.in_metadata(place), ProblemCode::Requires, message, mend);
        return Vec::new();
    };
    let mut texts = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match item {
            Value::String(text) => texts.push(text.clone()),
            other => findings.error(
                findings.in_metadata(&format!("{place}/{index}")),
                ProblemCode::Requires,
                format!("{} holds {}, expected texts alone", named(place), show_value(other)),
                "write it as a text in quotation marks, or take it out",
            ),
        }
    }
    texts
}

/// Formats the location of a part for a message.
fn named(place: &str) -> String {
    place.trim_start_matches('/').replace('/', ".")
}

/// Says what to write in place of an unknown variable.
const VARIABLE_ADVICE: &str =
    "write {workspace}, or a path relative to the workspace; METADATA grants nothing outside of it";

/// Returns the words for the unknown variable that a pattern begins with, if it does.
fn unknown_variable(pattern: &str) -> Option<String> {
    let unknown = PatternVariables::default().split(pattern).err()?;
    Some(format!("{pattern:?}: {}", UnknownVariable::describe(&unknown.name)))
}

fn is_within_workspace(pattern: &str) -> bool {
    let rest = pattern.strip_prefix(WORKSPACE).unwrap_or(pattern);
    let is_relative = rest.len() < pattern.len() || !rest.starts_with(['/', '{', '~']);
    is_relative && !rest.split('/').any(|name| name == "..")
}

/// Returns the directories that the tool changes, relative to the root.
fn directories(patterns: &[String], findings: &mut Findings<'_>) -> Vec<String> {
    let mut directories = Vec::new();
    for (index, pattern) in patterns.iter().enumerate() {
        if let Some(unknown) = unknown_variable(pattern) {
            let at = findings.in_metadata(&format!("/requires/fs/write/{index}"));
            findings.error(at, ProblemCode::Requires, unknown, VARIABLE_ADVICE);
            continue;
        }
        match directory_of(pattern) {
            Some(directory) if directories.contains(&directory) => {}
            Some(directory) => directories.push(directory),
            None => findings.error(
                findings.in_metadata(&format!("/requires/fs/write/{index}")),
                ProblemCode::Requires,
                if is_within_workspace(pattern) {
                    format!(
                        "a process cannot be restricted to writing {pattern:?}: only whole directories can be confined"
                    )
                } else {
                    format!("{pattern:?} is outside the workspace, where tools change nothing")
                },
                "name a directory of the workspace and all in it, such as \"out/**\" or \"{workspace}/**\"",
            ),
        }
    }
    directories
}

/// Returns the directory that a pattern names with everything in it; `.` is the root.
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

fn hosts(patterns: &[String], findings: &mut Findings<'_>) -> Vec<String> {
    let mut hosts = Vec::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let host = pattern.to_ascii_lowercase();
        let name = host.strip_prefix("*.").unwrap_or(&host);
        let is_address = name.parse::<std::net::Ipv6Addr>().is_ok();
        let is_plain =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let is_name = !name.is_empty() && !name.starts_with(['.', '-']);
        if host == "*" || is_address || (is_name && name.bytes().all(is_plain)) {
            hosts.push(host);
            continue;
        }
        findings.error(
            findings.in_metadata(&format!("/requires/net/hosts/{index}")),
            ProblemCode::Requires,
            match pattern.starts_with('{') {
                true => format!("{pattern:?} is not a host: hosts take no variables"),
                false => format!("{pattern:?} is not a host"),
            },
            "name the host alone, such as \"api.example.com\" or \"*.example.com\", without scheme, port and path",
        );
    }
    hosts
}
