//! Resource limits of a confined command, tested at their limits.

use haft_sandbox::{Confinement, ExceededLimit, Mechanisms, ProcessExit, ResourceLimits};

use super::check_with;
use crate::spawn::Fixture;

const MIB: u64 = 1024 * 1024;

#[tokio::test]
async fn temporary_files_are_bounded_together() {
    check_with(
        "head -c 3M /dev/zero > /tmp/a && head -c 3M /dev/zero > /dev/shm/b && head -c 2M /dev/zero > /var/tmp/c || \
         echo full; rm /tmp/a; head -c 2M /dev/zero > /var/tmp/c && echo fits",
        "head: error writing 'standard output': No space left on device\nfull\nfits\n",
        |_, confinement| confinement.resources.temp_bytes = 7 * MIB,
    )
    .await;
}

#[tokio::test]
async fn the_number_of_temporary_files_is_bounded() {
    check_with(
        "cd /tmp; mkdir d; i=0; while [ $i -lt 6000 ]; do : > d/$i || break; i=$((i+1)); done 2>/dev/null; \
         [ $i -gt 3000 ] && [ $i -lt 4200 ]; echo $?",
        "0\n",
        |_, confinement| confinement.resources.temp_bytes = MIB,
    )
    .await;
}

#[tokio::test]
async fn a_file_is_bounded() {
    check_with(
        "{ (head -c 2M /dev/zero > file); } 2>/dev/null; stat -c %s file",
        "1048576\n",
        |_, confinement| confinement.resources.file_bytes = MIB,
    )
    .await;
}

#[tokio::test]
async fn open_files_are_bounded() {
    check_with(
        "ulimit -n; ulimit -Hn; ulimit -n 100 2>/dev/null || echo no",
        "64\n64\nno\n",
        |_, confinement| {
            confinement.resources.open_files = 64;
        },
    )
    .await;
}

#[tokio::test]
async fn what_the_kernel_counts_for_the_user_is_bounded() {
    check_with(
        "python3 -c '
import ctypes
libc = ctypes.CDLL(None)
made = 0
while libc.inotify_init() >= 0: made += 1
print(made)
'; cat /proc/sys/user/max_inotify_watches /proc/sys/user/max_user_namespaces
        (echo 99 > /proc/sys/user/max_inotify_instances) 2>/dev/null || echo no",
        "16\n16384\n0\nno\n",
        |_, _| {},
    )
    .await;
}

#[tokio::test]
async fn processes_are_bounded() {
    let fixture = Fixture::new();
    let resources = ResourceLimits { processes: 40, ..ResourceLimits::default() };
    let confinement = Confinement { resources, ..fixture.confinement() };
    let script = "python3 -c '
import os, time
count = 0
try:
    while count < 2000:
        if os.fork() == 0:
            time.sleep(1000)
        count += 1
except BlockingIOError:
    pass
print(count)'";
    let (output, exit) = fixture.run_confined(&confinement, script).await;
    let count: u32 = output.trim().parse().unwrap();
    // For root the limit is a few hundred higher, because the kernel reserves these numbers.
    assert!((30..=345).contains(&count), "{count}");
    assert_eq!(exit, ProcessExit::Code(0));
}

#[tokio::test]
async fn memory_of_all_processes_together_is_bounded() {
    let fixture = Fixture::new();
    for mechanisms in [Mechanisms::ALL, Mechanisms { namespaces: false, ..Mechanisms::ALL }] {
        let resources = ResourceLimits { memory_bytes: 200 * MIB, ..ResourceLimits::default() };
        let confinement = Confinement { resources, mechanisms, ..fixture.confinement() };
        // Each of the four stays below the limit, but together they exceed it.
        let eat = "python3 -c 'b = b\"x\" * 80000000; import time; time.sleep(1000)'";
        let script = format!("{eat} & {eat} & {eat} & {eat} & wait");
        let mut process = fixture.start_confined(&confinement, &script).await;
        assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Signal(9));
        assert_eq!(process.control.exceeded_limit(), Some(ExceededLimit::Memory), "{mechanisms:?}");
    }
}

#[tokio::test]
async fn a_command_within_its_bounds_exceeds_nothing() {
    let fixture = Fixture::new();
    let mut process = fixture.start_confined(&fixture.confinement(), "exit 3").await;
    assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Code(3));
    assert_eq!(process.control.exceeded_limit(), None);
}

#[tokio::test]
async fn a_control_group_can_be_asked_for() {
    let fixture = Fixture::new().with_control_groups();
    let resources = ResourceLimits { memory_bytes: 100 * MIB, ..ResourceLimits::default() };
    for mechanisms in [Mechanisms::ALL, Mechanisms { namespaces: false, ..Mechanisms::ALL }] {
        let confinement = Confinement { resources, mechanisms, ..fixture.confinement() };
        let script = "python3 -c 'print(len(b\"x\" * 50000000))'";
        let (output, exit) = fixture.run_confined(&confinement, script).await;
        assert_eq!((output.as_str(), exit), ("50000000\n", ProcessExit::Code(0)));
        let eat = "python3 -c 'b = b\"x\" * 60000000; import time; time.sleep(1000)'";
        let script = format!("{eat} & {eat} & wait");
        let mut process = fixture.start_confined(&confinement, &script).await;
        assert_eq!(process.control.wait().await.unwrap(), ProcessExit::Signal(9));
        assert_eq!(process.control.exceeded_limit(), Some(ExceededLimit::Memory), "{mechanisms:?}");
    }
}
