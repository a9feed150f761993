//! The questions to an editor, and the effects of its answers.

use std::sync::Arc;

use expect_test::expect;
use haft_journal::{AskQuery, AskVerdict, NewAskAnswer};
use haft_scripted_model::ScriptedReply;
use serde_json::json;

use crate::stage::{Place, reason};

fn write(path: &str) -> ScriptedReply {
    ScriptedReply::new().call("write", json!({"path": path, "content": "new\n"}))
}

fn writes(count: usize) -> Vec<ScriptedReply> {
    let write = |number: usize| [write("a"), ScriptedReply::new().text(&format!("Said {number}."))];
    (0..count).flat_map(write).collect()
}

#[tokio::test]
async fn a_question_shows_the_call_and_what_may_be_chosen() {
    let place = Place::new(writes(1));
    place.write("a", "old\n");
    place
        .edit(&["allow_once"], async |desk| {
            let session = desk.begin().await;
            assert_eq!(desk.say(&session, "go").await, "end_turn");
            let mut asked = desk.asked().remove(0);
            asked["sessionId"] = "SESSION".into();
            let asked = serde_json::to_string_pretty(&asked).unwrap();
            expect![[r#"
                {
                  "sessionId": "SESSION",
                  "toolCall": {
                    "toolCallId": "c1",
                    "kind": "edit",
                    "status": "pending",
                    "title": "write a",
                    "content": [
                      {
                        "type": "diff",
                        "path": "ROOT/a",
                        "oldText": "old\n",
                        "newText": "new\n"
                      },
                      {
                        "type": "content",
                        "content": {
                          "type": "text",
                          "text": "May write run?\n\nIt would touch:\n```\nfs.write of \"a\"\n```\n\nYou are asked because:\n```\nwrite needs approval for fs.write of \"a\": the manifest rule `ask write \"*\"` decides; the rule `allow write \"a\"` would allow it\n```\n\n«Always allow» adds these rules, «always reject» the same with deny:\n```\nallow write \"a\"\n```"
                        }
                      }
                    ]
                  },
                  "options": [
                    {
                      "optionId": "allow_once",
                      "name": "Allow once",
                      "kind": "allow_once"
                    },
                    {
                      "optionId": "allow_always",
                      "name": "Always allow until haft ends",
                      "kind": "allow_always"
                    },
                    {
                      "optionId": "reject_once",
                      "name": "Reject once",
                      "kind": "reject_once"
                    },
                    {
                      "optionId": "reject_always",
                      "name": "Always reject until haft ends",
                      "kind": "reject_always"
                    }
                  ]
                }"#]].assert_eq(&asked.replace(&desk.root.display().to_string(), "ROOT"));
            expect![[r#"
                tool_call c1 title=write kind=edit
                tool_call_update c1 title=write a kind=edit status=in_progress at=ROOT/a diff=ROOT/a:"old\n"->"new\n"
                tool_call_update c1 status=pending
                tool_call_update c1 status=in_progress
                tool_call_update c1 status=completed diff=ROOT/a:"old\n"->"new\n"
                usage_update
                agent_message_chunk "Said 0."
                usage_update
                session_info_update go
            "#]].assert_eq(&desk.told());
        })
        .await;
    assert_eq!(place.read("a").unwrap(), "new\n");
}

#[tokio::test]
async fn an_answer_holds_as_long_as_it_says() {
    let check = async |answer: &'static str, asked: usize, written: bool| {
        let place = Place::new(writes(2));
        place
            .edit(&[answer, answer], async |desk| {
                let session = desk.begin().await;
                desk.say(&session, "one").await;
                std::fs::remove_file(desk.root.join("a")).ok();
                desk.say(&session, "two").await;
                assert_eq!(desk.asked().len(), asked, "{answer}");
            })
            .await;
        assert_eq!(place.read("a").is_some(), written, "{answer}");
    };
    check("allow_once", 2, true).await;
    check("allow_always", 1, true).await;
    check("reject_once", 2, false).await;
    check("reject_always", 1, false).await;
    check("made up", 2, false).await;
}

#[tokio::test]
async fn a_tool_asks_through_a_form() {
    let question = json!({"questions": [{"question": "Which name?"}]});
    let place = Place::new([
        ScriptedReply::new().call("question", question),
        ScriptedReply::new().text("Good."),
    ]);
    place
        .edit(&["haft"], async |desk| {
            let session = desk.begin().await;
            assert_eq!(desk.say(&session, "go").await, "end_turn");
            assert_eq!(desk.asked()[0]["toolCallId"], "c1");
            expect![[r#"
                tool_call c1 title=question
                tool_call_update c1 title=question kind=other status=in_progress
                tool_call_update c1 status=pending
                tool_call_update c1 status=in_progress
                tool_call_update c1 status=completed text="```\n{\"answers\":[[\"haft\"]]}\n```"
                usage_update
                agent_message_chunk "Good."
                usage_update
                session_info_update go
            "#]]
            .assert_eq(&desk.told());
        })
        .await;
}

#[tokio::test]
async fn a_tool_asks_an_editor_without_forms_by_permission_requests() {
    let questions = json!({"questions": [
        {"question": "Which database?", "options": [{"label": "SQLite"}, {"label": "PostgreSQL"}]},
        {"question": "Which name?"},
        {"question": "Which platform?", "options": [{"label": "Linux"}, {"label": "macOS"}]},
    ]});
    let place = Place::new([
        ScriptedReply::new().call("question", questions),
        ScriptedReply::new().text("Good."),
    ]);
    place
        .edit(&["answer_2", "skip"], async |desk| {
            desk.introduce_with(json!({})).await;
            let session = desk.begin_session().await;
            assert_eq!(desk.say(&session, "go").await, "end_turn");
            let asked = desk.asked();
            let titles = asked.iter().map(|it| it["toolCall"]["title"].as_str().unwrap());
            assert_eq!(titles.collect::<Vec<_>>(), ["Which database?", "Which platform?"]);
            let told = desk.told();
            assert!(told.contains(r#"{\"answers\":[[\"PostgreSQL\"],[],[]]}"#), "{told}");
        })
        .await;
}

#[tokio::test]
async fn an_answer_from_elsewhere_withdraws_the_question_and_the_editor_learns_who_gave_it() {
    let place = Place::new(writes(1));
    let journal = Arc::clone(&place.journal);
    place
        .edit(&["never"], async |desk| {
            let session = desk.begin().await;
            let turn = desk.prompt(&session, "go");
            desk.until_asked().await;
            let ask = journal.asks(AskQuery::pending()).await.unwrap().remove(0);
            let answer = NewAskAnswer {
                ask: ask.id,
                verdict: AskVerdict::Once,
                by: "ada (process 7)".to_owned(),
                through: "asks".to_owned(),
                shown_sha256: ask.shown.sha256,
                words: None,
                edited_input: None,
                now_ms: ask.asked_at_ms,
            };
            journal.answer_ask(answer).await.unwrap();
            desk.until_withdrawn().await;
            desk.until_told("Answered elsewhere: ada (process 7) allowed it once through asks")
                .await;
            assert_eq!(reason(turn.block_task().await), "end_turn");
        })
        .await;
    assert_eq!(place.read("a").as_deref(), Some("new\n"));
}
