//! Being interrupted, and not being read.

use std::fs::File;
use std::io::Read;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::world::World;

/// Starts a call whose command runs until it is stopped; returns it once the command runs, with something to read that
/// ends when the last process of the command has.
fn endless_call(world: &World) -> (Child, File) {
    let fifo = world.fifo("work/fifo");
    let input = r#"{"cmd":"exec > fifo; echo begun; sleep 1000"}"#;
    let args = ["call", "--allow", "bash", "--run", "r1", "bash", input, "--json"];
    let mut command = world.haft(&args);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lifeline = File::open(fifo).unwrap();
    let mut begun = [0; 6];
    lifeline.read_exact(&mut begun).unwrap();
    assert_eq!(&begun, b"begun\n");
    (child, lifeline)
}

#[test]
fn an_interrupted_call_stops_and_says_so() {
    let mut listed = Vec::new();
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let world = World::with_files();
        let (child, mut lifeline) = endless_call(&world);
        kill_process(Pid::from_child(&child), signal).unwrap();
        let shown = world.shown(&child.wait_with_output().unwrap());
        assert!(shown.contains(r#""code":"PROCESS_ABORTED""#), "{shown}");
        assert!(shown.ends_with("--- status 1\n"), "{shown}");
        // Reading would wait for a process that is still there.
        rustix::fs::fcntl_setfl(&lifeline, rustix::fs::OFlags::NONBLOCK).unwrap();
        assert_eq!(lifeline.read(&mut [0]).unwrap(), 0, "the command is still there");
        listed.push(world.run(&["runs", "show", "r1", "--json"]));
    }
    for runs in listed {
        let runs: Value = serde_json::from_str(&runs).unwrap();
        assert_eq!((&runs["run"]["intended"], &runs["run"]["unknown"]), (&0.into(), &1.into()));
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let world = World::with_files();
    for args in [
        &["tools", "list"][..],
        &["tools", "list", "--json"],
        &["call", "read", r#"{"path":"notes.txt"}"#],
        &["completions", "bash"],
        &["help-markdown"],
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = world.haft(args).stdout(writer).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(world.shown(&output), "--- status 0\n", "{args:?}");
    }
}
