//! Lines from several kinds of machines, and directories that stand for groups.

use std::fs;

use expect_test::{Expect, expect};

use super::{CgroupHierarchy, directory, has_controllers};

const UNIFIED: &str = "\
25 30 0:23 / /sys rw,nosuid - sysfs sysfs rw
30 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate
";

const SEPARATE: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
39 31 0:36 / /sys/fs/cgroup/cpu,pids rw,relatime - cgroup cgroup rw,cpu,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";

const PART: &str = "\
40 31 0:32 /docker/4f /sys/fs/cgroup/memory ro,nosuid master:15 - cgroup cgroup rw,memory
";

const ODD: &str = "\
40 31 0:32 / /sys/fs/control\\040groups rw - cgroup2 cgroup2 rw
";

fn check(groups: &str, mounts: &str, hierarchy: CgroupHierarchy, expect: Expect) {
    expect.assert_eq(&format!("{:?}", directory(groups, mounts, hierarchy)));
}

#[test]
fn the_own_group_is_found_where_it_is_mounted() {
    let memory = CgroupHierarchy::Controller("memory");
    let pids = CgroupHierarchy::Controller("pids");
    check(
        "0::/user.slice/haft.service\n",
        UNIFIED,
        CgroupHierarchy::Unified,
        expect![[r#"Some("/sys/fs/cgroup/user.slice/haft.service")"#]],
    );
    check("0::/\n", UNIFIED, CgroupHierarchy::Unified, expect![[r#"Some("/sys/fs/cgroup")"#]]);
    let separate = "8:cpu,pids:/\n4:memory:/a/b:c\n1:name=memory:/x\n0::/\n";
    check(separate, SEPARATE, memory, expect![[r#"Some("/sys/fs/cgroup/memory/a/b:c")"#]]);
    check(separate, SEPARATE, pids, expect![[r#"Some("/sys/fs/cgroup/cpu,pids")"#]]);
    check(
        "4:memory:/docker/4f/sub\n",
        PART,
        memory,
        expect![[r#"Some("/sys/fs/cgroup/memory/sub")"#]],
    );
}

#[test]
fn a_group_that_is_not_mounted_here_has_no_directory() {
    let memory = CgroupHierarchy::Controller("memory");
    check("4:memory:/docker/5a\n", PART, memory, expect!["None"]);
    check("4:memory:/../other\n", SEPARATE, memory, expect!["None"]);
    check("4:memory:/\n", UNIFIED, memory, expect!["None"]);
    check("0::/\n", ODD, CgroupHierarchy::Unified, expect!["None"]);
    check("", UNIFIED, CgroupHierarchy::Unified, expect!["None"]);
    check("nonsense\n", "nonsense\n", memory, expect!["None"]);
}

#[test]
fn both_controllers_are_needed() {
    let has = |switched_on: &str, offered: &str| {
        let group = tempfile::tempdir().unwrap();
        fs::write(group.path().join("cgroup.subtree_control"), switched_on).unwrap();
        fs::write(group.path().join("cgroup.controllers"), offered).unwrap();
        has_controllers(group.path())
    };
    assert!(has("cpu memory pids\n", "cpu memory pids\n"));
    assert!(!has("memory\n", "memory\n"));
    // Writing proves nothing: the kernel shows the accepted value, and this file is not the
    // kernel's.
    assert!(!has("", "memory pids\n"));
    assert!(!has_controllers(tempfile::tempdir().unwrap().path()));
}
