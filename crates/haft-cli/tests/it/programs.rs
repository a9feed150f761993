//! The programs beside `haft`: what `haft-reader` answers, and what haft says if one of them is missing. How pages are read
//! is tested in haft-reader.

use std::fs;
use std::io::Write as _;
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
