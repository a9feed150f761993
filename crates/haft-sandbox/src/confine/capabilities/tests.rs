//! A separate process drops all capabilities and then tries to regain some. Its state is read from
//! `/proc`, as another program would read it.

use std::fs;
use std::io;

use expect_test::expect;
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, configure_capability_in_ambient_set,
    set_capabilities, set_no_new_privs,
};

use super::drop_all;
use crate::kernel::trial;

/// Checks that a process has these status lines after it drops everything and executes a program.
fn has(lines: &[&str]) -> io::Result<()> {
    let status = fs::read_to_string("/proc/self/status")?;
    let is_there =
        |line: &&str| status.lines().any(|has| has.split_whitespace().eq(line.split_whitespace()));
    if lines.iter().all(is_there) {
        Ok(())
    } else {
        Err(io::Error::from_raw_os_error(libc::EEXIST))
    }
}

fn outcome(trial: impl FnOnce() -> io::Result<()>) -> String {
    match trial::run(trial) {
        Ok(()) => "done".to_owned(),
        Err(error) => error.to_string(),
    }
}

const CLEAN: [&str; 5] = [
    "CapInh: 0000000000000000",
    "CapPrm: 0000000000000000",
    "CapEff: 0000000000000000",
    "CapAmb: 0000000000000000",
    "NoNewPrivs: 1",
];

#[test]
fn nothing_is_left() {
    let result = outcome(|| {
        drop_all()?;
        has(&CLEAN)
    });
    expect!["done"].assert_eq(&result);
}

/// The bounding set is emptied where that is allowed; otherwise it cannot be used.
#[test]
fn the_bounding_set_is_empty_where_it_can_be() {
    let result = outcome(|| {
        let may_shrink = capabilities(None)?.effective.contains(CapabilitySet::SETPCAP);
        drop_all()?;
        if may_shrink { has(&["CapBnd: 0000000000000000"]) } else { has(&CLEAN) }
    });
    expect!["done"].assert_eq(&result);
}

#[test]
fn it_can_be_done_without_the_right_to_and_twice() {
    let result = outcome(|| {
        let rest = CapabilitySet::all().difference(CapabilitySet::SETPCAP);
        let current = capabilities(None)?;
        let without = CapabilitySets {
            effective: current.effective.intersection(rest),
            permitted: current.permitted.intersection(rest),
            inheritable: current.inheritable.intersection(rest),
        };
        set_capabilities(None, without)?;
        drop_all()?;
        drop_all()?;
        has(&CLEAN)
    });
    expect!["done"].assert_eq(&result);
}

#[test]
fn nothing_comes_back() {
    let everything = CapabilitySets {
        effective: CapabilitySet::all(),
        permitted: CapabilitySet::all(),
        inheritable: CapabilitySet::all(),
    };
    let cases = [
        outcome(|| {
            drop_all()?;
            Ok(set_capabilities(None, everything)?)
        }),
        outcome(|| {
            drop_all()?;
            Ok(configure_capability_in_ambient_set(CapabilitySet::KILL, true)?)
        }),
        outcome(|| {
            drop_all()?;
            Ok(set_no_new_privs(false)?)
        }),
    ];
    expect![[r#"
        Operation not permitted (os error 1)
        Operation not permitted (os error 1)
        Invalid argument (os error 22)"#]]
    .assert_eq(&cases.join("\n"));
}
