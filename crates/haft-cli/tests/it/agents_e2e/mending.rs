//! A bug is found and mended, with one subagent that looks and one that works in the background: the whole stream of events
//! and all that is kept of it, on the wires of two providers.

use std::process::Stdio;

use expect_test::expect_file;
use haft_scripted_model::{ReplyCondition, ScriptedReply, WireProtocol};
use serde_json::{Value, json};

use super::worker::{AGENT, EXPLORER, HELPER};
use crate::agent::repository::{PROMPT, is_mended, with_bug};
use crate::agent::{Stage, masked};
use crate::redaction::redact;

/// Replies that end before the subagent in the background goes on: two of the one that looks, six of the agent.
const REPLIES_BEFORE: usize = 8;

fn replies() -> Vec<ScriptedReply> {
    let of = |system: &str| ReplyCondition {
        system: Some(system.to_owned()),
        ..ReplyCondition::default()
    };
    let look =
        json!({"subagent_type": "explore", "prompt": "Where is the sum of two numbers computed?"});
    let note = json!({"subagent_type": "general", "prompt": "Add to CHANGELOG.md that sum adds.", "background": true});
    let edit = json!({"path": "src/sum.sh", "old_string": "$1 - $2", "new_string": "$1 + $2"});
    let test = || json!({"cmd": "sh test.sh"});
    let of_agent = [
        ScriptedReply::new()
            .reasoning("Somebody else can look.")
            .text("First I find the code.")
            .call("task", look),
        ScriptedReply::new()
            .call("read", json!({"path": "src/sum.sh"}))
            .call("read", json!({"path": "test.sh"})),
        ScriptedReply::new().call("bash", test()),
        ScriptedReply::new().text("It subtracts.").call("task", note).call("edit", edit),
        ScriptedReply::new().call("bash", test()),
        ScriptedReply::new().text("Mended: src/sum.sh:3 subtracted."),
        ScriptedReply::new().text("CHANGELOG.md says so, too."),
    ];
    let of_explorer = [
        ScriptedReply::new().call("grep", json!({"pattern": "sum"})),
        ScriptedReply::new().text("src/sum.sh:2 defines sum."),
    ];
    let of_helper = [
        ScriptedReply::new()
            .waiting_for("the agent has ended")
            .call("write", json!({"path": "CHANGELOG.md", "content": "- sum adds\n"})),
        ScriptedReply::new().text("CHANGELOG.md:1 says it."),
    ];
    let mut replies: Vec<ScriptedReply> =
        of_agent.into_iter().map(|it| it.when(of(AGENT))).collect();
    replies.extend(of_explorer.into_iter().map(|it| it.when(of(EXPLORER))));
    replies.extend(of_helper.into_iter().map(|it| it.when(of(HELPER))));
    replies
}

/// Has the bug mended, and returns the stream of events.
fn mended(wire: WireProtocol) -> (Stage, String) {
    let stage = Stage::speaking(wire, with_bug(), replies());
    let mut command = stage.haft(&["agent", PROMPT, "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    stage.model.wait_for_ends(REPLIES_BEFORE);
    stage.model.release("the agent has ended");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stage.world.shown(&output));
    let stream = String::from_utf8(output.stdout).unwrap();
    (stage, stream)
}

#[test]
fn a_bug_is_mended_with_subagents_and_all_of_it_is_told_and_kept() {
    let streams = [WireProtocol::OpenAi, WireProtocol::Anthropic].map(|wire| {
        let (stage, stream) = mended(wire);
        assert!(is_mended(&stage.world), "{stream}");
        assert_eq!(stage.world.read("work/CHANGELOG.md"), "- sum adds\n");
        let model = format!("{}/test", wire.provider());
        let without = |text: &str| stage.masked(text).replace(&model, "provider/test");
        expect_file!["../../fixtures/agents/mending.txt"].assert_eq(&without(&kept(&stage)));
        let events = redact(&in_order(&stream), &stage.world.path(""));
        masked(&events).replace(&model, "provider/test")
    });
    let golden = expect_file!["../../fixtures/agents/mending.jsonl"];
    streams.iter().for_each(|stream| golden.assert_eq(stream));
}

/// Returns what is shown of all sessions, the oldest first.
fn kept(stage: &Stage) -> String {
    let listed = stage.world.json(&["sessions", "list", "--subagents", "--json"]);
    let ids = listed.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap());
    let mut ids: Vec<&str> = ids.collect();
    // They sort as they were begun.
    ids.sort_unstable();
    let shown = ids.iter().map(|id| stage.world.run(&["sessions", "show", id]));
    let shown: Vec<String> = shown.collect();
    shown.join("\n")
}

/// Returns the stream in an order that does not depend on time: what is in the background comes last, and the ends of
/// calls that are made at the same time are sorted.
fn in_order(stream: &str) -> String {
    let events: Vec<(Value, &str)> =
        stream.lines().map(|line| (serde_json::from_str(line).unwrap(), line)).collect();
    let aside: Vec<&Value> = events
        .iter()
        .filter(|(event, _)| event["background"] == true)
        .map(|(event, _)| &event["child"])
        .collect();
    let (behind, mut before): (Vec<_>, Vec<_>) =
        events.iter().partition(|(event, _)| aside.contains(&&event["session"]));
    let is_result = |event: &Value| event["type"] == "tool_result";
    for group in before.chunk_by_mut(|(one, _), (other, _)| is_result(one) && is_result(other)) {
        group.sort_by_key(|(event, _)| event["id"].to_string());
    }
    let lines: Vec<&str> = before.into_iter().chain(behind).map(|(_, line)| *line).collect();
    lines.join("\n") + "\n"
}
