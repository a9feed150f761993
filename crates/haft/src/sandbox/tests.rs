//! Tests that file accesses are refused at hidden and protected places, also under other names of the files.

use expect_test::{Expect, expect};

use super::*;

#[test]
fn another_name_of_a_hidden_file_is_the_hidden_file() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(base.join("secrets/deep")).unwrap();
    std::fs::write(base.join("secrets/deep/key"), "k").unwrap();
    std::fs::write(base.join("plain"), "p").unwrap();
    std::fs::hard_link(base.join("secrets/deep/key"), base.join("other")).unwrap();
    std::fs::hard_link(base.join("plain"), base.join("twin")).unwrap();
    let mut sandbox = Sandbox::system();
    sandbox.hidden = vec![base.join("secrets")];
    let root = haft_sandbox::Root::open(&base).unwrap();
    let check = |name: &str| sandbox.check_links(&root.open_file(name.as_ref()).unwrap());
    assert!(check("other").is_err());
    assert!(check("twin").is_ok());
    assert!(check("plain").is_ok());
}

#[test]
fn only_hidden_files_with_several_names_count() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path();
    let hidden = base.join("hidden");
    std::fs::create_dir_all(hidden.join("deep/deeper")).unwrap();
    for name in ["one", "two", "deep/three"] {
        std::fs::write(hidden.join(name), "alone").unwrap();
    }
    for name in ["first", "deep/second"] {
        std::fs::write(hidden.join(name), "linked").unwrap();
        std::fs::hard_link(hidden.join(name), hidden.join(format!("{name} again"))).unwrap();
    }
    let identity = |path: &Path| {
        let metadata = path.metadata().unwrap();
        (metadata.dev(), metadata.ino())
    };
    std::fs::write(base.join("outside"), "").unwrap();
    let outside = identity(&base.join("outside"));
    // Two files, each found by both of its names.
    assert_eq!(compare_hidden_file(&hidden, outside, 4), HiddenFileComparison::Different);
    assert_eq!(compare_hidden_file(&hidden, outside, 3), HiddenFileComparison::Unknown);
    assert_eq!(
        compare_hidden_file(&hidden, identity(&hidden.join("deep/second")), 4),
        HiddenFileComparison::Same
    );
    // Names of one file are all on one device.
    assert_eq!(
        compare_hidden_file(&hidden, (outside.0.wrapping_add(1), outside.1), 0),
        HiddenFileComparison::Different
    );
    assert_eq!(
        compare_hidden_file(&base.join("missing"), outside, 0),
        HiddenFileComparison::Different
    );
}

#[test]
fn the_way_to_a_root_counts_for_what_is_protected_in_it() {
    let check = |root: &str, relative: &str, expect: Expect| {
        let path = PathSubject::in_root(Path::new(root), Path::new(relative));
        let answer = match Sandbox::system().check_write(&path) {
            Ok(()) => "can be written".to_owned(),
            Err(err) => err.message,
        };
        expect.assert_eq(&answer);
    };
    check(
        "/srv/app/.git",
        "hooks/pre-commit",
        expect![[
            r#"hooks/pre-commit is protected by ".git/hooks/**", because others run or obey what it says: leave it, or tell the user what to change"#
        ]],
    );
    check(
        "/srv/app/.git",
        "config",
        expect![[
            r#"config is protected by ".git/config", because others run or obey what it says: leave it, or tell the user what to change"#
        ]],
    );
    check("/srv/app/.git", "description", expect!["can be written"]);
    // This directory was granted by name.
    check("/srv/app/.claude", "settings.json", expect!["can be written"]);
    check("/srv/app", "config", expect!["can be written"]);
}

#[test]
fn where_a_repository_keeps_its_hooks_is_held_for_commands_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::create_dir(root.join(".git")).unwrap();
    std::fs::write(root.join(".git/config"), "[core]\nhooksPath = tools/hooks\n").unwrap();
    let check = |sandbox: &Sandbox, relative: &str, expect: bool| {
        let confinement = sandbox.confinement(vec![root.clone()], Network::Loopback);
        let held = confinement.protected.matching_beneath(&root, Path::new(relative));
        assert_eq!(held.is_some(), expect, "{relative}");
        let path = PathSubject::in_root(&root, Path::new(relative));
        assert_eq!(sandbox.check_write(&path).is_err(), expect, "{relative}");
    };
    let sandbox = Sandbox::system();
    check(&sandbox, "tools/hooks/pre-push", true);
    check(&sandbox, "src/tools/hooks/pre-push", false);
    let protected = sandbox.protected.clone().without_patterns([HOOKS]).unwrap();
    check(&Sandbox { protected, ..sandbox }, "tools/hooks/pre-push", false);
}
