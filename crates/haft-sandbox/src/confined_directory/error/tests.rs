//! Conversion of kernel errors to errors that a person can act on.

use std::path::Path;

use expect_test::expect;
use rustix::io::Errno;

use super::*;

#[test]
fn answers_of_the_kernel_are_sorted() {
    let answers = [
        Errno::NOENT,
        Errno::NOTDIR,
        Errno::LOOP,
        Errno::XDEV,
        Errno::ACCESS,
        Errno::PERM,
        Errno::ROFS,
        Errno::NOSPC,
        Errno::DQUOT,
        Errno::NAMETOOLONG,
        Errno::IO,
    ];
    let message = |errno| format!("{}\n", RootError::from_errno(Path::new("a/b"), errno));
    expect![[r#"
        a/b does not exist
        a/b is not a directory
        a/b was exchanged for a symbolic link while it was in use; try again
        a/b is outside the root; use a path relative to the root
        permission denied: a/b
        permission denied: a/b
        a/b is on a read-only file system
        no space is left to write a/b
        no space is left to write a/b
        the path or a name in it is too long: a/b
        a/b: Input/output error (os error 5)
    "#]]
    .assert_eq(&answers.map(message).concat());
}

#[test]
fn the_root_itself_is_shown_as_a_dot() {
    let error = RootError::from_errno(Path::new(""), Errno::ACCESS);
    assert_eq!(error.to_string(), "permission denied: .");
}

#[test]
fn a_failed_rollback_tells_both_causes_and_the_rescue() {
    let error = ChangeSetError::RollbackFailed {
        path: "a".into(),
        kept: ".haft-00000000.tmp".into(),
        cause: Box::new(ChangeSetError::Changed { path: "b".into() }),
        source: Errno::NOTEMPTY.into(),
    };
    expect!["a could not be put back (Directory not empty (os error 39)) after: b changed since it was read; read it again; its former content is in .haft-00000000.tmp"].assert_eq(&error.to_string());
}
