//! The changes that a call is about to make to files, as its intent stores them: for each file a digest before and
//! after. If a process dies, a later process completes the changes from the intent. It then knows whether they
//! happened. No file contents are stored.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use haft_contract::{CallKey, sha256_hex};
use haft_sandbox::{ChangeSetState, ChangeTag, ChangeTarget, Root, RootError, RootFileChange};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::roots::WorkspaceRoots;

/// Changes of files that a call is about to make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileEffects {
    /// The root that all the files lie beneath.
    root: String,
    /// Names the temporaries of these changes.
    tag: String,
    /// The files that the call changes, in the order of its changes.
    files: Vec<FileEffect>,
    /// The answer of the call once the changes are made.
    pub(crate) answer: Value,
    /// Whether the call does more to the world than these changes: then they do not tell whether it happened.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_part: bool,
}

/// The change of one file, with hashes of its contents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct FileEffect {
    /// Relative to the root.
    path: String,
    /// The SHA-256 of the file as it was; no value where there was none.
    before: Option<String>,
    /// The SHA-256 of the file after the change; `None` if the file is removed.
    after: Option<String>,
}

/// Returns the tag for a call's changes. Two executing calls never have the same key.
pub(crate) fn change_tag(key: CallKey) -> ChangeTag {
    let text = key.to_string();
    let tag = text.get(..8).and_then(ChangeTag::parse);
    tag.expect("a call's key begins with eight hexadecimal digits")
}

impl FileEffects {
    /// Looks at what `changes` are about to replace. `None` if a name among them is not text, which the journal could
    /// not hold.
    pub(crate) fn from_changes(
        root: &Root,
        tag: ChangeTag,
        changes: &[RootFileChange],
        answer: &Value,
    ) -> Result<Option<Self>, RootError> {
        let mut files = Vec::with_capacity(changes.len());
        for change in changes {
            let (path, after) = match change {
                RootFileChange::Write { path, contents, .. } => (path, Some(sha256_hex(contents))),
                RootFileChange::Remove { path, .. } => (path, None),
            };
            let before = match root.open_file(path) {
                Ok(mut opened) => {
                    let digest = digest_of(&mut opened.file);
                    Some(digest.map_err(|err| RootError::Io { path: path.clone(), source: err })?)
                }
                Err(RootError::NotFound { .. }) => None,
                Err(err) => return Err(err),
            };
            let Some(path) = path.to_str() else { return Ok(None) };
            files.push(FileEffect { path: path.to_owned(), before, after });
        }
        let Some(root) = root.path().to_str() else { return Ok(None) };
        Ok(Some(Self {
            root: root.to_owned(),
            tag: tag.to_string(),
            files,
            answer: answer.clone(),
            is_part: false,
        }))
    }

    /// Says whether the call does more to the world than these changes.
    pub(crate) fn with_is_part(self, is_part: bool) -> Self {
        Self { is_part, ..self }
    }

    /// Returns the effects that an intent keeps, `None` if it keeps none.
    pub(crate) fn parse(details: Option<&str>) -> Option<Self> {
        serde_json::from_str(details?).ok()
    }

    /// Returns the form that an intent keeps.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("strings and JSON values always serialize")
    }

    /// Brings the changes to an end, as far as the files tell. `None` if they lie beneath another root.
    pub(crate) fn finish_changes(
        &self,
        roots: &WorkspaceRoots,
    ) -> Option<Result<ChangeSetState, RootError>> {
        let root = roots.all().find(|root| root.path().to_str() == Some(&self.root))?;
        let Some(tag) = ChangeTag::parse(&self.tag) else {
            return Some(Ok(ChangeSetState::Unclear));
        };
        let targets: Vec<ChangeTarget<String>> = self
            .files
            .iter()
            .map(|file| ChangeTarget {
                path: PathBuf::from(&file.path),
                before: file.before.clone(),
                after: file.after.clone(),
            })
            .collect();
        Some(root.finish_changes(tag, &targets, digest_of))
    }
}

/// Returns the SHA-256 of the contents in hexadecimal digits.
fn digest_of(file: &mut File) -> io::Result<String> {
    let mut digest = Sha256::new();
    let mut piece = vec![0; 64 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()),
            count => digest.update(piece.get(..count).unwrap_or_default()),
        }
    }
}
