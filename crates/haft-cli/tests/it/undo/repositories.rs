//! Refs and index of a repository, if the settings want them recorded.

use std::process::Command;

use serde_json::Value;

use super::undo_last;
use crate::world::World;

fn git(world: &World, line: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(world.path("work"));
    shell.env("HOME", world.path("home")).env("GIT_CONFIG_NOSYSTEM", "1");
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a world with a repository of one commit, whose refs and index are recorded.
fn world(setting: &str) -> World {
    let world = World::with_files();
    world.write("work/haft.toml", setting);
    world.run(&["trust"]);
    git(&world, "git init -q -b main . && git config user.email a@b && git config user.name a");
    git(&world, "git add . && git commit -qm first && git branch side");
    world
}

const RECORDED: &str = "[snapshots]\nrepositories = true\n";

/// Returns what a person sees of the repository and its files.
fn state(world: &World) -> String {
    let looks = [
        "git log --oneline --all --decorate",
        "git status --short",
        "git branch -a",
        "git ls-files -s",
        "cat notes.txt",
    ];
    git(world, &looks.join(" && "))
}

#[test]
fn branches_head_and_index_are_brought_back() {
    let world = world(RECORDED);
    let before = state(&world);
    for line in [
        "echo more >> notes.txt && git commit -qam second",
        "git checkout -q side && git branch -D main",
        "echo more >> notes.txt && git add notes.txt && git tag v1",
        "git rm -q notes.txt && git pack-refs --all",
        "rm -r .git/refs .git/HEAD .git/index",
    ] {
        let input = serde_json::json!({ "cmd": line }).to_string();
        world.run(&["call", "--run", "r1", "bash", &input]);
        let undone: Value = world.json(&["undo", "--json", "r1"]);
        assert_eq!(undone["complete"], true, "{line}: {undone}");
        assert_eq!(state(&world), before, "{line}");
        world.run(&["runs", "prune", "--keep-bytes", "0"]);
    }
}

#[test]
fn an_undo_of_refs_is_undone() {
    let world = world(RECORDED);
    let cmd = r#"{"cmd":"echo more >> notes.txt && git commit -qam second"}"#;
    world.run(&["call", "--run", "r1", "bash", cmd]);
    let after = state(&world);
    let call = undo_last(&world, &["r1"]);
    assert_ne!(state(&world), after);
    world.run(&["undo", &call]);
    assert_eq!(state(&world), after);
}

#[test]
fn lost_objects_are_told() {
    let world = world(RECORDED);
    let cmd = r#"{"cmd":"rm -rf .git/objects/*; echo x > new"}"#;
    world.run(&["call", "--run", "r1", "bash", cmd]);
    let output = world.haft(&["undo", "r1"]).output().unwrap();
    let shown = world.shown(&output);
    assert_eq!(output.status.code(), Some(5), "{shown}");
    assert!(shown.contains(".git was changed and is not recorded (objects)"), "{shown}");
    assert!(!world.path("work/new").exists());
}

#[test]
fn without_the_setting_refs_stay() {
    let world = world("");
    let cmd = r#"{"cmd":"echo more >> notes.txt && git commit -qam second"}"#;
    world.run(&["call", "--run", "r1", "bash", cmd]);
    let output = world.haft(&["undo", "r1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", world.shown(&output));
    assert!(git(&world, "git log --oneline").contains("second"));
}
