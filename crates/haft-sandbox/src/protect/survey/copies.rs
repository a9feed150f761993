//! The content of protected files before a command runs, for putting back. It deliberately keeps everything only where
//! nothing else holds what exists; where mounts do, it keeps small files, for comparing with what is found in their place.

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::cache::{is_settled, now};
use super::directory::{Kind, State};
use super::look::{Entry, Look, Place, Scope, beneath};
use super::report::{Holding, SurveyError};
use crate::protect::undo::read_small;

/// How much is kept where nothing is mounted.
pub(crate) const COPIES_BYTES_MAX: u64 = 32 * 1_024 * 1_024;

/// How large a file can be that is kept where mounts hold it anyway.
pub(crate) const SMALL_BYTES_MAX: u64 = 64 * 1_024;

/// How much is kept where mounts hold it anyway.
pub(crate) const SMALL_BYTES_TOTAL: u64 = 4 * 1_024 * 1_024;

/// The content of protected files.
#[derive(Debug, Default)]
pub(super) struct Copies {
    contents: HashMap<PathBuf, Arc<[u8]>>,
}

impl Copies {
    /// Reads what has to be kept.
    pub(super) fn take(
        scope: Scope<'_>,
        look: &Look,
        holding: Holding,
    ) -> Result<Copies, SurveyError> {
        let mut copies = Copies::default();
        let mut bytes = 0_u64;
        for entry in look.entries.iter().filter(|entry| entry.state.kind == Kind::File) {
            let total = bytes.saturating_add(entry.state.size_bytes);
            match holding {
                Holding::Comparing if total > COPIES_BYTES_MAX => {
                    let path = entry.path.clone();
                    return Err(SurveyError::Copies { path, max: COPIES_BYTES_MAX });
                }
                Holding::Pinning if total > SMALL_BYTES_TOTAL || !is_kept_anyway(entry) => continue,
                Holding::Comparing | Holding::Pinning => {}
            }
            if let Some(content) = read(scope, &entry.path, &entry.state)? {
                copies.contents.insert(entry.path.clone(), content);
                bytes = total;
            }
        }
        Ok(copies)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&PathBuf, &Arc<[u8]>)> {
        self.contents.iter()
    }

    pub(super) fn get(&self, path: &Path) -> Option<&Arc<[u8]>> {
        self.contents.get(path)
    }
}

impl FromIterator<(PathBuf, Arc<[u8]>)> for Copies {
    fn from_iter<I: IntoIterator<Item = (PathBuf, Arc<[u8]>)>>(contents: I) -> Copies {
        Copies { contents: contents.into_iter().collect() }
    }
}

/// Tells whether a mount could be lost, which happens where somebody else replaces the file, or gone round by another
/// name of it.
fn is_kept_anyway(entry: &Entry) -> bool {
    let can_be_replaced = match entry.place {
        Place::End { .. } => true,
        Place::Inside => entry.state.links > 1,
    };
    can_be_replaced && entry.state.size_bytes <= SMALL_BYTES_MAX
}

fn read(scope: Scope<'_>, path: &Path, state: &State) -> Result<Option<Arc<[u8]>>, SurveyError> {
    if let Some(content) = scope.cache.content(state) {
        return Ok(Some(content));
    }
    let Some((root, relative)) = beneath(scope.roots, path) else { return Ok(None) };
    let Some(root) = scope.roots.get(root) else { return Ok(None) };
    let now = now();
    let failed = |source| SurveyError::Unreadable { path: path.to_path_buf(), source };
    let read = read_small(root.directory.as_fd(), relative, state.size_bytes);
    let Some((content, read_state)) = read.map_err(failed)? else { return Ok(None) };
    let content: Arc<[u8]> = content.into();
    if is_settled(&read_state, now) && read_state.size_bytes <= SMALL_BYTES_MAX {
        scope.cache.remember_content(read_state, Arc::clone(&content));
    }
    Ok(Some(content))
}
