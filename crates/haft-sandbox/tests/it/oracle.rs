//! Compares resolving with the kernel's own answer, in trees that no other process changes. The
//! kernel resolves to an absolute path. If that is inside the root, this crate must return the same
//! path; if it is outside, this crate must refuse.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use haft_sandbox::RootError;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::roots;

/// One entry to create in the tree; entries that cannot be created are skipped.
#[derive(Debug, Clone)]
enum Piece {
    Directory(String),
    File(String),
    Link(String, String),
}

fn name() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "c", "l", "m"]).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    let component = prop_oneof![6 => name(), 2 => Just("..".to_owned()), 1 => Just(".".to_owned())];
    vec(component, 1..6).prop_map(|components| components.join("/"))
}

fn target() -> impl Strategy<Value = String> {
    prop_oneof![4 => path(), 1 => path().prop_map(|path| format!("ROOT/{path}"))]
}

fn piece() -> impl Strategy<Value = Piece> {
    let place = || vec(name(), 1..4).prop_map(|names| names.join("/"));
    prop_oneof![
        3 => place().prop_map(Piece::Directory),
        2 => place().prop_map(Piece::File),
        4 => (place(), target()).prop_map(|(place, target)| Piece::Link(place, target)),
    ]
}

fn build(root: &Path, pieces: &[Piece]) {
    for piece in pieces {
        // An entry may be in the way of another, or lie behind a link. Both are valid trees.
        let _ = match piece {
            Piece::Directory(place) => fs::create_dir_all(root.join(place)),
            Piece::File(place) => fs::write(root.join(place), "x"),
            Piece::Link(place, target) => {
                let target = target.replace("ROOT", root.to_str().unwrap());
                symlink(target, root.join(place))
            }
        };
    }
}

/// Returns whether every prefix of `path` stays inside, which the kernel's final answer does not
/// show.
fn stays_inside(root: &Path, path: &Path) -> bool {
    fn walk(root: &Path, mut at: PathBuf, path: &Path, links: &mut u32) -> Option<PathBuf> {
        for component in path.components() {
            match component {
                Component::RootDir | Component::Prefix(_) | Component::CurDir => {}
                Component::ParentDir => {
                    if at == root {
                        return None;
                    }
                    at.pop();
                }
                Component::Normal(name) => {
                    let next = at.join(name);
                    let Ok(target) = fs::read_link(&next) else {
                        at = next;
                        continue;
                    };
                    *links += 1;
                    if *links > 40 {
                        return None;
                    }
                    at = match target.strip_prefix(root) {
                        Ok(inside) => walk(root, root.to_path_buf(), inside, links)?,
                        Err(_) => walk(root, at, &target, links)?,
                    };
                }
            }
        }
        Some(at)
    }
    walk(root, root.to_path_buf(), path, &mut 0).is_some()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn resolving_agrees_with_the_kernel(pieces in vec(piece(), 0..14), paths in vec(path(), 1..12)) {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap().join("root");
        fs::create_dir(&base).unwrap();
        build(&base, &pieces);
        for root in roots(&base) {
            for path in &paths {
                let path = Path::new(path);
                let ours = root.resolve(path);
                let kernels = fs::canonicalize(base.join(path));
                match (&ours, &kernels) {
                    (Ok(resolved), Ok(truth)) if resolved.kind.is_some() => {
                        prop_assert_eq!(&base.join(&resolved.path), truth, "{:?}", path);
                    }
                    // A path that the kernel does not find may be resolved to a missing path inside
                    // the root.
                    (Ok(resolved), Err(_)) => {
                        prop_assert_eq!(resolved.kind, None, "{:?}", path);
                        prop_assert!(!base.join(&resolved.path).exists(), "{:?}", path);
                    }
                    (Err(RootError::Escape { .. } | RootError::Outside { .. }), _) => {
                        prop_assert!(!stays_inside(&base, path), "{:?} was refused", path);
                    }
                    (Err(_), Err(_)) => {}
                    _ => prop_assert!(false, "{:?}: {:?}, but the kernel says {:?}", path, ours, kernels),
                }
            }
        }
    }
}
