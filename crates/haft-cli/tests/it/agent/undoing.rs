//! The work of an agent and its subagents is shown and undone as one unit: `haft diff`, `haft undo` and `haft runs show` of
//! a session, and of `last`.

use expect_test::expect;
use haft_scripted_model::{ReplyCondition, ScriptedReply};
use serde_json::{Value, json};

use super::Stage;
use crate::world::{World, names};

/// Returns a stage whose agent writes `own.txt`. Its subagents write `fore.txt`, `opaque.txt` (this one has no separate
/// session) and `back.txt` (this one runs in the background). The subagent of `fore.txt` has another one write `deep.txt`.
fn stage() -> Stage {
    let world = World::new();
    world.write(
        "work/agents/quiet.md",
        "---\ndescription: Is not seen\nmode: subagent\ninspectable: false\n---\nYou are not seen.\n",
    );
    let write = |path: &str| json!({"path": path, "content": format!("{path}\n")});
    let task = |agent: &str, prompt: &str| json!({"subagent_type": agent, "prompt": prompt});
    let told =
        |last: &str| ReplyCondition { last: Some(last.to_owned()), ..ReplyCondition::default() };
    let background =
        json!({"subagent_type": "general", "prompt": "Write back.", "background": true});
    let replies = [
        ScriptedReply::new()
            .call("write", write("own.txt"))
            .call("task", task("general", "Write fore."))
            .call("task", task("quiet", "Write opaque."))
            .call("task", background)
            .when(told("Write all")),
        ScriptedReply::new()
            .call("write", write("fore.txt"))
            .call("task", task("general", "Write deep."))
            .when(told("Write fore.")),
        ScriptedReply::new().call("write", write("deep.txt")).when(told("Write deep.")),
        ScriptedReply::new().call("write", write("opaque.txt")).when(told("Write opaque.")),
        ScriptedReply::new().call("write", write("back.txt")).when(told("Write back.")),
        ScriptedReply::new().text("Done.").repeated(),
    ];
    Stage::new(world, replies)
}

fn written(stage: &Stage) -> Vec<String> {
    let mut names = names(&stage.world.path("work"));
    names.retain(|name| name.ends_with(".txt"));
    names
}

#[test]
fn what_subagents_did_is_taken_back_with_the_session() {
    let stage = stage();
    stage.shown(&["agent", "Write all"]);
    let all = ["back.txt", "deep.txt", "fore.txt", "opaque.txt", "own.txt"];
    assert_eq!(written(&stage), all);
    let session = stage.latest();
    expect![[r#"
        added back.txt  +1 -0
        added deep.txt  +1 -0
        added fore.txt  +1 -0
        added opaque.txt  +1 -0
        added own.txt  +1 -0
        --- status 0
    "#]]
    .assert_eq(&stage.shown(&["diff", "--stat", &session]));
    expect![[r#"
        added back.txt  +1 -0
        added deep.txt  +1 -0
        added fore.txt  +1 -0
        added opaque.txt  +1 -0
        added own.txt  +1 -0
        --- stderr
        last is session ses_1, begun at 2000-01-01T00:00:00.000Z and used at 2000-01-01T00:00:00.000Z: Write all
        --- status 0
    "#]]
    .assert_eq(&stage.shown(&["diff", "--stat", "last"]));
    expect![[r#"
        removed back.txt
        removed deep.txt
        removed fore.txt
        removed opaque.txt
        removed own.txt
        --- stderr
        last is session ses_1, begun at 2000-01-01T00:00:00.000Z and used at 2000-01-01T00:00:00.000Z: Write all
        undone by call run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1; to take that back: haft undo run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1
        --- status 0
    "#]].assert_eq(&stage.shown(&["undo", "last"]));
    assert_eq!(written(&stage), [""; 0]);
    // `last` never stands for an undo: it still is the session, and nothing is left to undo.
    expect![[r#"
        --- stderr
        last is session ses_1, begun at 2000-01-01T00:00:00.000Z and used at 2000-01-01T00:00:00.000Z: Write all
        all of it is as before already
        --- status 0
    "#]]
    .assert_eq(&stage.shown(&["undo", "last"]));
    // A subagent's run knows that it was taken back with the session.
    let subagent = stage.world.json(&["sessions", "list", "--subagents", "--json"]);
    let of_background = |row: &&Value| row["title"] == "Write back.";
    let subagent = subagent.as_array().unwrap().iter().find(of_background).unwrap();
    let run = stage.world.json(&["runs", "show", subagent["id"].as_str().unwrap(), "--json"]);
    assert_eq!(run["undone"][0]["of"], session.as_str(), "{run}");
    // And the undoing can be taken back, too.
    let by = run["undone"][0]["by"].as_str().unwrap();
    stage.world.run(&["undo", by]);
    assert_eq!(written(&stage), all);
}

#[test]
fn what_came_after_a_call_is_taken_back_and_a_subagent_alone_too() {
    let stage = stage();
    stage.shown(&["agent", "Write all"]);
    let session = stage.latest();
    let answer = stage.world.json(&["undo", "--json", "--to", &format!("{session}/main/0/1/1")]);
    assert_eq!(answer["complete"], true, "{answer}");
    assert_eq!(written(&stage), ["own.txt"]);
    stage.world.run(&["undo", answer["call"].as_str().unwrap()]);
    let listed = stage.world.json(&["sessions", "list", "--subagents", "--json"]);
    let fore = |row: &&Value| row["title"] == "Write fore.";
    let fore = listed.as_array().unwrap().iter().find(fore).unwrap()["id"].as_str().unwrap();
    let answer = stage.world.json(&["undo", "--json", fore]);
    assert_eq!(answer["of"], fore);
    assert_eq!(written(&stage), ["back.txt", "opaque.txt", "own.txt"]);
}

#[test]
fn last_is_what_was_used_last_in_this_workspace() {
    let stage = Stage::new(World::new(), [ScriptedReply::new().text("Hello.").repeated()]);
    let world = &stage.world;
    std::fs::create_dir(world.path("other")).unwrap();
    let other = world.path("other");
    let shown = |args: &[&str]| world.json(&[args, &["--json"]].concat());
    let run = || shown(&["runs", "show", "last"])["run"]["id"].as_str().unwrap().to_owned();
    expect![[r#"
        --- stderr
        error: there is no run in this workspace yet

        hint: haft log
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&["runs", "show", "last"]));
    expect![[r#"
        --- stderr
        error: nothing was recorded yet

        hint: haft log
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&["undo", "last"]));
    stage.shown(&["agent", "First"]);
    let first = stage.latest();
    stage.shown(&["agent", "Second"]);
    let second = stage.latest();
    assert_ne!(first, second);
    assert_eq!(run(), second);
    // A person who resumes an older session uses that one.
    stage.shown(&["agent", "--resume", &first, "Third"]);
    assert_eq!((run(), stage.latest()), (first.clone(), first.clone()));
    assert_eq!(shown(&["sessions", "show", "last"])["session"]["id"], first.as_str());
    let write = r#"{"path":"a.txt","content":"a\n"}"#;
    world.run(&["call", "--run", "mine", "write", write]);
    assert_eq!(run(), "mine");
    world.run(&["call", "--root", other.to_str().unwrap(), "--run", "theirs", "write", write]);
    assert_eq!(run(), "mine");
    expect![[r#"
        added a.txt
        --- /dev/null
        +++ b/a.txt
        @@ -0,0 +1 @@
        +a
        --- stderr
        last is run mine, begun by cli at 2000-01-01T00:00:00.000Z and used at 2000-01-01T00:00:00.000Z
        --- status 0
    "#]]
    .assert_eq(&stage.shown(&["diff", "last"]));
    assert_eq!(world.run(&["runs", "export", "last"]), world.run(&["runs", "export", "mine"]));
    // A run of that name is meant by its name.
    world.run(&["call", "--run", "last", "write", &write.replace("a.txt", "b.txt")]);
    assert_eq!(run(), "last");
    world.run(&["call", "--run", "mine", "read", r#"{"path":"a.txt"}"#]);
    assert_eq!(run(), "last");
    world.run(&["undo", "last"]);
    assert_eq!(written(&stage), ["a.txt"]);
}

#[test]
fn a_call_of_what_was_used_last_is_named_by_last_too() {
    let stage = stage();
    expect![[r#"
        --- stderr
        error: there is no run in this workspace yet

        hint: haft log
        --- status 2
    "#]]
    .assert_eq(&stage.shown(&["runs", "show", "last/main/0/1/1"]));
    stage.shown(&["agent", "Write all"]);
    let session = stage.latest();
    let first = format!("{session}/main/0/1/1");
    let shown = stage.world.run(&["runs", "show", &first]);
    assert_eq!(stage.world.run(&["runs", "show", "last", "main/0/1/1"]), shown);
    assert_eq!(stage.world.run(&["runs", "show", "last/main/0/1/1"]), shown);
    expect![[r#"
        added own.txt  +1 -0
        --- stderr
        last is session ses_1, begun at 2000-01-01T00:00:00.000Z and used at 2000-01-01T00:00:00.000Z: Write all
        --- status 0
    "#]]
    .assert_eq(&stage.shown(&["diff", "--stat", "last/main/0/1/1"]));
    let answer = stage.world.json(&["undo", "--json", "--to", "last/main/0/1/1"]);
    assert_eq!(answer["of"], format!("after {first}"), "{answer}");
    assert_eq!(written(&stage), ["own.txt"]);
    let answer = stage.world.json(&["undo", "--json", "last/main/0/1/1"]);
    assert_eq!(answer["of"], first.as_str(), "{answer}");
    assert_eq!(written(&stage), [""; 0]);
}

#[test]
fn last_is_neither_a_subagent_nor_a_fork_in_which_nothing_happened() {
    let stage = stage();
    stage.shown(&["agent", "Write all"]);
    let first = stage.latest();
    let listed = stage.world.json(&["sessions", "list", "--subagents", "--json"]);
    let back = |row: &&Value| row["title"] == "Write back.";
    let back = listed.as_array().unwrap().iter().find(back).unwrap()["id"].as_str().unwrap();
    stage.shown(&["agent", "Hello"]);
    let second = stage.latest();
    assert_ne!(first, second);
    let run = || stage.world.json(&["runs", "show", "last", "--json"])["run"]["id"].clone();
    let session = || {
        let shown = stage.world.json(&["sessions", "show", "last", "--json"]);
        shown["session"]["id"].as_str().unwrap().to_owned()
    };
    assert_eq!((run(), session()), (second.as_str().into(), second));
    stage.shown(&["agent", "--resume", back, "And now?"]);
    assert_eq!((run(), session()), (first.as_str().into(), first.clone()));
    let fork = stage.world.run(&["sessions", "fork", "last"]);
    assert_eq!((run(), session()), (first.as_str().into(), fork.trim().to_owned()));
    stage.shown(&["agent", "--resume", "last", "Hello again"]);
    assert_eq!(run(), fork.trim());
}
