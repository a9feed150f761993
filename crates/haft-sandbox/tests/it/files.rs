//! Opening, inspecting and listing: files that are not regular are refused at once, and links are
//! never followed.

use std::ffi::OsStr;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;

use haft_sandbox::{InodeKind, Root, RootError};
use rustix::fs::{CWD, FileType, Mode, mkfifoat, mknodat};

use crate::roots;

fn kind_of_refusal(root: &Root, path: &str) -> InodeKind {
    match root.open_file(Path::new(path)).unwrap_err() {
        RootError::NotRegular { kind, .. } => kind,
        error => panic!("{error}"),
    }
}

#[test]
fn a_file_is_read_with_its_stamp() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "content").unwrap();
    for root in roots(directory.path()) {
        let mut opened = root.open_file(Path::new("file")).unwrap();
        let mut text = String::new();
        opened.file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "content");
        assert_eq!(opened.stamp.size_bytes, 7);
        let metadata = root.metadata(Path::new("file")).unwrap();
        assert_eq!((metadata.kind, metadata.stamp), (InodeKind::Regular, opened.stamp));
    }
}

#[test]
fn what_could_block_or_act_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    mkfifoat(CWD, path.join("fifo"), Mode::RUSR | Mode::WUSR).unwrap();
    let _listener = UnixListener::bind(path.join("socket")).unwrap();
    fs::create_dir(path.join("dir")).unwrap();
    for root in roots(path) {
        assert_eq!(kind_of_refusal(&root, "fifo"), InodeKind::Fifo);
        assert_eq!(kind_of_refusal(&root, "socket"), InodeKind::Socket);
        assert_eq!(kind_of_refusal(&root, "dir"), InodeKind::Directory);
        assert_eq!(kind_of_refusal(&root, ""), InodeKind::Directory);
    }
    for root in roots(Path::new("/dev")) {
        assert_eq!(kind_of_refusal(&root, "null"), InodeKind::CharDevice);
        assert_eq!(kind_of_refusal(&root, "zero"), InodeKind::CharDevice);
    }
}

#[test]
fn a_pipe_that_is_refused_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    mkfifoat(CWD, &fifo, Mode::RUSR | Mode::WUSR).unwrap();
    let writer = std::thread::spawn({
        let fifo = fifo.clone();
        move || fs::OpenOptions::new().write(true).open(fifo).is_ok()
    });
    for root in roots(directory.path()) {
        for _ in 0..200 {
            assert_eq!(kind_of_refusal(&root, "fifo"), InodeKind::Fifo);
        }
    }
    assert!(!writer.is_finished(), "opening the pipe woke its writer");
    drop(fs::OpenOptions::new().read(true).open(&fifo).unwrap());
    assert!(writer.join().unwrap());
}

#[test]
fn links_are_never_passed_through() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir(path.join("dir")).unwrap();
    fs::write(path.join("dir/file"), "").unwrap();
    symlink("dir", path.join("link")).unwrap();
    symlink("dir/file", path.join("to-file")).unwrap();
    let is_exchanged = |error: RootError| matches!(error, RootError::Exchanged { .. });
    for root in roots(path) {
        for name in ["link/file", "to-file", "link"] {
            let name = Path::new(name);
            assert!(is_exchanged(root.open_file(name).unwrap_err()), "{name:?}");
            assert!(is_exchanged(root.metadata(name).unwrap_err()), "{name:?}");
        }
        for name in ["link", "link/x"] {
            assert!(is_exchanged(root.list(Path::new(name)).unwrap_err()), "{name}");
            assert!(is_exchanged(root.open_dir(Path::new(name)).unwrap_err()), "{name}");
        }
    }
}

#[test]
fn only_canonical_paths_are_used() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    for root in roots(directory.path()) {
        for path in ["..", "x/../file", "/etc/passwd", "./file"] {
            let error = root.open_file(Path::new(path)).unwrap_err();
            assert!(matches!(error, RootError::Invalid { .. }), "{path}: {error}");
        }
    }
}

#[test]
fn a_listing_is_sorted_by_bytes_and_tells_kinds() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("b"), "").unwrap();
    fs::write(path.join("B"), "").unwrap();
    fs::write(path.join(OsStr::from_bytes(b"\xff")), "").unwrap();
    fs::write(path.join(".hidden"), "").unwrap();
    fs::create_dir(path.join("a")).unwrap();
    symlink("missing", path.join("link")).unwrap();
    mkfifoat(CWD, path.join("fifo"), Mode::RUSR).unwrap();
    for root in roots(path) {
        let entries = root.list(Path::new("")).unwrap();
        let entries: Vec<_> =
            entries.iter().map(|entry| (entry.name.as_bytes(), entry.kind)).collect();
        let expected: [(&[u8], InodeKind); 7] = [
            (b".hidden", InodeKind::Regular),
            (b"B", InodeKind::Regular),
            (b"a", InodeKind::Directory),
            (b"b", InodeKind::Regular),
            (b"fifo", InodeKind::Fifo),
            (b"link", InodeKind::Symlink),
            (b"\xff", InodeKind::Regular),
        ];
        assert_eq!(entries, expected);
    }
}

#[test]
fn a_listing_larger_than_its_buffer_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    for number in 0..3_000 {
        fs::write(directory.path().join(format!("{number:05}-{}", "x".repeat(60))), "").unwrap();
    }
    for root in roots(directory.path()) {
        let entries = root.list(Path::new("")).unwrap();
        assert_eq!(entries.len(), 3_000);
        assert!(entries.is_sorted_by(|a, b| a.name < b.name));
    }
}

#[test]
fn listing_a_file_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    for root in roots(directory.path()) {
        for path in ["file", "file/x"] {
            let error = root.list(Path::new(path)).unwrap_err();
            assert!(matches!(error, RootError::NotADirectory { .. }), "{error}");
        }
    }
}

#[test]
fn a_device_inside_the_root_is_told_by_its_kind() {
    let directory = tempfile::tempdir().unwrap();
    let device = directory.path().join("device");
    // Only a privileged user may create one; the test above uses a device of the system.
    let made = mknodat(CWD, &device, FileType::CharacterDevice, Mode::RUSR, 0x0103);
    for root in roots(directory.path()) {
        match made {
            Ok(()) => assert_eq!(kind_of_refusal(&root, "device"), InodeKind::CharDevice),
            Err(_) => assert_eq!(root.resolve(Path::new("device")).unwrap().kind, None),
        }
    }
}
