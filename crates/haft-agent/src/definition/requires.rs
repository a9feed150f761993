//! What an agent's calls reach at most, in the form that a manifest has for tools. Every pattern is tried, so that one that
//! cannot be used is told of in its own line.

use haft::{FrontField, FrontKind, FrontValue};
use haft_contract::{ArgPattern, RequirementSet, ShellRequirement, Variables};
use haft_policy::Capabilities;

use super::NamingField;
use super::fields::{Faults, Text};
use super::read::Named;

pub(super) fn requires(
    field: &FrontField,
    named: &mut Vec<Named>,
    faults: &mut Faults,
) -> RequirementSet {
    let mut requires = RequirementSet::default();
    let keys = ["fs", "net", "shell", "capabilities"];
    for field in faults.table(field, "requires", &keys) {
        match field.key.as_str() {
            "fs" => {
                for field in faults.table(&field, "requires.fs", &["read", "write"]) {
                    let is_read = field.key == "read";
                    let place = format!("requires.fs.{}", field.key);
                    let paths = tried(faults.texts(&field, &place), &place, faults, |path| {
                        let mut one = RequirementSet::default();
                        one.fs.read.push(path);
                        one
                    });
                    let fs = &mut requires.fs;
                    if is_read { fs.read = paths } else { fs.write = paths }
                }
            }
            "net" => {
                for field in faults.table(&field, "requires.net", &["hosts"]) {
                    let place = "requires.net.hosts";
                    requires.net.hosts =
                        tried(faults.texts(&field, place), place, faults, |host| {
                            let mut one = RequirementSet::default();
                            one.net.hosts.push(host);
                            one
                        });
                }
            }
            "shell" => requires.shell = shell(&field, faults),
            _ => {
                for Text { line, text } in faults.texts(&field, "requires.capabilities") {
                    let field = NamingField::Capabilities;
                    named.push(Named { line, field, name: text.clone() });
                    requires.capabilities.push(text);
                }
            }
        }
    }
    requires
}

/// Returns the patterns that can be used.
fn tried(
    texts: Vec<Text>,
    place: &str,
    faults: &mut Faults,
    requirement: impl Fn(String) -> RequirementSet,
) -> Vec<String> {
    let mut usable = Vec::new();
    for Text { line, text } in texts {
        match Capabilities::compile(&requirement(text.clone()), &Variables::default()) {
            Ok(_) => usable.push(text),
            Err(err) => faults.note(line, format!("{place}: {err}")),
        }
    }
    usable
}

fn shell(field: &FrontField, faults: &mut Faults) -> Vec<ShellRequirement> {
    let place = "requires.shell";
    let items = faults.list(field, place);
    items.iter().filter_map(|item| command(item, place, faults)).collect()
}

fn command(item: &FrontValue, place: &str, faults: &mut Faults) -> Option<ShellRequirement> {
    let FrontKind::Table(fields) = &item.kind else {
        let found = item.kind.word();
        faults.note(
            item.line,
            format!("{place}: expected a table of cmd and args, as in {{cmd: git}}, found {found}"),
        );
        return None;
    };
    let fields = faults.known(fields.clone(), place, &["cmd", "args"]);
    let named = |key: &str| fields.iter().find(|field| field.key == key);
    let args = named("args").map(|field| {
        let items = faults.list(field, "requires.shell.args");
        items.iter().filter_map(|item| argument(item, faults)).collect()
    });
    let Some(cmd) = named("cmd") else {
        faults.note(
            item.line,
            format!("{place}: expected cmd, the name of a program or «*» for any, found none"),
        );
        return None;
    };
    let Text { text, .. } = faults.text(cmd, "requires.shell.cmd")?;
    Some(ShellRequirement { cmd: text, args })
}

fn argument(item: &FrontValue, faults: &mut Faults) -> Option<ArgPattern> {
    let pattern = match &item.kind {
        FrontKind::Text(text) => Some(ArgPattern::Exact(text.clone())),
        FrontKind::Table(fields) => match fields.as_slice() {
            [FrontField { key, value, .. }] => match (key.as_str(), &value.kind) {
                ("wildcard", FrontKind::Bool(true)) => {
                    Some(ArgPattern::Wildcard { wildcard: true })
                }
                ("prefix", FrontKind::Text(prefix)) => {
                    Some(ArgPattern::Prefix { prefix: prefix.clone() })
                }
                _ => None,
            },
            _ => None,
        },
        FrontKind::Nothing | FrontKind::Bool(_) | FrontKind::Number(_) | FrontKind::List(_) => None,
    };
    if pattern.is_none() {
        let message = "requires.shell.args: expected a text, {wildcard: true} or {prefix: text}; put numbers into quotes";
        faults.note(item.line, message);
    }
    pattern
}
