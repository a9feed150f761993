//! Builds a plan with `Workflow` and `Task`, checks it and drives it: a tool that reads, an agent whose answer has a schema, is tried
//! again after a failure and is repeated until it is done, and a tool that uses the answer. The agent is a stand-in that answers
//! without a model. `haft_agent::AgentHost::plan_subagents` returns agents that ask one.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use haft::{
    ConnectionOptions, PLAN_FRONT_END, Registry, Runtime, RuntimeParts, SystemClock, WorkspaceRoots,
};
use haft_contract::{
    BoxFuture, Cx, ErrorCode, RunId, SubagentAnswer, SubagentSummary, SubagentTask, Subagents,
    Tool, ToolError,
};
use haft_journal::{Journal, LeaseOwner, MemoryJournal};
use haft_plan::drive::{PlanRunOptions, plan_tools, run_plan};
use haft_plan::{PlanInput, PlanToolCatalogue, Task, Workflow, check};
use haft_policy::{Rule, RuleAction, RuleScope};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Text {
    text: String,
}

/// The answer of the agent.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Review {
    risks: Vec<String>,
    done: bool,
}

/// An agent whose first attempt fails, and which is done in its second iteration.
#[derive(Default)]
struct Reviewer {
    tasks: AtomicU32,
}

impl Subagents for Reviewer {
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        Box::pin(async move {
            let at = cx.attempt_address();
            println!(
                "{} works: iteration {}, attempt {}",
                task.subagent_type, at.iteration, at.attempt
            );
            if self.tasks.fetch_add(1, Ordering::Relaxed) == 0 {
                return Err(ToolError::new(ErrorCode::ToolFailed, "the model is away"));
            }
            let output = json!({"risks": ["a loose cable"], "done": at.iteration > 0}).to_string();
            Ok(SubagentAnswer::Done { output, session_id: None, calls: Vec::new() })
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

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut workflow = Workflow::new();
    let notes = workflow.add(Task::call("say", json!({"text": "The cable is loose."})));
    let review = workflow.add(
        Task::agent("explore", format!("Name the risks in: {}", notes.output()))
            .answers::<Review>()
            .retry(2)
            .repeat_until("done", true, 5),
    );
    let report = workflow.add(Task::call("say", json!({"text": review.part("risks[0]")})));
    let plan = workflow.finish(report);

    let say = Tool::new("say").execute(|said: Text| async move { Ok::<_, ToolError>(said.text) });
    let registry = Registry::new(plan_tools().into_iter().chain([say]))?;
    let agents = vec![SubagentSummary {
        name: "explore".to_owned(),
        description: "Finds things".to_owned(),
    }];
    let catalogue =
        PlanToolCatalogue::new(registry.contracts().cloned()).with_agents(agents.clone());
    let checked = check(&plan, &catalogue, PlanInput::Absent).map_err(|problems| {
        problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    })?;

    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let runtime = Runtime::new(RuntimeParts {
        registry,
        rules: vec![(RuleScope::User, Rule::new("*", "*", RuleAction::Allow))],
        ..RuntimeParts::new(
            Arc::clone(&journal),
            WorkspaceRoots::open(Path::new("."), &[])?,
            std::env::temp_dir().join("haft-workflow"),
            Arc::new(SystemClock),
            LeaseOwner { id: "example".to_owned(), location: "an example".to_owned() },
        )
    })?;
    let connection = runtime.open_connection(ConnectionOptions {
        subagents: agents,
        ..ConnectionOptions::headless("example", PLAN_FRONT_END)
    })?;
    let options = PlanRunOptions {
        agents: Arc::new(Reviewer::default()),
        ..PlanRunOptions::new(RunId::parse("review")?)
    };
    let done = run_plan(&connection, &journal, &checked, options).await?;
    print!("{}", done.trace);
    Ok(())
}
