//! A state directory that cannot be written: on a disk that is full and on one that is read-only. Nothing is executed that
//! cannot be recorded, what was recorded can be looked at, and with space it goes on. The disk is a small tmpfs in a mount
//! namespace; where none can be made the test says so.

use std::process::Command;

use expect_test::expect;

use crate::world::World;

const SCRIPT: &str = r#"
mount -t tmpfs -o size=1m,mode=700 haft-test "$HAFT_STATE_DIR"
haft() { "$HAFT" "$@"; echo "--- status $?"; }
write() { haft call --run "$1" write "{\"path\":\"$1\",\"content\":\"x\"}"; }
write before
dd if=/dev/zero of="$HAFT_STATE_DIR/ballast" bs=4096 2>/dev/null
write full
haft runs verify
rm "$HAFT_STATE_DIR/ballast"
write after
mount -o remount,ro "$HAFT_STATE_DIR"
write read-only
haft runs verify
# What each run holds differs from time to time.
haft runs prune --older-than 0s --dry-run 2>/dev/null
haft runs prune --older-than 0s
"#;

#[test]
fn nothing_is_executed_on_a_full_or_read_only_disk() {
    let probe = ["--map-root-user", "--mount", "sh", "-c", "mount -t tmpfs haft-test /mnt"];
    if !Command::new("unshare").args(probe).output().is_ok_and(|probed| probed.status.success()) {
        eprintln!("not tested: this host allows no mount namespace, so there is no disk to fill");
        return;
    }
    let world = World::with_files();
    std::fs::create_dir(world.path("state")).unwrap();
    let haft = world.haft(&[]);
    let mut command = Command::new("unshare");
    command
        .args(["--map-root-user", "--mount", "sh", "-c", &format!("exec 2>&1; {SCRIPT}")])
        .current_dir(world.path("work"))
        .env_clear()
        .envs(haft.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("HAFT", haft.get_program());
    world.check_command(&mut command, &expect![[r#"
        ok
        --- status 0
        error: no space left for journal /world/state/journal.sqlite: what was acknowledged is safe; free some space and try again

        hint: df -h /world/state
        --- status 1
        the journal is sound
        --- status 0
        ok
        --- status 0
        error: journal /world/state/journal.sqlite is read-only: haft executes nothing that it cannot record; make the file and its directory writable, or name another file

        hint: ls -l /world/state/journal.sqlite
        --- status 2
        the journal is sound
        --- status 0
        before
        after
        --- status 0
        error: journal /world/state/journal.sqlite is read-only: haft executes nothing that it cannot record; make the file and its directory writable, or name another file

        hint: ls -l /world/state/journal.sqlite
        --- status 2
        --- status 0
    "#]]);
    let written = ["before", "full", "after", "read-only"]
        .into_iter()
        .filter(|name| world.path("work").join(name).exists());
    assert_eq!(written.collect::<Vec<_>>(), ["before", "after"]);
}
