//! Task queues: which worker gets which run. A workspace has a queue, and so has each set of labels. Temporal matches the names of
//! queues exactly, so a worker polls a queue for each subset of its labels. This file starts nothing.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

/// Labels of one worker. It polls a queue for each subset of them.
///
/// Limit (fleet): the worker does not start.
pub(crate) const LABELS_MAX: usize = 4;

/// Longest name of a workspace, in bytes. Temporal allows 1,000 bytes for the name of a queue.
///
/// Limit (fleet): the worker or the run does not start.
pub(crate) const WORKSPACE_BYTES_MAX: usize = 512;

/// Longest label, in bytes.
///
/// Limit (fleet): the worker or the run does not start.
pub(crate) const LABEL_BYTES_MAX: usize = 100;

/// A directory that a worker executes runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Workspace {
    /// The name, the same on each worker that has this very directory.
    pub(crate) name: String,
    /// The directory.
    pub(crate) root: PathBuf,
}

impl Workspace {
    /// Parses `DIR` or `NAME=DIR`. The name is the canonical path of the directory, unless one is given.
    pub(crate) fn parse(text: &str) -> anyhow::Result<Self> {
        let (name, directory) = match text.split_once('=') {
            Some((name, directory)) if !name.contains('/') => (Some(name), directory),
            _ => (None, text),
        };
        let root = Path::new(directory)
            .canonicalize()
            .with_context(|| format!("the root {directory} cannot be used"))?;
        ensure!(root.is_dir(), "the root {directory} is not a directory");
        let name = match name {
            Some(name) => name.to_owned(),
            None => root
                .to_str()
                .context("the path of the root is not UTF-8: name it, as NAME=DIR")?
                .to_owned(),
        };
        check_workspace(&name)?;
        Ok(Self { name, root })
    }
}

/// Checks the name of a workspace.
pub(crate) fn check_workspace(name: &str) -> anyhow::Result<()> {
    ensure!(!name.is_empty(), "the name of a workspace is empty");
    ensure!(
        name.len() <= WORKSPACE_BYTES_MAX && !name.chars().any(char::is_control),
        "the name of a workspace has at most {WORKSPACE_BYTES_MAX} bytes and no control characters"
    );
    Ok(())
}

/// Checks labels and returns them in order, each once.
pub(crate) fn check_labels(labels: &[String]) -> anyhow::Result<Vec<String>> {
    let mut sorted = labels.to_vec();
    sorted.sort();
    sorted.dedup();
    if sorted.len() > LABELS_MAX {
        bail!("{} labels were given, and at most {LABELS_MAX} can be", sorted.len());
    }
    for label in &sorted {
        let parts =
            label.split_once('=').filter(|(key, value)| !key.is_empty() && !value.is_empty());
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "=._/-".contains(c);
        ensure!(
            parts.is_some() && label.len() <= LABEL_BYTES_MAX && label.chars().all(is_plain),
            "the label {label:?} is not KEY=VALUE of letters, digits, '.', '_', '/' and '-', with at most {LABEL_BYTES_MAX} bytes"
        );
    }
    Ok(sorted)
}

/// Returns the queue of the runs of a workspace.
pub(crate) fn workspace_queue(prefix: &str, workspace: &str) -> String {
    format!("{prefix}/workspace/{workspace}")
}

/// Returns the queue of the answers for calls of a workspace. A worker whose slots are full of waiting runs takes them all the same.
pub(crate) fn answers_queue(prefix: &str, workspace: &str) -> String {
    format!("{prefix}/answers/{workspace}")
}

/// Returns the queue of the runs that need a worker with all of these labels, which are in order.
pub(crate) fn labels_queue(prefix: &str, labels: &[String]) -> String {
    format!("{prefix}/labels/{}", labels.join(","))
}

/// Returns each queue that a worker with these labels polls. The labels are in order.
pub(crate) fn queues_of_labels(prefix: &str, labels: &[String]) -> Vec<String> {
    let subsets = 1..1_u32 << labels.len().min(LABELS_MAX);
    subsets
        .map(|subset| {
            let chosen = labels.iter().enumerate().filter(|(index, _)| (subset >> index) & 1 == 1);
            let chosen: Vec<String> = chosen.map(|(_, label)| label.clone()).collect();
            labels_queue(prefix, &chosen)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(words: &[&str]) -> Vec<String> {
        words.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_worker_polls_each_subset_of_its_labels() {
        let queues = queues_of_labels("haft", &labels(&["arch=arm64", "repo=web"]));
        assert_eq!(
            queues,
            ["haft/labels/arch=arm64", "haft/labels/repo=web", "haft/labels/arch=arm64,repo=web"]
        );
        assert_eq!(queues_of_labels("haft", &[]), Vec::<String>::new());
    }

    #[test]
    fn labels_have_an_order_and_a_form() {
        let check = |words: &[&str], expect: Option<&[&str]>| {
            let found = check_labels(&labels(words)).ok();
            assert_eq!(found, expect.map(labels), "{words:?}");
        };
        check(&["repo=web", "arch=arm64", "repo=web"], Some(&["arch=arm64", "repo=web"]));
        check(&["repo"], None);
        check(&["=web"], None);
        check(&["repo="], None);
        check(&["repo=a,b"], None);
        check(&["a=1", "b=1", "c=1", "d=1"], Some(&["a=1", "b=1", "c=1", "d=1"]));
        check(&["a=1", "b=1", "c=1", "d=1", "e=1"], None);
        check(&[&format!("a={}", "x".repeat(LABEL_BYTES_MAX - 1))], None);
    }

    #[test]
    fn a_root_is_named_by_its_path_or_as_given() {
        let name = |text: &str| Workspace::parse(text).ok().map(|it| (it.name, it.root));
        assert_eq!(name("/usr/.."), Some(("/".to_owned(), PathBuf::from("/"))));
        assert_eq!(name("web=/usr/.."), Some(("web".to_owned(), PathBuf::from("/"))));
        assert_eq!(name("/no/such/directory"), None);
        assert_eq!(name("=/usr"), None);
        let long = "x".repeat(WORKSPACE_BYTES_MAX);
        assert!(check_workspace(&long).is_ok());
        assert!(check_workspace(&format!("{long}x")).is_err());
    }
}
