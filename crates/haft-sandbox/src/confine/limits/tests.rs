//! Sets limits in separate processes, which then try to exceed them.

use std::fs::{self, File};
use std::io;

use rustix::fs::ftruncate;
use rustix::process::{Resource, Rlimit, getgid, getrlimit, getuid, setrlimit};
use rustix::system::uname;
use rustix::thread::{UnshareFlags, unshare_unsafe};

use super::{PID_MAX, PID_MAX_SINCE, apply, bound_processes, is_since, tasks_in, tasks_of_user};
use crate::confinement::ResourceLimits;
use crate::kernel::trial;

const SMALL: ResourceLimits = ResourceLimits {
    memory_bytes: 256 * 1024 * 1024,
    processes: 64,
    temp_bytes: 1024 * 1024,
    file_bytes: 4_096,
    open_files: 32,
};

fn outcome(trial: impl FnOnce() -> io::Result<()>) -> String {
    match trial::run(trial) {
        Ok(()) => "done".to_owned(),
        Err(error) => error.to_string(),
    }
}

/// Fails unless the soft and hard limits both have this value.
fn is_limited(resource: Resource, most: u64) -> io::Result<()> {
    let expected = Rlimit { current: Some(most), maximum: Some(most) };
    if getrlimit(resource) == expected {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::ERANGE))
    }
}

#[test]
fn soft_and_hard_limits_are_set() {
    let result = outcome(|| {
        apply(&SMALL)?;
        is_limited(Resource::Core, 0)?;
        is_limited(Resource::Data, SMALL.memory_bytes)?;
        is_limited(Resource::Fsize, SMALL.file_bytes)?;
        is_limited(Resource::Nofile, 32)?;
        is_limited(Resource::Nproc, 64)?;
        is_limited(Resource::Msgqueue, 0)?;
        is_limited(Resource::Nice, 0)?;
        is_limited(Resource::Rtprio, 0)
    });
    assert_eq!(result, "done");
}

#[test]
fn a_lower_limit_stays() {
    let result = outcome(|| {
        setrlimit(Resource::Nofile, Rlimit { current: Some(16), maximum: Some(20) })?;
        apply(&SMALL)?;
        is_limited(Resource::Nofile, 20)
    });
    assert_eq!(result, "done");
}

#[test]
fn more_memory_than_bounded_is_refused() {
    let map = |bytes: usize| {
        #[expect(
            unsafe_code,
            reason = "memory is asked of the kernel without an allocator between"
        )]
        // SAFETY: a private anonymous mapping at an address that the kernel chooses overlaps nothing.
        let address = unsafe {
            let writable = libc::PROT_READ | libc::PROT_WRITE;
            let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), bytes, writable, private, -1, 0)
        };
        if address == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    let limited = |bytes| outcome(|| apply(&SMALL).and_then(|()| map(bytes)));
    assert_eq!(limited(64 * 1024 * 1024), "done");
    assert_eq!(limited(300 * 1024 * 1024), "Cannot allocate memory (os error 12)");
}

#[test]
fn more_open_files_than_bounded_are_refused() {
    let result = outcome(|| {
        apply(&SMALL)?;
        let opened: io::Result<Vec<File>> = (0..40).map(|_| File::open("/dev/null")).collect();
        opened.map(drop)
    });
    assert_eq!(result, "Too many open files (os error 24)");
}

#[test]
fn a_larger_file_than_bounded_ends_who_writes_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    let lengthen = |bytes| {
        outcome(|| {
            apply(&SMALL)?;
            Ok(ftruncate(File::create(&path)?, bytes)?)
        })
    };
    assert_eq!(lengthen(4_096), "done");
    assert_eq!(lengthen(4_097), "ended by signal 25");
}

/// Runs a trial as the first process of a pid namespace.
fn outcome_in_namespace(trial: impl FnOnce() -> io::Result<()>) -> String {
    outcome(|| {
        let (user, group) = (getuid().as_raw(), getgid().as_raw());
        #[expect(
            unsafe_code,
            reason = "sharing less can surprise code that relies on what is shared"
        )]
        // SAFETY: the process was created for this trial and relies on no shared state.
        unsafe {
            unshare_unsafe(UnshareFlags::NEWUSER | UnshareFlags::NEWPID)?;
        }
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("{user} {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("{group} {group} 1"))?;
        trial::run(trial)
    })
}

/// Starts processes that stay alive until one is refused, and returns their number.
fn processes_until_refused() -> io::Result<u32> {
    for count in 0..2_000 {
        #[expect(unsafe_code, reason = "no safe interface forks")]
        // SAFETY: the new process only waits to be killed with its namespace.
        match unsafe { libc::fork() } {
            -1 => return Ok(count),
            0 => loop {
                // SAFETY: waits for a signal; no memory is involved.
                unsafe { libc::pause() };
            },
            _ => {}
        }
    }
    Err(io::Error::from_raw_os_error(libc::ERANGE))
}

#[test]
fn processes_of_a_namespace_are_bounded_and_no_others() {
    let outside = fs::read_to_string(PID_MAX).unwrap();
    let result = outcome_in_namespace(|| {
        if bound_processes(50)? {
            let count = processes_until_refused()?;
            if (50..=350).contains(&count) {
                Ok(())
            } else {
                Err(io::Error::from_raw_os_error(libc::ERANGE))
            }
        } else {
            Err(io::ErrorKind::Unsupported.into())
        }
    });
    let is_recent = is_since(&uname().release().to_string_lossy(), PID_MAX_SINCE);
    assert_eq!(result, if is_recent { "done" } else { "it did not say what went wrong" });
    assert_eq!(fs::read_to_string(PID_MAX).unwrap(), outside);
}

/// In its own user namespace, a user's limit counts only the command.
#[test]
fn processes_of_an_ordinary_user_are_limited_exactly() {
    if getuid().is_root() {
        eprintln!("not tested: the kernel does not limit root's processes");
        return;
    }
    let result = outcome_in_namespace(|| {
        apply(&SMALL)?;
        let count = processes_until_refused()?;
        // The process that created the namespace, its first process, and these.
        if count == 62 { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ERANGE)) }
    });
    assert_eq!(result, "done");
}

#[test]
fn tasks_are_those_of_the_real_user() {
    let status = |user, threads| {
        format!(
            "Name:\tUid: 7 Threads: 9\nUid:\t{user}\t0\t0\t0\nThreads:\t{threads}\nSeccomp:\t0\n"
        )
    };
    assert_eq!(tasks_in(&status("1000", "12"), 1000), 12);
    assert_eq!(tasks_in(&status("1001", "12"), 1000), 0);
    assert_eq!(tasks_in("Name:\tkthreadd\n", 0), 0);
    // At least this process.
    assert!(tasks_of_user().unwrap() >= 1);
}

#[test]
fn versions_are_compared_by_number() {
    let is_new = |release| is_since(release, (6, 14));
    let answers = ["6.14.0", "6.18.44-fc", "7.0", "10.2-rc1", "6.14-rc2"].map(is_new);
    assert_eq!(answers, [true; 5]);
    let answers = ["6.13.9", "6.2.0-26-generic", "5.15", "2.6.78", "", "six.twenty"].map(is_new);
    assert_eq!(answers, [false; 6]);
}
