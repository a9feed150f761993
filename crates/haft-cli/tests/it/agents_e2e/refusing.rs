//! Refusals for whole trees of agents: calls without a person to allow them, calls that an ancestor was denied, and endless
//! subagents.

use haft_scripted_model::{RecordedModelRequest, ReplyCondition, ScriptedReply};
use serde_json::{Value, json};

use super::transcript::Transcript;
use super::worker::{AGENT, HELPER};
use crate::agent::Stage;
use crate::world::World;

/// Returns a subagent that has one tool to give tasks on with, one to look with, and further lines of front matter.
fn careful(lines: &str) -> String {
    format!(
        "---\ndescription: Takes care\nmode: subagent\n{lines}\n---\nYou take care, and have others write.\n"
    )
}

const CAREFUL: &str = "You take care";

fn of(system: &str) -> ReplyCondition {
    ReplyCondition { system: Some(system.to_owned()), ..ReplyCondition::default() }
}

fn task(subagent: &str, prompt: &str) -> Value {
    json!({"subagent_type": subagent, "prompt": prompt})
}

fn write() -> Value {
    json!({"path": "new.txt", "content": "hello"})
}

/// Has a task done through the subagent `careful`. The last agent in the chain writes, or tries to.
fn stage(world: World) -> Stage {
    let replies = [
        ScriptedReply::new().call("task", task("careful", "Have it written.")).when(of(AGENT)),
        ScriptedReply::new().text("It was not written.").when(of(AGENT)),
        ScriptedReply::new().call("task", task("general", "Write it.")).when(of(CAREFUL)),
        ScriptedReply::new().text("General may not write.").when(of(CAREFUL)),
        ScriptedReply::new().call("write", write()).when(of(HELPER)),
        ScriptedReply::new().text("I may not.").when(of(HELPER)),
    ];
    Stage::new(world, replies)
}

/// Runs the agent and returns the answer to the only call of `write`, and what the last subagent was told of it.
fn refused(stage: &Stage, args: &[&str]) -> (Value, String) {
    let output = stage.haft(&[&["agent", "Write it."], args].concat()).output().unwrap();
    let shown = stage.world.shown(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "It was not written.\n", "{shown}");
    assert!(!stage.world.path("work/new.txt").exists(), "{shown}");
    let calls: Vec<Value> = sessions(stage)
        .iter()
        .flat_map(|transcript| transcript.calls().cloned().collect::<Vec<_>>())
        .filter(|call| call["tool"] == "write")
        .collect();
    let [call] = calls.as_slice() else { panic!("{calls:?}") };
    (call["output_json"].clone(), told_last(stage, HELPER))
}

/// Returns all sessions, the oldest first.
fn sessions(stage: &Stage) -> Vec<Transcript> {
    let listed = stage.world.json(&["sessions", "list", "--subagents", "--json"]);
    let ids = listed.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap());
    let mut ids: Vec<&str> = ids.collect();
    // They sort as they were begun.
    ids.sort_unstable();
    ids.into_iter().map(|id| Transcript::of(stage, id)).collect()
}

/// Returns what the model with this system prompt was told last.
fn told_last(stage: &Stage, system: &str) -> String {
    let requests = stage.model.requests();
    requests
        .iter()
        .rev()
        .map(RecordedModelRequest::text)
        .find(|text| text.contains(system))
        .unwrap()
}

#[test]
fn what_nobody_is_there_to_allow_is_refused_to_subagents_too() {
    let world = World::new();
    world.write("work/agents/careful.md", &careful("tools: [read, task, write]"));
    let stage = stage(world);
    let (answer, told) = refused(&stage, &["--headless", "--preset", "ask", "--allow", "task"]);
    assert_eq!(answer["metadata"]["code"], "PERMISSION_DENIED");
    assert!(told.contains("needs approval"), "{told}");
}

#[test]
fn a_deny_of_the_workspace_holds_for_the_whole_tree() {
    let world = World::new();
    let deny =
        "[[permissions]]\npermission = \"write\"\npattern = \"new.txt\"\naction = \"deny\"\n";
    world.write("work/haft.toml", deny);
    // An agent's own allow rules make no exception to the rules of others.
    let allow = "permissions: [{permission: write, action: allow}]";
    world.write("work/agents/careful.md", &careful(allow));
    let (answer, told) = refused(&stage(world), &[]);
    assert_eq!(answer["metadata"]["code"], "PERMISSION_DENIED");
    assert!(told.contains("new.txt"), "{told}");
}

#[test]
fn what_a_subagent_denies_itself_is_denied_to_those_below_it() {
    let world = World::new();
    let deny = "permissions: [{permission: write, pattern: \"new.*\", action: deny}]";
    world.write("work/agents/careful.md", &careful(deny));
    let stage = stage(world);
    let (answer, told) = refused(&stage, &[]);
    assert_eq!(answer["metadata"]["code"], "PERMISSION_DENIED");
    assert!(told.contains("new.*"), "{told}");
    // The agent above it is held to none of that.
    let write = ScriptedReply::new().call("write", write()).when(of(AGENT));
    stage.model.add(write);
    stage.model.add(ScriptedReply::new().text("Written.").when(of(AGENT)));
    stage.shown(&["agent", "--resume", "last", "Then write it yourself."]);
    assert_eq!(stage.world.read("work/new.txt"), "hello");
}

#[test]
fn a_tool_that_a_subagent_is_without_is_none_of_those_below_it() {
    let world = World::new();
    world.write("work/agents/careful.md", &careful("tools: [read, task]"));
    let stage = stage(world);
    let (answer, _) = refused(&stage, &[]);
    assert!(answer["error_text"].as_str().unwrap().contains("write"), "{answer}");
    let requests = stage.model.requests();
    let helper = requests.iter().find(|request| request.text().contains(HELPER)).unwrap();
    let offered: Vec<&str> = helper.body["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(offered, ["read", "task"]);
}

#[test]
fn what_a_subagent_does_not_require_is_not_reached_by_those_below_it() {
    let world = World::new();
    world.write("work/docs/a.txt", "");
    let requires = "requires: {fs: {read: [\"**\"], write: [\"docs/**\"]}}";
    world.write("work/agents/careful.md", &careful(requires));
    let (answer, _) = refused(&stage(world), &[]);
    assert_eq!(answer["metadata"]["code"], "CAPABILITY_DENIED");
}

#[test]
fn subagents_have_subagents_so_deep_and_no_deeper() {
    let deeper = || ScriptedReply::new().call("task", task("general", "Go deeper."));
    let last =
        |system: &str, text: &str| ReplyCondition { last: Some(text.to_owned()), ..of(system) };
    let replies = [
        deeper().when(last(AGENT, "Go down.")),
        deeper().when(last(HELPER, "Go deeper.")).repeated(),
        ScriptedReply::new().text("This is the bottom.").when(last(HELPER, "levels deep already")),
        ScriptedReply::new().text("Back from below.").when(last(HELPER, "the bottom")).repeated(),
        ScriptedReply::new().text("Back from below.").when(last(HELPER, "from below")).repeated(),
        ScriptedReply::new().text("It is five deep.").when(last(AGENT, "from below")),
    ];
    let stage = Stage::new(World::new(), replies);
    let output = stage.haft(&["agent", "Go down."]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "It is five deep.\n");
    let sessions = sessions(&stage);
    let depths: Vec<u64> =
        sessions.iter().map(|it| it.session["depth"].as_u64().unwrap()).collect();
    assert_eq!(depths, [0, 1, 2, 3, 4, 5]);
    let codes: Vec<&Value> = sessions
        .iter()
        .flat_map(Transcript::calls)
        .map(|call| &call["output_json"]["metadata"]["code"])
        .collect();
    let null = &Value::Null;
    assert_eq!(codes, [null, null, null, null, null, &json!("DEPTH_EXCEEDED")]);
}
