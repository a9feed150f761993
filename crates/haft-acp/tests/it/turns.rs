//! The updates of turns, and how an editor stops turns.

use agent_client_protocol::v1::schema::{
    ContentBlock, ImageContent, LoadSessionRequest, PromptRequest, TextContent,
};
use expect_test::expect;
use haft_acp::limits::SHOWN_CHANGE_BYTES_MAX;
use haft_scripted_model::{ReplyCondition, ReplyStopReason, ScriptedReply};
use serde_json::json;

use crate::stage::{Place, reason};

#[tokio::test]
async fn an_editor_is_told_what_happens() {
    let place = Place::new([
        ScriptedReply::new()
            .reasoning("Let me see.")
            .text("I look.")
            .call("read", json!({"path": "notes.txt", "start_line": 1})),
        ScriptedReply::new()
            .call("edit", json!({"path": "notes.txt", "old_string": "two", "new_string": "2"}))
            .call("todo", json!({"todos": [{"content": "Mend it", "status": "completed"}]})),
        ScriptedReply::new().text("Done."),
    ]);
    place.write("notes.txt", "one\ntwo\n");
    place
        .edit(&[], async |desk| {
            let session = desk.begin().await;
            assert_eq!(desk.say(&session, "Mend the notes").await, "end_turn");
            expect![[r#"
                agent_thought_chunk "Let me see."
                agent_message_chunk "I look."
                tool_call c1 title=read kind=read
                tool_call_update c1 title=read notes.txt kind=read status=in_progress at=ROOT/notes.txt:1
                tool_call_update c1 status=completed text="```\none\ntwo\n```"
                usage_update
                tool_call c2 title=edit kind=edit
                tool_call c3 title=todo
                tool_call_update c2 title=edit notes.txt kind=edit status=in_progress at=ROOT/notes.txt diff=ROOT/notes.txt:"two"->"2"
                tool_call_update c3 title=todo kind=other status=in_progress
                tool_call_update c2 status=completed at=ROOT/notes.txt:2 diff=ROOT/notes.txt:"two"->"2"
                tool_call_update c3 status=completed
                plan Mend it (completed)
                usage_update
                agent_message_chunk "Done."
                usage_update
                session_info_update Mend the notes
            "#]].assert_eq(&desk.told());
        })
        .await;
    assert_eq!(place.read("notes.txt").unwrap(), "one\n2\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_said_after_a_cancelled_prompt() {
    let place = Place::new([
        ScriptedReply::new().text("I begin. ").waiting_for("never"),
        ScriptedReply::new().text("Again."),
    ]);
    place
        .edit(&[], async |desk| {
            let session = desk.begin().await;
            let prompt = desk.prompt(&session, "one");
            desk.until_told("I begin.").await;
            assert_eq!(
                desk.say(&session, "two").await,
                format!("-32600: a prompt of session {} is being worked on: wait for its end, or cancel it", session.0)
            );
            desk.cancel(&session);
            assert_eq!(reason(prompt.block_task().await), "cancelled");
            expect![[r#"
                agent_message_chunk "I begin. "
            "#]].assert_eq(&desk.told());
            assert_eq!(desk.say(&session, "three").await, "end_turn");
            expect![[r#"
                agent_message_chunk "Again."
                usage_update
                session_info_update one
            "#]].assert_eq(&desk.told());
        })
        .await;
    place.model.wait_for_ends(2);
}

#[tokio::test]
async fn a_cancelled_prompt_takes_its_question_and_its_subagents_along() {
    let last =
        |last: &str| ReplyCondition { last: Some(last.to_owned()), ..ReplyCondition::default() };
    let task = json!({"subagent_type": "general", "prompt": "Write it"});
    let write = json!({"path": "x", "content": "y"});
    let place = Place::new([
        ScriptedReply::new().call("task", task).when(last("go")),
        ScriptedReply::new().call("write", write).when(last("Write it")),
    ]);
    place
        .edit(&["never"], async |desk| {
            let session = desk.begin().await;
            let prompt = desk.prompt(&session, "go");
            desk.until_asked().await;
            let asked = desk.asked().remove(0);
            assert_eq!(asked["sessionId"], json!(session));
            assert_eq!(asked["toolCall"]["title"], "general: write x");
            desk.cancel(&session);
            assert_eq!(reason(prompt.block_task().await), "cancelled");
        })
        .await;
    assert_eq!(place.read("x"), None);
}

#[tokio::test]
async fn calls_of_subagents_are_shown_in_the_session() {
    let last =
        |last: &str| ReplyCondition { last: Some(last.to_owned()), ..ReplyCondition::default() };
    let task = json!({"subagent_type": "explore", "prompt": "Look closely"});
    let place = Place::new([
        ScriptedReply::new().text("Delegating.").call("task", task).when(last("go")),
        ScriptedReply::new().call("glob", json!({"pattern": "*"})).when(last("Look closely")),
        ScriptedReply::new().text("There is nothing.").when(last("")),
        ScriptedReply::new().text("Nothing, then."),
    ]);
    place
        .edit(&[], async |desk| {
            let session = desk.begin().await;
            assert_eq!(desk.say(&session, "go").await, "end_turn");
            let told = desk.told();
            let child = told.split("ses_").nth(1).unwrap().split([':', ' ']).next().unwrap();
            expect![[r#"
                agent_message_chunk "Delegating."
                tool_call c1 title=task
                tool_call_update c1 title=task explore kind=other status=in_progress
                tool_call CHILD:c2 title=explore: glob * kind=search status=in_progress
                tool_call_update CHILD:c2 status=completed
                tool_call_update c1 status=completed text="There is nothing."
                usage_update
                agent_message_chunk "Nothing, then."
                usage_update
                session_info_update go
            "#]]
            .assert_eq(&told.replace(&format!("ses_{child}"), "CHILD"));
        })
        .await;
}

#[tokio::test]
async fn two_sessions_are_had_at_once() {
    let last =
        |last: &str| ReplyCondition { last: Some(last.to_owned()), ..ReplyCondition::default() };
    let place = Place::new([
        ScriptedReply::new().waiting_for("first").text("First.").when(last("one")),
        ScriptedReply::new().text("Second.").when(last("two")),
    ]);
    place
        .edit(&[], async |desk| {
            let first = desk.begin().await;
            let second = desk.begin().await;
            let waiting = desk.prompt(&first, "one");
            assert_eq!(desk.say(&second, "two").await, "end_turn");
            place.model.release("first");
            assert_eq!(reason(waiting.block_task().await), "end_turn");
        })
        .await;
}

#[tokio::test]
async fn a_model_that_fails_is_an_error_of_the_prompt() {
    let place = Place::new([ScriptedReply::failure(401, "no such key")]);
    place
        .edit(&[], async |desk| {
            let session = desk.begin().await;
            expect!["-32603: openai requires a key, but none was sent: name its environment variable (key_variable) (HTTP 401: no such key)"].assert_eq(&desk.say(&session, "go").await);
            desk.told();
            // When the session is opened later, it shows why nothing follows.
            let load = LoadSessionRequest::new(session.clone(), desk.root.clone());
            desk.connection.send_request(load).block_task().await.unwrap();
            expect![[r#"
                user_message_chunk "go"
                notice {"severity":"info","title":"The turn failed: openai requires a key, but none was sent: name its environment variable (key_variable) (HTTP 401: no such key)"}
                session_info_update go
            "#]].assert_eq(&desk.told());
        })
        .await;
}

#[tokio::test]
async fn an_image_of_a_prompt_reaches_the_model_and_is_shown_again() {
    let place = Place::new([ScriptedReply::new().text("A dot.")]);
    let data = "R0lGODlhAQABAAAAACwAAAAAAQABAAA=";
    place
        .edit(&[], async |desk| {
            let session = desk.begin().await;
            let image = ContentBlock::Image(ImageContent::new(data, "image/gif"));
            let blocks = vec![ContentBlock::Text(TextContent::new("What is this?")), image];
            let prompt = PromptRequest::new(session.clone(), blocks);
            let end = desk.connection.send_request(prompt).block_task().await;
            assert_eq!(reason(end), "end_turn");
            let sent = place.model.requests().remove(0).body["messages"].to_string();
            assert!(sent.contains("What is this?") && sent.contains(data), "{sent}");
            desk.told();
            let load = LoadSessionRequest::new(session.clone(), desk.root.clone());
            desk.connection.send_request(load).block_task().await.unwrap();
            expect![[r#"
                user_message_chunk "What is this?"
                user_message_chunk image "image/gif"
                agent_message_chunk "A dot."
                usage_update
                session_info_update What is this?
            "#]]
            .assert_eq(&desk.told());
        })
        .await;
}

#[tokio::test]
async fn an_answer_that_broke_off_is_no_turn_that_failed() {
    let place = Place::new([
        ScriptedReply::new().text("I beg").breaking_off(),
        ScriptedReply::new().text("Whole."),
    ]);
    place
        .edit(&[], async |desk| {
            let session = desk.begin().await;
            assert_eq!(desk.say(&session, "go").await, "end_turn");
            desk.told();
            let load = LoadSessionRequest::new(session.clone(), desk.root.clone());
            desk.connection.send_request(load).block_task().await.unwrap();
            expect![[r#"
                user_message_chunk "go"
                agent_message_chunk "I beg"
                notice {"severity":"info","title":"This answer is not whole: the answer broke off before its end: try again"}
                agent_message_chunk "Whole."
                usage_update
                session_info_update go
            "#]].assert_eq(&desk.told());
        })
        .await;
}

#[tokio::test]
async fn a_call_of_an_answer_that_was_cut_keeps_its_reason() {
    let write = json!({"path": "free.txt", "content": "new"});
    let place =
        Place::new([ScriptedReply::new().call("write", write).stopping(ReplyStopReason::Length)]);
    place
        .edit(&[], async |desk| {
            let session = desk.begin().await;
            assert_eq!(desk.say(&session, "go").await, "max_tokens");
            expect![[r#"
                tool_call c1 title=write kind=edit
                tool_call_update c1 status=failed text="```\nthis call was not made: the answer that asks for it was cut at its greatest length\n```"
                usage_update
                session_info_update go
            "#]].assert_eq(&desk.told());
        })
        .await;
    assert_eq!(place.read("free.txt"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_editor_that_goes_away_stops_its_turns() {
    let place = Place::new([ScriptedReply::new().text("I begin. ").waiting_for("never")]);
    let mut session = None;
    place
        .edit(&[], async |desk| {
            let begun = desk.begin().await;
            desk.prompt(&begun, "one").detach();
            desk.until_told("I begin.").await;
            session = Some(begun);
        })
        .await;
    place.model.wait_for_ends(1);
    let chat = haft_journal::SessionId::parse(&session.unwrap().0).unwrap();
    let row = place.journal.session(&chat).await.unwrap().unwrap();
    assert_eq!(row.status, haft_journal::SessionStatus::Idle);
}

#[tokio::test]
async fn so_much_of_a_file_is_shown_before_it_is_written() {
    let check = async |bytes: usize, is_shown: bool| {
        let write = json!({"path": "free.txt", "content": "new"});
        let place = Place::new([
            ScriptedReply::new().call("write", write),
            ScriptedReply::new().text("Done."),
        ]);
        place.write("free.txt", &"x".repeat(bytes));
        place
            .edit(&[], async |desk| {
                let session = desk.begin().await;
                assert_eq!(desk.say(&session, "go").await, "end_turn");
                let told = desk.told();
                assert_eq!(told.contains("free.txt:\"x"), is_shown, "{bytes}");
                assert_eq!(told.contains("free.txt:null->\"new\""), !is_shown, "{bytes}");
            })
            .await;
    };
    check(SHOWN_CHANGE_BYTES_MAX, true).await;
    check(SHOWN_CHANGE_BYTES_MAX + 1, false).await;
}
