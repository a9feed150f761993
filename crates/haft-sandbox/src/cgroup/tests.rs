//! Groups are created where this machine allows it, and real commands run in them. Version 2 is
//! tested on directories with the same files.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::process::Pid;

use super::directory::CgroupInterface;
use super::{Cgroup, CgroupDirectory, ExceededLimit, count};
use crate::confinement::ResourceLimits;

const SMALL: ResourceLimits = ResourceLimits {
    memory_bytes: 48 * 1024 * 1024,
    processes: 8,
    temp_bytes: 0,
    file_bytes: 0,
    open_files: 0,
};

fn name(test: &str) -> String {
    format!("haft-{test}-{}", std::process::id())
}

/// Runs a script in a group. Returns its output and the limit that it reached.
fn run(test: &str, script: &str) -> Option<(Output, Option<ExceededLimit>)> {
    let Some(group) = Cgroup::create(&SMALL, &name(test)) else {
        eprintln!("not tested: no control group can be made here");
        return None;
    };
    let mut child = Command::new("sh")
        .args(["-c", &format!("read -r go; exec 3<&0; {script}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    group.add(Pid::from_child(&child)).unwrap();
    child.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let directories: Vec<_> = group.parts.iter().map(|part| part.directory.clone()).collect();
    let exceeded = group.exceeded();
    drop(group);
    assert!(directories.iter().all(|directory| !directory.exists()), "{directories:?}");
    Some((output, exceeded))
}

#[test]
fn a_modest_command_meets_no_bound() {
    if let Some((output, exceeded)) =
        run("modest", "head -c 1000000 /dev/zero | tail -c 1000000 | wc -c")
    {
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "1000000");
        assert_eq!(exceeded, None);
    }
}

#[test]
fn too_much_memory_ends_what_takes_it() {
    let script = "head -c 200000000 /dev/zero | tail -c 200000000 | wc -c";
    if let Some((output, exceeded)) = run("memory", script) {
        assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), "0");
        assert_eq!(exceeded, Some(ExceededLimit::Memory));
    }
}

#[test]
fn too_many_processes_are_refused() {
    let script = "for i in 1 2 3 4 5 6 7 8 9 10; do cat <&3 & done; wait";
    if let Some((output, exceeded)) = run("processes", script) {
        assert!(!output.status.success());
        assert_eq!(exceeded, Some(ExceededLimit::Processes));
    }
}

/// Creates a directory with these files to stand for a group.
fn part(directory: &Path, interface: CgroupInterface, files: &[(&str, &str)]) -> CgroupDirectory {
    for (name, contents) in files {
        fs::write(directory.join(name), contents).unwrap();
    }
    CgroupDirectory { directory: directory.to_path_buf(), interface }
}

#[test]
fn version_two_is_bounded_by_its_own_files() {
    let directory = tempfile::tempdir().unwrap();
    let files = [("memory.max", ""), ("memory.oom.group", ""), ("pids.max", "")];
    let part = part(directory.path(), CgroupInterface::Unified, &files);
    part.bound(&SMALL).unwrap();
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).ok();
    assert_eq!(read("memory.max").as_deref(), Some("50331648"));
    assert_eq!(read("memory.oom.group").as_deref(), Some("1"));
    assert_eq!(read("pids.max").as_deref(), Some("8"));
    // Files that the kernel does not provide are not created.
    assert_eq!(read("memory.swap.max"), None);
}

#[test]
fn what_is_no_group_is_not_taken_for_one() {
    let directory = tempfile::tempdir().unwrap();
    for interface in [CgroupInterface::Unified, CgroupInterface::Memory, CgroupInterface::Processes]
    {
        assert!(part(directory.path(), interface, &[]).bound(&SMALL).is_err());
    }
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn bounds_that_were_met_are_read_from_the_events() {
    let met = |interface, files: &[(&str, &str)]| {
        let directory = tempfile::tempdir().unwrap();
        // Dropping it also tries to remove its directory, which the test does not check.
        Cgroup { parts: vec![part(directory.path(), interface, files)] }.exceeded()
    };
    let killed = "low 0\nmax 4\noom 1\noom_kill 1\n";
    let refused = ("pids.events", "max 2\n");
    assert_eq!(
        met(CgroupInterface::Unified, &[("memory.events", killed)]),
        Some(ExceededLimit::Memory)
    );
    assert_eq!(
        met(CgroupInterface::Unified, &[("memory.events", killed), refused]),
        Some(ExceededLimit::Memory)
    );
    assert_eq!(
        met(CgroupInterface::Unified, &[("memory.events", "max 9\noom_kill 0\n"), refused]),
        Some(ExceededLimit::Processes)
    );
    assert_eq!(
        met(CgroupInterface::Memory, &[("memory.oom_control", "oom_kill_disable 0\noom_kill 3\n")]),
        Some(ExceededLimit::Memory)
    );
    assert_eq!(met(CgroupInterface::Processes, &[("memory.oom_control", "oom_kill 3\n")]), None);
    assert_eq!(met(CgroupInterface::Memory, &[]), None);
    assert_eq!(count("oom_kill x\n", "oom_kill"), 0);
}
