//! Places that are no part of a workspace although they may lie in it, such as credentials and the journal of whoever
//! records: they are not looked at, not opened, and not brought back. Where they are is the caller's knowledge; here they
//! are found by whatever name leads to them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Places with what is beneath them, as absolute paths without links.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hidden {
    named: BTreeSet<PathBuf>,
    /// Where links among them lead to.
    led_to: BTreeSet<PathBuf>,
}

/// The places that lie in one root, by their canonical paths.
#[derive(Debug, Default)]
pub(crate) struct HiddenWithin {
    places: BTreeSet<PathBuf>,
}

impl Hidden {
    /// Takes absolute paths. They need not exist; links on the way to them are followed once, now.
    pub(crate) fn new(places: impl IntoIterator<Item = PathBuf>) -> Hidden {
        let mut hidden = Hidden::default();
        for place in places {
            // The link is in that place, and so is what it leads to.
            hidden.led_to.extend(place.canonicalize());
            hidden.named.insert(without_links_above(&place));
            hidden.named.insert(place);
        }
        hidden
    }

    /// Returns what of the places lies in the root at this canonical path.
    pub(crate) fn within(&self, root: &Path) -> HiddenWithin {
        let mut places = BTreeSet::new();
        for place in &self.named {
            if root.starts_with(place) {
                places.insert(PathBuf::new());
            }
            places.extend(place.strip_prefix(root).map(Path::to_path_buf));
        }
        // A link that leads to something around the whole root was not meant to take all of it away.
        let beneath = self.led_to.iter().filter_map(|place| place.strip_prefix(root).ok());
        places.extend(beneath.filter(|path| **path != *"").map(Path::to_path_buf));
        HiddenWithin { places }
    }
}

impl HiddenWithin {
    /// Tells whether a canonical path is in one of the places.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        !self.places.is_empty() && path.ancestors().any(|above| self.places.contains(above))
    }
}

/// Returns the path with the links on the way to it followed, as far as it exists, and its last name as it is.
fn without_links_above(path: &Path) -> PathBuf {
    let canonical = path.ancestors().skip(1).find_map(|above| {
        let rest = path.strip_prefix(above).ok()?;
        Some(above.canonicalize().ok()?.join(rest))
    });
    canonical.unwrap_or_else(|| path.to_path_buf())
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
            let hidden = Hidden::new([top.join(place)]).within(&top.join("root"));
            assert_eq!(hidden.covers(Path::new(path)), expected, "{path} when {place} is hidden");
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
        // What lies around the root takes it away, but not what only a link says to lie there.
        check("root", "dir", true);
        check("", "dir", true);
        check("root/around", "around", true);
        check("root/around", "dir", false);
    }
}
