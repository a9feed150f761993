//! Machines that forbid namespaces in the usual ways.

use std::io;

use expect_test::{Expect, expect};

use super::{apparmor_restricts, explain, is_filtered, landlock};
use crate::kernel::Availability;

fn show(state: Availability) -> String {
    match state {
        Availability::Available(detail) => format!("available: {detail}"),
        Availability::Missing { why, remedy } => format!("{why}\n-> {remedy}"),
    }
}

fn check(errno: i32, settings: &[(&str, &str)], is_filtered: bool, expect: Expect) {
    let setting = |name: &str| {
        settings.iter().find(|(known, _)| *known == name).map(|(_, value)| format!("{value}\n"))
    };
    let error = io::Error::from_raw_os_error(errno);
    expect.assert_eq(&show(explain(&error, setting, is_filtered)));
}

#[test]
fn settings_are_named_first() {
    check(
        libc::ENOSPC,
        &[("user/max_user_namespaces", "0")],
        true,
        expect![[r#"
            No space left on device (os error 28); user.max_user_namespaces is 0
            -> sysctl -w user.max_user_namespaces=15000"#]],
    );
    check(
        libc::EPERM,
        &[("user/max_user_namespaces", "9000"), ("kernel/unprivileged_userns_clone", "0")],
        false,
        expect![[r#"
            Operation not permitted (os error 1); kernel.unprivileged_userns_clone is 0
            -> sysctl -w kernel.unprivileged_userns_clone=1"#]],
    );
    check(
        libc::EACCES,
        &[("kernel/apparmor_restrict_unprivileged_userns", "1")],
        false,
        expect![[r#"
            Permission denied (os error 13); kernel.apparmor_restrict_unprivileged_userns is 1
            -> give this program an AppArmor profile with the rule userns"#]],
    );
}

#[test]
fn apparmor_restricts_namespaces_where_its_setting_says_so() {
    for (value, is_restricted) in [(Some("1\n"), true), (Some("0\n"), false), (None, false)] {
        assert_eq!(apparmor_restricts(|_| value.map(str::to_owned)), is_restricted, "{value:?}");
    }
}

#[test]
fn errors_and_filters_explain_the_rest() {
    let harmless =
        [("user/max_user_namespaces", "9000"), ("kernel/unprivileged_userns_clone", "1")];
    check(
        libc::EPERM,
        &harmless,
        true,
        expect![[r#"
            Operation not permitted (os error 1); a system call filter is in force, as in a container
            -> run the container with --security-opt seccomp=unconfined, or with --cap-add SYS_ADMIN"#]],
    );
    check(
        libc::ENOSPC,
        &harmless,
        false,
        expect![[r#"
            No space left on device (os error 28); too many namespaces exist, or they are nested too deeply
            -> sysctl -w user.max_user_namespaces=15000"#]],
    );
    check(
        libc::EINVAL,
        &[],
        false,
        expect![[r#"
            Invalid argument (os error 22); the kernel does not have them
            -> use a kernel with CONFIG_USER_NS, CONFIG_PID_NS and CONFIG_NET_NS"#]],
    );
    check(
        libc::EPERM,
        &[],
        false,
        expect![[r#"
            Operation not permitted (os error 1); a security module or a changed root directory may forbid it
            -> do not run haft in a chroot; look for a denial in the log of AppArmor or SELinux"#]],
    );
}

#[test]
fn landlock_is_absent_off_or_refused() {
    let texts = [libc::ENOSYS, libc::EOPNOTSUPP, libc::EPERM]
        .map(|errno| show(landlock(&io::Error::from_raw_os_error(errno))));
    expect![[r#"
        the kernel does not have it: Function not implemented (os error 38)
        -> use Linux 6.2 or later with CONFIG_SECURITY_LANDLOCK
        it is switched off: Operation not supported (os error 95)
        -> put landlock, in front of the list of the lsm= boot parameter (the list is in /sys/kernel/security/lsm)
        it is refused: Operation not permitted (os error 1)
        -> in a container, run it with --security-opt seccomp=unconfined or a profile that allows the call"#]]
    .assert_eq(&texts.join("\n"));
}

#[test]
fn a_filter_is_seen_in_the_status() {
    assert!(is_filtered("NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
    assert!(!is_filtered("NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t2\n"));
    assert!(!is_filtered(""));
}
