//! Compares the measured memory of this process and of processes created for it with the memory
//! that they were made to use.

use std::hint::black_box;
use std::io::{self, BufRead as _, BufReader};
use std::process::{Command, Stdio};

use rustix::process::{Pid, getpid, getppid};

use super::{resident_bytes, sum_kib, tree, uses_more_than};
use crate::kernel::trial;

const MIB: u64 = 1024 * 1024;

/// Allocates memory that is resident, because every page has been written to.
fn memory(mib: usize) -> Vec<u8> {
    black_box(vec![1; mib * 1024 * 1024])
}

fn ensure(holds: bool) -> io::Result<()> {
    if holds { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ERANGE)) }
}

#[test]
fn what_a_process_writes_to_counts() {
    let result = trial::run(|| {
        let before = resident_bytes(getpid())?;
        let allocated = memory(64);
        let after = resident_bytes(getpid())?;
        ensure(after >= before + 64 * MIB && after <= before + 80 * MIB)?;
        ensure(uses_more_than(getpid(), 60 * MIB)?)?;
        ensure(!uses_more_than(getpid(), after + 64 * MIB)?)?;
        drop(allocated);
        ensure(resident_bytes(getpid())? < before + 16 * MIB)
    });
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn what_is_shared_counts_once_when_it_matters() {
    let result = trial::run(|| {
        let allocated = memory(64);
        // The second process shares all of the first one's memory and measures both.
        let shared = trial::run(|| {
            let first = getppid().ok_or(io::ErrorKind::NotFound)?;
            ensure(resident_bytes(first)? >= 128 * MIB)?;
            ensure(!uses_more_than(first, 120 * MIB)?)?;
            ensure(uses_more_than(first, 60 * MIB)?)
        });
        drop(allocated);
        shared
    });
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn descendants_are_found_at_any_depth() {
    let mut child = Command::new("sh")
        .args(["-c", "exec 3<&0; (cat <&3 & cat <&3 & echo ready; wait)"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");

    let root = Pid::from_child(&child);
    let found = tree(root).unwrap();
    // The shell, perhaps a second one for the parentheses, and two more processes.
    assert!((3..=4).contains(&found.len()), "{found:?}");
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(tree(root).is_err());
}

#[test]
fn sums_are_of_the_lines_named() {
    let text = "Rss:  10 kB\nRssAnon:\t  120 kB\nRssShmem: 3 kB\nRssAnonymous: 1 kB\nRssAnon: x kB\nRssAnon:\n";
    assert_eq!(sum_kib(text, &["RssAnon:", "RssShmem:"]), 123);
    assert_eq!(
        sum_kib("RssAnon: 18446744073709551615 kB\nRssAnon: 1 kB\n", &["RssAnon:"]),
        u64::MAX
    );
}
