//! Disks that are full while commands run and files are written: that of the snapshots, which no call is held up by, that of
//! the workspace, of which the tools tell, and that of the journal, without which nothing runs. Each is a small tmpfs in a
//! mount namespace; where none can be made the test says so.

use std::process::Command;

use expect_test::{Expect, expect};

use crate::world::World;

/// Words of the scripts: `fill` takes what is left of a disk until `free` gives it back.
const WORDS: &str = r#"
exec 2>&1
disk() { mkdir -p "$1"; mount -t tmpfs -o "size=$2,mode=700" haft-test "$1"; }
fill() { dd if=/dev/zero of="$1/ballast" bs=4096 2>/dev/null; dd if=/dev/zero of="$1/ballast" bs=1 count=8192 oflag=append conv=notrunc 2>/dev/null; }
free() { rm "$1/ballast"; }
haft() { "$HAFT" "$@"; echo "--- status $?"; }
write() { haft call --run r1 write "{\"path\":\"$1\",\"content\":\"$2\"}"; }
bash() { haft call --run r1 bash "{\"cmd\":\"$1\"}"; }
"#;

/// Runs a script in a separate namespace, and compares everything that can be seen of it.
fn check(world: &World, script: &str, expect: &Expect) {
    let haft = world.haft(&[]);
    let mut command = Command::new("unshare");
    command
        .args(["--map-root-user", "--mount", "sh", "-c", &format!("{WORDS}{script}")])
        .current_dir(world.path("work"))
        .env_clear()
        .envs(haft.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .env("HAFT", haft.get_program());
    world.check_command(&mut command, expect);
}

fn can_make_disks() -> bool {
    let probe = ["--map-root-user", "--mount", "sh", "-c", "mount -t tmpfs haft-test /mnt"];
    let can = Command::new("unshare").args(probe).output().is_ok_and(|it| it.status.success());
    if !can {
        eprintln!("not tested: this host allows no mount namespace, so there is no disk to fill");
    }
    can
}

#[test]
fn a_snapshot_that_cannot_be_written_fails_no_call_and_is_told() {
    if !can_make_disks() {
        return;
    }
    let world = World::with_files();
    std::fs::create_dir(world.path("state")).unwrap();
    let script = r#"
disk "$HAFT_STATE_DIR/snapshots" 256k
write a one
fill "$HAFT_STATE_DIR/snapshots"
write a two
bash 'echo three > a'
haft diff r1/main/0/1/2
haft undo r1/main/0/1/3
free "$HAFT_STATE_DIR/snapshots"
bash 'echo four > a'
haft undo r1/main/0/1/4
cat a
haft runs verify
"#;
    check(
        &world,
        script,
        &expect![[r#"
        ok
        --- status 0
        ok
        --- status 0
        --- status 0
        error: nothing was recorded of what call r1/main/0/1/2 changed: the state after it is not known: the snapshot store could not write an object: No space left on device (os error 28)
        --- status 1
        error: nothing was recorded of what call r1/main/0/1/3 changed: the state before it is not known: the snapshot store could not write an object: No space left on device (os error 28); the state after it is not known: the snapshot store could not write an object: No space left on device (os error 28)
        --- status 1
        --- status 0
        restored a
        undone by call run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1; to take that back: haft undo run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1
        --- status 0
        three
        the journal is sound
        --- status 0
        --- status 0
    "#]],
    );
}

#[test]
fn tools_tell_that_the_workspace_is_full() {
    if !can_make_disks() {
        return;
    }
    let world = World::with_files();
    let script = r#"
disk small 256k
write small/a one
fill small
write small/a twotwotwo
write small/b two
bash 'cat notes.txt notes.txt > small/c && echo written'
cat small/a; echo; ls small
free small
write small/b two
bash 'cat notes.txt > small/c && echo written'
ls small
"#;
    check(
        &world,
        script,
        &expect![[r#"
            ok
            --- status 0
            error: no space is left to write small/a: free some space on that disk, then make the call again
            --- status 1
            error: no space is left to write small/b: free some space on that disk, then make the call again
            --- status 1
            error: bash exited with status 1; no space is left where the command wrote: free some there; what a command puts into /tmp, /dev/shm and its home is bounded by temp_bytes = 2147483648 of [sandbox] in haft.toml
            cat: write error: No space left on device
            --- status 1
            one
            a
            ballast
            c
            ok
            --- status 0
            written
            --- status 0
            a
            b
            c
            --- status 0
        "#]],
    );
}

#[test]
fn no_command_runs_that_cannot_be_recorded() {
    if !can_make_disks() {
        return;
    }
    let world = World::with_files();
    let script = r#"
disk "$HAFT_STATE_DIR" 1m
bash 'echo before >> ran'
fill "$HAFT_STATE_DIR"
bash 'echo full >> ran'
free "$HAFT_STATE_DIR"
bash 'echo after >> ran'
cat ran
"$HAFT" runs export r1 | grep -c '"record":"call"'
"#;
    check(
        &world,
        script,
        &expect![[r#"
            --- status 0
            error: no space left for journal /world/state/journal.sqlite: what was acknowledged is safe; free some space and try again

            hint: df -h /world/state
            --- status 1
            --- status 0
            before
            after
            2
            --- status 0
        "#]],
    );
}
