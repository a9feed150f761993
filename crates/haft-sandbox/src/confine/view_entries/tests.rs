//! The order of entries, as a list.

use expect_test::{Expect, expect};

use super::*;
use crate::confinement::{Mechanisms, Network, ResourceLimits};
use crate::wire::WireMount;

fn check(change: impl FnOnce(&mut WireConfinement), expect: &Expect) {
    let mut bounds = WireConfinement {
        writable: Vec::new(),
        readable: Vec::new(),
        hidden: Vec::new(),
        mounts: Vec::new(),
        covers: Vec::new(),
        takes_covers: false,
        home: "/home/me".into(),
        network: Network::Loopback,
        resources: ResourceLimits::default(),
        mechanisms: Mechanisms::ALL,
        wants_group: false,
    };
    change(&mut bounds);
    let lines: Vec<String> = granted_entries(&bounds)
        .into_iter()
        .filter(|entry| !matches!(entry.kind, ViewEntryKind::Device | ViewEntryKind::Processes))
        .map(|entry| format!("{} {:?}\n", entry.path.display(), entry.kind))
        .collect();
    expect.assert_eq(&lines.concat());
}

#[test]
fn parents_come_before_children() {
    check(
        |bounds| {
            bounds.writable = vec!["/tmp/a/b".into(), "/home/me/w".into(), "/srv/w".into()];
            bounds.readable = vec!["/srv/w/vendor".into(), "/srv".into(), "/home/me/.cargo".into()];
            bounds.hidden = vec!["/home/me/w/.env".into()];
        },
        &expect![[r#"
            /srv Readable
            /tmp Temporary("tmp")
            /dev/shm Temporary("shm")
            /home/me Temporary("home")
            /srv/w Writable
            /var/tmp Temporary("var-tmp")
            /home/me/.cargo Readable
            /home/me/w Writable
            /srv/w/vendor Readable
            /tmp/a/b Writable
            /home/me/w/.env Hidden
        "#]],
    );
}

#[test]
fn what_is_granted_at_the_same_path_wins() {
    check(
        |bounds| {
            bounds.writable = vec!["/home/me".into(), "/both".into()];
            bounds.readable = vec!["/both".into(), "/tmp".into()];
        },
        &expect![[r#"
            /both Readable
            /both Writable
            /tmp Temporary("tmp")
            /tmp Readable
            /dev/shm Temporary("shm")
            /home/me Temporary("home")
            /home/me Writable
            /var/tmp Temporary("var-tmp")
        "#]],
    );
}

#[test]
fn what_a_readable_parent_brings_is_not_mounted_again() {
    check(
        |bounds| {
            bounds.writable = vec!["/usr/src".into()];
            bounds.readable =
                vec!["/usr".into(), "/usr/lib/x".into(), "/usr/src/lib".into(), "/usr".into()];
        },
        &expect![[r#"
            /tmp Temporary("tmp")
            /usr Readable
            /dev/shm Temporary("shm")
            /home/me Temporary("home")
            /usr/src Writable
            /var/tmp Temporary("var-tmp")
            /usr/src/lib Readable
        "#]],
    );
}

#[test]
fn pins_lie_upon_what_they_pin() {
    check(
        |bounds| {
            bounds.writable = vec!["/w".into(), "/w/.git".into()];
            let pin = |path: &str, is_writable| WireMount { path: path.into(), is_writable };
            bounds.mounts = vec![pin("/w/.git/hooks", false), pin("/w/.git", true)];
        },
        &expect![[r#"
            /tmp Temporary("tmp")
            /w Writable
            /dev/shm Temporary("shm")
            /home/me Temporary("home")
            /var/tmp Temporary("var-tmp")
            /w/.git Writable
            /w/.git Anchored
            /w/.git/hooks ReadOnly
        "#]],
    );
}

#[test]
fn what_leads_to_something_hidden_or_read_only_is_anchored() {
    check(
        |bounds| {
            bounds.writable = vec!["/w".into(), "/w/a/b".into()];
            bounds.hidden = vec!["/w/a/b/c/secret".into(), "/w/a/other".into(), "/x/y/z".into()];
            bounds.readable = vec!["/w/lib/vendor".into()];
        },
        &expect![[r#"
            /tmp Temporary("tmp")
            /w Writable
            /dev/shm Temporary("shm")
            /home/me Temporary("home")
            /var/tmp Temporary("var-tmp")
            /w/a Anchored
            /w/lib Anchored
            /w/a/b Writable
            /w/a/b Anchored
            /w/a/other Hidden
            /w/lib/vendor Readable
            /x/y/z Hidden
            /w/a/b/c Anchored
            /w/a/b/c/secret Hidden
        "#]],
    );
}

#[test]
fn a_home_at_the_top_is_left_out() {
    check(
        |bounds| bounds.home = "/".into(),
        &expect![[r#"
        /tmp Temporary("tmp")
        /dev/shm Temporary("shm")
        /var/tmp Temporary("var-tmp")
    "#]],
    );
}
