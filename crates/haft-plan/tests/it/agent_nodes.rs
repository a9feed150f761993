//! Nodes that are agents or persons, and nodes that are repeated, with agents made for tests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use expect_test::expect;
use haft::{Ask, AskAnswer, Asker, Elicitation, ElicitationReply};
use haft_contract::{
    BoxFuture, Cx, ErrorCode, Remedy, SubagentAnswer, SubagentTask, Subagents, ToolError,
};
use haft_plan::NodeStatus;
use haft_plan::drive::{DangerousToolAsker, PlanEnding, PlanRunOptions, RunStartMode};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::resume::again;
use crate::stage::{Stage, plan, text};

/// Answers each task with the next of its answers; an answer that begins with `!` is a failure.
struct ScriptedAgents {
    answers: Mutex<VecDeque<String>>,
    /// Iteration, attempt and prompt of each task.
    tasks: Mutex<Vec<(u32, u32, SubagentTask)>>,
    /// Aborts the plan in which an answer is [`STOPPED`].
    abort: CancellationToken,
}

/// In place of an answer: the person stops the plan while the agent works.
const STOPPED: &str = "^C";

impl ScriptedAgents {
    fn saying(answers: &[&str]) -> Arc<Self> {
        let answers = answers.iter().map(|answer| (*answer).to_owned()).collect();
        let (answers, tasks) = (Mutex::new(answers), Mutex::default());
        Arc::new(Self { answers, tasks, abort: CancellationToken::new() })
    }

    fn options(self: &Arc<Self>, options: PlanRunOptions) -> PlanRunOptions {
        let agents = Arc::clone(self) as Arc<dyn Subagents>;
        PlanRunOptions { agents, abort: self.abort.clone(), ..options }
    }

    fn prompts(&self) -> Vec<String> {
        self.tasks.lock().unwrap().iter().map(|(_, _, task)| task.prompt.clone()).collect()
    }
}

impl Subagents for ScriptedAgents {
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        let at = cx.attempt_address();
        self.tasks.lock().unwrap().push((at.iteration, at.attempt, task));
        let answer = self.answers.lock().unwrap().pop_front().unwrap();
        Box::pin(async move {
            if answer == STOPPED {
                self.abort.cancel();
                cx.cancellation().cancelled().await;
                return Err(ToolError::new(ErrorCode::ProcessAborted, "stopped"));
            }
            match answer.strip_prefix('!') {
                Some(why) => Err(ToolError::new(ErrorCode::ToolFailed, why)),
                None => {
                    Ok(SubagentAnswer::Done { output: answer, session_id: None, calls: vec![] })
                }
            }
        })
    }

    fn resume<'a>(
        &'a self,
        _: SubagentTask,
        _: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        Box::pin(async { Ok(None) })
    }
}

/// A person who gives this answer to each question.
struct Person(&'static str);

impl Asker for Person {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async { AskAnswer::Reject })
    }

    fn elicit(&self, asked: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        assert_eq!(asked.questions[0].question, "Ship a?");
        Box::pin(async { ElicitationReply::Answers(vec![vec![self.0.to_owned()]]) })
    }
}

fn asking(asker: impl Asker + 'static) -> Option<DangerousToolAsker> {
    let asker = Arc::new(asker);
    Some(DangerousToolAsker { asker, session: "s1".to_owned(), root: "/project".into() })
}

fn agent(prompt: &str, more: Value) -> Value {
    let mut node = json!({"agent": "explore", "prompt": prompt});
    node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    node
}

#[tokio::test(start_paused = true)]
async fn the_answer_of_an_agent_is_an_output_and_is_asked_for_once() {
    let stage = Stage::new();
    let agents = ScriptedAgents::saying(&[r#"{"risks":["fire"]}"#, "Nothing else."]);
    let whole = plan(vec![
        text("say", "a", &[]),
        agent(
            "Risks of {{STEPS.0}}?",
            json!({"output": {"type": "object"}, "tools": ["say"], "max_steps": 7, "depends_on": [0]}),
        ),
        agent("{{STEPS.1.risks}}", json!({"depends_on": [1]})),
        text("say", "{{STEPS.1.risks[0]}}: {{STEPS.2}}", &[1, 2]),
    ]);
    let first = stage.drive(&whole, agents.options(stage.options())).await;
    assert_eq!(first.trace.final_output(), Some(&json!({"said": "fire: Nothing else."})));
    expect![[r#"
        {"event":"plan_started","run":"r1","nodes":4}
        {"event":"node_started","node":0,"tool":"say","attempt":1}
        {"event":"node_finished","node":0,"status":"succeeded","replayed":false}
        {"event":"node_started","node":1,"tool":"plan.agent","attempt":1}
        {"event":"node_finished","node":1,"status":"succeeded","replayed":false}
        {"event":"node_started","node":2,"tool":"plan.agent","attempt":1}
        {"event":"node_finished","node":2,"status":"succeeded","replayed":false}
        {"event":"node_started","node":3,"tool":"say","attempt":1}
        {"event":"node_finished","node":3,"status":"succeeded","replayed":false}
        {"event":"plan_finished","ending":"finished"}
    "#]]
    .assert_eq(&stage.events());
    assert_eq!(agents.prompts(), [r#"Risks of {"said":"a"}?"#, r#"["fire"]"#]);
    let (_, _, task) = agents.tasks.lock().unwrap()[0].clone();
    assert_eq!(task.tools, Some(vec!["say".to_owned()]));
    assert_eq!((task.output, task.max_steps), (Some(json!({"type": "object"})), Some(7)));
    let second = stage.drive(&whole, agents.options(again(&stage))).await;
    assert_eq!(first.trace, second.trace);
    assert_eq!(agents.prompts().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_failed_is_tried_again_as_the_next_attempt() {
    let stage = Stage::new();
    let agents = ScriptedAgents::saying(&["!the model is away", "Done."]);
    let whole = plan(vec![agent("Go.", json!({"retry": 1}))]);
    let driven = stage.drive(&whole, agents.options(stage.options())).await;
    assert_eq!(driven.trace.final_output(), Some(&json!("Done.")));
    let tasks = agents.tasks.lock().unwrap();
    let attempts: Vec<u32> = tasks.iter().map(|(_, attempt, _)| *attempt).collect();
    assert_eq!(attempts, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_node_is_repeated_until_a_part_of_its_output_has_a_value() {
    let stage = Stage::new();
    let schema = json!({"type": "object"});
    let until = json!({"path": "done", "equals": true, "max_iterations": 3});
    let whole = |retry: u8| {
        plan(vec![agent("Go.", json!({"output": schema, "repeat_until": until, "retry": retry}))])
    };
    let agents = ScriptedAgents::saying(&[
        r#"{"done":false}"#,
        "!away",
        r#"{"done":false,"n":2}"#,
        r#"{"done":true}"#,
    ]);
    let first = stage.drive(&whole(1), agents.options(stage.options())).await;
    assert_eq!(first.trace.final_output(), Some(&json!({"done": true})));
    assert_eq!(first.trace.nodes[0].iterations, 3);
    expect![[r#"
        {"event":"plan_started","run":"r1","nodes":1}
        {"event":"node_started","node":0,"tool":"plan.agent","attempt":1}
        {"event":"node_repeating","node":0,"iteration":0,"replayed":false}
        {"event":"node_started","node":0,"tool":"plan.agent","iteration":1,"attempt":1}
        {"event":"node_retrying","node":0,"attempt":1,"delay_ms":1000,"error":{"code":"TOOL_FAILED","text":"away"}}
        {"event":"node_started","node":0,"tool":"plan.agent","iteration":1,"attempt":2}
        {"event":"node_repeating","node":0,"iteration":1,"replayed":false}
        {"event":"node_started","node":0,"tool":"plan.agent","iteration":2,"attempt":1}
        {"event":"node_finished","node":0,"status":"succeeded","replayed":false}
        {"event":"plan_finished","ending":"finished"}
    "#]]
    .assert_eq(&stage.events());
    let places: Vec<(u32, u32)> =
        agents.tasks.lock().unwrap().iter().map(|(it, attempt, _)| (*it, *attempt)).collect();
    assert_eq!(places, [(0, 1), (1, 1), (1, 2), (2, 1)]);
    let last = &agents.prompts()[3];
    assert!(
        last.ends_with(
            "iteration 3 of at most 3. The iteration before answered:\n{\"done\":false,\"n\":2}"
        ),
        "{last}"
    );
    let second = stage.drive(&whole(1), agents.options(again(&stage))).await;
    assert_eq!(first.trace, second.trace);
    assert_eq!(agents.prompts().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_never_done_fails() {
    let stage = Stage::new();
    let whole = plan(vec![
        json!({"tool": "say", "inputs": {"text": "a"}, "repeat_until": {"path": "said", "equals": "b", "max_iterations": 2}}),
    ]);
    let driven = stage.drive(&whole, stage.options()).await;
    let error = driven.trace.nodes[0].error.clone().unwrap();
    assert_eq!(
        error.text,
        "node 0 was repeated 2 times, and output.said never was \"b\"; the last was \"a\""
    );
    assert_eq!(stage.world.done(), ["say a", "say a"]);
    // A failed node stays failed, and nothing is called again.
    let second = stage.drive(&whole, again(&stage)).await;
    assert_eq!(driven.trace, second.trace);
    assert_eq!(stage.world.done().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_person_answers_once_and_only_where_there_is_one() {
    let stage = Stage::new();
    let whole = plan(vec![
        text("say", "a", &[]),
        json!({"question": "Ship {{STEPS.0.said}}?", "options": ["yes", "no"], "depends_on": [0]}),
        text("say", "{{STEPS.1}}", &[1]),
    ]);
    let headless = PlanRunOptions { asking: asking(haft::HeadlessAsker), ..stage.options() };
    let driven = stage.drive(&whole, headless).await;
    assert_eq!(driven.trace.ending, PlanEnding::Halted { by: haft_plan::NodeId::new(1) });
    let error = driven.trace.nodes[1].error.clone().unwrap();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    assert_eq!(error.refusal.unwrap().remedies, [Remedy::AnswerQuestion("r1".to_owned())]);
    let answered = PlanRunOptions { asking: asking(Person("yes")), ..again(&stage) };
    let driven = stage.drive(&whole, answered).await;
    assert_eq!(driven.trace.final_output(), Some(&json!({"said": "yes"})));
    let headless = PlanRunOptions { asking: asking(haft::HeadlessAsker), ..again(&stage) };
    let recalled = stage.drive(&whole, headless).await;
    assert_eq!(recalled.trace, driven.trace);
    assert!(recalled.trace.nodes.iter().all(|node| node.status == NodeStatus::Succeeded));
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_is_stopped_in_a_later_iteration_has_no_output() {
    let stage = Stage::new();
    let until = json!({"path": "done", "equals": true, "max_iterations": 3});
    let schema = json!({"type": "object"});
    let whole = plan(vec![agent("Go.", json!({"output": schema, "repeat_until": until}))]);
    let agents = ScriptedAgents::saying(&[r#"{"done":false}"#, STOPPED]);
    let stopped = stage.drive(&whole, agents.options(stage.options())).await;
    assert_eq!(stopped.trace.ending, PlanEnding::Aborted);
    assert_eq!(stopped.trace.final_output(), None);
    let agents = ScriptedAgents::saying(&[r#"{"done":true}"#]);
    let ended = stage.drive(&whole, agents.options(again(&stage))).await;
    assert_eq!(ended.trace.final_output(), Some(&json!({"done": true})));
    assert!(agents.prompts()[0].contains("This is iteration 2 of at most 3."));
}

#[tokio::test(start_paused = true)]
async fn the_prompt_of_a_tool_stays_in_each_iteration() {
    let stage = Stage::new();
    let until = json!({"path": "", "equals": "blue", "max_iterations": 2});
    let whole =
        plan(vec![json!({"tool": "paint", "inputs": {"prompt": "red"}, "repeat_until": until})]);
    let driven = stage.drive(&whole, stage.options()).await;
    assert_eq!(driven.trace.nodes[0].inputs, Some(json!({"prompt": "red"})));
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_never_done_can_be_retried() {
    let stage = Stage::new();
    let until = json!({"path": "done", "equals": true, "max_iterations": 2});
    let schema = json!({"type": "object"});
    let whole = plan(vec![agent("Go.", json!({"output": schema, "repeat_until": until}))]);
    let agents = ScriptedAgents::saying(&[r#"{"done":false}"#, r#"{"done":false}"#]);
    let failed = stage.drive(&whole, agents.options(stage.options())).await;
    assert_eq!(failed.trace.ending, PlanEnding::Halted { by: haft_plan::NodeId::new(0) });
    let agents = ScriptedAgents::saying(&[r#"{"done":true}"#]);
    let retried = PlanRunOptions { start: RunStartMode::RetryFailed, ..stage.options() };
    let retried = stage.drive(&whole, agents.options(retried)).await;
    assert_eq!(retried.trace.final_output(), Some(&json!({"done": true})));
    // Only the last iteration is made again, and it is recalled afterwards.
    let tasks: Vec<(u32, u32)> =
        agents.tasks.lock().unwrap().iter().map(|(it, attempt, _)| (*it, *attempt)).collect();
    assert_eq!(tasks, [(1, 2)]);
    let recalled = stage.drive(&whole, agents.options(again(&stage))).await;
    assert_eq!(recalled.trace, retried.trace);
    let retried = PlanRunOptions { start: RunStartMode::RetryFailed, ..stage.options() };
    let recalled = stage.drive(&whole, agents.options(retried)).await;
    assert_eq!(recalled.trace.final_output(), Some(&json!({"done": true})));
}

/// A person who closes the terminal before the question is answered.
struct ClosedTerminal;

impl Asker for ClosedTerminal {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async { AskAnswer::Reject })
    }

    fn elicit(&self, _: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async { ElicitationReply::Unanswered })
    }

    fn can_ask(&self) -> bool {
        true
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_not_answered_is_asked_again() {
    let stage = Stage::new();
    let whole = plan(vec![
        text("say", "a", &[]),
        json!({"question": "Ship {{STEPS.0.said}}?", "depends_on": [0]}),
    ]);
    // Neither the options nor the connection has a person.
    let driven = stage.drive(&whole, stage.options()).await;
    let error = driven.trace.nodes[1].error.clone().unwrap();
    assert_eq!(error.code, ErrorCode::PermissionDenied);
    let closed = PlanRunOptions { asking: asking(ClosedTerminal), ..again(&stage) };
    let driven = stage.drive(&whole, closed).await;
    let error = driven.trace.nodes[1].error.clone().unwrap();
    assert_eq!(
        error.text,
        "the question was not answered. The next resume of the run asks it again"
    );
    let answered = PlanRunOptions { asking: asking(Person("yes")), ..again(&stage) };
    let driven = stage.drive(&whole, answered).await;
    assert_eq!(driven.trace.final_output(), Some(&json!("yes")));
}
