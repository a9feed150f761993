//! The programs beside `haft`: what `haft-reader` answers, and what haft says if one of them is missing. How pages are read
//! is tested in haft-reader.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};

use crate::world::World;

fn check_reader(input: &str, expect: &Expect) {
    let world = World::new();
    let mut reader = Command::new(env!("CARGO_BIN_EXE_haft-reader"));
    reader.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = reader.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    expect.assert_eq(&world.shown(&child.wait_with_output().unwrap()));
}

#[test]
fn haft_reader_reads_the_pages_on_its_standard_input() {
    check_reader(
        "{\"bytes\":49,\"content_type\":\"text/html\",\"url\":\"https://a.example/\"}\n\
         <title>A</title><p>Go <a href=b>on</a> reading.\n\n\
         {\"bytes\":3,\"content_type\":\"text/plain\",\"text_bytes_max\":2}\nabc",
        &expect![[r#"
            {"kind":"html","title":"A","text":"Go [on](https://a.example/b) reading.","charset":"UTF-8","note":null,"truncated":false}
            {"kind":"text","title":null,"text":"ab","charset":"UTF-8","note":null,"truncated":true}
            --- status 0
        "#]],
    );
}

#[test]
fn haft_reader_refuses_input_that_is_no_request() {
    check_reader(
        "hello\n",
        &expect![[r#"
            --- stderr
            error: expected a request of one line of JSON, found something else: expected value at line 1 column 1
            --- status 1
        "#]],
    );
}

/// Puts `haft` alone into a directory of the world.
fn haft_alone(world: &World) -> PathBuf {
    let haft = world.path("").join("bin/haft");
    fs::create_dir_all(haft.parent().unwrap()).unwrap();
    let built = Path::new(env!("CARGO_BIN_EXE_haft"));
    if fs::hard_link(built, &haft).is_err() {
        fs::copy(built, &haft).unwrap();
    }
    haft
}

#[test]
fn a_missing_program_is_named() {
    let world = World::new();
    let haft = haft_alone(&world);
    let mut command = Command::new(&haft);
    command.args(["agent", "hello", "--model", "openai/m"]).current_dir(world.path("work"));
    command.env_clear().env("HOME", world.path("home")).env("HAFT_STATE_DIR", world.path("state"));
    world.check_command(
        &mut command,
        &expect![[r#"
            --- stderr
            error: this command needs the program haft-agent, which is not installed: there is no /world/bin/haft-agent

            hint: install haft again with all of its programs, which lie side by side
            --- status 2
        "#]],
    );
}

#[test]
fn haft_agent_hands_other_commands_to_haft() {
    let world = World::new();
    let run = |program: &str| {
        let mut command = Command::new(program);
        command.args(["runs", "list"]).current_dir(world.path("work")).env_clear();
        command.env("HOME", world.path("home")).env("HAFT_STATE_DIR", world.path("state"));
        world.shown(&command.output().unwrap())
    };
    assert_eq!(run(env!("CARGO_BIN_EXE_haft-agent")), run(env!("CARGO_BIN_EXE_haft")));
}

/// Returns a command of a `haft` beside which there is a program haft-temporal that prints its arguments.
fn haft_with_engine(world: &World, args: &[&str]) -> Command {
    let haft = haft_alone(world);
    let temporal = haft.with_file_name("haft-temporal");
    fs::write(&temporal, "#!/bin/sh\nprintf '%s\\n' \"$@\"\n").unwrap();
    fs::set_permissions(&temporal, PermissionsExt::from_mode(0o755)).unwrap();
    let mut command = Command::new(&haft);
    command.args(args).current_dir(world.path("work")).env_clear().env("HOME", world.path("home"));
    command.env("HAFT_STATE_DIR", world.path("state")).env("HAFT_PRESET", "full");
    command
}

#[test]
fn a_run_on_an_engine_is_handed_over() {
    let check = |args: &[&str], expect: &Expect| {
        let world = World::new();
        world.check_command(&mut haft_with_engine(&world, args), expect);
    };
    check(
        &[
            "run",
            "plan.json",
            "--on",
            "temporal",
            "--run",
            "r",
            "--allow",
            "bash",
            "--parallel",
            "2",
        ],
        &expect![[r#"
            run
            --allow=bash
            --root
            /world/work
            --parallel=2
            --run=r
            --
            plan.json
            --- status 0
        "#]],
    );
    check(
        &["resume", "r", "--on=temporal", "--retry-failed", "--json"],
        &expect![[r#"
            resume
            --json
            --retry-failed
            --
            r
            --- status 0
        "#]],
    );
    check(
        &["agent", "--on", "temporal", "--agent", "plan", "--model", "openai/m", "What is it?"],
        &expect![[r#"
            agent
            --root
            /world/work
            --agent=plan
            --model=openai/m
            --
            What is it?
            --- status 0
        "#]],
    );
    check(
        &["run", "plan.json", "--on", "temporal", "--unsafe-no-sandbox"],
        &expect![[r#"
            --- stderr
            error: --unsafe-no-sandbox does not reach a run on an engine, because the settings of its worker hold

            hint: haft-temporal worker --help
            --- status 2
        "#]],
    );
}

#[test]
fn a_missing_engine_is_named() {
    let world = World::new();
    let mut command = haft_with_engine(&world, &["resume", "r", "--on", "temporal"]);
    fs::remove_file(world.path("").join("bin/haft-temporal")).unwrap();
    world.check_command(
        &mut command,
        &expect![[r#"
            --- stderr
            error: this command needs the program haft-temporal, which is not installed: there is no /world/bin/haft-temporal

            hint: cargo install --locked --path fleet/haft-temporal
            --- status 2
        "#]],
    );
}
