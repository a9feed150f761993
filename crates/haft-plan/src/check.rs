//! Decides whether a plan is valid as a whole, and says everything that is wrong with it at once. Pure: tools are asked
//! for their contracts and nothing is called. Whether a call will be allowed is not decided here.

mod graph;
mod ids;
mod inputs;
mod node;

use std::collections::{HashMap, HashSet};

use haft_contract::ToolId;

use crate::checked::{CheckedNode, CheckedPlan, Input};
use crate::limits::PLAN_NODES_MAX;
use crate::parse::{StandIns, read_text};
use crate::plan::{NodeId, Plan};
use crate::problem::{Code, Problem, Problems, listed, shortened};
use crate::tools::{KnownTool, Tools};

use ids::{Ids, Meant, Numbering};
pub(crate) use inputs::check_input_references;

/// Checks a plan, or returns everything that is wrong with it.
pub fn check(
    plan: &Plan,
    tools: &dyn Tools,
    input: Input<'_>,
) -> Result<CheckedPlan, Vec<Problem>> {
    let mut problems = Problems::default();
    let stand_ins = StandIns::default();
    let ids = Ids::of(plan, &stand_ins);
    let checked = check_whole(plan, &mut Check::new(tools, input, ids, &mut problems), &stand_ins);
    finish(plan.clone(), checked, problems)
}

/// Reads a plan from text and checks it, or returns everything that is wrong with its form and with its meaning.
pub fn check_text(
    text: &str,
    tools: &dyn Tools,
    input: Input<'_>,
) -> Result<CheckedPlan, Vec<Problem>> {
    let draft = read_text(text);
    let Some(plan) = draft.plan else { return Err(draft.problems.into_list()) };
    let mut problems = draft.problems;
    let mut later = Problems::default();
    let ids = Ids::of(&plan, &draft.stand_ins);
    let mut check = Check::new(tools, input, ids, &mut later);
    let checked = check_whole(&plan, &mut check, &draft.stand_ins);
    problems.add_others(later);
    finish(plan, checked, problems)
}

/// What a plan means, as far as nothing is wrong with it.
#[derive(Default)]
struct Meaning {
    nodes: Vec<CheckedNode>,
    allow: Vec<ToolId>,
}

fn finish(plan: Plan, meaning: Meaning, problems: Problems) -> Result<CheckedPlan, Vec<Problem>> {
    if !problems.is_empty() {
        return Err(problems.into_list());
    }
    let Meaning { mut nodes, allow } = meaning;
    graph::add_dependents(&mut nodes);
    Ok(CheckedPlan { plan, nodes, allow })
}

/// What is at hand while a plan is checked.
struct Check<'a> {
    tools: CalledTools<'a>,
    input: Input<'a>,
    ids: Ids,
    /// Dependencies that are part of a circle, which is reported as such, by the places of their nodes.
    circular: HashSet<(usize, usize)>,
    /// The place of the node that is checked.
    place: usize,
    problems: &'a mut Problems,
}

impl<'a> Check<'a> {
    fn new(tools: &'a dyn Tools, input: Input<'a>, ids: Ids, problems: &'a mut Problems) -> Self {
        let tools = CalledTools { tools, found: HashMap::new() };
        Self { tools, input, ids, circular: HashSet::new(), place: 0, problems }
    }

    fn turn_to(&mut self, place: usize) {
        self.place = place;
        self.problems.turn_to(Some(place));
    }
}

fn check_whole(plan: &Plan, check: &mut Check<'_>, stand_ins: &StandIns) -> Meaning {
    let count = plan.nodes.len();
    if count == 0 {
        check.problems.of_plan("nodes", Code::NoNodes, "a plan has at least one node: add one");
    }
    if count > PLAN_NODES_MAX {
        let message = format!("a plan has at most {PLAN_NODES_MAX} nodes, this one has {count}");
        check.problems.of_plan("nodes", Code::TooLarge, message);
        return Meaning::default();
    }
    check_ids(plan, check, stand_ins);
    graph::check_cycles(plan, check);
    let mut nodes = Vec::with_capacity(count);
    for (place, node) in plan.nodes.iter().enumerate() {
        if !stand_ins.nodes.contains(&place) {
            check.turn_to(place);
            nodes.extend(node::check_node(node, check));
        }
    }
    check.problems.turn_to(None);
    if count > 0 && check.ids.meant(plan.final_output_node) == Meant::Nobody {
        let (found, ids) = (plan.final_output_node, check.ids.describe());
        let message = format!("there is no node {found}: the plan has {ids}");
        check.problems.of_plan("final_output_node", Code::UnknownFinalNode, message);
    }
    Meaning { nodes, allow: check_allow(plan, check) }
}

fn check_allow(plan: &Plan, check: &mut Check<'_>) -> Vec<ToolId> {
    let mut ids = Vec::new();
    for (place, name) in plan.allow.iter().enumerate() {
        match check.tools.find(name) {
            Ok(tool) => ids.push(tool.contract.id.clone()),
            Err(message) => {
                check.problems.of_plan(&format!("allow[{place}]"), Code::UnknownTool, message);
            }
        }
    }
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Every id must be the place of its node, so that ids are places from here on.
fn check_ids(plan: &Plan, check: &mut Check<'_>, stand_ins: &StandIns) {
    if let Numbering::Shifted(first) = check.ids.numbering {
        let message = format!(
            "ids begin with {first}, expected 0: count all ids from 0, and change depends_on, references and \
             final_output_node with them"
        );
        check.problems.of_plan("nodes[0].id", Code::BadId, message);
        return;
    }
    let mut seen = HashMap::new();
    for (place, node) in plan.nodes.iter().enumerate() {
        if stand_ins.ids.contains(&place) {
            continue;
        }
        let field = format!("nodes[{place}].id");
        let found = node.id;
        if let Some(first) = seen.get(&found) {
            let message = format!(
                "id {found} is taken by nodes[{first}]: ids count from 0 in the order of the nodes, so this one is {place}"
            );
            check.problems.of_plan(&field, Code::DuplicateId, message);
        } else if found != NodeId::at(place) {
            let message = format!(
                "expected {place}, found {found}: ids count from 0 in the order of the nodes, without gaps"
            );
            check.problems.of_plan(&field, Code::BadId, message);
        }
        seen.entry(found).or_insert(place);
    }
}

/// The tools that the plan calls; each is looked for once.
struct CalledTools<'a> {
    tools: &'a dyn Tools,
    found: HashMap<String, Result<KnownTool<'a>, String>>,
}

impl<'a> CalledTools<'a> {
    /// Returns the tool, or a message that says that there is none.
    fn find(&mut self, name: &str) -> Result<KnownTool<'a>, String> {
        if let Some(found) = self.found.get(name) {
            return found.clone();
        }
        let found = self.tools.find(name).ok_or_else(|| {
            let near = self.tools.near_matches(name);
            let hint = if near.is_empty() {
                format!("use one of {}", listed(self.tools.names().into_iter()))
            } else {
                format!("did you mean {}?", near.join(" or "))
            };
            format!("there is no tool {}; {hint}", shortened(&format!("{name:?}")))
        });
        self.found.insert(name.to_owned(), found.clone());
        found
    }
}

#[cfg(test)]
mod tests;
