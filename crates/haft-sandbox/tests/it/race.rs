//! Races: while one thread exchanges a directory for a link that leads outside, others resolve
//! paths and use them. Nothing outside may ever be read or changed.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::symlink;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_sandbox::{ExpectedFile, Root, RootFileChange};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use tempfile::TempDir;

use crate::roots;

/// Minimum number of attempts, and maximum number until some succeeded and some failed.
const TRIES_MIN: usize = 5_000;
const TRIES_MAX: usize = 2_000_000;

/// `root/dir/file` holds `inside`, `outside/file` holds `secret`, and `root/trap` leads to `outside`.
fn place() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir_all(path.join("root/dir")).unwrap();
    fs::create_dir(path.join("outside")).unwrap();
    fs::write(path.join("root/dir/file"), "inside").unwrap();
    fs::write(path.join("outside/file"), "secret").unwrap();
    symlink("../outside", path.join("root/trap")).unwrap();
    directory
}

/// Calls `attempt` repeatedly while `dir` and `trap` change places, until it has returned both true
/// and false. Then attempts fell on either side of an exchange.
fn race(place: &Path, attempt: impl Fn() -> bool) {
    let is_done = AtomicBool::new(false);
    let (dir, trap) = (place.join("root/dir"), place.join("root/trap"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                renameat_with(CWD, &dir, CWD, &trap, RenameFlags::EXCHANGE).unwrap();
            }
        });
        // A failed attempt must stop the other thread as well, or the test would not end.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut successes = 0;
            for tries in 1..=TRIES_MAX {
                successes += usize::from(attempt());
                if tries >= TRIES_MIN && successes > 0 && successes < tries {
                    return;
                }
            }
            panic!("{successes} of {TRIES_MAX} attempts succeeded, which is no race");
        }));
        is_done.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| resume_unwind(panic));
    });
}

fn read(root: &Root, path: &str) -> Option<String> {
    let resolved = root.resolve(Path::new(path)).ok()?;
    let mut text = String::new();
    root.open_file(&resolved.path).ok()?.file.read_to_string(&mut text).unwrap();
    Some(text)
}

#[test]
fn reading_never_follows_an_exchanged_directory() {
    let place = place();
    for root in roots(&place.path().join("root")) {
        race(place.path(), || match read(&root, "dir/file").as_deref() {
            Some("inside") => true,
            None => false,
            Some(other) => panic!("read {other:?} from outside"),
        });
    }
}

#[test]
fn listing_never_follows_an_exchanged_directory() {
    let place = place();
    fs::write(place.path().join("outside/other"), "").unwrap();
    for root in roots(&place.path().join("root")) {
        race(place.path(), || {
            let Ok(resolved) = root.resolve(Path::new("dir")) else { return false };
            let Ok(entries) = root.list(&resolved.path) else { return false };
            assert_eq!(entries.len(), 1, "listed the outside");
            true
        });
    }
}

#[test]
fn writing_never_follows_an_exchanged_directory() {
    let place = place();
    for root in roots(&place.path().join("root")) {
        let write = |name: &str| {
            let path = root.resolve(&Path::new("dir").join(name)).ok()?.path;
            let contents = b"inside".to_vec();
            let change =
                RootFileChange::Write { path, contents, mode: None, expected: ExpectedFile::Any };
            root.apply(vec![change]).ok()
        };
        race(place.path(), || write("file").or(write("new")).is_some());
        assert_eq!(fs::read(place.path().join("outside/file")).unwrap(), b"secret");
        assert_eq!(crate::tree(&place.path().join("outside")), ["file"]);
    }
}

#[test]
fn removing_never_follows_an_exchanged_directory() {
    let place = place();
    for root in roots(&place.path().join("root")) {
        race(place.path(), || {
            let Ok(resolved) = root.resolve(Path::new("dir/file")) else { return false };
            let change =
                RootFileChange::Remove { path: resolved.path, expected: ExpectedFile::Any };
            let is_removed = root.apply(vec![change]).is_ok();
            let (dir, trap) = (place.path().join("root/dir"), place.path().join("root/trap"));
            // Restores the file in whichever of the two names is currently the directory.
            for directory in [dir, trap].iter().filter(|path| !path.is_symlink()) {
                let _ = fs::write(directory.join("file"), "inside");
            }
            is_removed
        });
        assert!(place.path().join("outside/file").exists(), "removed from outside");
    }
}
