//! Each case restricts a separate process to the same rules and performs one operation.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::Path;

use expect_test::{Expect, expect};
use rustix::process::{Pid, Signal, getppid, kill_process, test_kill_process};
use rustix::thread::{set_capabilities, set_no_new_privs};
use tempfile::TempDir;

use super::{LandlockAccess, LandlockRule, gaps, restrict, version};
use crate::confine::capabilities::NONE;
use crate::kernel::trial;

fn rules(directory: &Path) -> Vec<LandlockRule> {
    let rule = |path: &str, access| LandlockRule { path: directory.join(path), access };
    vec![
        rule("readable", LandlockAccess::Read),
        rule("single/file", LandlockAccess::Read),
        rule("writable", LandlockAccess::Write),
        rule("device", LandlockAccess::Device),
        rule("link", LandlockAccess::Write),
        rule("missing", LandlockAccess::Write),
        rule("readable/file/beneath-a-file", LandlockAccess::Write),
    ]
}

fn directory() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in ["readable", "writable", "writable/sub", "outside", "single", "device"] {
        fs::create_dir(directory.path().join(name)).unwrap();
        fs::write(directory.path().join(name).join("file"), "contents").unwrap();
    }
    symlink("outside", directory.path().join("link")).unwrap();
    directory
}

fn outcome(result: &io::Result<()>) -> String {
    match result {
        Ok(()) => "done".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// One operation in the directory of a case.
type Deed = (&'static str, fn(&Path) -> io::Result<()>);

fn check(deeds: &[Deed], expect: Expect) {
    let mut lines = String::new();
    for (name, deed) in deeds {
        let directory = directory();
        let path = directory.path();
        let result = trial::run(|| {
            set_no_new_privs(true)?;
            if restrict(&rules(path))? {
                deed(path)
            } else {
                Err(io::ErrorKind::Unsupported.into())
            }
        });
        lines.push_str(&format!("{name}: {}\n", outcome(&result)));
    }
    expect.assert_eq(&lines);
}

#[test]
fn reading() {
    check(
        &[
            ("a readable file", |path| fs::read(path.join("readable/file")).map(drop)),
            ("a readable directory", |path| fs::read_dir(path.join("readable")).map(drop)),
            ("a writable file", |path| fs::read(path.join("writable/sub/file")).map(drop)),
            ("a single file", |path| fs::read(path.join("single/file")).map(drop)),
            ("the directory of a single file", |path| fs::read_dir(path.join("single")).map(drop)),
            ("a device", |path| fs::read(path.join("device/file")).map(drop)),
            ("outside", |path| fs::read(path.join("outside/file")).map(drop)),
            ("outside, by a link", |path| fs::read(path.join("link/file")).map(drop)),
            ("names outside", |path| fs::read_dir(path).map(drop)),
            ("what is known of a file outside", |path| {
                fs::metadata(path.join("outside/file")).map(drop)
            }),
        ],
        expect![[r#"
            a readable file: done
            a readable directory: done
            a writable file: done
            a single file: done
            the directory of a single file: Permission denied (os error 13)
            a device: done
            outside: Permission denied (os error 13)
            outside, by a link: Permission denied (os error 13)
            names outside: Permission denied (os error 13)
            what is known of a file outside: done
        "#]],
    );
}

#[test]
fn writing() {
    check(
        &[
            ("a new file", |path| fs::write(path.join("writable/new"), "")),
            ("a new directory", |path| fs::create_dir(path.join("writable/new"))),
            ("moving within", |path| {
                fs::rename(path.join("writable/sub/file"), path.join("writable/new"))
            }),
            ("removing", |path| fs::remove_file(path.join("writable/file"))),
            ("a readable file", |path| fs::write(path.join("readable/file"), "")),
            ("a new file in a readable directory", |path| fs::write(path.join("readable/new"), "")),
            ("removing a readable file", |path| fs::remove_file(path.join("readable/file"))),
            ("moving in", |path| fs::rename(path.join("readable/file"), path.join("writable/new"))),
            ("moving out", |path| fs::rename(path.join("writable/file"), path.join("outside/new"))),
            ("a second name for a readable file", |path| {
                fs::hard_link(path.join("readable/file"), path.join("writable/new"))
            }),
            ("cutting a readable file", |path| truncate(&path.join("readable/file"))),
            ("a device", |path| fs::write(path.join("device/file"), "contents")),
            ("a new device", |path| fs::write(path.join("device/new"), "")),
            ("removing a device", |path| fs::remove_file(path.join("device/file"))),
            ("outside, by a link", |path| fs::write(path.join("link/new"), "")),
        ],
        expect![[r#"
            a new file: done
            a new directory: done
            moving within: done
            removing: done
            a readable file: Permission denied (os error 13)
            a new file in a readable directory: Permission denied (os error 13)
            removing a readable file: Permission denied (os error 13)
            moving in: Permission denied (os error 13)
            moving out: Permission denied (os error 13)
            a second name for a readable file: Invalid cross-device link (os error 18)
            cutting a readable file: Permission denied (os error 13)
            a device: done
            a new device: Permission denied (os error 13)
            removing a device: Permission denied (os error 13)
            outside, by a link: Permission denied (os error 13)
        "#]],
    );
}

#[test]
fn signals_stay_within() {
    if version().unwrap() < 6 {
        eprintln!("not tested: this kernel's Landlock does not confine signals");
        return;
    }
    check(
        &[
            ("its parent", |_| Ok(test_kill_process(parent()?)?)),
            ("itself", |_| Ok(kill_process(rustix::process::getpid(), Signal::CHILD)?)),
        ],
        expect![[r#"
            its parent: Operation not permitted (os error 1)
            itself: done
        "#]],
    );
}

/// Truncates by path: opening the file first would already be refused.
fn truncate(path: &Path) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    #[expect(unsafe_code, reason = "no safe interface cuts a file by its path")]
    // SAFETY: the path ends in a NUL byte and lives through the call.
    let answer = unsafe { libc::truncate(path.as_ptr(), 0) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn parent() -> io::Result<Pid> {
    getppid().ok_or_else(|| io::ErrorKind::NotFound.into())
}

#[test]
fn a_link_grants_nothing_wherever_it_is() {
    let directory = directory();
    let path = directory.path();
    let rules = [LandlockRule { path: path.join("link/file"), access: LandlockAccess::Read }];
    let result = trial::run(|| {
        set_no_new_privs(true)?;
        restrict(&rules)?;
        fs::read(path.join("outside/file")).map(drop)
    });
    assert_eq!(outcome(&result), "Permission denied (os error 13)");
}

#[test]
fn it_needs_that_no_privileges_can_be_had() {
    let result = trial::run(|| {
        set_capabilities(None, NONE)?;
        restrict(&[]).map(drop)
    });
    assert_eq!(outcome(&result), "Operation not permitted (os error 1)");
}

#[test]
fn gaps_are_those_of_the_version() {
    let versions: Vec<_> = (1..=7).map(|version| gaps(version).len()).collect();
    assert_eq!(versions, [4, 3, 2, 2, 1, 0, 0]);
    assert!(version().unwrap() >= 1);
}
