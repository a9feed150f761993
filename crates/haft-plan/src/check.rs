//! Decides whether a plan is valid as a whole, and says everything that is wrong with it at once. Pure: tools are asked
//! for their contracts and nothing is called. Whether a call will be allowed is not decided here.

mod graph;
mod ids;
mod inputs;
mod node;
mod plan_check;

use std::collections::HashMap;

use haft_contract::ToolId;
use serde_json::Value;

use crate::checked::{CheckedNode, CheckedPlan, PlanInput};
use crate::limits::PLAN_NODES_MAX;
use crate::node_id::NodeId;
use crate::parse::{PlanDraft, UnreadNodes, read_text};
use crate::plan::{Plan, PlanNode};
use crate::problem::{Code, PlanProblem, PlanProblems};
use crate::tools::PlanToolLookup;

use ids::{NodeIdNumbering, NodeIdTarget, PlanNodeIds};
use inputs::check_input_references;
use plan_check::PlanCheck;

/// Checks a plan, or returns everything that is wrong with it.
pub fn check(
    plan: &Plan,
    tools: &dyn PlanToolLookup,
    input: PlanInput<'_>,
) -> Result<CheckedPlan, Vec<PlanProblem>> {
    let draft = PlanDraft { plan: Some(plan.clone()), ..PlanDraft::default() };
    check_draft(draft, tools, input)
}

/// Reads a plan from text and checks it, or returns everything that is wrong with its form and with its meaning.
pub fn check_text(
    text: &str,
    tools: &dyn PlanToolLookup,
    input: PlanInput<'_>,
) -> Result<CheckedPlan, Vec<PlanProblem>> {
    check_draft(read_text(text), tools, input)
}

impl CheckedPlan {
    /// Checks that every reference to the input of the plan names something in `input`, for a plan that was checked
    /// before the input was known.
    pub fn check_input(&self, input: Option<&Value>) -> Result<(), Vec<PlanProblem>> {
        let input = input.map_or(PlanInput::Absent, PlanInput::Given);
        let mut problems = PlanProblems::default();
        for node in &self.nodes {
            let node_and_work = (node.id, node.is_own_work());
            check_input_references(node_and_work, &node.inputs, input, &mut problems);
        }
        if problems.is_empty() { Ok(()) } else { Err(problems.into_list()) }
    }
}

fn check_draft(
    draft: PlanDraft,
    tools: &dyn PlanToolLookup,
    input: PlanInput<'_>,
) -> Result<CheckedPlan, Vec<PlanProblem>> {
    let PlanDraft { plan, mut problems, stand_ins } = draft;
    let Some(plan) = plan else { return Err(problems.into_list()) };
    let mut later = PlanProblems::default();
    let ids = PlanNodeIds::of(&plan, &stand_ins);
    let mut check = PlanCheck::new(tools, input, ids, &mut later);
    let (mut nodes, allow) = check_whole(&plan, &mut check, &stand_ins);
    problems.append_new(later);
    if !problems.is_empty() {
        return Err(problems.into_list());
    }
    graph::add_dependents(&mut nodes);
    Ok(CheckedPlan { plan, nodes, allow })
}

/// Returns the nodes and the allowed tools, as far as they are valid.
fn check_whole(
    plan: &Plan,
    check: &mut PlanCheck<'_>,
    stand_ins: &UnreadNodes,
) -> (Vec<CheckedNode>, Vec<ToolId>) {
    let count = plan.nodes.len();
    if count == 0 {
        check.problems.push_for_plan(
            "nodes",
            Code::NoNodes,
            "a plan has at least one node: add one",
        );
    }
    if count > PLAN_NODES_MAX {
        let message = format!("a plan has at most {PLAN_NODES_MAX} nodes, this one has {count}");
        check.problems.push_for_plan("nodes", Code::TooLarge, message);
        return (Vec::new(), Vec::new());
    }
    // Every id must be the place of its node, so that ids are places from here on.
    let mut seen = HashMap::new();
    if let NodeIdNumbering::Shifted(first) = check.ids.numbering {
        let message = format!(
            "ids begin with {first}, expected 0: count all ids from 0, and change depends_on, references and \
             final_output_node with them"
        );
        check.problems.push_for_plan("nodes[0].id", Code::BadId, message);
    } else {
        for (place, PlanNode { id: found, .. }) in plan.nodes.iter().enumerate() {
            if stand_ins.ids.contains(&place) {
                continue;
            }
            let field = format!("nodes[{place}].id");
            if let Some(first) = seen.get(found) {
                let message = format!(
                    "id {found} is taken by nodes[{first}]: ids count from 0 in the order of the nodes, so this one is {place}"
                );
                check.problems.push_for_plan(&field, Code::DuplicateId, message);
            } else if *found != NodeId::at(place) {
                let message = format!(
                    "expected {place}, found {found}: ids count from 0 in the order of the nodes, without gaps"
                );
                check.problems.push_for_plan(&field, Code::BadId, message);
            }
            seen.entry(*found).or_insert(place);
        }
    }
    graph::check_cycles(plan, check);
    let mut nodes = Vec::with_capacity(count);
    for (place, node) in plan.nodes.iter().enumerate() {
        if !stand_ins.nodes.contains(&place) {
            check.select_node(place);
            nodes.extend(node::check_node(node, check));
        }
    }
    check.problems.select_node(None);
    if count > 0 && check.ids.find_node(plan.final_output_node) == NodeIdTarget::Missing {
        let (found, ids) = (plan.final_output_node, check.ids.describe());
        let message = format!("there is no node {found}: the plan has {ids}");
        check.problems.push_for_plan("final_output_node", Code::UnknownFinalNode, message);
    }
    let mut allow = Vec::new();
    for (place, name) in plan.allow.iter().enumerate() {
        match check.tools.find(name) {
            Ok(tool) => allow.push(tool.contract.id.clone()),
            Err(message) => {
                let field = format!("allow[{place}]");
                check.problems.push_for_plan(&field, Code::UnknownTool, message);
            }
        }
    }
    allow.sort_unstable();
    allow.dedup();
    (nodes, allow)
}

#[cfg(test)]
mod tests;
