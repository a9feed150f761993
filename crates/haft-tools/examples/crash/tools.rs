//! Tools whose effects can be counted afterwards: each appends the key of its call to a file that haft knows nothing of.
//! The tools that change files and run commands are the real ones.

use std::io;
use std::path::Path;
use std::sync::Arc;

use haft_contract::{Cx, Effect, ErrorCode, ProbeResult, Tool, ToolError};
use haft_tools::{Profile, tools};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::point::Points;
use crate::world::{World, append, count_lines};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    item: String,
}

/// Returns the tools of a worker.
pub(crate) fn of_world(world: &World, points: &Arc<Points>) -> Vec<Tool> {
    let mut all = tools(Profile::default(), &haft_tools::ToolOptions::default());
    all.extend([orders(world, points), orders_with_a_probe(world, points), notes(world)]);
    all
}

fn orders(world: &World, points: &Arc<Points>) -> Tool {
    let (ledger, points) = (world.ledger(), Arc::clone(points));
    Tool::new("order").effect(Effect::Once).execute_with(move |input: Input, cx: Cx| {
        let ordered = order(&ledger, &points, &input, &cx);
        async { ordered }
    })
}

fn orders_with_a_probe(world: &World, points: &Arc<Points>) -> Tool {
    let (ledger, points) = (world.ledger(), Arc::clone(points));
    let looked_into = world.ledger();
    let probe = move |input: Input, cx: Cx| {
        let probed = count_lines(&looked_into).map_err(failed).map(|counts| {
            match counts.contains_key(&cx.idempotency_key()) {
                true => ProbeResult::Happened(answer(&input)),
                false => ProbeResult::NotHappened,
            }
        });
        async { probed }
    };
    let tool = Tool::new("probed").effect(Effect::Once).probe(probe);
    tool.execute_with(move |input: Input, cx: Cx| {
        let ordered = order(&ledger, &points, &input, &cx);
        async { ordered }
    })
}

fn notes(world: &World) -> Tool {
    let notes = world.notes();
    Tool::new("note").effect(Effect::Idempotent).execute_with(move |input: Input, cx: Cx| {
        let noted = append(&notes, &cx.idempotency_key()).map_err(failed);
        async move { noted.map(|_| answer(&input)) }
    })
}

fn order(ledger: &Path, points: &Points, input: &Input, cx: &Cx) -> Result<String, ToolError> {
    points.pass("before-effect");
    let file = append(ledger, &cx.idempotency_key()).map_err(failed)?;
    points.pass("mid-effect");
    file.sync_data().map_err(failed)?;
    points.pass("after-effect");
    Ok(answer(input))
}

fn answer(input: &Input) -> String {
    format!("{} is taken care of", input.item)
}

fn failed(err: io::Error) -> ToolError {
    ToolError::new(ErrorCode::ToolFailed, err.to_string())
}
