//! Measures what driving a plan costs whose tools do nothing: tools that only read and tools that may not be repeated, plans
//! of several shapes and sizes. Beside it stands what the journal takes for the same records without a runtime or a driver,
//! what the runtime and the driver take when the journal is in memory, and the same plan when it is only recalled. It
//! prints one sample a line, `case<TAB>entrant<TAB>nanoseconds a node`, and judges nothing.
//!
//! Arguments: DIRECTORY (to work in), ROUNDS, PARALLEL (nodes that run at the same time).

mod bare;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::{ConnectionOptions, Registry, Runtime, RuntimeParts, SystemClock, WorkspaceRoots};
use haft_contract::{Cx, Effect, RunId, Tool, ToolError};
use haft_journal::{Journal, LeaseOwner, MemoryJournal, SqliteJournal};
use haft_plan::drive::{PlanBounds, PlanRunOptions, RunStartMode, plan_tool, run_plan};
use haft_plan::{CheckedPlan, PlanInput, PlanToolCatalogue, check_text};
use haft_policy::{Rule, RuleAction, RuleScope};
use serde_json::json;

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Edges = fn(usize) -> Vec<usize>;

const SIZES: [usize; 2] = [200, 10_000];
const SHAPES: [(&str, Edges); 3] = [("fan-out", fan_out), ("chain", chain), ("layered", layered)];
const TOOLS: [&str; 2] = ["look", "order"];
/// Nodes of one layer of a layered plan.
const LAYER_NODES: usize = 100;

#[derive(serde::Deserialize, schemars::JsonSchema)]
#[expect(dead_code, reason = "the tools do nothing with their input")]
struct Item {
    number: u32,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, rounds, parallel] = arguments.as_slice() else {
        return Err("expected DIRECTORY ROUNDS PARALLEL".into());
    };
    let (directory, rounds) = (Path::new(directory), rounds.parse::<u32>()?);
    let parallel = parallel.parse()?;
    for round in 0..rounds {
        for size in SIZES {
            let place = directory.join(format!("{round}-{size}.sqlite"));
            let disk: Arc<dyn Journal> = Arc::new(SqliteJournal::open(&place)?);
            let memory: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
            for (shape, edges) in SHAPES {
                for tool in TOOLS {
                    let work = Work { shape, edges, tool, size };
                    one_plan(&Bench { directory, disk: &disk, memory: &memory, parallel }, &work)
                        .await?;
                }
            }
        }
    }
    Ok(())
}

/// Where plans are measured.
struct Bench<'a> {
    directory: &'a Path,
    disk: &'a Arc<dyn Journal>,
    memory: &'a Arc<dyn Journal>,
    parallel: NonZeroUsize,
}

/// The plan that is measured.
pub(crate) struct Work {
    pub(crate) shape: &'static str,
    edges: Edges,
    pub(crate) tool: &'static str,
    pub(crate) size: usize,
}

impl Work {
    pub(crate) fn effect(&self) -> Effect {
        if self.tool == "order" { Effect::Once } else { Effect::Read }
    }

    fn text(&self) -> String {
        let node = |id: usize| json!({"id": id, "tool": self.tool, "inputs": {"number": id}, "depends_on": (self.edges)(id)});
        let nodes: Vec<_> = (0..self.size).map(node).collect();
        json!({"nodes": nodes, "final_output_node": self.size - 1}).to_string()
    }
}

async fn one_plan(bench: &Bench<'_>, work: &Work) -> Result<(), Failure> {
    let size = work.size;
    let what = if work.effect() == Effect::Once { "once" } else { "read" };
    let print = |entrant: &str, took: Duration| -> Result<(), Failure> {
        let nanoseconds = (took / u32::try_from(size)?).as_nanos();
        println!("{size} {what} nodes, {}\t{entrant}\t{nanoseconds}", work.shape);
        Ok(())
    };
    let at_once = if work.shape == "chain" { NonZeroUsize::MIN } else { bench.parallel };
    print("haft", driven(bench, bench.disk, work, RunStartMode::New).await?)?;
    print("the journal alone", bare::recorded(bench.disk, work, at_once).await?)?;
    if work.shape == "chain" && work.effect() == Effect::Once {
        print("two bare commits a node", bare::committed(bench.directory, work)?)?;
    }
    print("haft, journal in memory", driven(bench, bench.memory, work, RunStartMode::New).await?)?;
    print("haft, recalled", driven(bench, bench.disk, work, RunStartMode::Resume).await?)
}

async fn driven(
    bench: &Bench<'_>,
    journal: &Arc<dyn Journal>,
    work: &Work,
    start: RunStartMode,
) -> Result<Duration, Failure> {
    let runtime = runtime(bench.directory, journal)?;
    let catalogue = PlanToolCatalogue::new(runtime.registry().contracts().cloned());
    let plan = check_text(&work.text(), &catalogue, PlanInput::Absent)
        .map_err(|problems| format!("{problems:?}"))?;
    let run = RunId::parse(&format!("{}-{}-{}", work.shape, work.tool, work.size))?;
    let bounds = PlanBounds { parallel: bench.parallel, ..PlanBounds::default() };
    let options = PlanRunOptions { start, bounds, ..PlanRunOptions::new(run) };
    let took = measured(&runtime, journal, &plan, options).await?;
    runtime.shut_down().await;
    Ok(took)
}

async fn measured(
    runtime: &Runtime,
    journal: &Arc<dyn Journal>,
    plan: &CheckedPlan,
    options: PlanRunOptions,
) -> Result<Duration, Failure> {
    let session = runtime.open_connection(ConnectionOptions::headless("bench", "bench"))?;
    let started = Instant::now();
    let driven = run_plan(&session, journal, plan, options).await?;
    let took = started.elapsed();
    if driven.trace.is_success() { Ok(took) } else { Err(driven.trace.to_string().into()) }
}

fn runtime(directory: &Path, journal: &Arc<dyn Journal>) -> Result<Runtime, Failure> {
    let look = Tool::new("look").execute(|_: Item| async { Ok::<_, ToolError>("ok") });
    let order = Tool::new("order")
        .effect(Effect::Once)
        .execute_with(|_: Item, _: Cx| async { Ok::<_, ToolError>("ok") });
    let roots = WorkspaceRoots::open(directory, &[])?;
    Ok(Runtime::new(RuntimeParts {
        registry: Registry::new([look, order, plan_tool()])?,
        rules: vec![(RuleScope::Manifest, Rule::new("*", "*", RuleAction::Allow))],
        ..RuntimeParts::new(
            Arc::clone(journal),
            roots,
            directory.join("sidecars"),
            Arc::new(SystemClock),
            LeaseOwner { id: "bench".to_owned(), location: "a measurement".to_owned() },
        )
    })?)
}

/// One before all others.
fn fan_out(id: usize) -> Vec<usize> {
    if id == 0 { Vec::new() } else { vec![0] }
}

/// One after the other.
fn chain(id: usize) -> Vec<usize> {
    id.checked_sub(1).into_iter().collect()
}

/// Layers, in each of which every node waits for two of the layer before.
fn layered(id: usize) -> Vec<usize> {
    let (layer, place) = (id / LAYER_NODES, id % LAYER_NODES);
    match layer.checked_sub(1) {
        Some(before) => {
            let above = before * LAYER_NODES;
            let mut both = vec![above + place, above + (place + 7) % LAYER_NODES];
            both.sort_unstable();
            both
        }
        None => Vec::new(),
    }
}
