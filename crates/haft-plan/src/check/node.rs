//! One node: its numbers, its work, its dependencies.

use std::ops::RangeInclusive;
use std::sync::Arc;

use haft::{InputSchema, near_matches};
use haft_contract::Effect;
use haft_contract::limits::{QUESTION_CHARS_MAX, QUESTION_LABEL_CHARS_MAX, QUESTION_OPTIONS_MAX};

use super::ids::NodeIdTarget;
use super::inputs::check_inputs;
use super::plan_check::PlanCheck;
use crate::checked::{CheckedNode, CheckedRepetition};
use crate::limits::{RESOURCE_CHARS_MAX, RESOURCES_MAX};
use crate::message_text::{listed, shortened};
use crate::node_id::NodeId;
use crate::parse::{ITERATIONS_RANGE, RETRY_RANGE, STEPS_RANGE, TIMEOUT_RANGE, out_of_range};
use crate::plan::{AgentWork, PlanNode, PlanWork, RepeatUntil};
use crate::problem::{Code, PlanProblems};
use crate::reference::read_path;
use crate::tools::PlanTool;

/// Checks a node; returns it unless its tool is not known or its inputs cannot be read.
pub(super) fn check_node(node: &PlanNode, check: &mut PlanCheck<'_>) -> Option<CheckedNode> {
    let (contract, tool) = match &node.work {
        PlanWork::Call { tool, function, .. } => {
            let tool = check_tool(node, tool, function.as_deref(), check);
            (tool.map(|tool| Arc::clone(tool.contract)), tool)
        }
        PlanWork::Agent(work) => {
            check_agent_work(node.id, work, check);
            (Some(check.agent_contract()), None)
        }
        PlanWork::Person { question, options } => {
            check_question(node.id, question, options, check.problems);
            (Some(check.person_contract()), None)
        }
    };
    let depends_on = check_dependencies(node, check);
    check_range(node.id, "retry", u64::from(node.retry), RETRY_RANGE, check.problems);
    check_range(node.id, "timeout", u64::from(node.timeout_s()), TIMEOUT_RANGE, check.problems);
    let resources = check_resources(node, check.problems);
    let repeat = check_repetition(node, check.problems);
    let inputs = check_inputs(node, tool, &depends_on, check);
    Some(CheckedNode {
        id: node.id,
        contract: contract?,
        inputs,
        depends_on,
        dependents: Vec::new(),
        retry: node.retry,
        timeout_ms: u64::from(node.timeout_s()) * 1_000,
        on_fail: node.on_fail,
        resources,
        repeat,
    })
}

/// Checks that the agent and the tools of an agent node exist, and that its schema can be used.
fn check_agent_work(id: NodeId, work: &AgentWork, check: &mut PlanCheck<'_>) {
    let AgentWork { agent, prompt, tools, output, max_steps } = work;
    let agents = check.tools.agents();
    if !agents.iter().any(|known| known.name == *agent) {
        let names = || agents.iter().map(|known| known.name.as_str());
        let found = shortened(&format!("{agent:?}"));
        let message = match near_matches(agent, names()).as_slice() {
            _ if agents.is_empty() => {
                format!("there is no agent {found}: no agents can be given tasks here")
            }
            [] => format!("there is no agent {found}; use one of {}", listed(names())),
            near => format!("there is no agent {found}; did you mean {}?", near.join(" or ")),
        };
        check.problems.push_for_node(id, "agent", Code::UnknownAgent, message);
    }
    if prompt.trim().is_empty() {
        let message = "the prompt is blank: say what the agent is to do";
        check.problems.push_for_node(id, "prompt", Code::MissingParameter, message);
    }
    for (place, tool) in tools.iter().flatten().enumerate() {
        if let Err(message) = check.tools.find(tool) {
            let field = format!("tools[{place}]");
            check.problems.push_for_node(id, &field, Code::UnknownTool, message);
        }
    }
    if let Some(Err(why)) = output.as_ref().map(InputSchema::compile) {
        let message = format!("it is not a JSON Schema that can be used: {why}");
        check.problems.push_for_node(id, "output", Code::BadSchema, message);
    }
    if let Some(steps) = max_steps {
        check_range(id, "max_steps", u64::from(*steps), STEPS_RANGE, check.problems);
    }
}

/// Checks that a question to a person can be answered.
fn check_question(id: NodeId, question: &str, options: &[String], problems: &mut PlanProblems) {
    if question.trim().is_empty() {
        let message = "the question is blank: say what the person is to answer";
        problems.push_for_node(id, "question", Code::MissingParameter, message);
    } else if question.chars().count() > QUESTION_CHARS_MAX {
        let message = format!("a question has at most {QUESTION_CHARS_MAX} characters: shorten it");
        problems.push_for_node(id, "question", Code::TooLarge, message);
    }
    if options.len() > QUESTION_OPTIONS_MAX {
        let message = format!("a question has at most {QUESTION_OPTIONS_MAX} options");
        problems.push_for_node(id, "options", Code::TooLarge, message);
    }
    for (place, option) in options.iter().enumerate() {
        let field = format!("options[{place}]");
        if option.trim().is_empty() || option.chars().count() > QUESTION_LABEL_CHARS_MAX {
            let message = format!("expected 1 to {QUESTION_LABEL_CHARS_MAX} characters");
            problems.push_for_node(id, &field, Code::BadName, message);
        } else if options.iter().take(place).any(|other| other.trim() == option.trim()) {
            let found = shortened(&format!("{option:?}"));
            let message = format!("{found} is an option already: name it once");
            problems.push_for_node(id, &field, Code::BadName, message);
        }
    }
}

/// Checks the condition until which a node is repeated.
fn check_repetition(node: &PlanNode, problems: &mut PlanProblems) -> Option<CheckedRepetition> {
    let RepeatUntil { path, equals, max_iterations } = node.repeat_until.as_ref()?;
    let field = "repeat_until.max_iterations";
    check_range(node.id, field, u64::from(*max_iterations), ITERATIONS_RANGE, problems);
    let path = read_path(path).map_err(|why| {
        let message = format!("it is not a path that can be read: {why}");
        problems.push_for_node(node.id, "repeat_until.path", Code::BadReference, message);
    });
    Some(CheckedRepetition {
        path: path.ok()?,
        equals: equals.clone(),
        max_iterations: *max_iterations,
    })
}

fn check_tool<'a>(
    node: &PlanNode,
    name: &str,
    function: Option<&str>,
    check: &mut PlanCheck<'a>,
) -> Option<PlanTool<'a>> {
    let tool = match check.tools.find(name) {
        Ok(tool) => tool,
        Err(message) => {
            check.problems.push_for_node(node.id, "tool", Code::UnknownTool, message);
            return None;
        }
    };
    if tool.contract.delegates {
        let message = format!(
            "{} gives a task to an agent: write an agent node in its place, as {{\"id\": {}, \"agent\": \"NAME\", \
             \"prompt\": \"the task\"}}",
            tool.contract.id, node.id
        );
        check.problems.push_for_node(node.id, "tool", Code::AgentNode, message);
        return None;
    }
    let id = &tool.contract.id;
    if let Some(function) = function {
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
        let instead = match tool.contract.requires.shell.is_empty() {
            true => "use a tool that is safe to repeat",
            false => {
                "if the command is safe to repeat, declare it under [[commands]] of the manifest with effect = \"idempotent\", and \
                 call that"
            }
        };
        let message = format!(
            "{id} changes something each time it is called, and a failed attempt may have done so already: \
             leave retry out, or {instead}"
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
