//! One node: its numbers, its tool, its dependencies.

use std::ops::RangeInclusive;
use std::sync::Arc;

use haft_contract::Effect;

use super::ids::NodeIdTarget;
use super::inputs::check_inputs;
use super::plan_check::PlanCheck;
use crate::checked::CheckedNode;
use crate::limits::{RESOURCE_CHARS_MAX, RESOURCES_MAX};
use crate::message_text::shortened;
use crate::node_id::NodeId;
use crate::parse::{RETRY_RANGE, TIMEOUT_RANGE, out_of_range};
use crate::plan::PlanNode;
use crate::problem::{Code, PlanProblems};
use crate::tools::PlanTool;

/// Checks a node; returns it unless its tool is not known or its inputs cannot be read.
pub(super) fn check_node(node: &PlanNode, check: &mut PlanCheck<'_>) -> Option<CheckedNode> {
    let tool = check_tool(node, check);
    let depends_on = check_dependencies(node, check);
    check_range(node.id, "retry", u64::from(node.retry), RETRY_RANGE, check.problems);
    check_range(node.id, "timeout", u64::from(node.timeout_s), TIMEOUT_RANGE, check.problems);
    let resources = check_resources(node, check.problems);
    let inputs = check_inputs(node, tool, &depends_on, check);
    Some(CheckedNode {
        id: node.id,
        contract: Arc::clone(tool?.contract),
        inputs,
        depends_on,
        dependents: Vec::new(),
        retry: node.retry,
        timeout_ms: u64::from(node.timeout_s) * 1_000,
        on_fail: node.on_fail,
        resources,
    })
}

fn check_tool<'a>(node: &PlanNode, check: &mut PlanCheck<'a>) -> Option<PlanTool<'a>> {
    let tool = match check.tools.find(&node.tool) {
        Ok(tool) => tool,
        Err(message) => {
            check.problems.push_for_node(node.id, "tool", Code::UnknownTool, message);
            return None;
        }
    };
    let id = &tool.contract.id;
    if let Some(function) = &node.function {
        let found = shortened(&format!("{function:?}"));
        let message = match tool.contract.function.as_deref() {
            Some(expected) if expected == function => None,
            Some(expected) => {
                Some(format!("expected {expected:?}, the function of {id}, found {found}"))
            }
            // Smith's plans name a function in every node; the tool's own name says nothing wrong.
            None if function == id.as_str() => None,
            None => Some(format!("{id} has no functions, found {found}: leave function out")),
        };
        if let Some(message) = message {
            check.problems.push_for_node(node.id, "function", Code::WrongFunction, message);
        }
    }
    let may_be_repeated = match tool.contract.effect {
        Effect::Read | Effect::Idempotent => true,
        Effect::Once => tool.contract.accepts_key,
    };
    if node.retry > 0 && !may_be_repeated {
        let message = format!(
            "{id} changes something each time it is called, and a failed attempt may have done so already: \
             leave retry out, or use a tool that is safe to repeat"
        );
        check.problems.push_for_node(node.id, "retry", Code::RetryOfOnce, message);
    }
    Some(tool)
}

/// Checks what the node waits for, and returns it in order, each once.
fn check_dependencies(node: &PlanNode, check: &mut PlanCheck<'_>) -> Vec<NodeId> {
    let mut places: Vec<(NodeId, usize)> =
        node.depends_on.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    places.sort_unstable();
    let mut before = None;
    for (id, place) in &places {
        let target = check.ids.find_node(*id);
        let problem = if before == Some(*id) {
            let message = format!("node {id} is named already: name it once");
            Some((Code::DuplicateDependency, message))
        } else if target == NodeIdTarget::Missing {
            let message = format!("there is no node {id}: the plan has {}", check.ids.describe());
            Some((Code::UnknownDependency, message))
        } else if target == NodeIdTarget::At(check.place) {
            let message = "a node cannot depend on itself: remove it".to_owned();
            Some((Code::SelfDependency, message))
        } else if let NodeIdTarget::At(other) = target
            && other > check.place
            && !check.circular.contains(&(check.place, other))
        {
            let message = format!(
                "node {id} comes later: a node depends on earlier ones only, so move node {id} before this one and number \
                 the nodes anew"
            );
            Some((Code::LaterDependency, message))
        } else {
            None
        };
        if let Some((code, message)) = problem {
            check.problems.push_for_node(node.id, &format!("depends_on[{place}]"), code, message);
        }
        before = Some(*id);
    }
    let mut ids: Vec<NodeId> = places.into_iter().map(|(id, _)| id).collect();
    ids.dedup();
    ids
}

fn check_range(
    node: NodeId,
    field: &str,
    value: u64,
    range: RangeInclusive<u64>,
    problems: &mut PlanProblems,
) {
    if !range.contains(&value) {
        problems.push_for_node(
            node,
            field,
            Code::OutOfRange,
            out_of_range(&range, &value.to_string()),
        );
    }
}

/// Checks the names of resources, and returns them in order.
fn check_resources(node: &PlanNode, problems: &mut PlanProblems) -> Vec<String> {
    let names = &node.resources;
    if names.len() > RESOURCES_MAX {
        let message =
            format!("a node names at most {RESOURCES_MAX} resources, found {}", names.len());
        problems.push_for_node(node.id, "resources", Code::TooLarge, message);
        return Vec::new();
    }
    for (place, name) in names.iter().enumerate() {
        let is_bad = name.trim().is_empty()
            || name.chars().any(char::is_control)
            || name.chars().nth(RESOURCE_CHARS_MAX).is_some();
        let message = if is_bad {
            format!(
                "expected 1 to {RESOURCE_CHARS_MAX} characters, found {}",
                shortened(&format!("{name:?}"))
            )
        } else if names.iter().take(place).any(|other| other == name) {
            format!("{} is named already: name it once", shortened(&format!("{name:?}")))
        } else {
            continue;
        };
        problems.push_for_node(node.id, &format!("resources[{place}]"), Code::BadName, message);
    }
    let mut sorted = names.clone();
    sorted.sort_unstable();
    sorted
}
