//! How sessions are begun, listed, loaded, resumed and closed, and who works in them.

use agent_client_protocol::v1::schema::{
    CloseSessionRequest, ListSessionsRequest, LoadSessionRequest, McpServer, McpServerStdio,
    NewSessionRequest, ResumeSessionRequest, SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use agent_client_protocol::{Error, JsonRpcRequest};
use expect_test::expect;
use haft_acp::limits::{LAST_WORDS_MS, LISTED_SESSIONS_MAX, MESSAGE_BYTES_MAX, OPEN_SESSIONS_MAX};
use haft_scripted_model::ScriptedReply;
use serde_json::{Value, json};

use crate::stage::{Desk, Place};

async fn ask<R: JsonRpcRequest>(desk: &Desk, request: R) -> Result<R::Response, Error>
where
    R::Response: Send + 'static,
{
    desk.connection.send_request(request).block_task().await
}

fn pretty(value: &impl serde::Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap()
}

#[tokio::test]
async fn an_editor_learns_what_there_is() {
    let place = Place::new([]);
    place
        .edit(&[], async |desk| {
            let mut introduced = serde_json::to_value(desk.introduce().await).unwrap();
            introduced["agentInfo"]["version"] = "VERSION".into();
            expect![[r#"
                {
                  "protocolVersion": 1,
                  "agentCapabilities": {
                    "loadSession": true,
                    "promptCapabilities": {
                      "image": true,
                      "audio": false,
                      "embeddedContext": true
                    },
                    "mcpCapabilities": {
                      "http": false,
                      "sse": false
                    },
                    "sessionCapabilities": {
                      "list": {},
                      "resume": {},
                      "close": {}
                    },
                    "auth": {}
                  },
                  "authMethods": [],
                  "agentInfo": {
                    "name": "haft",
                    "title": "haft",
                    "version": "VERSION"
                  }
                }"#]]
            .assert_eq(&pretty(&introduced));
            let begun = ask(desk, NewSessionRequest::new(desk.root.clone())).await.unwrap();
            let begun = serde_json::to_value(begun).unwrap();
            let modes = begun["modes"]["availableModes"].as_array().unwrap();
            let modes: Vec<&Value> = modes.iter().map(|mode| &mode["id"]).collect();
            assert_eq!(json!(modes), json!(["build", "plan"]));
            assert_eq!(begun["modes"]["currentModeId"], "build");
            assert_eq!(begun["configOptions"][0]["currentValue"], "build");
        })
        .await;
}

#[tokio::test]
async fn a_session_is_loaded_with_what_was_said() {
    let place = Place::new([
        ScriptedReply::new().text("I look.").call("read", json!({"path": "notes.txt"})),
        ScriptedReply::new().text("It says one."),
        ScriptedReply::new().text("Once more."),
    ]);
    place.write("notes.txt", "one\n");
    let mut session = None;
    place
        .edit(&[], async |desk| {
            let begun = desk.begin().await;
            desk.say(&begun, "What does it say?").await;
            ask(desk, CloseSessionRequest::new(begun.clone())).await.unwrap();
            let closed = desk.say(&begun, "And now?").await;
            assert!(closed.starts_with("-32002: session ses_"), "{closed}");
            session = Some(begun);
        })
        .await;
    let session = session.unwrap();
    place
        .edit(&[], async |desk| {
            desk.introduce().await;
            let list = ask(desk, ListSessionsRequest::new()).await.unwrap();
            let list = serde_json::to_value(list).unwrap();
            assert_eq!(list["sessions"][0]["sessionId"], json!(session));
            assert_eq!(list["sessions"][0]["title"], "What does it say?");
            let load = || LoadSessionRequest::new(session.clone(), desk.root.clone());
            ask(desk, load()).await.unwrap();
            let told = desk.told();
            expect![[r#"
                user_message_chunk "What does it say?"
                agent_message_chunk "I look."
                tool_call c1 title=read notes.txt kind=read status=in_progress at=ROOT/notes.txt
                tool_call_update c1 status=completed text="```\none\n```"
                agent_message_chunk "It says one."
                usage_update
                session_info_update What does it say?
            "#]]
            .assert_eq(&told);
            ask(desk, load()).await.unwrap();
            assert_eq!(desk.told(), told, "a session that is open is loaded again");
            assert_eq!(desk.say(&session, "And again?").await, "end_turn");
            expect![[r#"
                agent_message_chunk "Once more."
                usage_update
                session_info_update What does it say?
            "#]]
            .assert_eq(&desk.told());
        })
        .await;
    place
        .edit(&[], async |desk| {
            desk.introduce().await;
            let resume = ResumeSessionRequest::new(session.clone(), desk.root.clone());
            ask(desk, resume).await.unwrap();
            assert_eq!(desk.told(), "session_info_update What does it say?\n");
        })
        .await;
}

#[tokio::test]
async fn what_cannot_be_opened_says_why() {
    let place = Place::new([]);
    place
        .edit(&[], async |desk| {
            desk.introduce().await;
            let check = |result: Result<Value, Error>, expect: expect_test::Expect| {
                let err = result.unwrap_err();
                let text = format!("{}: {}", err.code.value(), err.message);
                expect.assert_eq(&text.replace(&desk.root.display().to_string(), "ROOT"));
            };
            let value = |response: Result<_, Error>| response.map(|response| json!(response));
            check(value(ask(desk, NewSessionRequest::new("/")).await), expect!["-32602: the session's directory / is not within ROOT, where this haft works: have the editor start haft with that directory as its root"]);
            check(
                value(ask(desk, NewSessionRequest::new("project")).await),
                expect![[r#"-32602: the session's directory is "project": expected an absolute path"#]],
            );
            let load = |id: &str| LoadSessionRequest::new(id.to_owned(), desk.root.clone());
            let loaded = |response: Result<_, Error>| response.map(|response| json!(response));
            check(loaded(ask(desk, load("nonsense")).await), expect![[r#"-32602: "nonsense" is no id of a session: expected ses_ and 26 digits and letters, such as ses_01k652pf2dbsqq10cjmetcbnq7"#]]);
            check(
                loaded(ask(desk, load("ses_00000000000000000000000000")).await),
                expect!["-32002: there is no session ses_00000000000000000000000000"],
            );
        })
        .await;
}

#[tokio::test]
async fn what_is_not_done_of_a_wish_is_said() {
    let place = Place::new([]);
    place
        .edit(&[], async |desk| {
            desk.introduce().await;
            let server = McpServer::Stdio(McpServerStdio::new("files", "/bin/files"));
            let request = NewSessionRequest::new(desk.root.clone()).mcp_servers(vec![server]);
            ask(desk, request).await.unwrap();
            desk.until_noted(1).await;
            expect![[r#"
                notice {"severity":"info","title":"haft does not start the MCP servers that the editor is set up with: those that agents may use are named in haft.toml."}
            "#]].assert_eq(&desk.told());
        })
        .await;
}

#[tokio::test]
async fn another_agent_works_in_a_session() {
    let place = Place::new([
        ScriptedReply::new().text("Built."),
        ScriptedReply::new().text("Planned.").waiting_for("planned"),
        ScriptedReply::new().text("Built again."),
    ]);
    place
        .edit(&[], async |desk| {
            let session = desk.begin().await;
            desk.say(&session, "one").await;
            desk.told();
            let mode = |mode: &'static str| SetSessionModeRequest::new(session.clone(), mode);
            ask(desk, mode("plan")).await.unwrap();
            let prompt = desk.prompt(&session, "two");
            desk.until_told("Planned.").await;
            // If a turn runs, the next turn uses the other agent.
            let option = SetSessionConfigOptionRequest::new(session.clone(), "agent", "build");
            ask(desk, option).await.unwrap();
            place.model.release("planned");
            prompt.block_task().await.unwrap();
            desk.say(&session, "three").await;
            expect![[r#"
                config_option_update plan
                agent_message_chunk "Planned."
                current_mode_update build
                usage_update
                session_info_update one
                agent_message_chunk "Built again."
                usage_update
                session_info_update one
            "#]]
            .assert_eq(&desk.told());
            let err = ask(desk, mode("explore")).await.unwrap_err();
            expect![[r#"no agent "explore" can be talked to: expected one of build, plan"#]]
                .assert_eq(&err.message);
        })
        .await;
    let offers: Vec<bool> =
        place.model.requests().iter().map(|request| request.text().contains("\"write\"")).collect();
    assert_eq!(offers, [true, false, true]);
}

#[tokio::test]
async fn so_many_sessions_are_open_and_listed() {
    let place = Place::new([]);
    place
        .edit(&[], async |desk| {
            let first = desk.begin().await;
            let new = || NewSessionRequest::new(desk.root.clone());
            for _ in 1..OPEN_SESSIONS_MAX {
                ask(desk, new()).await.unwrap();
            }
            let err = ask(desk, new()).await.unwrap_err();
            expect!["64 sessions are open, which is as many as can be: close one of them"]
                .assert_eq(&err.message);
            ask(desk, CloseSessionRequest::new(first)).await.unwrap();
            ask(desk, new()).await.unwrap();
            let list = ask(desk, ListSessionsRequest::new()).await.unwrap();
            assert_eq!(list.sessions.len(), LISTED_SESSIONS_MAX as usize);
            let rest = ListSessionsRequest::new().cursor(list.next_cursor.unwrap());
            let rest = ask(desk, rest).await.unwrap();
            assert_eq!(rest.sessions.len(), OPEN_SESSIONS_MAX + 1 - list.sessions.len());
            assert_eq!(rest.next_cursor, None);
            let elsewhere = ListSessionsRequest::new().cwd(std::path::PathBuf::from("/"));
            assert_eq!(ask(desk, elsewhere).await.unwrap().sessions.len(), 0);
        })
        .await;
}

#[tokio::test]
async fn a_message_that_is_too_long_ends_the_connection() {
    let place = Place::new([]);
    let message = r#"{"jsonrpc":"2.0","method":"x"}"#;
    let padded = |bytes: usize| format!("{message}{}", " ".repeat(bytes - message.len()));
    place.read_line(padded(MESSAGE_BYTES_MAX)).await.unwrap();
    let err = place.read_line(padded(MESSAGE_BYTES_MAX + 1)).await.unwrap_err();
    expect!["the connection to the editor broke: a message is longer than 8388608 bytes"]
        .assert_eq(&err.to_string());
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_hung_up_has_so_long_to_read() {
    let place = Place::new([]);
    // So little is taken in without being read that no answer fits.
    let (ours, theirs) = tokio::io::duplex(16);
    let (input, served) = place.greet(theirs).await;
    let begun = tokio::time::Instant::now();
    drop(input);
    served.await.unwrap().unwrap();
    assert_eq!(begun.elapsed().as_millis(), u128::from(LAST_WORDS_MS));
    drop(ours);
}

#[tokio::test]
async fn an_editor_that_closed_its_end_is_gone_and_nothing_broke() {
    let (ours, theirs) = tokio::io::duplex(16);
    drop(ours);
    let (input, served) = Place::new([]).greet(theirs).await;
    served.await.unwrap().unwrap();
    drop(input);
}
