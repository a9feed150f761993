//! Paths that do not belong to a workspace although they may be inside it, such as credentials and
//! the caller's journal. They are not inspected, not opened and not restored. The caller supplies
//! them; here they are recognised under every name that leads to them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Hidden paths with everything below them: absolute paths without links.
#[derive(Debug, Clone, Default)]
pub(crate) struct HiddenPaths {
    named: BTreeSet<PathBuf>,
    /// The targets of links among them.
    led_to: BTreeSet<PathBuf>,
}

/// The hidden paths inside one root, as canonical paths.
#[derive(Debug, Default)]
pub(crate) struct RootHiddenPaths {
    places: BTreeSet<PathBuf>,
}

impl HiddenPaths {
    /// Creates the set from absolute paths. They need not exist; links on the way to them are
    /// resolved once, now.
    pub(crate) fn new(places: impl IntoIterator<Item = PathBuf>) -> HiddenPaths {
        let mut hidden = HiddenPaths::default();
        for place in places {
            // Both the link and its target are hidden.
            hidden.led_to.extend(place.canonicalize());
            // Links in its existing parents are resolved, and its last name stays.
            hidden.named.extend(place.ancestors().skip(1).find_map(|above| {
                let rest = place.strip_prefix(above).ok()?;
                Some(above.canonicalize().ok()?.join(rest))
            }));
            hidden.named.insert(place);
        }
        hidden
    }

    /// Returns the hidden paths inside the root at this canonical path.
    pub(crate) fn within(&self, root: &Path) -> RootHiddenPaths {
        let mut places = BTreeSet::new();
        for place in &self.named {
            if root.starts_with(place) {
                places.insert(PathBuf::new());
            }
            places.extend(place.strip_prefix(root).map(Path::to_path_buf));
        }
        // A link to a directory around the whole root is not meant to hide all of it.
        let beneath = self.led_to.iter().filter_map(|place| place.strip_prefix(root).ok());
        places.extend(beneath.filter(|path| **path != *"").map(Path::to_path_buf));
        RootHiddenPaths { places }
    }
}

impl RootHiddenPaths {
    /// Returns whether a canonical path is hidden.
    pub(crate) fn contains_path(&self, path: &Path) -> bool {
        !self.places.is_empty() && path.ancestors().any(|above| self.places.contains(above))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn places_are_found_through_links_and_before_they_exist() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        fs::create_dir_all(top.join("root/dir/deep")).unwrap();
        symlink("root", top.join("other")).unwrap();
        symlink("dir", top.join("root/link")).unwrap();
        symlink("..", top.join("root/around")).unwrap();
        let check = |place: &str, path: &str, expected: bool| {
            let hidden = HiddenPaths::new([top.join(place)]).within(&top.join("root"));
            assert_eq!(
                hidden.contains_path(Path::new(path)),
                expected,
                "{path} when {place} is hidden"
            );
        };
        check("root/dir", "dir", true);
        check("root/dir", "dir/deep", true);
        check("root/dir", "directory", false);
        check("root/not/yet", "not/yet/there", true);
        check("root/not/yet", "not", false);
        check("other/dir/new", "dir/new", true);
        check("root/link", "link", true);
        check("root/link", "dir/deep", true);
        check("elsewhere", "dir", false);
        // A hidden directory around the root hides it, unless only a link leads there.
        check("root", "dir", true);
        check("", "dir", true);
        check("root/around", "around", true);
        check("root/around", "dir", false);
    }
}
