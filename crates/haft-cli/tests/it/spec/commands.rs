//! The Smithers tool `bash`: no shell, its bounds, its directory, its output and its end.

use std::io::Read as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{OUTPUT_BYTES, call, code, error_text, smithers};
use crate::world::World;

fn bash(world: &World, cmd: &str, args: &[&str]) -> Value {
    smithers(world, "bash", &json!({"cmd": cmd, "args": args}))
}

#[test]
fn bash_runs_a_program_with_arguments_and_no_shell() {
    let world = World::new();
    let answer = bash(&world, "echo", &["$HOME", "*", "a;b"]);
    assert_eq!(answer["data"], "$HOME * a;b\n", "{answer}");
    let answer = smithers(&world, "bash", &json!({"cmd": "echo hi"}));
    assert_eq!(code(&answer), "PROCESS_SPAWN_FAILED", "{answer}");
}

#[test]
fn bash_runs_a_shell_that_is_named() {
    let world = World::new();
    let answer = bash(&world, "sh", &["-lc", "echo a | tr a b > file.txt; cat file.txt"]);
    assert_eq!(answer["data"], "b\n", "{answer}");
}

#[test]
fn bash_takes_a_command_of_8192_characters() {
    let world = World::new();
    let cmd = |characters| json!({"cmd": "x".repeat(characters)});
    assert_ne!(code(&smithers(&world, "bash", &cmd(8_192))), "INVALID_INPUT");
    assert_eq!(code(&smithers(&world, "bash", &cmd(8_193))), "INVALID_INPUT");
}

#[test]
fn bash_takes_128_arguments() {
    let world = World::new();
    let args = |count| json!({"cmd": "true", "args": vec!["x"; count]});
    assert_eq!(code(&smithers(&world, "bash", &args(128))), "none");
    assert_eq!(code(&smithers(&world, "bash", &args(129))), "INVALID_INPUT");
}

#[test]
fn bash_takes_arguments_of_8192_characters() {
    let world = World::new();
    let arg = |characters| json!({"cmd": "true", "args": ["x".repeat(characters)]});
    assert_eq!(code(&smithers(&world, "bash", &arg(8_192))), "none");
    assert_eq!(code(&smithers(&world, "bash", &arg(8_193))), "INVALID_INPUT");
}

#[test]
fn bash_works_in_the_root() {
    let world = World::with_files();
    let expect = format!("{}\n", world.path("work").display());
    assert_eq!(bash(&world, "pwd", &[])["data"], expect);
}

#[test]
fn bash_works_in_a_directory_within_the_root() {
    let world = World::with_files();
    let pwd = |cwd: &str| smithers(&world, "bash", &json!({"cmd": "pwd", "opts": {"cwd": cwd}}));
    assert_eq!(pwd("src")["data"], format!("{}\n", world.path("work/src").display()));
    for outside in ["..", "/"] {
        let answer = pwd(outside);
        assert_eq!(code(&answer), "TOOL_PATH_ESCAPE", "{answer}");
    }
}

#[test]
fn bash_answers_with_standard_output_and_error() {
    let answer = bash(&World::new(), "sh", &["-c", "echo out; echo err >&2; echo more"]);
    assert_eq!(answer["data"], "out\nerr\nmore\n");
}

#[test]
fn bash_cuts_its_output_at_the_limit() {
    let world = World::new();
    let print = |bytes: usize| bash(&world, "sh", &["-c", &format!("yes | head -c {bytes}")]);
    assert_eq!(print(OUTPUT_BYTES)["data"].as_str().unwrap().len(), OUTPUT_BYTES);
    let answer = print(OUTPUT_BYTES + 100_000);
    assert_eq!(answer["metadata"]["truncated"], true);
    let part = |name: &str| answer["data"][name].as_str().unwrap_or_default().len();
    assert_eq!(part("head") + part("tail"), OUTPUT_BYTES, "{}", answer["metadata"]);
}

#[test]
fn bash_fails_if_the_status_is_not_zero() {
    let answer = bash(&World::new(), "sh", &["-c", "echo said; exit 3"]);
    assert_eq!(code(&answer), "TOOL_COMMAND_FAILED");
    assert_eq!(answer["metadata"]["exit_code"], 3);
    assert!(error_text(&answer).contains("status 3"), "{answer}");
    assert!(error_text(&answer).contains("said"), "{answer}");
}

#[test]
fn bash_names_the_signal_that_ended_a_program() {
    let answer = bash(&World::new(), "sh", &["-c", "kill -9 $$"]);
    assert_eq!(code(&answer), "TOOL_COMMAND_FAILED");
    assert!(error_text(&answer).contains("ended by signal 9 (SIGKILL)"), "{answer}");
}

/// A program that has left its session and group dies, too: only then does the pipe that both hold end.
#[test]
fn bash_is_killed_with_all_it_started_when_its_time_is_over() {
    let world = World::new();
    let fifo = world.fifo("work/life");
    let line = "exec 9>life; setsid sleep 1000 & sleep 1000";
    let input = json!({"cmd": "sh", "args": ["-c", line]}).to_string();
    let args = ["--profile", "smithers", "--timeout-ms", "700", "--json", "call", "bash", &input];
    let child = world.haft(&args).stdout(Stdio::piped()).spawn().unwrap();
    let mut rest = String::new();
    std::fs::File::open(fifo).unwrap().read_to_string(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(code(&answer), "PROCESS_TIMEOUT", "{answer}");
    assert!(answer["metadata"]["duration_ms"].as_u64().unwrap() >= 700, "{answer}");
}

#[test]
fn the_time_of_a_command_is_60_seconds_unless_a_setting_says_otherwise() {
    let world = World::new();
    world.write("work/tools/context.py", super::context::TOOL);
    let timeout = |args: &[&str]| {
        call(&world, &[args, &["--python", "tools"]].concat(), "tell", &json!({}))["data"]
            ["timeout_ms"]
            .clone()
    };
    assert_eq!(timeout(&[]), 60_000);
    assert_eq!(timeout(&["--timeout-ms", "120000"]), 120_000);
}

#[test]
fn the_time_of_a_command_is_at_most_an_hour() {
    let world = World::new();
    let status = |ms: &str| {
        let args =
            ["--profile", "smithers", "--timeout-ms", ms, "call", "bash", r#"{"cmd":"true"}"#];
        world.haft(&args).output().unwrap().status.code()
    };
    assert_eq!((status("3600000"), status("3600001")), (Some(0), Some(2)));
}
