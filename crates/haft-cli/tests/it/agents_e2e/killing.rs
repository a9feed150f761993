//! kill -9 between any two events of a session: another process goes on with it, no effect that is not safe to repeat happens
//! twice, and what is kept is true.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use haft_scripted_model::{ModelScript, ReplyCondition, ScriptedReply, WireProtocol};
use serde_json::{Value, json};

use super::transcript::Transcript;
use super::worker::{AGENT, HELPER, Step, effects, worker};
use crate::agent::Stage;
use crate::world::World;

const PROMPT: &str = "Add them.";
const END: &str = "All of it is there.";
/// Texts and arguments come in one piece, so each event has a separate meaning.
const PIECE_CHARS: usize = 4_000;
/// Sessions that are killed at the same time: they wait for disks and processes more than they compute.
const SESSIONS_AT_ONCE: usize = 4;

/// A session that is killed, and the effects that it has in the end.
pub(super) struct Case {
    /// Where it works, and where its journal is.
    world: fn() -> World,
    replies: fn() -> Vec<ScriptedReply>,
    effects: &'static [&'static str],
    /// Effects of a subagent that is not resumed.
    lost_with_process: &'static [&'static str],
    /// The session has at least so many events.
    events_min: usize,
}

impl Case {
    /// Returns the case in another place.
    pub(super) fn on(self, world: fn() -> World) -> Self {
        Self { world, ..self }
    }

    fn stage(&self) -> Stage {
        let script = ModelScript { replies: (self.replies)(), piece_chars: PIECE_CHARS };
        Stage::reading(WireProtocol::OpenAi, (self.world)(), script)
    }

    /// Kills sessions after each number of events that there is.
    fn check_all(&self) {
        let next = AtomicUsize::new(1);
        let in_doubt = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..SESSIONS_AT_ONCE {
                scope.spawn(|| {
                    while let Some(doubts) = self.check(&[next.fetch_add(1, Ordering::Relaxed)]) {
                        in_doubt.fetch_add(doubts, Ordering::Relaxed);
                    }
                });
            }
        });
        let events = next.into_inner() - SESSIONS_AT_ONCE;
        println!("killed after 1 to {events} events: {} calls in doubt", in_doubt.into_inner());
        assert!(events > self.events_min, "the session has only {events} events");
    }

    /// Kills a session after so many events, and each process that goes on with it after as many as follow, and then looks at
    /// what the one makes of it that is not killed. Returns how many calls are in doubt, or nothing if the session
    /// had come to its end before.
    pub(super) fn check(&self, kills: &[usize]) -> Option<usize> {
        let stage = self.stage();
        let mut session = String::new();
        for (life, events) in kills.iter().enumerate() {
            let resumed = ["agent", "--resume", &session, "--headless", "--json"];
            let begun = ["agent", PROMPT, "--headless", "--json"];
            let lines = killed(&stage, if life == 0 { &begun } else { &resumed }, *events);
            if life == 0 {
                let first: Value = serde_json::from_str(lines.first()?).unwrap();
                session = first["session"].as_str().unwrap().to_owned();
                if lines.len() < *events {
                    return None;
                }
            }
        }
        let what = format!("killed after {kills:?}");
        self.go_on(&stage, &session, &what);
        Some(self.check_rest(&stage, &session, &what))
    }

    fn go_on(&self, stage: &Stage, session: &str, what: &str) {
        let resume = ["agent", "--resume", session, "--headless", "--json"];
        // The process may have died before anything was said.
        let is_empty = Transcript::of(stage, session).is_empty();
        let said = if is_empty { &[PROMPT][..] } else { &[] };
        let output = stage.haft(&[&resume[..], said].concat()).output().unwrap();
        let shown = shown(stage, &output);
        assert_eq!(output.status.code(), Some(0), "{what}: {shown}");
        let last = shown.lines().rfind(|line| line.starts_with('{')).unwrap();
        let last: Value = serde_json::from_str(last).unwrap();
        let end = ["type", "end", "session"].map(|name| last[name].as_str().unwrap());
        assert_eq!(end, ["turn_ended", "done", session], "{what}: {shown}");
        let answer = stage.haft(&["agent", "--resume", session]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&answer.stdout).trim_end(), END, "{what}: {shown}");
    }

    /// Looks at what was done and at what is kept, and returns how many calls are in doubt.
    fn check_rest(&self, stage: &Stage, session: &str, what: &str) -> usize {
        let mut done = effects(&stage.world);
        done.sort();
        let (lost, mut kept): (Vec<String>, Vec<String>) =
            done.into_iter().partition(|it| self.lost_with_process.contains(&it.as_str()));
        kept.sort_by_key(|it| self.effects.iter().position(|effect| effect == it));
        assert_eq!(kept, self.effects, "{what}");
        assert!(lost.windows(2).all(|pair| pair[0] != pair[1]), "{what}: {lost:?}");
        let listed = stage.world.json(&["sessions", "list", "--subagents", "--json"]);
        let mut in_doubt = 0;
        for row in listed.as_array().unwrap() {
            let id = row["id"].as_str().unwrap();
            let transcript = Transcript::of(stage, id);
            transcript.check(stage, &format!("{what}, {}", row["agent"]));
            in_doubt += transcript.in_doubt();
            let status = transcript.session["status"].as_str().unwrap();
            let expected: &[&str] = match (id == session, self.lost_with_process.is_empty()) {
                (true, _) => &["idle"],
                (false, true) => &["completed"],
                (false, false) => &["completed", "failed"],
            };
            assert!(expected.contains(&status), "{what}: {status}");
        }
        stage.world.run(&["runs", "verify"]);
        in_doubt
    }
}

fn shown(stage: &Stage, output: &Output) -> String {
    stage.world.shown(output)
}

/// Starts haft, kills it after so many events, and returns those that were seen.
fn killed(stage: &Stage, args: &[&str], events: usize) -> Vec<String> {
    let mut command = stage.haft(args);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let stream = BufReader::new(child.stdout.take().unwrap()).lines();
    let seen = stream.map_while(Result::ok).take(events).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    seen
}

fn alone() -> Case {
    Case {
        world: World::new,
        replies: || worker(AGENT, &[Step::Add("one"), Step::Add("two"), Step::Add("three")], END),
        effects: &["one", "two", "three"],
        lost_with_process: &[],
        events_min: 20,
    }
}

pub(super) fn with_subagent() -> Case {
    Case {
        world: World::new,
        replies: || {
            let input = json!({"subagent_type": "general", "prompt": "Add the others."});
            let task = Step::Task { input, leads: "The others are there." };
            let helper = [Step::Add("other"), Step::Add("another")];
            let mut replies = worker(AGENT, &[Step::Add("one"), task, Step::Add("two")], END);
            replies.extend(worker(HELPER, &helper, "The others are there."));
            replies
        },
        effects: &["one", "two", "other", "another"],
        lost_with_process: &[],
        events_min: 30,
    }
}

pub(super) fn with_background() -> Case {
    Case {
        world: World::new,
        replies: || {
            let prompt = "Add the others.";
            let input = json!({"subagent_type": "general", "prompt": prompt, "background": true});
            let task = Step::Task { input, leads: "it works in the background" };
            let helper = [Step::Add("other"), Step::Add("another")];
            let mut replies = worker(AGENT, &[task, Step::Add("one"), Step::Add("two")], END);
            replies.extend(worker(HELPER, &helper, "The others are there."));
            replies
        },
        effects: &["one", "two"],
        lost_with_process: &["other", "another"],
        events_min: 30,
    }
}

#[test]
fn a_session_that_is_killed_anywhere_repeats_no_effect() {
    alone().check_all();
}

#[test]
fn nor_does_one_that_waits_for_a_subagent() {
    with_subagent().check_all();
}

#[test]
fn nor_does_one_with_a_subagent_in_the_background() {
    with_background().check_all();
}

#[test]
fn nor_when_those_who_go_on_are_killed_too() {
    let kills = [[3, 4, 5], [9, 2, 7], [12, 3, 1], [14, 6, 6], [21, 5, 3], [27, 2, 2]];
    std::thread::scope(|scope| {
        for kills in kills {
            scope.spawn(move || assert!(with_subagent().check(&kills).is_some(), "{kills:?}"));
        }
    });
}

#[test]
fn a_command_that_ran_when_its_process_was_killed_is_in_doubt_and_looked_at() {
    let run = "echo one >> effects.txt; echo begun > fifo; sleep 1000";
    let begin = ScriptedReply::new().text("Now one.").call("bash", json!({ "cmd": run }));
    let mut replies = vec![begin];
    replies.extend(worker(AGENT, &[Step::Add("one")], END));
    let stage = Stage::new(World::new(), replies);
    let fifo = stage.world.fifo("work/fifo");
    let mut command = stage.haft(&["agent", PROMPT, "--headless", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    std::fs::File::open(fifo).unwrap().read_exact(&mut [0; 6]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let answer = stage.haft(&["agent", "--resume", "last", "--headless"]).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&answer.stdout).trim_end(),
        END,
        "{}",
        shown(&stage, &answer)
    );
    assert_eq!(effects(&stage.world), ["one"]);
    assert!(stage.told(1).contains("may or may not have happened"), "{}", stage.told(1));
    let transcript = Transcript::of(&stage, &stage.latest());
    transcript.check(&stage, "killed while a command ran");
    assert_eq!(transcript.in_doubt(), 1);
}

#[test]
fn what_a_subagent_in_the_background_did_when_its_process_was_killed_is_told() {
    let input = json!({"subagent_type": "general", "prompt": "Add it.", "background": true});
    let run = json!({"cmd": "echo one >> effects.txt; echo begun > fifo; sleep 1000"});
    let of = |system: &str| ReplyCondition {
        system: Some(system.to_owned()),
        ..ReplyCondition::default()
    };
    let replies = [
        ScriptedReply::new().call("task", input).when(of(AGENT)),
        ScriptedReply::new().waiting_for("the end of the process").when(of(AGENT)),
        ScriptedReply::new().text("I looked at it.").when(of(AGENT)),
        ScriptedReply::new().call("bash", run).call("read", json!({"path": "a"})).when(of(HELPER)),
    ];
    let stage = Stage::new(World::new(), replies);
    let fifo = stage.world.fifo("work/fifo");
    let mut command = stage.haft(&["agent", PROMPT, "--headless", "--json"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    std::fs::File::open(fifo).unwrap().read_exact(&mut [0; 6]).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let answer = stage.haft(&["agent", "--resume", "last", "--headless"]).output().unwrap();
    let shown = shown(&stage, &answer);
    assert_eq!(String::from_utf8_lossy(&answer.stdout), "I looked at it.\n", "{shown}");
    let listed = stage.world.json(&["sessions", "list", "--subagents", "--json"]);
    let listed = listed.as_array().unwrap();
    let id = listed.iter().find(|row| row["agent"] == "general").unwrap()["id"].as_str().unwrap();
    let transcript = Transcript::of(&stage, id);
    transcript.check(&stage, &shown);
    assert_eq!((transcript.in_doubt(), transcript.calls().count()), (1, 2));
    assert_eq!(transcript.session["status"], "failed");
    let requests = stage.model.requests();
    let told = requests.last().unwrap().text();
    let notice = format!(
        "background task {id} (general) failed: haft ended before it was done. It may or may not have done this, so look before \
         you repeat it: bash echo one >> effects.txt; echo begun > fifo; sleep 1000."
    );
    assert!(told.contains(&notice), "{told}");
}
