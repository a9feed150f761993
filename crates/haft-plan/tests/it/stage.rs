//! A runtime with tools made for tests, and a plan in it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use haft::{
    Ask, AskAnswer, Asker, Clock, Connection, ConnectionOptions, PLAN_FRONT_END, Registry, Runtime,
    RuntimeParts, WorkspaceRoots,
};
use haft_contract::{
    BoxFuture, Cx, Effect, ErrorCode, ProbeResult, RunId, SubagentSummary, Tool, ToolError, ToolId,
};
use haft_journal::{Journal, LeaseOwner, MemoryJournal, SqliteJournal};
use haft_plan::drive::{
    AllowedDangerousTools, DangerousToolAsker, PlanEvent, PlanRunError, PlanRunOptions,
    PlanRunResult, plan_tools, run_plan,
};
use haft_plan::{CheckedPlan, PlanInput, PlanToolCatalogue, check_text};
use haft_policy::{Rule, RuleAction, RuleScope};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;

/// The executions of the tools of a test.
#[derive(Default)]
pub(crate) struct World {
    /// Every execution, as `tool text`, in the order in which they happened.
    pub(crate) done: Mutex<Vec<String>>,
    /// How often each text was tried by `flaky`.
    tries: Mutex<HashMap<String, u32>>,
    /// How many calls wait in `wait`.
    waiting: watch::Sender<u32>,
    /// Whether `wait` waits no longer.
    open: watch::Sender<bool>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Text {
    text: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Flaky {
    text: String,
    fails: u32,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Prompt {
    prompt: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Any {
    value: Value,
}

impl World {
    pub(crate) fn done(&self) -> Vec<String> {
        self.done.lock().unwrap().clone()
    }

    fn note(&self, cx: &Cx, text: &str) {
        self.done.lock().unwrap().push(format!("{} {text}", cx.tool()));
    }

    /// Waits until so many calls wait.
    pub(crate) async fn until_waiting(&self, count: u32) {
        self.waiting.subscribe().wait_for(|waiting| *waiting >= count).await.unwrap();
    }

    /// Lets all calls go on that wait.
    pub(crate) fn open(&self) {
        self.open.send_replace(true);
    }

    async fn wait(&self, cx: &Cx) -> Result<(), ToolError> {
        self.waiting.send_modify(|waiting| *waiting += 1);
        let mut open = self.open.subscribe();
        tokio::select! {
            biased;
            () = cx.cancellation().cancelled() => {
                Err(ToolError::new(ErrorCode::ProcessAborted, "stopped while it waited"))
            }
            opened = open.wait_for(|open| *open) => {
                opened.map(|_| ()).map_err(|err| ToolError::new(ErrorCode::ToolFailed, err.to_string()))
            }
        }
    }
}

async fn not_happened(_: Text, _: Cx) -> Result<ProbeResult<Value>, ToolError> {
    Ok(ProbeResult::NotHappened)
}

/// Returns a tool that fails as often as it is told to.
fn flaky(world: &Arc<World>) -> Tool {
    let flaky_world = Arc::clone(world);
    Tool::new("flaky").execute_with(move |args: Flaky, cx: Cx| {
        flaky_world.note(&cx, &args.text);
        let tried = {
            let mut tries = flaky_world.tries.lock().unwrap();
            let tried = tries.entry(args.text.clone()).or_default();
            *tried += 1;
            *tried
        };
        async move {
            if tried <= args.fails {
                return Err(ToolError::new(ErrorCode::Unavailable, format!("try {tried} failed")));
            }
            Ok(json!({"tries": tried}))
        }
    })
}

/// Returns the tools of a test.
pub(crate) fn tools(world: &Arc<World>) -> Vec<Tool> {
    let say = |id: &str, effect: Effect, world: &Arc<World>| {
        let world = Arc::clone(world);
        let tool = Tool::new(id).effect(effect);
        let tool = if id == "danger" { tool.dangerous() } else { tool };
        tool.execute_with(move |args: Text, cx: Cx| {
            world.note(&cx, &args.text);
            async move { Ok::<_, ToolError>(json!({"said": args.text})) }
        })
    };
    let wait = |id: &str, effect: Effect, world: &Arc<World>| {
        let world = Arc::clone(world);
        let tool = Tool::new(id).effect(effect);
        let tool = match id {
            "wait_danger" => tool.dangerous().probe(not_happened),
            "wait_shortly" => tool.timeout_ms(|_: &Text| Some(1_000)),
            _ => tool,
        };
        tool.execute_with(move |args: Text, cx: Cx| {
            let world = Arc::clone(&world);
            async move {
                world.note(&cx, &args.text);
                world.wait(&cx).await?;
                Ok::<_, ToolError>(json!({"waited": args.text}))
            }
        })
    };
    let keyed_world = Arc::clone(world);
    let keyed = Tool::new("keyed").effect(Effect::Once).accepts_key().execute_with(
        move |args: Text, cx: Cx| {
            keyed_world.note(&cx, &format!("{} {}", args.text, cx.idempotency_key()));
            async move {
                match cx.attempt_address().attempt {
                    1 => Err(ToolError::new(ErrorCode::Unavailable, "the first attempt fails")),
                    _ => Ok(json!({"keyed": args.text})),
                }
            }
        },
    );
    let secret_world = Arc::clone(world);
    let secret = Tool::new("secret").redacted(&["text"]).execute_with(move |args: Text, cx: Cx| {
        secret_world.note(&cx, "");
        async move { Ok::<_, ToolError>(args.text.len().to_string()) }
    });
    let echo = Tool::new("echo").execute(|args: Any| async { Ok::<_, ToolError>(args.value) });
    let paint =
        Tool::new("paint").execute(|args: Prompt| async { Ok::<_, ToolError>(args.prompt) });
    let own = vec![
        say("say", Effect::Read, world),
        say("order", Effect::Once, world),
        say("danger", Effect::Once, world),
        wait("wait", Effect::Read, world),
        wait("wait_once", Effect::Once, world),
        wait("wait_shortly", Effect::Read, world),
        wait("wait_danger", Effect::Once, world),
        flaky(world),
        keyed,
        secret,
        echo,
        paint,
    ];
    own.into_iter().chain(plan_tools()).collect()
}

/// The agent of a test.
pub(crate) fn agents() -> Vec<SubagentSummary> {
    vec![SubagentSummary { name: "explore".to_owned(), description: "Finds things".to_owned() }]
}

/// A runtime in a separate directory, and everything that happened in it.
pub(crate) struct Stage {
    pub(crate) world: Arc<World>,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) runtime: Runtime,
    pub(crate) session: Connection,
    pub(crate) events: Arc<Mutex<Vec<Value>>>,
    _directory: tempfile::TempDir,
}

struct StoppedClock;

impl Clock for StoppedClock {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with_journal(Arc::new(MemoryJournal::new()))
    }

    pub(crate) fn on_disk(directory: &Path) -> Self {
        Self::with_journal(Arc::new(SqliteJournal::open(directory.join("journal.sqlite")).unwrap()))
    }

    pub(crate) fn with_journal(journal: Arc<dyn Journal>) -> Self {
        Self::built(journal, Vec::new(), |_| true)
    }

    /// Returns a runtime in which these rules hold, beside one that allows everything, and that has these of the tools.
    pub(crate) fn built(
        journal: Arc<dyn Journal>,
        rules: Vec<Rule>,
        has: fn(&ToolId) -> bool,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let world = Arc::new(World::default());
        let is_had = |tool: &Tool| has(&tool.valid_contract().unwrap().id);
        let allow_all = Rule::new("*", "*", RuleAction::Allow);
        let rules = rules.into_iter().chain([allow_all]);
        // No tool here has to do with files, and who goes on with a run is in its workspace.
        let roots = WorkspaceRoots::open(Path::new(env!("CARGO_TARGET_TMPDIR")), &[]).unwrap();
        let runtime = Runtime::new(RuntimeParts {
            registry: Registry::new(tools(&world).into_iter().filter(is_had)).unwrap(),
            rules: rules.map(|rule| (RuleScope::Manifest, rule)).collect(),
            ..RuntimeParts::new(
                Arc::clone(&journal),
                roots,
                directory.path().join("sidecars"),
                Arc::new(StoppedClock),
                LeaseOwner { id: "test".to_owned(), location: "a test".to_owned() },
            )
        })
        .unwrap();
        let options = ConnectionOptions {
            subagents: agents(),
            ..ConnectionOptions::headless("s1", PLAN_FRONT_END)
        };
        let session = runtime.open_connection(options).unwrap();
        let events = Arc::default();
        Self { world, journal, runtime, session, events, _directory: directory }
    }

    pub(crate) fn check(&self, plan: &Value) -> CheckedPlan {
        let catalogue = PlanToolCatalogue::new(self.runtime.registry().contracts().cloned());
        let catalogue = catalogue.with_agents(agents());
        check_text(&plan.to_string(), &catalogue, PlanInput::Unknown).unwrap()
    }

    /// Returns options that note all events.
    pub(crate) fn options(&self) -> PlanRunOptions {
        let events = Arc::clone(&self.events);
        let note = move |event: &PlanEvent| events.lock().unwrap().push(json!(event));
        PlanRunOptions {
            events: Arc::new(note),
            ..PlanRunOptions::new(RunId::parse("r1").unwrap())
        }
    }

    pub(crate) async fn try_drive(
        &self,
        plan: &Value,
        options: PlanRunOptions,
    ) -> Result<PlanRunResult, PlanRunError> {
        run_plan(&self.session, &self.journal, &self.check(plan), options).await
    }

    pub(crate) async fn drive(&self, plan: &Value, options: PlanRunOptions) -> PlanRunResult {
        self.try_drive(plan, options).await.unwrap()
    }

    /// Returns the events since the last time, one line each, without times.
    pub(crate) fn events(&self) -> String {
        let mut lines = String::new();
        for mut event in std::mem::take(&mut *self.events.lock().unwrap()) {
            event.as_object_mut().unwrap().shift_remove("duration_ms");
            lines.push_str(&format!("{event}\n"));
        }
        lines
    }
}

/// Gives one answer to everything, and counts the questions.
pub(crate) struct Answers {
    pub(crate) answer: AskAnswer,
    pub(crate) asked: Mutex<Vec<Ask>>,
}

impl Asker for Answers {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        self.asked.lock().unwrap().push(ask);
        Box::pin(async { self.answer.clone() })
    }
}

impl Answers {
    pub(crate) fn always(answer: AskAnswer) -> Arc<Self> {
        Arc::new(Self { answer, asked: Mutex::default() })
    }

    pub(crate) fn asking(self: &Arc<Self>) -> Option<DangerousToolAsker> {
        let asker = Arc::clone(self) as Arc<dyn Asker>;
        Some(DangerousToolAsker { asker, session: "s1".to_owned(), root: "/project".into() })
    }
}

/// Says yes after a long time.
pub(crate) struct Slow(pub(crate) std::time::Duration);

impl Asker for Slow {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async {
            tokio::time::sleep(self.0).await;
            AskAnswer::AllowOnce
        })
    }
}

/// Allows one tool.
pub(crate) fn allow(tool: &str) -> AllowedDangerousTools {
    AllowedDangerousTools::Tools([ToolId::parse(tool).unwrap()].into())
}

/// Writes a plan of these nodes, which are numbered here; the last one makes the output.
pub(crate) fn plan(mut nodes: Vec<Value>) -> Value {
    for (id, node) in nodes.iter_mut().enumerate() {
        let fields = node.as_object_mut().unwrap();
        fields.insert("id".to_owned(), json!(id));
        fields.entry("depends_on").or_insert(json!([]));
    }
    json!({"nodes": nodes, "final_output_node": nodes.len() - 1})
}

/// Writes a call of a tool that takes a text.
pub(crate) fn text(tool: &str, text: &str, depends_on: &[usize]) -> Value {
    json!({"tool": tool, "inputs": {"text": text}, "depends_on": depends_on})
}
