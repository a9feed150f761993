//! Another agent goes on with a session: nothing that the one before had begun goes on beyond what the new one may.

use agent_client_protocol::v1::schema::{SessionId as AcpSessionId, SetSessionModeRequest};
use expect_test::expect;
use haft_journal::{SessionId, SessionQuery, SessionStatus};
use haft_scripted_model::{ReplyCondition, ReplyStopReason, ScriptedReply};
use serde_json::json;

use crate::stage::{Desk, Place, reason};

/// A model that delegates writing to a background subagent and begins with this reply.
fn delegating(beginning: ScriptedReply) -> Place {
    let last =
        |last: &str| ReplyCondition { last: Some(last.to_owned()), ..ReplyCondition::default() };
    let task = json!({"subagent_type": "general", "prompt": "Write it", "background": true});
    let write = json!({"path": "free.txt", "content": "new\n"});
    Place::new([
        ScriptedReply::new().call("task", task).when(last("go")),
        ScriptedReply::new().waiting_for("the switch").call("write", write).when(last("Write it")),
        beginning.when(last("it works in the background")),
        ScriptedReply::new().text("So it was.").when(last("was stopped before it was done")),
    ])
}

async fn plan(desk: &Desk, session: &AcpSessionId) {
    let mode = SetSessionModeRequest::new(session.clone(), "plan");
    desk.connection.send_request(mode).block_task().await.unwrap();
}

/// Looks what became of the subagent, which would write by now if it could.
async fn check_stopped(place: &Place, session: &AcpSessionId) {
    place.model.release("the switch");
    let parent = Some(SessionId::parse(&session.0).unwrap());
    let children =
        place.journal.sessions(SessionQuery { parent, ..SessionQuery::default() }).await.unwrap();
    let statuses: Vec<SessionStatus> = children.iter().map(|child| child.status).collect();
    assert_eq!(statuses, [SessionStatus::Aborted]);
    assert_eq!(place.read("free.txt"), None);
}

/// Returns what was told without the names of subagents, and without the word of the choice, which comes when it may.
fn told(desk: &Desk) -> String {
    let told = desk.told().replace("config_option_update plan\n", "");
    let child = told.split("task ses_").nth(1).and_then(|rest| rest.get(..26)).unwrap_or("none");
    told.replace(child, "CHILD")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_works_in_the_background_is_stopped_when_another_agent_is_chosen() {
    let place = delegating(ScriptedReply::new().text("It runs."));
    place
        .edit(&[], async |desk| {
            let session = desk.begin().await;
            let prompt = desk.prompt(&session, "go");
            desk.until_told("It runs.").await;
            place.model.wait_until_held("the switch");
            plan(desk, &session).await;
            assert_eq!(reason(prompt.block_task().await), "end_turn");
            check_stopped(&place, &session).await;
            expect![[r#"
                tool_call c1 title=task
                tool_call_update c1 title=task general kind=other status=in_progress
                tool_call_update c1 status=completed text="{\"session_id\":\"ses_CHILD\",\"note\":\"it works in the background; what comes of it is told when it ends, so do not wait for it and do not ask again\"}"
                usage_update
                agent_message_chunk "It runs."
                usage_update
                notice {"severity":"info","title":"A subagent in the background was stopped, because plan works in this session now."}
                notice {"severity":"info","title":"background task ses_CHILD (general) was stopped before it was done."}
                agent_message_chunk "So it was."
                usage_update
                session_info_update go
            "#]]
            .assert_eq(&told(desk));
        })
        .await;
    let requests = place.model.requests();
    assert!(!requests.last().unwrap().text().contains("\"write\""), "plan is told of it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_choice_in_a_turn_holds_when_the_turn_is_over() {
    let place = delegating(ScriptedReply::new().text("It runs.").waiting_for("the rest"));
    place
        .edit(&[], async |desk| {
            let session = desk.begin().await;
            let prompt = desk.prompt(&session, "go");
            desk.until_told("It runs.").await;
            place.model.wait_until_held("the switch");
            plan(desk, &session).await;
            place.model.release("the rest");
            assert_eq!(reason(prompt.block_task().await), "end_turn");
            check_stopped(&place, &session).await;
            assert!(told(desk).ends_with("session_info_update go\n"));
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_works_on_whom_a_turn_left_that_broke_off() {
    let check = async |beginning: ScriptedReply, next: Option<ScriptedReply>, ended: &str| {
        let place = delegating(beginning);
        next.into_iter().for_each(|next| place.model.add(next));
        place
            .edit(&[], async |desk| {
                let session = desk.begin().await;
                let prompt = desk.prompt(&session, "go");
                desk.until_told("It runs.").await;
                place.model.wait_until_held("the switch");
                place.model.release("the rest");
                let reason = reason(prompt.block_task().await);
                assert!(reason.starts_with(ended), "{reason}");
                check_stopped(&place, &session).await;
                let told = desk.told();
                let notice =
                    "A subagent in the background was stopped, because the turn broke off.";
                assert!(told.contains(notice), "{told}");
                assert_eq!(desk.say(&session, "again").await, "end_turn");
                let told = desk.told();
                assert!(told.contains("agent_message_chunk \"So it was.\""), "{told}");
            })
            .await;
    };
    let runs = || ScriptedReply::new().text("It runs.").waiting_for("the rest");
    let looks = runs().call("glob", json!({"pattern": "*"}));
    check(looks, Some(ScriptedReply::failure(401, "no such key")), "-32603: ").await;
    check(runs().stopping(ReplyStopReason::Length), None, "max_tokens").await;
    check(runs().stopping(ReplyStopReason::Refused), None, "refusal").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_that_the_user_agrees_to_is_carried_out_by_another_agent() {
    let last =
        |last: &str| ReplyCondition { last: Some(last.to_owned()), ..ReplyCondition::default() };
    let write = json!({"path": "free.txt", "content": "new\n"});
    let place = Place::new([
        ScriptedReply::new()
            .call("plan_exit", json!({"plan": "Write free.txt."}))
            .when(last("Plan it")),
        ScriptedReply::new().call("write", write).when(last("I agree to this plan.")),
        ScriptedReply::new().text("Written."),
    ]);
    place
        .edit(&["Carry it out"], async |desk| {
            let session = desk.begin().await;
            plan(desk, &session).await;
            desk.told();
            assert_eq!(desk.say(&session, "Plan it").await, "end_turn");
            let asked = desk.asked();
            assert_eq!(asked.len(), 1);
            assert!(asked[0].to_string().contains("Write free.txt."), "{asked:?}");
            let told = desk.told();
            assert!(told.contains("current_mode_update build"), "{told}");
            assert!(told.contains("agent_message_chunk \"Written.\""), "{told}");
        })
        .await;
    assert_eq!(place.read("free.txt").as_deref(), Some("new\n"));
}
