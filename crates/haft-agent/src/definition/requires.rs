//! Parses the field `requires` of an agent, which has the form of a manifest. Every pattern is compiled, so that an invalid one is
//! reported with its line.

use haft::{FrontMatterField, FrontMatterKind, FrontMatterValue};
use haft_contract::{ArgPattern, PatternVariables, RequirementSet, ShellRequirement};
use haft_policy::Capabilities;

use super::agent::AgentFileReferenceField;
use super::fields::{AgentFileFaults, FrontMatterReference, FrontMatterText};

pub(super) fn requires(
    field: &FrontMatterField,
    named: &mut Vec<FrontMatterReference>,
    faults: &mut AgentFileFaults,
) -> RequirementSet {
    let mut requires = RequirementSet::default();
    let keys = ["fs", "net", "shell", "capabilities"];
    for field in faults.table(field, "requires", &keys) {
        match field.key.as_str() {
            "fs" => {
                for field in faults.table(&field, "requires.fs", &["read", "write"]) {
                    let is_read = field.key == "read";
                    let place = format!("requires.fs.{}", field.key);
                    let paths =
                        valid_patterns(faults.texts(&field, &place), &place, faults, |path| {
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
                        valid_patterns(faults.texts(&field, place), place, faults, |host| {
                            let mut one = RequirementSet::default();
                            one.net.hosts.push(host);
                            one
                        });
                }
            }
            "shell" => {
                let place = "requires.shell";
                let items = faults.list(&field, place);
                requires.shell =
                    items.iter().filter_map(|item| command(item, place, faults)).collect();
            }
            _ => {
                for FrontMatterText { line, text } in faults.texts(&field, "requires.capabilities")
                {
                    let field = AgentFileReferenceField::Capabilities;
                    named.push(FrontMatterReference { line, field, name: text.clone() });
                    requires.capabilities.push(text);
                }
            }
        }
    }
    requires
}

/// Returns the valid patterns.
fn valid_patterns(
    texts: Vec<FrontMatterText>,
    place: &str,
    faults: &mut AgentFileFaults,
    requirement: impl Fn(String) -> RequirementSet,
) -> Vec<String> {
    let mut usable = Vec::new();
    for FrontMatterText { line, text } in texts {
        match Capabilities::compile(&requirement(text.clone()), &PatternVariables::default()) {
            Ok(_) => usable.push(text),
            Err(err) => faults.push_at_line(line, format!("{place}: {err}")),
        }
    }
    usable
}

fn command(
    item: &FrontMatterValue,
    place: &str,
    faults: &mut AgentFileFaults,
) -> Option<ShellRequirement> {
    let FrontMatterKind::Table(fields) = &item.kind else {
        let found = item.kind.type_name();
        faults.push_at_line(
            item.line,
            format!("{place}: expected a table of cmd and args, as in {{cmd: git}}, found {found}"),
        );
        return None;
    };
    let fields = faults.known_fields(fields.clone(), place, &["cmd", "args"]);
    let named = |key: &str| fields.iter().find(|field| field.key == key);
    let args = named("args").map(|field| {
        let mut args = Vec::new();
        for item in faults.list(field, "requires.shell.args") {
            let pattern = match &item.kind {
                FrontMatterKind::Text(text) => Some(ArgPattern::Exact(text.clone())),
                FrontMatterKind::Table(fields) => match fields.as_slice() {
                    [FrontMatterField { key, value, .. }] => match (key.as_str(), &value.kind) {
                        ("wildcard", FrontMatterKind::Bool(true)) => {
                            Some(ArgPattern::Wildcard { wildcard: true })
                        }
                        ("prefix", FrontMatterKind::Text(prefix)) => {
                            Some(ArgPattern::Prefix { prefix: prefix.clone() })
                        }
                        _ => None,
                    },
                    _ => None,
                },
                FrontMatterKind::Nothing
                | FrontMatterKind::Bool(_)
                | FrontMatterKind::Number(_)
                | FrontMatterKind::List(_) => None,
            };
            if pattern.is_none() {
                let message = "requires.shell.args: expected a text, {wildcard: true} or {prefix: text}; put numbers into quotes";
                faults.push_at_line(item.line, message);
            }
            args.extend(pattern);
        }
        args
    });
    let Some(cmd) = named("cmd") else {
        faults.push_at_line(
            item.line,
            format!("{place}: expected cmd, the name of a program or «*» for any, found none"),
        );
        return None;
    };
    let FrontMatterText { text, .. } = faults.text(cmd, "requires.shell.cmd")?;
    Some(ShellRequirement { cmd: text, args })
}
