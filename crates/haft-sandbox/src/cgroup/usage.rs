//! How much memory a process and all of its descendants use, for where no control group bounds them. What is looked at
//! and for how long is bounded. It sees what is mapped; contents of files, also of files in memory, are bounded by
//! their file system.

use std::fs;
use std::io;

use rustix::process::Pid;

/// How many processes are looked at; a tree that is larger is stopped by the bound on processes long before.
pub(crate) const PROCESSES_MAX: usize = 16_384;

/// Tells whether the tree uses more than this, with what is shared divided among those that share it.
///
/// That takes a walk over all of a process's pages, so that it is done only if the quick answer is not enough.
pub(crate) fn uses_more_than(root: Pid, memory_bytes: u64) -> io::Result<bool> {
    if resident_bytes(root)? <= memory_bytes {
        return Ok(false);
    }
    let mut used_bytes = 0_u64;
    for process in tree(root)? {
        // What cannot be looked at closely (its program is not readable) counts in full.
        let bytes = shared_out_bytes(process).unwrap_or_else(|| mapped_bytes(process));
        used_bytes = used_bytes.saturating_add(bytes);
    }
    Ok(used_bytes > memory_bytes)
}

/// Returns how much memory is resident in the tree, quickly and never too little: what several processes share counts
/// for each of them.
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
            // It ended meanwhile. The first one is the caller's child, which stays until it is collected.
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

/// Returns what is resident or swapped out and no file's, as the process itself sees it.
fn mapped_bytes(process: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    sum_kib(&status, &["RssAnon:", "RssShmem:", "VmSwap:"]).saturating_mul(1024)
}

/// Returns the same with shared pages divided, where the kernel tells these apart (since 5.4).
fn shared_out_bytes(process: i32) -> Option<u64> {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    rollup
        .contains("Pss_Anon:")
        .then(|| sum_kib(&rollup, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]).saturating_mul(1024))
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
