//! The report of an unusable configuration to an editor: in haft's answers, because few editors show anything else.

use std::net::TcpListener;
use std::process::Stdio;

use expect_test::expect;
use haft_scripted_model::ScriptedReply;
use rustix::process::{Pid, Signal, kill_process};

use super::wire::Wire;
use crate::agent::Stage;
use crate::world::World;

/// Returns the code and the message of an error.
fn refused(stage: &Stage, answer: &serde_json::Value) -> String {
    let error = &answer["error"];
    let message = error["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
    stage.masked(&format!("{}: {message}\n", error["code"]))
}

fn work(stage: &Stage) -> String {
    stage.world.path("work").to_str().unwrap().to_owned()
}

#[test]
fn a_broken_configuration_is_told_and_may_be_mended_meanwhile() {
    let stage = Stage::new(World::new(), [ScriptedReply::new().text("Here.")]);
    stage.world.write("work/haft.toml", "presett = \"ask\"\n");
    let mut editor = Wire::start(stage.haft(&["acp"]));
    let answer = editor.open("session/new", None, &work(&stage));
    expect![[r#"
        -32603: manifest /world/work/haft.toml has 1 problem

        /world/work/haft.toml:1:1: unknown key "presett": did you mean "preset"?
          |
        1 | presett = "ask"
          | ^^^^^^^

    "#]]
    .assert_eq(&refused(&stage, &answer));
    let answer = editor.open("session/list", None, &work(&stage));
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let answer = editor.say("ses_00000000000000000000000000", "Hello");
    assert_eq!(answer["error"]["code"], -32002, "{answer}");
    stage.world.write("work/haft.toml", "preset = \"ask\"\n");
    let answer = editor.open("session/new", None, &work(&stage));
    let session = answer["result"]["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(editor.say(session, "Hello")["result"]["stopReason"], "end_turn");
    let output = editor.end();
    expect![[r#"
        --- stderr
        error: manifest /world/work/haft.toml has 1 problem

        /world/work/haft.toml:1:1: unknown key "presett": did you mean "preset"?
          |
        1 | presett = "ask"
          | ^^^^^^^
        --- status 0
    "#]]
    .assert_eq(&stage.masked(&stage.world.shown(&output)));
}

#[test]
fn an_editor_that_gives_up_leaves_the_failure_behind() {
    let stage = Stage::new(World::new(), []);
    let editor = Wire::start(stage.haft(&["acp", "--agent", "nobody"]));
    expect![[r#"
        --- stderr
        error: no agent "nobody" can be talked to: expected one of build, plan

        hint: haft agents list
        --- status 2
    "#]]
    .assert_eq(&stage.masked(&stage.world.shown(&editor.end())));
}

#[test]
fn a_signal_ends_it_while_a_server_is_waited_for() {
    let stage = Stage::new(World::new(), []);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/mcp", silent.local_addr().unwrap());
    stage.world.write("work/haft.toml", &format!("[mcp.far]\nurl = {url:?}\n"));
    stage.world.run(&["trust"]);
    let mut command = stage.haft(&["acp"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let _connection = silent.accept().unwrap();
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    // The input stays open: it is not its end that ends haft.
    let input = child.stdin.take();
    let output = child.wait_with_output().unwrap();
    drop(input);
    assert_eq!(stage.world.shown(&output), "--- status 0\n");
}

#[test]
fn a_model_without_a_key_wants_one() {
    let stage = Stage::new(World::new(), []);
    let mut command = stage.haft(&["acp"]);
    command.env_remove("TEST_KEY");
    let mut editor = Wire::start(command);
    let answer = editor.open("session/new", None, &work(&stage));
    expect![[r#"
        -32000: there is no key for openai: set TEST_KEY

        haft takes keys from the environment that the editor starts it with: add it there, and have haft started again
    "#]]
    .assert_eq(&refused(&stage, &answer));
    let answer = editor.request("authenticate", serde_json::json!({"methodId": "openai"}));
    expect![[r#"
        -32602: there is nothing to log in to: keys of models come from the environment that the editor starts haft with, such as OPENAI_API_KEY
    "#]]
    .assert_eq(&refused(&stage, &answer));
    assert_eq!(editor.end().status.code(), Some(0));
}

#[test]
fn what_nobody_trusted_is_told_with_what_comes_of_it() {
    let stage = Stage::new(World::new(), []);
    stage.world.write("work/haft.toml", "[model]\nname = \"openai/other\"\n");
    let mut command = stage.haft(&["acp"]);
    command.env_remove("HAFT_MODEL");
    let mut editor = Wire::start(command);
    let answer = editor.open("session/new", None, &work(&stage));
    expect![[r#"
        -32603: the model "openai/other" of /world/work/haft.toml is not trusted yet

        /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          model.name = "openai/other"
        hint: haft trust /world/work/haft.toml, and have the editor start haft again
    "#]]
    .assert_eq(&refused(&stage, &answer));
    editor.end();
    let mut editor = Wire::start(stage.haft(&["acp"]));
    let answer = editor.open("session/new", None, &work(&stage));
    let session = answer["result"]["sessionId"].as_str().unwrap();
    // The session's messages come before the next answer.
    editor.open("session/resume", Some(session), &work(&stage));
    expect![[r#"
        notice /world/work/haft.toml is not trusted yet. haft ignores these settings of it: model.name = "openai/other" hint: haft trust /world/work/haft.toml, and have the editor start haft again
    "#]]
    .assert_eq(&stage.masked(&editor.told()));
    editor.end();
}

#[test]
fn a_key_that_is_not_accepted_is_told_in_words() {
    let stage = Stage::new(World::new(), [ScriptedReply::failure(401, "no such key")]);
    let mut editor = Wire::start(stage.haft(&["acp"]));
    let answer = editor.open("session/new", None, &work(&stage));
    let session = answer["result"]["sessionId"].as_str().unwrap();
    let answer = editor.say(session, "Hello");
    expect![[r#"
        -32603: openai did not accept the key: check that TEST_KEY is set and valid (HTTP 401: no such key)
    "#]]
    .assert_eq(&refused(&stage, &answer));
    // An error that is answered is not said on standard error, too.
    expect![[r#"
        --- status 0
    "#]]
    .assert_eq(&stage.world.shown(&editor.end()));
}
