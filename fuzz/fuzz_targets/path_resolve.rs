//! Whatever a path spells, resolving it stays beneath the root and agrees with the kernel's own idea of it.
#![no_main]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Component, Path};
use std::sync::LazyLock;

use haft_sandbox::Root;
use libfuzzer_sys::fuzz_target;

struct Tree {
    directory: tempfile::TempDir,
    root: Root,
}

static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let root = directory.path().join("r");
    fs::create_dir_all(root.join("a/b")).expect("directories can be made");
    fs::write(directory.path().join("secret"), "secret").expect("files can be written");
    fs::write(root.join("a/f"), "f").expect("files can be written");
    for (target, link) in [
        ("a", "d"),
        ("../a/f", "a/l"),
        ("..", "u"),
        ("../secret", "s"),
        ("/", "e"),
        ("x/y", "n"),
        ("o", "o"),
        ("d/b/..", "c"),
    ] {
        symlink(target, root.join(link)).expect("links can be made");
    }
    symlink(root.join("a"), root.join("i")).expect("links can be made");
    Tree { root: Root::open(&root).expect("the root can be opened"), directory }
});

fuzz_target!(|bytes: &[u8]| {
    use std::os::unix::ffi::OsStrExt;
    let path = Path::new(std::ffi::OsStr::from_bytes(bytes));
    let Ok(resolved) = TREE.root.resolve(path) else { return };
    assert!(
        resolved.path.components().all(|part| matches!(part, Component::Normal(_))),
        "{resolved:?}"
    );
    if resolved.kind.is_some() {
        TREE.root.metadata(&resolved.path).expect("what was found can be looked at");
    }
    let base = TREE.directory.path().join("r");
    // The kernel refuses what leaves the root in between and comes back; haft may, so only what both accept compares.
    if let (Some(_), Ok(real)) = (resolved.kind, base.join(path).canonicalize()) {
        assert_eq!(real, TREE.root.path().join(&resolved.path), "for {path:?}");
    }
});
