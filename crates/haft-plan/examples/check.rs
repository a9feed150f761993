//! Measures how long plans of several shapes and sizes take to be parsed, checked and drawn, and prints a table of
//! tab-separated values: shape, nodes, bytes, and microseconds for each step, the best of several rounds. It measures
//! neither tools nor journals.

use std::time::{Duration, Instant};

use haft_contract::{Contract, Effect, OutputLimit, RequirementSet, ToolId, ToolKind, ToolOrigin};
use haft_plan::{DrawingCharset, PlanGraph, PlanInput, PlanToolCatalogue, check, parse};
use serde_json::{Value, json};

const ROUNDS: usize = 7;

fn main() {
    let tools = PlanToolCatalogue::new([contract()]);
    println!("shape\tnodes\tbytes\tparse_us\tcheck_us\tsvg_us\tlist_us");
    for count in [200, 10_000] {
        for (shape, edges) in
            [("fan-out", fan_out as Edges), ("chain", chain), ("layered", layered)]
        {
            let text = plan(count, edges).to_string();
            let parsed = parse(&text).expect("the plan is well formed");
            let graph = PlanGraph::new(&parsed);
            let steps = [
                best(|| serde_json::from_str::<Value>(&text).is_ok()),
                best(|| parse(&text).is_ok()),
                best(|| check(&parsed, &tools, PlanInput::Absent).is_ok()),
                best(|| !graph.svg().is_empty()),
                best(|| !graph.terminal(100, DrawingCharset::Unicode).is_empty()),
            ];
            let times = steps.map(|time| time.as_micros().to_string()).join("\t");
            println!("{shape}\t{count}\t{}\t{times}", text.len());
        }
    }
}

type Edges = fn(usize, usize) -> Vec<usize>;

fn fan_out(id: usize, count: usize) -> Vec<usize> {
    if id == 0 {
        Vec::new()
    } else if id + 1 == count {
        (1..id).collect()
    } else {
        vec![0]
    }
}

fn chain(id: usize, _: usize) -> Vec<usize> {
    id.checked_sub(1).into_iter().collect()
}

fn layered(id: usize, _: usize) -> Vec<usize> {
    let layer = id / 100 * 100;
    match layer.checked_sub(100) {
        Some(above) => vec![above + id % 100, above + (id + 7) % 100],
        None => Vec::new(),
    }
}

fn plan(count: usize, edges: Edges) -> Value {
    let node = |id: usize| {
        let earlier = edges(id, count);
        let texts: Vec<String> =
            earlier.iter().map(|one| format!("{{{{STEPS.{one}.items[0].name}}}}")).collect();
        json!({"id": id, "tool": "fetch", "inputs": {"url": format!("https://example.org/{id}"), "texts": texts},
               "depends_on": earlier, "metadata": {"purpose": "measure"}})
    };
    json!({"nodes": (0..count).map(node).collect::<Vec<_>>(), "final_output_node": count - 1})
}

fn contract() -> Contract {
    Contract {
        id: ToolId::parse("fetch").expect("a literal id"),
        description: String::new(),
        parameters: json!({
            "type": "object",
            "properties": {
                "url": {"type": "string", "maxLength": 200},
                "texts": {"type": "array", "items": {"type": "string"}}
            },
            "required": ["url"],
            "additionalProperties": false
        }),
        output: None,
        example_output: None,
        requires: RequirementSet::default(),
        effect: Effect::Read,
        dangerous: false,
        kind: ToolKind::Fetch,
        origin: ToolOrigin::Native,
        output_limit: OutputLimit::Configured,
        redacted: Vec::new(),
        accepts_key: false,
        function: None,
        shell_line: None,
        calls_at_once_max: None,
        only_changes_files: false,
        delegates: false,
        is_internal: false,
        only_if_named: false,
        connection_store: None,
        listed_if: haft_contract::ListingCondition::Always,
    }
}

fn best(step: impl Fn() -> bool) -> Duration {
    let time = || {
        let start = Instant::now();
        assert!(step(), "a step failed");
        start.elapsed()
    };
    (0..ROUNDS).map(|_| time()).min().unwrap_or_default()
}
