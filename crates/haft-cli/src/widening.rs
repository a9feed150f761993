//! What a manifest asks for beyond the defaults, in words and taken apart from the rest. A manifest that nobody trusted
//! keeps the rest: whoever writes into a workspace may narrow what is allowed there, not widen it.

use std::path::Path;

use haft_contract::limits::{OUTPUT_BYTES_DEFAULT, TIMEOUT_MS_DEFAULT};
use haft_policy::Action;
use serde::Serialize;

use crate::manifest::Manifest;
use crate::network_guard::Guard;
use crate::password::without_passwords;
use crate::preset::Preset;

/// A manifest taken apart.
pub(crate) struct Parted {
    /// What holds whether somebody trusted the manifest or not.
    pub(crate) narrow: Manifest,
    /// What holds only if somebody did, in the words of the manifest.
    pub(crate) widenings: Vec<String>,
}

/// Takes a manifest that lies in `directory` apart.
pub(crate) fn part(manifest: Manifest, directory: &Path) -> Parted {
    let mut widenings = Vec::new();
    let mut narrow = manifest;
    part_roots(&mut narrow, directory, &mut widenings);
    if let Some(preset) = narrow.preset.filter(|preset| *preset > Preset::default()) {
        widenings.push(format!("preset = {:?}", preset.name()));
        narrow.preset = None;
    }
    if narrow.allow_network == Some(true) {
        widenings.push("allow_network = true".to_owned());
        narrow.allow_network = None;
    }
    if let Some(bytes) = narrow.limits.output_bytes.filter(|bytes| *bytes > OUTPUT_BYTES_DEFAULT) {
        widenings.push(format!("limits.output_bytes = {bytes}"));
        narrow.limits.output_bytes = None;
    }
    if let Some(timeout) = narrow.limits.timeout_ms.filter(|timeout| *timeout > TIMEOUT_MS_DEFAULT)
    {
        widenings.push(format!("limits.timeout_ms = {timeout}"));
        narrow.limits.timeout_ms = None;
    }
    if let Some(guard) = narrow.network_guard.take_if(|guard| *guard < Guard::default()) {
        widenings.push(format!("network_guard = {:?}", guard.name()));
    }
    part_durability(&mut narrow, &mut widenings);
    // Of a run that is named, what it recorded is recalled: also what other workspaces put there.
    widenings.extend(narrow.scope.take_all());
    widenings.extend(narrow.snapshots.take_all());
    // Whoever names the model decides who reads what tools answer, and who is paid.
    widenings.extend(narrow.model.take_all());
    // Which agent is talked to widens nothing: none of them may more than the settings allow.
    widenings.extend(narrow.agent.take_larger_bounds());
    // Whoever names a provider reads what is searched for.
    widenings.extend(narrow.web_search.take_all());
    part_sandbox(&mut narrow, &mut widenings);
    part_watchdogs(&mut narrow, &mut widenings);
    // Bounds of single tools only narrow: without them there are none.
    widenings.extend(narrow.plan.take_larger_bounds());
    // A command runs whatever program it names, with the arguments that it likes.
    let commands = narrow.commands.drain(..);
    widenings.extend(commands.map(|entry| entry.words()));
    // Skills inside the manifest's directory are no more than those that are found there anyway.
    part_skills(&mut narrow, directory, &mut widenings);
    // Whoever writes the files says what they need and do.
    let python = narrow.python.drain(..);
    widenings.extend(python.map(|entry| entry.words()));
    // What a server is told may have it run programs; to do without one narrows.
    let languages = narrow.lsp.extract_if(.., |_, language| !language.only_disables());
    widenings.extend(languages.map(|(name, language)| language.told(&name)));
    // Programs of strangers, and what they are granted.
    let servers = std::mem::take(&mut narrow.mcp);
    widenings.extend(servers.iter().map(|(name, server)| server.told(name)));
    let requires = std::mem::take(&mut narrow.requires);
    if !requires.is_empty() {
        widenings.push(format!("requires = {}", json(&requires)));
    }
    narrow.permissions.retain(|rule| {
        let widens = rule.action == Action::Allow;
        if widens {
            widenings.push(rule.to_string());
        }
        !widens
    });
    Parted { narrow, widenings }
}

/// Another journal is a place that records are sent to, and what is kept there is of other workspaces, too. Each of the
/// ways to treat repeated calls is as narrow as the others.
fn part_durability(manifest: &mut Manifest, widenings: &mut Vec<String>) {
    let durability = &mut manifest.durability;
    if let Some(journal) = durability.journal.take() {
        widenings.push(format!("durability.journal = {:?}", without_passwords(&journal)));
    }
    let bounds =
        [("keep_days", durability.keep_days.take()), ("keep_bytes", durability.keep_bytes.take())];
    let set = bounds
        .iter()
        .filter_map(|(key, bound)| bound.map(|bound| format!("durability.{key} = {bound}")));
    widenings.extend(set);
}

/// More protected names narrow, and so do smaller bounds; everything else in the table widens.
fn part_sandbox(manifest: &mut Manifest, widenings: &mut Vec<String>) {
    let sandbox = &mut manifest.sandbox;
    widenings.extend(sandbox.take_larger_bounds());
    let readable = sandbox.readable.drain(..);
    widenings.extend(readable.map(|path| format!("sandbox.readable = [{path:?}]")));
    let unprotect = sandbox.unprotect.drain(..);
    widenings.extend(unprotect.map(|name| format!("sandbox.unprotect = [{name:?}]")));
}

/// A watchdog narrows what calls may do, but its program runs with the user's own rights.
fn part_watchdogs(manifest: &mut Manifest, widenings: &mut Vec<String>) {
    let watchdogs = manifest.watchdogs.drain(..);
    widenings.extend(watchdogs.map(|entry| format!("watchdogs = [{:?}]", entry.program)));
    if manifest.reference_watchdog.take_if(|is_on| !*is_on).is_some() {
        widenings.push("reference_watchdog = false".to_owned());
    }
}

/// What a skill says is read by a model, so a directory elsewhere is a way to read what lies there.
fn part_skills(manifest: &mut Manifest, directory: &Path, widenings: &mut Vec<String>) {
    manifest.skills.paths.retain(|path| {
        let within = lies_within(directory, path);
        if !within {
            widenings.push(format!("skills.paths = [{path:?}]"));
        }
        within
    });
}

/// A root inside the manifest's own directory adds nothing to what the directory is by itself.
fn part_roots(manifest: &mut Manifest, directory: &Path, widenings: &mut Vec<String>) {
    if let Some(root) = manifest.root.take_if(|root| !lies_within(directory, root)) {
        widenings.push(format!("root = {root:?}"));
    }
    manifest.roots.retain(|root| {
        let within = lies_within(directory, root);
        if !within {
            widenings.push(format!("roots = [{root:?}]"));
        }
        within
    });
}

/// Returns whether a path of the manifest leads, all links followed, to a place inside the directory. One that leads
/// nowhere is inside nothing.
fn lies_within(directory: &Path, path: &Path) -> bool {
    let canonical = directory.join(path).canonicalize();
    canonical.is_ok_and(|place| place.starts_with(directory))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_else(|err| format!("({err})"))
}

#[cfg(test)]
mod tests;
