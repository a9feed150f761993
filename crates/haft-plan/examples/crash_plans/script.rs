//! The plan that all workers drive, its tools, and the ledger in which they leave what they did.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use haft_contract::{Cx, Effect, ErrorCode, Tool, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// Nodes of the plan.
pub(crate) const NODES: usize = 200;

/// The places of one world.
pub(crate) struct World(pub(crate) PathBuf);

#[derive(Deserialize, JsonSchema)]
struct Item {
    number: u64,
    /// The answer of a person.
    word: Option<String>,
}

impl World {
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_path_buf())
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.0.join("ledger")
    }

    pub(crate) fn trace(&self) -> PathBuf {
        self.0.join("trace.json")
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.0.join("journal.sqlite")
    }
}

/// Returns whether a node asks a person.
pub(crate) fn is_question(id: usize) -> bool {
    id % 25 == 4
}

/// Returns the answer of a person to a question of the plan. All persons answer alike, so all worlds have the same trace.
pub(crate) fn spoken_answer(question: &str) -> String {
    format!("yes to: {question}")
}

/// Returns the plan: orders that build on what was looked up, some of which cannot be, in several layers. Some build on the answer
/// of a person.
pub(crate) fn plan() -> Value {
    let node = |id: usize| {
        if is_question(id) {
            let before: Vec<usize> = id.checked_sub(3).into_iter().collect();
            let of_before = before.first().map(|id| format!("{{{{STEPS.{id}.next}}}}"));
            let question = format!("May {id} follow {}?", of_before.unwrap_or_default());
            return json!({"id": id, "question": question, "depends_on": before});
        }
        let earlier: Vec<usize> = [7, 20].iter().filter_map(|back| id.checked_sub(*back)).collect();
        if let Some(asked) = earlier.iter().copied().find(|earlier| is_question(*earlier)) {
            return json!({
                "id": id, "tool": "order",
                "inputs": {"number": id, "word": format!("{{{{STEPS.{asked}}}}}")},
                "depends_on": sorted(earlier), "on_fail": "continue"
            });
        }
        let tool = if id.is_multiple_of(3) { "look" } else { "order" };
        let number = match earlier.first() {
            Some(node) => json!(format!("{{{{STEPS.{node}.next}}}}")),
            None => json!(id),
        };
        json!({
            "id": id, "tool": tool, "inputs": {"number": number}, "depends_on": sorted(earlier),
            "on_fail": "continue", "retry": if tool == "look" { 1 } else { 0 }
        })
    };
    json!({"nodes": (0..NODES).map(node).collect::<Vec<_>>(), "final_output_node": NODES - 1})
}

fn sorted(mut ids: Vec<usize>) -> Vec<usize> {
    ids.sort_unstable();
    ids
}

/// Returns the tools of a world.
pub(crate) fn tools(world: &World) -> Vec<Tool> {
    let ledger = world.ledger();
    let order = Tool::new("order").effect(Effect::Once).dangerous().execute_blocking(
        move |item: Item, cx: &Cx| {
            let (node, key) = (cx.attempt_address().node.clone(), cx.idempotency_key());
            let line = format!("{node} {} {key} {}\n", item.number, item.word.unwrap_or_default());
            append(&ledger, &line)?;
            Ok::<_, ToolError>(answer(item.number))
        },
    );
    let look = Tool::new("look").execute(|item: Item| async move {
        // Some cannot be looked up, ever, so that what builds on them is skipped.
        if item.number == 22 {
            return Err(ToolError::new(ErrorCode::Unavailable, "there is no 22"));
        }
        Ok(answer(item.number))
    });
    [order, look].into_iter().chain(haft_plan::drive::plan_tools()).collect()
}

/// Returns what every tool answers.
pub(crate) fn answer(number: u64) -> Value {
    json!({"next": number + 1})
}

fn append(path: &Path, line: &str) -> std::io::Result<()> {
    let mut file: File = OpenOptions::new().create(true).append(true).open(path)?;
    file.write_all(line.as_bytes())
}
