//! Names haft's own files, which neither tools nor commands reach. A changed journal, record of trust or manifest would
//! change what haft allows and remembers. The runtime and the sandbox keep tools and commands away from these files.

use std::path::{Path, PathBuf};

use haft_sandbox::ProtectedPaths;

use crate::app_error::AppError;

/// The suffixes of the files that SQLite keeps for a database, and of the content store beside it.
const JOURNAL_SUFFIXES: &[&str] = &["", "-contents", "-journal", "-shm", "-wal"];

/// Returns the places that are hidden: the state directory, and the journal wherever it is if it is a file.
pub(crate) fn hidden_paths(state: &Path, journal: Option<&Path>) -> Vec<PathBuf> {
    let state = canonical(state);
    let mut places = Vec::new();
    if let Some(journal) = journal.map(canonical).filter(|journal| !journal.starts_with(&state)) {
        let beside = |suffix: &&str| {
            let mut name = journal.clone().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        };
        places.extend(JOURNAL_SUFFIXES.iter().map(beside));
    }
    places.push(state);
    places
}

/// Returns the protected names with the manifest, if it lies in a root under a name that is not protected.
///
/// # Errors
///
/// Fails if the manifest cannot be protected: a command that changed it would change the settings of the next start.
pub(crate) fn protect_manifest(
    protected: ProtectedPaths,
    manifest: &Path,
    roots: &[PathBuf],
) -> Result<ProtectedPaths, AppError> {
    let manifest = canonical(manifest);
    let Some(inside) = roots.iter().find_map(|root| manifest.strip_prefix(root).ok()) else {
        return Ok(protected);
    };
    if protected.matching(inside).is_some() {
        return Ok(protected);
    }
    let refused = |why: String| {
        AppError::configuration(format!(
            "manifest {} lies in a root and cannot be protected there: {why}; rename it, or keep it outside of the roots",
            manifest.display()
        ))
    };
    let is_plain = |text: &&str| !text.contains(['*', '\\']);
    let name = inside
        .to_str()
        .filter(is_plain)
        .ok_or_else(|| refused("expected a path in UTF-8 without * and \\".to_owned()))?;
    protected.with_patterns([name]).map_err(|err| refused(err.to_string()))
}

/// Returns the canonical path of something that need not exist yet.
fn canonical(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let existing = absolute.ancestors().find_map(|ancestor| {
        let rest = absolute.strip_prefix(ancestor).ok()?;
        // Component by component, because joining nothing would leave a slash at the end.
        Some(ancestor.canonicalize().ok()?.components().chain(rest.components()).collect())
    });
    existing.unwrap_or(absolute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_exist_yet_is_found_through_links() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap().join("real");
        std::fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink("real", directory.path().join("link")).unwrap();
        let check = |path: &str, expect: &Path| {
            let found = canonical(&directory.path().join(path));
            // As texts: paths are equal with a slash at the end and without, patterns are not.
            assert_eq!(found.as_os_str(), expect.as_os_str());
        };
        check("link/a/b", &real.join("a/b"));
        check("link", &real);
    }

    #[test]
    fn a_journal_elsewhere_is_hidden_with_what_lies_beside_it() {
        let check = |journal: &str, expect: &[&str]| {
            let found = hidden_paths(Path::new("/nowhere/state"), Some(Path::new(journal)));
            assert_eq!(found, expect.iter().map(PathBuf::from).collect::<Vec<_>>());
        };
        check("/nowhere/state/journal.sqlite", &["/nowhere/state"]);
        let beside = [
            "/nowhere/j",
            "/nowhere/j-contents",
            "/nowhere/j-journal",
            "/nowhere/j-shm",
            "/nowhere/j-wal",
            "/nowhere/state",
        ];
        check("/nowhere/j", &beside);
    }

    #[test]
    fn a_manifest_of_another_name_is_protected_in_a_root() {
        let roots = [PathBuf::from("/nowhere/root")];
        let check = |manifest: &str, inside: &str, expect: Option<&str>| {
            let names = ProtectedPaths::builtin();
            let names = protect_manifest(names, Path::new(manifest), &roots).unwrap();
            assert_eq!(names.matching(Path::new(inside)), expect, "for {manifest}");
        };
        check("/nowhere/root/agents/one.toml", "agents/one.toml", Some("agents/one.toml"));
        check("/nowhere/one.toml", "one.toml", None);
        check("/nowhere/root/a*b/haft.toml", "a*b/haft.toml", Some("haft.toml"));
    }

    #[test]
    fn a_manifest_that_cannot_be_protected_is_refused() {
        let roots = [PathBuf::from("/nowhere/root")];
        for manifest in ["/nowhere/root/*.toml", "/nowhere/root/a\\b/one.toml"] {
            let refused = protect_manifest(ProtectedPaths::builtin(), Path::new(manifest), &roots)
                .unwrap_err();
            assert!(refused.message.contains("rename it"), "{}", refused.message);
        }
    }
}
