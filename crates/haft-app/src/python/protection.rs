//! Names the paths in the roots that determine Python tools, so that no agent changes them. These are the directories and
//! package roots of the tools with all entries, because a directory can replace a module and bytecode can replace a source.
//! They also are the interpreters, the environments, and all links on the way. The sandbox protects the paths. A path that
//! cannot be named is refused.

use std::path::{Path, PathBuf};

use haft_python::{find_interpreter, interpreter_paths};
use haft_sandbox::ProtectedPaths;

use crate::app_error::AppError;
use crate::host_paths::{LinkTrail, follow_links};
use crate::manifest::{BENEATH, PythonEntry};

/// The names to protect.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonProtection {
    /// Patterns of names. Each begins with the name of its root, so that what is called the same deeper down is not meant.
    pub patterns: Vec<String>,
    /// Names that the user unprotected and that nothing protects.
    pub unknown: Vec<String>,
}

/// Something that decides what tools do.
struct PythonProtectedPath {
    /// The role of the path, as a message names it.
    what: &'static str,
    /// The absolute path.
    path: PathBuf,
    /// Whether it is also refused where a root lies within it.
    is_searched: bool,
    /// The step that removes the problem.
    mend: &'static str,
}

/// Returns what is to be protected in the roots, without what the user unprotected.
pub(super) fn protection<'a>(
    entries: &[PythonEntry],
    roots: impl Iterator<Item = &'a PathBuf>,
    unprotected: &[String],
) -> Result<PythonProtection, AppError> {
    let roots: Vec<PathBuf> = roots.filter_map(|root| root.canonicalize().ok()).collect();
    let mut found = PythonProtection::default();
    let mut known: Vec<String> = Vec::new();
    for part in entries.iter().flat_map(parts) {
        for place in places(&part, &roots)? {
            let Some((within, anchored)) = pattern(&part, &place, &roots)? else { continue };
            let is_protected = !unprotected.iter().any(|name| *name == within || *name == anchored);
            if is_protected && !found.patterns.contains(&anchored) {
                found.patterns.push(anchored.clone());
            }
            known.extend([within, anchored]);
        }
    }
    let is_unknown = |name: &&String| {
        let builtin = ProtectedPaths::builtin();
        !known.contains(name) && !builtin.patterns().any(|pattern| pattern == name.as_str())
    };
    found.unknown = unprotected.iter().filter(is_unknown).cloned().collect();
    Ok(found)
}

/// Returns what decides what the tools of a directory do.
fn parts(entry: &PythonEntry) -> Vec<PythonProtectedPath> {
    let mut parts = vec![PythonProtectedPath {
        what: "the directory of Python tools",
        path: entry.dir.clone(),
        is_searched: true,
        mend: "put the tools into a directory of their own beneath the root, or name another root",
    }];
    parts.extend(entry.package_root.iter().map(|path| PythonProtectedPath {
        what: "package_root",
        path: path.clone(),
        is_searched: true,
        mend: "name a directory beneath the root that holds the packages of the tools and little else, such as src",
    }));
    let named = entry.interpreter.iter().filter(|named| named.is_absolute());
    let mut places: Vec<PathBuf> = named.cloned().collect();
    for named in &places.clone() {
        let program = find_interpreter(named, "".as_ref(), &|_| false);
        places.extend(program.iter().flat_map(|program| interpreter_paths(program)));
    }
    places.extend(entry.interpreter_place.clone());
    parts.extend(places.into_iter().map(|path| PythonProtectedPath {
        what: "the interpreter or virtual environment of Python tools",
        path,
        is_searched: false,
        mend: "make it in a separate directory, such as .venv",
    }));
    parts
}

/// Returns where a part is, and the links in the roots that lead there.
fn places(part: &PythonProtectedPath, roots: &[PathBuf]) -> Result<Vec<PathBuf>, AppError> {
    let LinkTrail { links, end } = follow_links(&part.path, roots);
    let around = |root: &&PathBuf| **root == end || (part.is_searched && root.starts_with(&end));
    if let Some(root) = roots.iter().find(around) {
        let (what, path) = (part.what, end.display());
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
    part: &PythonProtectedPath,
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

#[cfg(test)]
mod tests;
