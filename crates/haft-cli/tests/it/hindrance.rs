//! The report when the sandbox blocked a command: programs report a system error, and haft names the protection or the
//! bound.

use std::process::Command;

use expect_test::expect;

use crate::world::World;

/// Returns a world whose working directory is a repository.
fn repository() -> World {
    let world = World::with_files();
    let status = Command::new("git")
        .args(["init", "--quiet", "."])
        .current_dir(world.path("work"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", world.path("home"))
        .status();
    assert!(status.unwrap().success());
    world
}

#[test]
fn a_write_to_a_protected_name_says_that_it_is_protected() {
    let world = repository();
    world.check(
        &["call", "bash", r#"{"cmd":"git config user.name x"}"#],
        &expect![[r#"
            --- stderr
            error: git exited with status 4; .git/config is protected, because others run or obey what it says: leave it, or tell the user what to change, or which pattern to list under unprotect of [sandbox] in haft.toml
            error: could not write config file .git/config: Device or resource busy
            --- status 1
        "#]],
    );
    world.check(
        &["call", "bash", r#"{"cmd":"cd .git; name=hooks/x; echo x > $name"}"#],
        &expect![[r#"
            --- stderr
            error: bash exited with status 1; commands can change only /world/work and, for the call alone, /tmp and home, and there neither protected names such as .git/config nor directories around those: do without, or ask the user to change roots, or unprotect of [sandbox], in haft.toml
            bash: line 1: hooks/x: Read-only file system
            --- status 1
        "#]],
    );
}

#[test]
fn a_write_elsewhere_says_where_writes_go() {
    let world = World::with_files();
    world.check(
        &["call", "bash", r#"{"cmd":"place=/usr/x; echo x > $place"}"#],
        &expect![[r#"
            --- stderr
            error: bash exited with status 1; /usr/x is outside of what commands can change, which is /world/work and, for the call alone, /tmp and home: work there, or ask the user to add a directory to roots in haft.toml
            bash: line 1: /usr/x: Read-only file system
            --- status 1
        "#]],
    );
}

#[test]
fn a_bound_names_its_setting_and_value() {
    let world = World::with_files();
    world.write(
        "agent.toml",
        "[sandbox]\nfile_bytes = 2097152\ntemp_bytes = 1048576\nopen_files = 64\n",
    );
    let said = |line: &str| {
        let input = serde_json::json!({ "cmd": line }).to_string();
        let args = ["call", "--config", "../agent.toml", "--root", ".", "bash", &input];
        let output = world.haft(&args).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let first = stderr.lines().next().unwrap_or_default().to_owned();
        first.split_once("; ").map_or(first.clone(), |(_, hindrance)| hindrance.to_owned())
    };
    let check = |line: &str, expect: &str| {
        assert_eq!(said(line), format!("{expect} of [sandbox] in haft.toml"), "for {line}");
    };
    check(
        "head -c 3000000 /dev/zero > big",
        "one file of a command is bounded by file_bytes = 2097152",
    );
    check(
        "head -c 2000000 /dev/zero > /tmp/big",
        "no space is left where the command wrote: free some there; what a command puts into /tmp, /dev/shm and its home is bounded by temp_bytes = 1048576",
    );
    check(
        "python3 -c 'files = [open(\"notes.txt\") for _ in range(100)]'",
        "the number of open files of a process is bounded by open_files = 64",
    );
    assert_eq!(said("echo 'File too large'; exit 0"), "");
    assert_eq!(said("exit 3"), "error: bash exited with status 3");
}
