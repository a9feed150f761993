//! The lines of a session, on a terminal and elsewhere.

use expect_test::{Expect, expect};
use haft_agent::ToolResultStatus;
use haft_contract::{EnvelopeMetadata, ErrorCode, ToolKind};
use haft_journal::{MessageFinish, MessageId};
use haft_model::ModelUsage;
use serde_json::json;

use super::*;

/// Writes down what goes where: data as it is, everything else marked where a line of it begins.
struct Written<'w> {
    text: &'w mut String,
}

impl SessionOutput for Written<'_> {
    fn write_data(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn write_side(&mut self, text: &str) {
        let begins = self.text.is_empty() || self.text.ends_with('\n');
        let mark = if begins { "| " } else { "" };
        self.text.push_str(&format!("{mark}{}", anstream::adapter::strip_str(text)));
    }

    /// Leaves out what does not stay on the screen.
    fn redraw(&mut self, _: &str) {}

    fn columns(&self) -> Option<usize> {
        None
    }
}

/// How a session looks on a terminal that can redraw, and elsewhere.
fn look(is_terminal: bool) -> SessionLook {
    let side = if is_terminal { SideLook::Redrawn } else { SideLook::Log };
    let (is_data_streamed, has_colours, prices) = (is_terminal, false, None);
    SessionLook { is_data_streamed, has_colours, side, context_tokens: 0, prices }
}

fn chat(number: u128) -> SessionId {
    SessionId::from_bits(number)
}

fn of(number: u128, happened: AgentEventKind) -> AgentEvent {
    AgentEvent { kind: happened, session: chat(number) }
}

fn session(number: u128, parent: Option<u128>) -> AgentEvent {
    let agent = if parent.is_none() { "build" } else { "explore" };
    let (agent, model) = (agent.to_owned(), "openai/test".to_owned());
    of(number, AgentEventKind::Session { agent, model, parent: parent.map(chat) })
}

fn step(number: u128) -> AgentEvent {
    of(number, AgentEventKind::StepStarted { step: 1, message: MessageId::from_bits(1) })
}

fn text(delta: &str) -> AgentEvent {
    of(1, AgentEventKind::Text { delta: delta.to_owned() })
}

fn thought(delta: &str) -> AgentEvent {
    of(1, AgentEventKind::Reasoning { delta: delta.to_owned() })
}

fn call(number: u128, id: &str, tool: &str, input: Value) -> AgentEvent {
    let title = haft_agent::call_title(tool, &input);
    let kind = match tool {
        "edit" | "write" | "apply_patch" => ToolKind::Edit,
        _ => ToolKind::Other,
    };
    let (id, tool) = (id.to_owned(), tool.to_owned());
    of(number, AgentEventKind::ToolCall { id, tool, kind, input, title, locations: Vec::new() })
}

fn result(number: u128, id: &str, tool: &str, answer: Result<&str, &str>) -> AgentEvent {
    let metadata = EnvelopeMetadata { duration_ms: 5, ..EnvelopeMetadata::default() };
    let (status, envelope) = match answer {
        Ok(text) => {
            (ToolResultStatus::OutputAvailable, Envelope::Output { data: json!(text), metadata })
        }
        Err(text) => {
            let metadata = EnvelopeMetadata { code: Some(ErrorCode::PermissionDenied), ..metadata };
            let error_text = text.to_owned();
            (ToolResultStatus::OutputError, Envelope::Error { error_text, metadata })
        }
    };
    let (id, tool) = (id.to_owned(), tool.to_owned());
    of(number, AgentEventKind::ToolResult { id, tool, status, duration_ms: 5, envelope })
}

fn ended(number: u128, end: &'static str) -> AgentEvent {
    let usage = ModelUsage { input: 30, output: 4, ..ModelUsage::default() };
    of(number, AgentEventKind::TurnEnded { end, error: None, usage })
}

fn alone(event: AgentEvent) -> SessionEvent {
    SessionEvent { event, text_before: None }
}

fn shown(events: &[AgentEvent], is_terminal: bool) -> String {
    shown_as(events, look(is_terminal))
}

fn shown_as(events: &[AgentEvent], look: SessionLook) -> String {
    let mut text = String::new();
    let mut lines = SessionLines::new(Written { text: &mut text }, look);
    events.iter().for_each(|event| lines.show_event(alone(event.clone())));
    lines.finish();
    drop(lines);
    text
}

fn check(events: &[AgentEvent], on_terminal: &Expect, elsewhere: &Expect) {
    on_terminal.assert_eq(&shown(events, true));
    elsewhere.assert_eq(&shown(events, false));
}

fn read(number: u128, id: &str, path: &str) -> AgentEvent {
    call(number, id, "read", json!({"path": path}))
}

#[test]
fn a_call_has_one_line_that_is_there_while_it_runs() {
    let events = [
        session(1, None),
        of(1, AgentEventKind::TurnStarted),
        step(1),
        thought("I look\nat it."),
        text("Let me "),
        text("see.\n"),
        read(1, "c1", "a.rs"),
        result(1, "c1", "read", Ok("one\ntwo\n")),
        of(
            1,
            AgentEventKind::StepEnded {
                finish: MessageFinish::ToolCalls,
                usage: ModelUsage::default(),
            },
        ),
        step(1),
        text("\n\nIt is "),
        text("fine."),
        ended(1, "done"),
    ];
    check(
        &events,
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            | I look at it.

            Let me see.
            | → read a.rs · 2 lines · 5 ms

            It is fine.
            | 30 tokens read, 4 written
        "#]],
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            | Let me see.
            | → read a.rs · 2 lines · 5 ms
        "#]],
    );
}

#[test]
fn calls_that_are_made_together_are_told_when_they_end() {
    let mut events = vec![session(1, None), step(1)];
    events.extend(["c0", "c1"].map(|id| read(1, id, &format!("{id}.rs"))));
    events.push(result(1, "c1", "read", Ok("one")));
    events.push(result(1, "c0", "read", Err("read is denied: \u{1b}[2J")));
    check(
        &events,
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            | → read c1.rs · 1 line · 5 ms
            | → read c0.rs · PERMISSION_DENIED: read is denied: \u{1b}[2J · 5 ms
        "#]],
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            | → read c1.rs · 1 line · 5 ms
            | → read c0.rs · PERMISSION_DENIED: read is denied: \u{1b}[2J · 5 ms
        "#]],
    );
}

#[test]
fn what_a_subagent_does_is_set_in() {
    let begun = |parent: u128, child: u128, background: bool| {
        let agent = "explore".to_owned();
        of(
            parent,
            AgentEventKind::Subagent {
                call: "t".to_owned(),
                agent,
                child: chat(child),
                background,
            },
        )
    };
    let task = json!({"subagent_type": "explore", "prompt": "look"});
    let events = [
        session(1, None),
        step(1),
        call(1, "t", "task", task),
        session(2, Some(1)),
        begun(1, 2, false),
        of(2, AgentEventKind::Text { delta: "nobody hears this".to_owned() }),
        read(2, "c1", "a.rs"),
        session(3, Some(2)),
        begun(2, 3, true),
        read(3, "c1", "b.rs"),
        result(3, "c1", "read", Ok("x")),
        result(2, "c1", "read", Ok("one\ntwo")),
        ended(2, "done"),
        result(1, "t", "task", Ok("found")),
        ended(3, "failed"),
    ];
    check(
        &events,
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            |   explore works (ses_00000000000000000000000002): look
            |     explore 2 works in the background (ses_00000000000000000000000003)
            |     explore 2 · read b.rs · 1 line · 5 ms
            |   explore · read a.rs · 2 lines · 5 ms
            |   explore is done (30 tokens read, 4 written)
            | → task explore · 1 line · 5 ms
            |     explore 2 failed (30 tokens read, 4 written)
        "#]],
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            |   explore works (ses_00000000000000000000000002): look
            |     explore 2 works in the background (ses_00000000000000000000000003)
            |     explore 2 · read b.rs · 1 line · 5 ms
            |   explore · read a.rs · 2 lines · 5 ms
            |   explore is done (30 tokens read, 4 written)
            | → task explore · 1 line · 5 ms
            |     explore 2 failed (30 tokens read, 4 written)
        "#]],
    );
}

/// Three subagents that do tasks of one answer, two of them the same agent.
fn beside_each_other() -> Vec<AgentEvent> {
    let begun = |call: &str, agent: &str, child: u128| {
        let (call, agent) = (call.to_owned(), agent.to_owned());
        of(1, AgentEventKind::Subagent { call, agent, child: chat(child), background: false })
    };
    let task = |id: &str, agent: &str, prompt: &str| {
        call(1, id, "task", json!({"subagent_type": agent, "prompt": prompt}))
    };
    let child = |number: u128, agent: &str| {
        let (agent, model) = (agent.to_owned(), "openai/test".to_owned());
        of(number, AgentEventKind::Session { agent, model, parent: Some(chat(1)) })
    };
    vec![
        session(1, None),
        step(1),
        task("t1", "explore", "Where is the sum\nof two numbers computed?"),
        task("t2", "explore", &"x".repeat(TASK_CHARS_MAX + 1)),
        task("t3", "general", &"y".repeat(TASK_CHARS_MAX)),
        child(2, "explore"),
        begun("t1", "explore", 2),
        child(3, "explore"),
        begun("t2", "explore", 3),
        child(4, "general"),
        begun("t3", "general", 4),
        read(3, "c1", "b.rs"),
        read(2, "c1", "a.rs"),
        call(4, "c1", "bash", json!({"cmd": "rm a"})),
        of(4, AgentEventKind::Asked { id: "c1".to_owned() }),
        result(3, "c1", "read", Ok("x")),
        result(2, "c1", "read", Ok("one\ntwo")),
        result(4, "c1", "bash", Err("no")),
        ended(3, "done"),
        result(1, "t2", "task", Ok("found")),
        ended(4, "steps_spent"),
        result(1, "t3", "task", Err("it is not done")),
        ended(2, "aborted"),
        result(1, "t1", "task", Err("it was stopped")),
    ]
}

#[test]
fn lines_of_subagents_that_work_beside_each_other_say_whose_they_are() {
    check(
        &beside_each_other(),
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            |   explore works (ses_00000000000000000000000002): Where is the sum of two numbers computed?
            |   explore 2 works (ses_00000000000000000000000003): xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
            |   general works (ses_00000000000000000000000004): yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
            |   general asks about bash rm a
            |   explore 2 · read b.rs · 1 line · 5 ms
            |   explore · read a.rs · 2 lines · 5 ms
            |   general · bash rm a · PERMISSION_DENIED: no · 5 ms
            |   explore 2 is done (30 tokens read, 4 written)
            | → task explore 2 · 1 line · 5 ms
            |   general has answered as often as it may, and is not done (30 tokens read, 4 written)
            | → task general · PERMISSION_DENIED: it is not done · 5 ms
            |   explore was stopped (30 tokens read, 4 written)
            | → task explore · PERMISSION_DENIED: it was stopped · 5 ms
        "#]],
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            |   explore works (ses_00000000000000000000000002): Where is the sum of two numbers computed?
            |   explore 2 works (ses_00000000000000000000000003): xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
            |   general works (ses_00000000000000000000000004): yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
            |   explore 2 · read b.rs · 1 line · 5 ms
            |   explore · read a.rs · 2 lines · 5 ms
            |   general · bash rm a · PERMISSION_DENIED: no · 5 ms
            |   explore 2 is done (30 tokens read, 4 written)
            | → task explore 2 · 1 line · 5 ms
            |   general has answered as often as it may, and is not done (30 tokens read, 4 written)
            | → task general · PERMISSION_DENIED: it is not done · 5 ms
            |   explore was stopped (30 tokens read, 4 written)
            | → task explore · PERMISSION_DENIED: it was stopped · 5 ms
        "#]],
    );
}

#[test]
fn a_model_that_is_asked_again_is_said_to_be() {
    let retry = |number: u128, error: &str, wait_ms: u64| {
        let error = error.to_owned();
        of(number, AgentEventKind::Retry { error, wait_ms, attempt: 2, attempts_max: 4 })
    };
    let events = [
        session(1, None),
        step(1),
        retry(1, "openai cannot answer at the moment (HTTP 503: \u{1b}[2J)", 500),
        retry(1, &"x".repeat(NOTICE_CHARS_MAX + 1), 20_000),
        text("Here."),
        session(2, Some(1)),
        retry(2, "cannot reach openai (127.0.0.1:9: Connection refused)", 2_000),
    ];
    check(
        &events,
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            | openai cannot answer at the moment (HTTP 503: \u{1b}[2J): trying again in 500 ms (attempt 2 of 4)
            | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…: trying again in 20.0 s (attempt 2 of 4)
            |   explore · cannot reach openai (127.0.0.1:9: Connection refused): trying again in 2.0 s (attempt 2 of 4)

            Here.
        "#]],
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            | openai cannot answer at the moment (HTTP 503: \u{1b}[2J): trying again in 500 ms (attempt 2 of 4)
            | xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…: trying again in 20.0 s (attempt 2 of 4)
            |   explore · cannot reach openai (127.0.0.1:9: Connection refused): trying again in 2.0 s (attempt 2 of 4)
        "#]],
    );
}

#[test]
fn what_a_turn_took_is_not_said_of_one_that_failed_before_it_took_anything() {
    let failed = |number: u128, usage: ModelUsage| {
        let error = Some("no".to_owned());
        of(number, AgentEventKind::TurnEnded { end: "failed", error, usage })
    };
    let usage = ModelUsage { input: 30, output: 4, ..ModelUsage::default() };
    let done =
        of(1, AgentEventKind::TurnEnded { end: "done", error: None, usage: ModelUsage::default() });
    let events = [
        session(1, None),
        session(2, Some(1)),
        failed(2, ModelUsage::default()),
        failed(2, usage),
        failed(1, ModelUsage::default()),
        failed(1, usage),
        done,
    ];
    check(
        &events,
        &expect![[r#"
        | session ses_00000000000000000000000001 · build · openai/test
        |   explore failed: no
        |   explore failed: no (30 tokens read, 4 written)
        | 30 tokens read, 4 written
        | no tokens reported
    "#]],
        &expect![[r#"
        | session ses_00000000000000000000000001 · build · openai/test
        |   explore failed: no
        |   explore failed: no (30 tokens read, 4 written)
    "#]],
    );
}

#[test]
fn a_file_that_is_written_anew_is_compared_with_what_it_said() {
    let write =
        |id: &str, path: &str| call(1, id, "write", json!({"path": path, "content": "one\n2\n"}));
    let mut text = String::new();
    let mut lines = SessionLines::new(Written { text: &mut text }, look(true));
    for event in [session(1, None), step(1), write("c1", "new")] {
        lines.show_event(alone(event));
    }
    let text_before = Some("one\ntwo\n".to_owned());
    lines.show_event(SessionEvent { event: write("c2", "a"), text_before });
    lines.show_event(alone(result(1, "c1", "write", Ok("ok"))));
    lines.show_event(alone(result(1, "c2", "write", Ok("ok"))));
    drop(lines);
    expect![[r#"
        | session ses_00000000000000000000000001 · build · openai/test
        | → write new · 5 ms
        |     1 +one
        |     2 +2
        | → write a · 5 ms
        |     1  one
        |     2 -two
        |     2 +2
    "#]]
    .assert_eq(&text);
}

#[test]
fn a_file_is_compared_only_with_what_the_call_itself_replaced() {
    let write =
        |id: &str, path: &str| call(1, id, "write", json!({"path": path, "content": "one\n2\n"}));
    let mut text = String::new();
    let mut lines = SessionLines::new(Written { text: &mut text }, look(true));
    lines.show_event(alone(session(1, None)));
    for (id, path) in [("c1", "a"), ("c2", "a"), ("c3", "b"), ("c4", "c"), ("c5", "c")] {
        let text_before = Some("one\ntwo\n".to_owned());
        lines.show_event(SessionEvent { event: write(id, path), text_before });
    }
    let recalled =
        EnvelopeMetadata { duration_ms: 5, replayed: true, ..EnvelopeMetadata::default() };
    let envelope = Envelope::Output { data: json!("ok"), metadata: recalled };
    let status = ToolResultStatus::OutputAvailable;
    let (id, tool) = ("c3".to_owned(), "write".to_owned());
    let recalled = AgentEventKind::ToolResult { id, tool, status, duration_ms: 5, envelope };
    lines.show_event(alone(result(1, "c1", "write", Ok("ok"))));
    lines.show_event(alone(result(1, "c2", "write", Ok("ok"))));
    lines.show_event(alone(of(1, recalled)));
    lines.show_event(alone(result(1, "c4", "write", Err("no"))));
    lines.show_event(alone(result(1, "c5", "write", Ok("ok"))));
    drop(lines);
    expect![[r#"
        | session ses_00000000000000000000000001 · build · openai/test
        | → write a · 5 ms
        |     1  one
        |     2 -two
        |     2 +2
        | → write a · 5 ms
        |     (nothing is different)
        | → write b · recalled · 5 ms
        |     1 +one
        |     2 +2
        | → write c · PERMISSION_DENIED: no · 5 ms
        | → write c · 5 ms
        |     1  one
        |     2 -two
        |     2 +2
    "#]]
    .assert_eq(&text);
}

#[test]
fn the_session_of_a_subagent_can_be_the_one_that_is_talked_to() {
    let events =
        [session(2, Some(1)), step(2), of(2, AgentEventKind::Text { delta: "Here.".to_owned() })];
    check(
        &events,
        &expect![[r#"
        | session ses_00000000000000000000000002 · explore · openai/test
        Here.
    "#]],
        &expect![[r#"
        | session ses_00000000000000000000000002 · explore · openai/test
    "#]],
    );
}

#[test]
fn an_edit_shows_what_it_changed_if_it_did() {
    let edit = || json!({"path": "a.rs", "old_string": "a\nb", "new_string": "a\nc"});
    let events = [
        session(1, None),
        step(1),
        call(1, "c1", "edit", edit()),
        result(1, "c1", "edit", Ok("ok")),
        call(1, "c2", "edit", edit()),
        result(1, "c2", "edit", Err("no")),
    ];
    check(
        &events,
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            | → edit a.rs · 5 ms
            |      a
            |     -b
            |     +c
            | → edit a.rs · PERMISSION_DENIED: no · 5 ms
        "#]],
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            | → edit a.rs · 5 ms
            |      a
            |     -b
            |     +c
            | → edit a.rs · PERMISSION_DENIED: no · 5 ms
        "#]],
    );
}

#[test]
fn thoughts_and_notices_are_cut() {
    let fits = "x".repeat(THOUGHT_CHARS_MAX);
    let of_thought = |texts: &[&str]| {
        let mut events = vec![step(1)];
        events.extend(texts.iter().map(|text| thought(text)));
        events.insert(0, session(1, None));
        shown(&events, true).lines().nth(1).unwrap().to_owned()
    };
    assert_eq!(of_thought(&[&fits]), format!("| {fits}"));
    assert_eq!(of_thought(&[&fits, "y"]), format!("| {fits}"));
    assert_eq!(of_thought(&[&format!("{fits}y"), "z"]), format!("| {fits}…"));
    let notice = |text: &str| {
        let events = [session(1, None), of(1, AgentEventKind::Notice { text: text.to_owned() })];
        shown(&events, true).lines().nth(1).unwrap().to_owned()
    };
    let fits = "x".repeat(NOTICE_CHARS_MAX);
    assert_eq!(notice(&fits), format!("| notice to the agent: {fits}"));
    assert!(notice(&format!("{fits}y")).ends_with("x…"));
}

#[test]
fn each_event_is_a_line_for_a_screen_reader() {
    let linear = SessionLook { side: SideLook::Linear, context_tokens: 100, ..look(true) };
    let usage = ModelUsage { input: 20, output: 4, ..ModelUsage::default() };
    let events = [
        session(1, None),
        of(1, AgentEventKind::TurnStarted),
        step(1),
        thought("I look\nat it."),
        text("| a | b |\n|---|---|\n| **1** | 2 |\n"),
        read(1, "c1", "a.rs"),
        read(1, "c2", "b.rs"),
        result(1, "c2", "read", Ok("one\n")),
        result(1, "c1", "read", Err("no")),
        of(1, AgentEventKind::StepEnded { finish: MessageFinish::ToolCalls, usage }),
        ended(1, "done"),
    ];
    expect![[r#"
        | session ses_00000000000000000000000001, build, openai/test
        | I look at it.

        a: 1
        b: 2
        | call: read a.rs
        | call: read b.rs
        | result: read b.rs, 1 line, 5 ms
        | result: read a.rs, PERMISSION_DENIED: no, 5 ms
        | 30 tokens read, 4 written, 76% of the context left
    "#]]
    .assert_eq(&shown_as(&events, linear));
}

#[test]
fn a_change_is_shown_before_the_question_about_it() {
    let events = [
        session(1, None),
        step(1),
        call(1, "c1", "write", json!({"path": "a", "content": "one\n"})),
        of(1, AgentEventKind::Asked { id: "c1".to_owned() }),
        of(1, AgentEventKind::Answered { id: "c1".to_owned(), answer: "once" }),
        result(1, "c1", "write", Ok("ok")),
    ];
    expect![[r#"
        | session ses_00000000000000000000000001 · build · openai/test
        | → write a
        |     1 +one
        |   write a · 5 ms
    "#]]
    .assert_eq(&shown(&events, true));
}

#[test]
fn text_is_rendered_while_it_streams() {
    let events = [
        session(1, None),
        step(1),
        text("# Result\n\nIt **wor"),
        text("ks**:\n```sh\nmake\n"),
        text("```\n- done"),
        ended(1, "done"),
    ];
    expect![[r#"
        | session ses_00000000000000000000000001 · build · openai/test
        # Result

        It works:

            make

        - done
        | 30 tokens read, 4 written
    "#]]
    .assert_eq(&shown(&events, true));
}

#[test]
fn what_a_turn_said_that_was_stopped_is_not_lost() {
    let events = [session(1, None), step(1), text("half an ans"), ended(1, "aborted")];
    check(
        &events,
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            half an ans
            | 30 tokens read, 4 written
        "#]],
        &expect![[r#"
            | session ses_00000000000000000000000001 · build · openai/test
            | half an ans
        "#]],
    );
}

/// Writes down what a terminal is sent, byte for byte.
struct Raw<'w> {
    text: &'w mut String,
}

impl SessionOutput for Raw<'_> {
    fn write_data(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn write_side(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn redraw(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn columns(&self) -> Option<usize> {
        Some(80)
    }
}

#[test]
fn nothing_that_comes_controls_the_terminal() {
    const EVIL: &str = "\u{1b}]0;title\u{7}\u{9b}2J\u{202e}x";
    let subagent = AgentEventKind::Subagent {
        call: EVIL.to_owned(),
        agent: EVIL.to_owned(),
        child: chat(2),
        background: false,
    };
    let begun = |number, parent: Option<u128>| {
        let (agent, model) = (EVIL.to_owned(), EVIL.to_owned());
        of(number, AgentEventKind::Session { agent, model, parent: parent.map(chat) })
    };
    let events = [
        begun(1, None),
        step(1),
        thought(EVIL),
        text(EVIL),
        call(1, "c1", EVIL, json!({"path": EVIL})),
        result(1, "c1", EVIL, Err(EVIL)),
        call(1, "c2", "write", json!({"path": EVIL, "content": EVIL})),
        result(1, "c2", "write", Ok(EVIL)),
        // One whose answer broke off was not told of before.
        result(1, "c3", EVIL, Err(EVIL)),
        of(1, subagent),
        begun(2, Some(1)),
        call(2, "c1", EVIL, json!({"cmd": EVIL})),
        result(2, "c1", EVIL, Ok(EVIL)),
        result(2, "c2", EVIL, Ok(EVIL)),
        of(1, AgentEventKind::Notice { text: EVIL.to_owned() }),
        of(
            2,
            AgentEventKind::TurnEnded {
                end: "failed",
                error: Some(EVIL.to_owned()),
                usage: ModelUsage::default(),
            },
        ),
        ended(1, "failed"),
    ];
    for is_terminal in [true, false] {
        let mut shown = String::new();
        let mut lines = SessionLines::new(Raw { text: &mut shown }, look(is_terminal));
        events.iter().for_each(|event| lines.show_event(alone(event.clone())));
        lines.finish();
        drop(lines);
        for evil in ["\u{1b}]", "\u{7}", "\u{9b}", "\u{202e}"] {
            assert!(!shown.contains(evil), "{evil:?} in {shown:?}");
        }
    }
}
