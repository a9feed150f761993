//! Resolving: a table of paths in one tree with every kind of link.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use haft_sandbox::{InodeKind, LINKS_MAX, Root, RootError};
use tempfile::TempDir;

use crate::roots;

/// A root with a directory outside of it, and a link to both.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Place {
        let place = Place { directory: tempfile::tempdir().unwrap() };
        fs::create_dir_all(place.root().join("dir/sub")).unwrap();
        fs::create_dir(place.outside()).unwrap();
        fs::write(place.root().join("file"), "inside").unwrap();
        fs::write(place.root().join("dir/inner"), "inside").unwrap();
        fs::write(place.outside().join("secret"), "secret").unwrap();
        symlink("real", place.spelled().parent().unwrap()).unwrap();
        place
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("real/root")
    }

    fn outside(&self) -> PathBuf {
        self.directory.path().join("real/outside")
    }

    /// The root's path through a link.
    fn spelled(&self) -> PathBuf {
        self.directory.path().join("alias/root")
    }

    fn link(&self, name: &str, target: impl AsRef<Path>) -> &Place {
        symlink(target, self.root().join(name)).unwrap();
        self
    }

    /// Resolves each path in every possible way, which must agree, and compares the answers with a
    /// table.
    fn check(&self, paths: &[&str], expected: Expect) {
        let answers = roots(&self.spelled()).map(|root| {
            let answer = |path: &&str| format!("{path:?} => {}\n", self.resolve(&root, path));
            paths.iter().map(answer).collect::<String>()
        });
        assert_eq!(answers[0], answers[1]);
        expected.assert_eq(&answers[0]);
    }

    fn resolve(&self, root: &Root, path: &str) -> String {
        let text = match root.resolve(Path::new(&self.expand(path))) {
            Ok(resolved) => {
                let kind = resolved.kind.map_or("nothing".to_owned(), |kind| kind.to_string());
                format!("{:?}, {kind}", resolved.path)
            }
            Err(error) => format!("error: {error}"),
        };
        let base = self.directory.path().canonicalize().unwrap();
        text.replace(base.to_str().unwrap(), "BASE")
    }

    fn expand(&self, path: &str) -> String {
        let base = self.directory.path().canonicalize().unwrap();
        path.replace("BASE", base.to_str().unwrap())
    }
}

#[test]
fn plain_paths() {
    Place::new().check(
        &[
            "",
            ".",
            "file",
            "./file",
            "dir",
            "dir/",
            "dir/.",
            "dir//inner",
            "missing",
            "missing/deep/er",
            "dir/missing",
            "dir/missing/",
        ],
        expect![[r#"
            "" => "", a directory
            "." => "", a directory
            "file" => "file", a regular file
            "./file" => "file", a regular file
            "dir" => "dir", a directory
            "dir/" => "dir", a directory
            "dir/." => "dir", a directory
            "dir//inner" => "dir/inner", a regular file
            "missing" => "missing", nothing
            "missing/deep/er" => "missing/deep/er", nothing
            "dir/missing" => "dir/missing", nothing
            "dir/missing/" => "dir/missing", nothing
        "#]],
    );
}

#[test]
fn parent_directories() {
    Place::new().check(
        &[
            "dir/..",
            "dir/../file",
            "dir/sub/../../file",
            "dir/sub/../inner",
            "..",
            "../root/file",
            "dir/../..",
            "dir/../../outside/secret",
            "missing/..",
            "missing/../file",
            "file/..",
        ],
        expect![[r#"
            "dir/.." => "", a directory
            "dir/../file" => "file", a regular file
            "dir/sub/../../file" => "file", a regular file
            "dir/sub/../inner" => "dir/inner", a regular file
            ".." => error: .. is outside the root; use a path relative to the root
            "../root/file" => error: ../root/file is outside the root; use a path relative to the root
            "dir/../.." => error: dir/../.. is outside the root; use a path relative to the root
            "dir/../../outside/secret" => error: dir/../../outside/secret is outside the root; use a path relative to the root
            "missing/.." => error: missing does not exist
            "missing/../file" => error: missing does not exist
            "file/.." => error: file is not a directory
        "#]],
    );
}

#[test]
fn absolute_paths() {
    Place::new().check(
        &[
            "BASE/real/root",
            "BASE/real/root/dir/inner",
            "BASE/real/root/dir/../file",
            "BASE/real/root/missing",
            "BASE/real/root/../outside/secret",
            "BASE/real/outside/secret",
            "BASE/real/rootless",
            "/",
            "/etc/passwd",
        ],
        expect![[r#"
            "BASE/real/root" => "", a directory
            "BASE/real/root/dir/inner" => "dir/inner", a regular file
            "BASE/real/root/dir/../file" => "file", a regular file
            "BASE/real/root/missing" => "missing", nothing
            "BASE/real/root/../outside/secret" => error: BASE/real/root/../outside/secret is outside the root; use a path relative to the root
            "BASE/real/outside/secret" => error: BASE/real/outside/secret is outside the root; use a path relative to the root
            "BASE/real/rootless" => error: BASE/real/rootless is outside the root; use a path relative to the root
            "/" => error: / is outside the root; use a path relative to the root
            "/etc/passwd" => error: /etc/passwd is outside the root; use a path relative to the root
        "#]],
    );
}

#[test]
fn a_root_is_known_by_both_of_its_names() {
    let place = Place::new();
    let base = place.directory.path();
    for root in roots(&place.spelled()) {
        for name in ["real", "alias"] {
            let path = base.join(name).join("root/dir/inner");
            assert_eq!(root.resolve(&path).unwrap().path, Path::new("dir/inner"));
        }
        assert_eq!(root.path(), place.root().canonicalize().unwrap());
    }
}

#[test]
fn through_files() {
    Place::new().link("to-file", "file").link("to-slash", "file/").link("to-dot", "file/.").check(
        &[
            "file/",
            "file/.",
            "file/x",
            "file/x/y",
            "dir/inner/x",
            "to-file/x",
            "to-file/",
            "to-slash",
            "to-dot",
        ],
        expect![[r#"
            "file/" => error: file is not a directory
            "file/." => error: file is not a directory
            "file/x" => error: file is not a directory
            "file/x/y" => error: file is not a directory
            "dir/inner/x" => error: dir/inner is not a directory
            "to-file/x" => error: file is not a directory
            "to-file/" => error: file is not a directory
            "to-slash" => error: file is not a directory
            "to-dot" => error: file is not a directory
        "#]],
    );
}

#[test]
fn links_inside() {
    let place = Place::new();
    let root = place.root().canonicalize().unwrap();
    place
        .link("to-file", "file")
        .link("to-dir", "dir")
        .link("dir/up", "../file")
        .link("dir/here", ".")
        .link("chain", "to-dir/up")
        .link("around", "dir/sub/../inner")
        .link("slash", "dir/")
        .link("absolute", root.join("dir/inner"))
        .link("absolute-root", &root)
        .link("spelled", place.spelled().join("dir"))
        .link("missing-link", "dir/missing")
        .link("missing-deep", "missing/deep")
        .check(
            &[
                "to-file",
                "to-dir",
                "to-dir/inner",
                "to-dir/../file",
                "to-dir/sub/../../file",
                "dir/up",
                "dir/here/here/inner",
                "chain",
                "around",
                "slash/inner",
                "absolute",
                "absolute-root/dir/inner",
                "absolute-root/absolute-root/file",
                "spelled/inner",
                "missing-link",
                "missing-link/x",
                "missing-deep",
                "missing-deep/..",
            ],
            expect![[r#"
                "to-file" => "file", a regular file
                "to-dir" => "dir", a directory
                "to-dir/inner" => "dir/inner", a regular file
                "to-dir/../file" => "file", a regular file
                "to-dir/sub/../../file" => "file", a regular file
                "dir/up" => "file", a regular file
                "dir/here/here/inner" => "dir/inner", a regular file
                "chain" => "file", a regular file
                "around" => "dir/inner", a regular file
                "slash/inner" => "dir/inner", a regular file
                "absolute" => "dir/inner", a regular file
                "absolute-root/dir/inner" => "dir/inner", a regular file
                "absolute-root/absolute-root/file" => "file", a regular file
                "spelled/inner" => "dir/inner", a regular file
                "missing-link" => "dir/missing", nothing
                "missing-link/x" => "dir/missing/x", nothing
                "missing-deep" => "missing/deep", nothing
                "missing-deep/.." => error: missing does not exist
            "#]],
        );
}

#[test]
fn links_that_leave() {
    let place = Place::new();
    let outside = place.outside();
    place
        .link("relative", "../outside/secret")
        .link("absolute", outside.join("secret"))
        .link("new", outside.join("new"))
        .link("directory", "../outside")
        .link("dir/deep", "sub/../../../outside/secret")
        .link("back", "../root/file")
        .link("first", "dir/second")
        .link("dir/second", "../../outside")
        .link("system", "/etc/passwd")
        .link("climbing", place.root().join("../outside/secret"))
        .check(
            &[
                "relative",
                "absolute",
                "new",
                "directory",
                "directory/secret",
                "directory/../root/file",
                "dir/deep",
                "back",
                "first/secret",
                "system",
                "climbing",
                "dir/../relative",
            ],
            expect![[r#"
                "relative" => error: relative leaves the root through the symbolic link relative
                "absolute" => error: absolute leaves the root through the symbolic link absolute
                "new" => error: new leaves the root through the symbolic link new
                "directory" => error: directory leaves the root through the symbolic link directory
                "directory/secret" => error: directory/secret leaves the root through the symbolic link directory
                "directory/../root/file" => error: directory/../root/file leaves the root through the symbolic link directory
                "dir/deep" => error: dir/deep leaves the root through the symbolic link dir/deep
                "back" => error: back leaves the root through the symbolic link back
                "first/secret" => error: first/secret leaves the root through the symbolic link dir/second
                "system" => error: system leaves the root through the symbolic link system
                "climbing" => error: climbing leaves the root through the symbolic link climbing
                "dir/../relative" => error: dir/../relative leaves the root through the symbolic link relative
            "#]],
        );
}

#[test]
fn loops() {
    Place::new()
        .link("self", "self")
        .link("a", "b")
        .link("b", "a")
        .link("growing", "growing/x")
        .check(
            &["self", "a", "b/x", "growing"],
            expect![[r#"
            "self" => error: self needs more than 40 symbolic links; they may form a loop
            "a" => error: a needs more than 40 symbolic links; they may form a loop
            "b/x" => error: b/x needs more than 40 symbolic links; they may form a loop
            "growing" => error: growing needs more than 40 symbolic links; they may form a loop
        "#]],
        );
}

#[test]
fn as_many_links_as_allowed_are_followed() {
    let place = Place::new();
    place.link("0", "file");
    for number in 1..=LINKS_MAX {
        place.link(&number.to_string(), (number - 1).to_string());
    }
    for root in roots(&place.root()) {
        let last = (LINKS_MAX - 1).to_string();
        assert_eq!(root.resolve(Path::new(&last)).unwrap().path, Path::new("file"));
        let error = root.resolve(Path::new(&LINKS_MAX.to_string())).unwrap_err();
        assert!(matches!(error, RootError::TooManyLinks { .. }), "{error}");
    }
}

#[test]
fn names_that_are_not_text() {
    let place = Place::new();
    let name = OsStr::from_bytes(b"caf\xe9 \xff");
    fs::create_dir(place.root().join(name)).unwrap();
    fs::write(place.root().join(name).join(name), "").unwrap();
    symlink(Path::new(name).join(name), place.root().join("link")).unwrap();
    for root in roots(&place.root()) {
        for path in [Path::new("link"), &Path::new(name).join(name)] {
            let resolved = root.resolve(path).unwrap();
            assert_eq!(resolved.path, Path::new(name).join(name));
            assert_eq!(resolved.kind, Some(InodeKind::Regular));
            assert_eq!(root.open_file(&resolved.path).unwrap().stamp.size_bytes, 0);
        }
    }
}

#[test]
fn names_that_are_impossible() {
    let place = Place::new();
    let long = "x".repeat(256);
    let many = "x/".repeat(3_000);
    for root in roots(&place.root()) {
        for path in [long.clone(), format!("dir/{long}"), many.clone()] {
            let error = root.resolve(Path::new(&path)).unwrap_err();
            assert!(matches!(error, RootError::TooLong { .. }), "{error}");
        }
        let error = root.resolve(Path::new("a\0b")).unwrap_err();
        assert!(matches!(error, RootError::Invalid { .. }), "{error}");
    }
}

#[test]
fn a_deep_path_and_back() {
    let place = Place::new();
    let down = "deep/".repeat(400);
    fs::create_dir_all(place.root().join(&down)).unwrap();
    let there_and_back = format!("{down}{}file", "../".repeat(400));
    for root in roots(&place.root()) {
        let resolved = root.resolve(Path::new(&down)).unwrap();
        assert_eq!(resolved.kind, Some(InodeKind::Directory));
        assert_eq!(root.resolve(Path::new(&there_and_back)).unwrap().path, Path::new("file"));
    }
}

#[test]
fn a_root_must_be_a_directory() {
    let place = Place::new();
    let error = Root::open(&place.root().join("missing")).unwrap_err();
    assert!(matches!(error, RootError::NotFound { .. }), "{error}");
    let error = Root::open(&place.root().join("file")).unwrap_err();
    assert!(matches!(error, RootError::NotADirectory { .. }), "{error}");
}
