//! Rules about paths around a command: covers, exceptions, other mounts, and covers that come while it runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use haft_sandbox::{
    Confinement, Mechanisms, PathAccess, PathRules, ProcessExit, RuledPath, RuledPaths,
};

use crate::spawn::Fixture;

/// Denies `.env` and `secrets`, but for `secrets/public`, and changes of `lock`, wherever they are.
#[derive(Debug)]
struct Names;

impl PathRules for Names {
    fn access(&self, path: &Path) -> PathAccess {
        let has = |wanted: &str| path.iter().any(|name| name == wanted);
        if path.ends_with("secrets/public") {
            PathAccess::Full
        } else if has(".env") || has("secrets") {
            PathAccess::Nothing
        } else if has("lock") {
            PathAccess::ReadOnly
        } else {
            PathAccess::Full
        }
    }

    fn access_beneath(&self, directory: &Path) -> PathAccess {
        self.access(&directory.join("-"))
    }

    fn may_concern(&self, name: &[u8]) -> bool {
        [".env", "secrets", "public", "lock"].iter().any(|it| it.as_bytes() == name)
    }

    fn picks_all(&self) -> bool {
        false
    }

    fn picks_all_in(&self, _: &Path) -> bool {
        false
    }

    fn names_key(&self) -> &str {
        "names"
    }

    fn depends_on_place(&self) -> bool {
        true
    }
}

/// Returns a fixture with denied files in `sub`, and a confinement that knows the rules.
fn place() -> (Fixture, Confinement) {
    let fixture = Fixture::new();
    fs::create_dir_all(fixture.path("sub/secrets/deep")).unwrap();
    for file in [".env", "secrets/key", "secrets/deep/key", "secrets/public", "lock", "open"] {
        fs::write(fixture.path("sub").join(file), format!("{file}\n")).unwrap();
    }
    let root = fixture.path("").canonicalize().unwrap();
    let ruled = RuledPaths { roots: vec![root], rules: Some(Arc::new(Names)) };
    let confinement = Confinement { ruled, ..fixture.confinement() };
    (fixture, confinement)
}

const LOOK: &str = "for f in .env secrets/key secrets/deep/key secrets/public lock open; do \
                    cat sub/$f 2>&1; done; for f in .env secrets/key secrets/public lock open; do \
                    (echo x >> sub/$f) 2>&1; done; ls sub/secrets 2>&1";

#[tokio::test]
async fn denied_paths_are_covered_and_exceptions_stay_open() {
    let (fixture, confinement) = place();
    let (output, exit) = fixture.run_confined(&confinement, LOOK).await;
    let expected = "\
cat: sub/.env: Permission denied
cat: sub/secrets/key: No such file or directory
cat: sub/secrets/deep/key: No such file or directory
secrets/public
lock
open
bash: line 1: sub/.env: Permission denied
bash: line 1: sub/secrets/key: Read-only file system
bash: line 1: sub/lock: Read-only file system
ls: cannot open directory 'sub/secrets': Permission denied
";
    assert_eq!((output.as_str(), exit), (expected, ProcessExit::Code(2)));
    assert_eq!(
        fs::read_to_string(fixture.path("sub/secrets/public")).unwrap(),
        "secrets/public\nx\n"
    );
    assert_eq!(fs::read_to_string(fixture.path("sub/secrets/key")).unwrap(), "secrets/key\n");
}

#[tokio::test]
async fn a_command_that_only_reads_is_kept_from_them_too() {
    let (fixture, confinement) = place();
    let readable = [confinement.readable.clone(), confinement.writable.clone()].concat();
    let confinement = Confinement { readable, writable: Vec::new(), ..confinement };
    let (output, _) = fixture.run_confined(&confinement, "cat sub/.env sub/open 2>&1").await;
    assert_eq!(output, "cat: sub/.env: Permission denied\nopen\n");
}

#[tokio::test]
async fn without_mounts_landlock_grants_everything_else() {
    let (fixture, confinement) = place();
    let mechanisms = Mechanisms { namespaces: false, ..Mechanisms::ALL };
    let confinement = Confinement { mechanisms, ..confinement };
    let script = "cat sub/.env sub/secrets/key sub/secrets/public sub/lock sub/open 2>&1; \
                  (echo x >> sub/lock) 2>&1; echo x >> sub/open; ls sub";
    let (output, _) = fixture.run_confined(&confinement, script).await;
    let expected = "\
cat: sub/.env: Permission denied
cat: sub/secrets/key: Permission denied
secrets/public
lock
open
bash: line 1: sub/lock: Permission denied
lock
open
secrets
";
    assert_eq!(output, expected);
    assert_eq!(fs::read_to_string(fixture.path("sub/open")).unwrap(), "open\nx\n");
}

#[tokio::test]
async fn what_is_denied_is_listed_with_all_of_its_names() {
    let (fixture, confinement) = place();
    fs::hard_link(fixture.path("sub/secrets/deep/key"), fixture.path("alias")).unwrap();
    std::os::unix::fs::symlink("open", fixture.path("sub/.env.d")).unwrap();
    std::os::unix::fs::symlink("sub/open", fixture.path(".env")).unwrap();
    let process = fixture.start_confined(&confinement, "true").await;
    let root = fixture.path("").canonicalize().unwrap();
    let shown = |path: &PathBuf| path.strip_prefix(&root).unwrap().display().to_string();
    let line = |it: &RuledPath| {
        let named = it.named_as.as_ref().map(|named| format!(" as {}", shown(named)));
        format!("{}{} {:?}", shown(&it.path), named.unwrap_or_default(), it.access)
    };
    let mut lines: Vec<String> = process.denied.iter().map(line).collect();
    lines.sort();
    let expected = [
        "alias as sub/secrets/deep/key Nothing",
        "sub/.env Nothing",
        "sub/lock ReadOnly",
        "sub/open as .env Nothing",
        "sub/secrets Nothing",
    ];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn a_second_mount_of_a_directory_is_covered_as_well() {
    let (fixture, confinement) = place();
    fs::create_dir(fixture.path("again")).unwrap();
    let again = fixture.path("again");
    let mut mounted = Command::new("mount");
    mounted.arg("--bind").arg(fixture.path("sub/secrets")).arg(&again);
    if !mounted.output().unwrap().status.success() {
        eprintln!("this user cannot mount anything, so there is no second mount");
        return;
    }
    let (output, _) =
        fixture.run_confined(&confinement, "cat again/key; ls again/deep; true").await;
    assert!(Command::new("umount").arg(&again).status().unwrap().success());
    assert!(!output.contains("key\n"), "{output}");
}

#[tokio::test]
async fn what_appears_is_covered_on_request_and_what_is_replaced_by_itself() {
    let (fixture, confinement) = place();
    let script = "until [ -e go ]; do sleep 0.02; done; \
                  while cat sub/.env > /dev/null 2>&1; do sleep 0.02; done; cat late/.env sub/.env 2>&1; \
                  cat late/secrets/key 2>&1; cat late/lock; (echo x >> late/lock) 2>&1";
    let process = fixture.start_confined(&confinement, script).await;
    let guard = process.guard.as_ref().unwrap();
    fs::create_dir_all(fixture.path("late/secrets")).unwrap();
    for file in [".env", "secrets/key", "lock"] {
        fs::write(fixture.path("late").join(file), format!("late {file}\n")).unwrap();
    }
    guard.cover_new().await.unwrap();
    fs::write(fixture.path("sub/new"), "new\n").unwrap();
    fs::rename(fixture.path("sub/new"), fixture.path("sub/.env")).unwrap();
    fs::write(fixture.path("go"), "").unwrap();
    let (output, _) = fixture.read_all(process).await;
    let expected = "\
cat: late/.env: Permission denied
cat: sub/.env: Permission denied
cat: late/secrets/key: Permission denied
late lock
bash: line 1: late/lock: Read-only file system
";
    assert_eq!(output, expected);
}
