//! The server alone: how replies are used, waits, recorded requests, and its end. The model crate
//! tests with a client that the protocols are decoded as intended.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

use expect_test::{Expect, expect};
use haft_scripted_model::{
    ModelScript, ReplyEnd, ReplyPart, ReplyWait, ScriptedReply, ScriptedServer,
};
use serde_json::{Value, json};

/// Sends a request and returns the open connection.
fn send(address: SocketAddr, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    stream
}

/// Reads until the server closes the connection, or until the answer ends.
fn answer(stream: TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let (mut text, mut length) = (String::new(), None);
    while !text.ends_with("\r\n\r\n") {
        let begun = text.len();
        reader.read_line(&mut text).unwrap();
        if let Some(value) = text[begun..].strip_prefix("content-length: ") {
            length = Some(value.trim().parse::<usize>().unwrap());
        }
    }
    if let Some(length) = length {
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        return text + &String::from_utf8(body).unwrap();
    }
    while !text.ends_with("0\r\n\r\n") && reader.read_line(&mut text).unwrap() > 0 {}
    text
}

fn ask(server: &ScriptedServer) -> String {
    answer(send(server.address(), "POST", "/v1/chat/completions", &question()))
}

fn question() -> String {
    json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "hi"}]})
        .to_string()
}

/// Returns the texts of an answer in OpenAI's protocol.
fn texts(answer: &str) -> String {
    let events = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    let values = events.filter_map(|event| serde_json::from_str::<Value>(event).ok());
    let text = |value: Value| {
        value.pointer("/choices/0/delta/content").and_then(Value::as_str).map(str::to_owned)
    };
    values.filter_map(text).collect()
}

#[test]
fn replies_are_used_up_in_order_unless_they_repeat() {
    let replies = ["one", "two"].map(|text| ScriptedReply::new().text(text));
    let server = ScriptedServer::start(ModelScript::from_replies(replies)).unwrap();
    assert_eq!(
        ["one", "two"],
        [texts(&ask(&server)), texts(&ask(&server))].each_ref().map(String::as_str)
    );
    expect![[r#"
        HTTP/1.1 400 Text
        content-type: application/json
        content-length: 123

        {"error":{"message":"the script has no reply for this request: model \"m\", system prompt \"\", last said \"hi\", tools "}}"#]]
    .assert_eq(&ask(&server).replace('\r', ""));
    server.add(ScriptedReply::new().text("more").repeated());
    assert_eq!(texts(&ask(&server)) + &texts(&ask(&server)), "moremore");
    let replies: Vec<_> = server.requests().iter().map(|request| request.reply).collect();
    assert_eq!(replies, [Some(0), Some(1), None, Some(2), Some(2)]);
}

#[test]
fn a_reply_waits_until_it_is_released() {
    let reply = ScriptedReply::new().text("first").waiting_for("go").text(" then");
    let server = ScriptedServer::start(ModelScript::from_replies([reply])).unwrap();
    let stream = send(server.address(), "POST", "/v1/chat/completions", &question());
    server.wait_until_held("go");
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    while !line.contains("first") {
        line.clear();
        reader.read_line(&mut line).unwrap();
    }
    assert_eq!(server.requests()[0].ended, None);
    let released = answer(send(server.address(), "POST", "/release/go", ""));
    assert!(released.starts_with("HTTP/1.1 200"), "{released}");
    let mut rest = String::new();
    while !rest.contains("[DONE]") {
        reader.read_line(&mut rest).unwrap();
    }
    assert_eq!(texts(&rest), " then");
    server.wait_for_ends(1);
    assert_eq!(server.requests()[0].ended, Some(ReplyEnd::Sent));
}

#[test]
fn a_reply_waits_for_a_file_before_anything_is_sent() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("go");
    let reply =
        ScriptedReply::new().part(ReplyPart::WaitFor(ReplyWait::File(file.clone()))).text("there");
    let server = ScriptedServer::start(ModelScript::from_replies([reply])).unwrap();
    let stream = send(server.address(), "POST", "/v1/chat/completions", &question());
    server.wait_for_requests(1);
    stream.set_nonblocking(true).unwrap();
    assert!(stream.peek(&mut [0]).is_err(), "nothing was sent");
    stream.set_nonblocking(false).unwrap();
    std::fs::write(file, "").unwrap();
    assert_eq!(texts(&answer(stream)), "there");
}

#[test]
fn a_client_that_hangs_up_while_it_waits_is_noticed() {
    let reply = ScriptedReply::new().text("first").waiting_for("never");
    let server = ScriptedServer::start(ModelScript::from_replies([reply])).unwrap();
    let stream = send(server.address(), "POST", "/v1/messages", &question());
    server.wait_until_held("never");
    drop(stream);
    server.wait_for_ends(1);
    assert_eq!(server.requests()[0].ended, Some(ReplyEnd::HungUp));
}

#[test]
fn a_server_that_is_dropped_ends_what_it_was_saying() {
    let reply = ScriptedReply::new().text("first").waiting_for("never");
    let server = ScriptedServer::start(ModelScript::from_replies([reply])).unwrap();
    let stream = send(server.address(), "POST", "/v1/chat/completions", &question());
    server.wait_until_held("never");
    drop(server);
    assert_eq!(texts(&answer(stream)), "first");
}

#[test]
fn what_was_asked_is_told_without_heads() {
    let server =
        ScriptedServer::start(ModelScript::from_replies([ScriptedReply::new().text("x")])).unwrap();
    ask(&server);
    // A client reads the last byte before the server notes that it was sent.
    server.wait_for_ends(1);
    let requests = answer(send(server.address(), "GET", "/requests", ""));
    let (_, body) = requests.split_once("\r\n\r\n").unwrap();
    expect![[r#"[{"wire":"openai","path":"/v1/chat/completions","body":{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]},"reply":0,"ended":"sent"}]"#]].assert_eq(body);
    let nothing = answer(send(server.address(), "GET", "/elsewhere", ""));
    assert!(nothing.starts_with("HTTP/1.1 404") && nothing.contains("GET /requests"), "{nothing}");
    let whole = answer(send(server.address(), "POST", "/v1/messages", "{}"));
    assert!(whole.starts_with("HTTP/1.1 400") && whole.contains("set stream to true"), "{whole}");
}

fn wrong(script: &str, expect: &Expect) {
    expect.assert_eq(&ModelScript::parse(script).unwrap_err());
}

#[test]
fn what_is_wrong_with_a_script_is_said() {
    wrong(
        r#"{"replies":[{"part":[]}]}"#,
        &expect![
            "unknown field `part`, expected one of `when`, `repeat`, `parts`, `stop`, `usage`, `breaks_off`, `failure` at line 1 column 19"
        ],
    );
    wrong(
        r#"{"replies":[{"failure":{"status":200,"message":""}}]}"#,
        &expect!["replies[0]: failure.status: expected a number from 400 to 599, found 200"],
    );
    wrong(
        r#"{"replies":[{},{"parts":[{"text":"x"}],"failure":{"status":500,"message":""}}]}"#,
        &expect!["replies[1]: expected either a failure or parts with their end, found both"],
    );
    wrong(r#"{"replies":[],"piece_chars":0}"#, &expect!["piece_chars: expected at least 1"]);
}

#[test]
fn the_program_serves_a_file() {
    let place = tempfile::tempdir().unwrap();
    let script = place.path().join("script.json");
    std::fs::write(&script, r#"{"replies":[{"parts":[{"text":"from a file"}]}]}"#).unwrap();
    let program = env!("CARGO_BIN_EXE_haft-scripted-model");
    let mut child = Command::new(program).arg(&script).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.trim().strip_prefix("http://").unwrap().strip_suffix("/v1").unwrap();
    let response =
        answer(send(address.parse().unwrap(), "POST", "/v1/chat/completions", &question()));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(texts(&response), "from a file");

    std::fs::write(&script, "{").unwrap();
    let output = Command::new(program).arg(&script).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("script.json: EOF") && output.status.code() == Some(2), "{stderr}");
}
