//! Unread output streams: they hold up the models at most, and do not keep haft from ending.

use std::io::{PipeReader, Read as _};
use std::process::{Child, Stdio};

use haft_scripted_model::ScriptedReply;
use rustix::process::{Pid, Signal, kill_process};

use super::Stage;
use crate::world::World;

/// More pieces than wait to be shown, and more text than a pipe holds.
const WORDS: usize = 40_000;
/// The bytes that an unread pipe holds.
const PIPE_BYTES: usize = 4_096;
/// The bytes in it if it takes at most one more line: turns end with two.
const PIPE_FULL_BYTES: u64 = 3_950;

fn begun(stage: &Stage, args: &[&str]) -> Child {
    let mut command = stage.haft(&[&["agent"], args].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Reads what is said beside the data until it holds this text.
fn wait_for(child: &mut Child, text: &str) -> String {
    let stderr = child.stderr.as_mut().unwrap();
    let (mut said, mut byte) = (Vec::new(), [0]);
    while !String::from_utf8_lossy(&said).contains(text) {
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.extend(byte);
    }
    String::from_utf8(said).unwrap()
}

/// Starts a command, and returns it once it has filled a pipe without a reader.
fn unread(stage: &Stage, args: &[&str]) -> (Child, PipeReader) {
    let (unread, stdout) = std::io::pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&unread, PIPE_BYTES).unwrap();
    let child = stage.haft(args).stdout(stdout).stderr(Stdio::piped()).spawn().unwrap();
    while rustix::io::ioctl_fionread(&unread).unwrap() < PIPE_FULL_BYTES {
        std::thread::yield_now();
    }
    (child, unread)
}

#[test]
fn an_answer_that_nobody_reads_keeps_nobody_from_ending_haft() {
    let long = ScriptedReply::new().text(&"word ".repeat(WORDS));
    let stage = Stage::new(World::new(), [long]);
    let (child, _unread) = unread(&stage, &["agent", "Tell me"]);
    signal(&child, Signal::INT);
    let shown = stage.world.shown(&child.wait_with_output().unwrap());
    assert!(shown.contains("error: ended before all of it was read"), "{shown}");
    assert!(shown.ends_with("--- status 1\n"), "{shown}");
}

#[test]
fn a_stream_that_nobody_reads_can_be_stopped() {
    for first in [Signal::INT, Signal::TERM] {
        let long = ScriptedReply::new().text(&"word ".repeat(WORDS));
        let stage = Stage::new(World::new(), [long]);
        let (mut child, _unread) = unread(&stage, &["agent", "--json", "Tell me"]);
        signal(&child, first);
        wait_for(&mut child, "interrupt again to end haft at once");
        // The turn is stopped and recorded as stopped, although no client has read of it.
        loop {
            let listed = stage.world.json(&["sessions", "list", "--json"]);
            if listed[0]["status"] != "running" {
                break;
            }
        }
        signal(&child, first);
        // It depends on the moment whether anything was left to be closed.
        let status = child.wait().unwrap().code();
        assert!(matches!(status, Some(1 | 4)), "{status:?}");
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains("error: ended "), "{said}");
        let kept = stage.world.run(&["sessions", "show", "last"]);
        // haft reads no more of the model's answer than it can show.
        assert!(kept.contains("(aborted)") && kept.len() < WORDS * "word ".len(), "{kept}");
    }
}

#[test]
fn all_of_it_comes_to_a_reader_that_is_late() {
    let long = ScriptedReply::new().text(&"word ".repeat(WORDS));
    let stage = Stage::new(World::new(), [long]);
    let child = begun(&stage, &["--json", "Tell me"]);
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let delta = |line: &str| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["delta"].as_str().unwrap_or_default().to_owned()
    };
    let text: String = stdout.lines().map(delta).collect();
    assert_eq!((text, output.status.code()), ("word ".repeat(WORDS), Some(0)));
}

#[test]
fn a_second_signal_ends_haft_in_the_middle_of_a_turn() {
    let order = "exec > fifo; echo begun; sleep 1000";
    let order = ScriptedReply::new().call("bash", serde_json::json!({"cmd": order}));
    let stage = Stage::new(World::new(), [order]);
    let path = stage.world.fifo("work/fifo");
    let mut child = begun(&stage, &["--db", "../mine.sqlite", "Run it"]);
    let mut lifeline = std::fs::File::open(path).unwrap();
    lifeline.read_exact(&mut [0; 6]).unwrap();
    // Both are there when it goes on, so that the turn has no time to end after the first.
    for one in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        signal(&child, one);
    }
    assert_eq!(child.wait().unwrap().code(), Some(4));
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("error: ended before the turn was over"), "{said}");
    assert!(said.contains("hint: haft --db ../mine.sqlite agent --resume ses_"), "{said}");
    // The command's processes end with haft. Otherwise this would wait for them.
    lifeline.read_to_end(&mut Vec::new()).unwrap();
}
