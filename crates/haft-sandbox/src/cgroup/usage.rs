//! Measures the memory of a process and all of its descendants, for machines without control
//! groups. The number of processes and the time spent are limited. It counts mapped memory only.
//! File contents, including files in memory, are limited by their file system.

use std::fs;
use std::io;

use rustix::process::Pid;

/// Maximum number of processes that are measured. The process limit stops a larger tree long
/// before.
pub(crate) const PROCESSES_MAX: usize = 16_384;

/// Returns whether the tree uses more than `memory_bytes`, with shared memory divided among its
/// users.
///
/// The exact answer takes a walk over all pages of each process. It is computed only if the quick
/// answer is not enough.
pub(crate) fn uses_more_than(root: Pid, memory_bytes: u64) -> io::Result<bool> {
    if resident_bytes(root)? <= memory_bytes {
        return Ok(false);
    }
    let mut used_bytes = 0_u64;
    for process in tree(root)? {
        let rollup =
            fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
        // The kernel distinguishes these pages since 5.4. A process that cannot be inspected (its
        // program is not readable) counts in full.
        let bytes = if rollup.contains("Pss_Anon:") {
            sum_kib(&rollup, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]).saturating_mul(1024)
        } else {
            mapped_bytes(process)
        };
        used_bytes = used_bytes.saturating_add(bytes);
    }
    Ok(used_bytes > memory_bytes)
}

/// Returns an upper bound of the tree's resident memory, quickly: memory that processes share
/// counts for each of them.
fn resident_bytes(root: Pid) -> io::Result<u64> {
    let processes = tree(root)?;
    Ok(processes.into_iter().map(mapped_bytes).fold(0, u64::saturating_add))
}

/// Returns the process and its living descendants.
fn tree(root: Pid) -> io::Result<Vec<i32>> {
    let mut processes = vec![root.as_raw_pid()];
    let mut next = 0;
    while let Some(process) = processes.get(next).copied() {
        next += 1;
        match children(process) {
            Ok(children) => processes.extend(children),
            // It has ended meanwhile. The first process is the caller's child, which exists until
            // it is collected.
            Err(_) if next > 1 => {}
            Err(error) => return Err(error),
        }
        if processes.len() >= PROCESSES_MAX {
            processes.truncate(PROCESSES_MAX);
            break;
        }
    }
    Ok(processes)
}

/// Children belong to the thread that started them.
fn children(process: i32) -> io::Result<Vec<i32>> {
    let mut found = Vec::new();
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let Ok(list) = fs::read_to_string(thread?.path().join("children")) else { continue };
        found.extend(list.split_ascii_whitespace().filter_map(|number| number.parse::<i32>().ok()));
    }
    Ok(found)
}

/// Returns the resident or swapped memory that belongs to no file, as the process itself sees it.
fn mapped_bytes(process: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    sum_kib(&status, &["RssAnon:", "RssShmem:", "VmSwap:"]).saturating_mul(1024)
}

/// Adds up lines such as `RssAnon:     120 kB`.
fn sum_kib(text: &str, names: &[&str]) -> u64 {
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (name, number) = (words.next()?, words.next()?);
        names.contains(&name).then(|| number.parse::<u64>().ok()).flatten()
    });
    lines.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests;
