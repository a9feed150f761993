//! The changes that strace saw a process make beneath one directory, in their order.
//! Files that are mapped into memory are not seen: of SQLite's, that is the index of the log, which it makes anew.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The calls that change files, for strace.
pub(super) const CALLS: &str =
    "trace=openat,pwrite64,write,ftruncate,fsync,fdatasync,?unlink,unlinkat,?mkdir,mkdirat";

/// One change of a file, or something that was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Create {
        path: PathBuf,
    },
    MakeDirectory {
        path: PathBuf,
    },
    Write {
        path: PathBuf,
        offset: u64,
        data: Vec<u8>,
    },
    Truncate {
        path: PathBuf,
        bytes: u64,
    },
    /// A sync has begun: what is done from here on is not covered by it.
    SyncBegin {
        process: u32,
        path: PathBuf,
    },
    /// All that was done to a file, or to the names in a directory, before the sync began is on disk.
    Sync {
        process: u32,
        path: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
    Said {
        line: String,
    },
}

/// Reads a trace that was written with all strings in hexadecimal.
pub(super) fn read(text: &str, home: &Path) -> Vec<Change> {
    let mut unfinished: HashMap<&str, &str> = HashMap::new();
    let mut changes = Vec::new();
    for line in text.lines() {
        let (process, call) = line.split_once(' ').expect("a process and a call");
        let call = call.trim_start();
        let number: u32 = process.parse().expect("the number of a thread");
        if let Some(start) = call.strip_suffix(" <unfinished ...>") {
            unfinished.insert(process, start);
            changes.extend(sync_begun(start, number).filter(|change| concerns(change, home)));
            continue;
        }
        // A call counts from when it is done, but a sync covers only what was done before it.
        let whole = match call.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
            Some((_, rest)) => format!("{}{rest}", unfinished.remove(process).unwrap_or_default()),
            None => call.to_owned(),
        };
        if !call.starts_with("<... ") {
            changes.extend(sync_begun(call, number).filter(|change| concerns(change, home)));
        }
        changes.extend(change(&whole, number).filter(|change| concerns(change, home)));
    }
    changes
}

fn sync_begun(call: &str, process: u32) -> Option<Change> {
    let (name, args) = call.split_once('(')?;
    let path = || Some(PathBuf::from(OsString::from_vec(bytes(args)?)));
    ["fsync", "fdatasync"]
        .contains(&name)
        .then(path)?
        .map(|path| Change::SyncBegin { process, path })
}

fn change(call: &str, process: u32) -> Option<Change> {
    let (call, result) = call.rsplit_once(" = ")?;
    let (name, args) = call.trim_end().strip_suffix(')')?.split_once('(')?;
    if result.starts_with('-') {
        return None;
    }
    let args: Vec<&str> = args.split(", ").collect();
    let number = |index: usize| args.get(index)?.parse::<u64>().ok();
    let path = |index: usize| Some(PathBuf::from(OsString::from_vec(bytes(args.get(index)?)?)));
    Some(match name {
        "openat" if args.get(2)?.contains("O_CREAT") => Change::Create { path: path(1)? },
        "mkdir" => Change::MakeDirectory { path: path(0)? },
        "mkdirat" => Change::MakeDirectory { path: path(1)? },
        "pwrite64" => {
            Change::Write { path: path(0)?, offset: number(3)?, data: bytes(args.get(1)?)? }
        }
        "write" if path(0)?.ends_with("said") => {
            Change::Said { line: String::from_utf8(bytes(args.get(1)?)?).ok()? }
        }
        "ftruncate" => Change::Truncate { path: path(0)?, bytes: number(1)? },
        "fsync" | "fdatasync" => Change::Sync { process, path: path(0)? },
        "unlink" => Change::Remove { path: path(0)? },
        "unlinkat" => Change::Remove { path: path(1)? },
        _ => return None,
    })
}

/// Returns the bytes of the string in an argument: `"\x61"`, or the path in `3<\x2f\x61>`. A file without a name is lost
/// with the power, whatever is done to it.
fn bytes(argument: &str) -> Option<Vec<u8>> {
    let inner = match argument.split_once('<') {
        Some((_, rest)) => {
            let (path, after) = rest.split_once('>')?;
            if after.starts_with("(deleted)") {
                return None;
            }
            path
        }
        None => argument.strip_prefix('"')?.strip_suffix('"')?,
    };
    inner.split("\\x").skip(1).map(|digits| u8::from_str_radix(digits, 16).ok()).collect()
}

fn concerns(change: &Change, home: &Path) -> bool {
    match change {
        Change::Said { .. } => true,
        Change::Create { path }
        | Change::MakeDirectory { path }
        | Change::Write { path, .. }
        | Change::Truncate { path, .. }
        | Change::SyncBegin { path, .. }
        | Change::Sync { path, .. }
        | Change::Remove { path } => path.starts_with(home) && !path.ends_with("said"),
    }
}
