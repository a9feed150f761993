//! Names the paths in the roots that programs of the configuration load as code, so that no agent changes them. The sandbox
//! protects the paths. A path that cannot be named is refused. Other modules know which paths a program loads.

use std::path::{Path, PathBuf};

use haft_sandbox::ProtectedPaths;

use crate::app_error::AppError;
use crate::host_paths::{LinkTrail, follow_links};
use crate::manifest::BENEATH;

/// Something that decides what a program does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoadedPath {
    /// The role of the path, as a message names it.
    pub(crate) what: String,
    /// The absolute path.
    pub(crate) path: PathBuf,
    /// Whether it is also refused where a root lies within it.
    pub(crate) is_searched: bool,
    /// The step that removes the problem.
    pub(crate) mend: &'static str,
}

/// The names to protect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RootProtection {
    /// Patterns of names. Each begins with the name of its root, so that what is called the same deeper down is not meant.
    pub patterns: Vec<String>,
    /// All names that a user can unprotect, also those that are unprotected.
    known: Vec<String>,
}

impl RootProtection {
    /// Returns the names of the paths that lie in the roots, without those that the user unprotected.
    ///
    /// # Errors
    ///
    /// Fails if a path is a root, or if its name cannot be a pattern.
    pub(crate) fn of<'a>(
        paths: &[LoadedPath],
        roots: impl Iterator<Item = &'a PathBuf>,
        unprotected: &[String],
    ) -> Result<Self, AppError> {
        let roots: Vec<PathBuf> = roots.filter_map(|root| root.canonicalize().ok()).collect();
        let mut found = Self::default();
        for part in paths {
            for place in places(part, &roots)? {
                let Some((within, anchored)) = pattern(part, &place, &roots)? else { continue };
                let is_protected =
                    !unprotected.iter().any(|name| *name == within || *name == anchored);
                if is_protected && !found.patterns.contains(&anchored) {
                    found.patterns.push(anchored.clone());
                }
                found.known.extend([within, anchored]);
            }
        }
        Ok(found)
    }

    /// Adds the names of other programs.
    pub(crate) fn extend(&mut self, other: Self) {
        let is_new = |pattern: &String| !self.patterns.contains(pattern);
        let patterns: Vec<String> = other.patterns.into_iter().filter(is_new).collect();
        self.patterns.extend(patterns);
        self.known.extend(other.known);
    }

    /// Returns the names that the user unprotected and that nothing protects.
    pub fn unknown<'a>(&self, unprotected: &'a [String]) -> Vec<&'a String> {
        let builtin = ProtectedPaths::builtin();
        let is_unknown = |name: &&String| {
            !self.known.contains(name)
                && !builtin.patterns().any(|pattern| pattern == name.as_str())
        };
        unprotected.iter().filter(is_unknown).collect()
    }
}

/// Returns where a part is, and the links in the roots that lead there.
fn places(part: &LoadedPath, roots: &[PathBuf]) -> Result<Vec<PathBuf>, AppError> {
    let LinkTrail { links, end } = follow_links(&part.path, roots);
    let around = |root: &&PathBuf| **root == end || (part.is_searched && root.starts_with(&end));
    if let Some(root) = roots.iter().find(around) {
        let (what, path) = (&part.what, end.display());
        let how = match *root == end {
            true => "is a root".to_owned(),
            false => format!("holds the root {}", root.display()),
        };
        return Err(AppError::configuration(format!(
            "{what} {path} {how}, so a change of files there would change the tools: {}",
            part.mend
        )));
    }
    Ok(links.into_iter().chain([end]).collect())
}

/// Returns the pattern of a place that lies in a root: from the root on, and with the root's own name before that.
fn pattern(
    part: &LoadedPath,
    place: &Path,
    roots: &[PathBuf],
) -> Result<Option<(String, String)>, AppError> {
    let within = |root: &PathBuf| {
        let within = place.strip_prefix(root).ok()?;
        (!within.as_os_str().is_empty()).then(|| (root.clone(), within.to_owned()))
    };
    let Some((root, within)) = roots.iter().find_map(within) else { return Ok(None) };
    let refused = |why: &dyn std::fmt::Display| {
        AppError::configuration(format!(
            "{} {} lies in a root and cannot be protected there: {why}; rename it, or keep it outside of the roots",
            part.what,
            place.display()
        ))
    };
    let within =
        plain(&within).ok_or_else(|| refused(&"expected a path in UTF-8 without * and \\"))?;
    let within = format!("{within}{BENEATH}");
    let anchored = match root.file_name().map(Path::new).and_then(plain) {
        Some(name) => format!("{name}/{within}"),
        None => within.clone(),
    };
    ProtectedPaths::new([&anchored]).map_err(|err| refused(&err))?;
    Ok(Some((within, anchored)))
}

/// Returns a path that means nothing else as a pattern.
fn plain(path: &Path) -> Option<&str> {
    path.to_str().filter(|text| !text.contains(['*', '\\']))
}
