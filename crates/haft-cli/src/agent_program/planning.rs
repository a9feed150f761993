//! Lets a model make a plan for a request, and checks the plan. Prints the progress, and explains a failure. Nothing is
//! executed here.

use haft::Registry;
use haft_contract::{Contract, Effect, PatternVariables, ToolId, cut};
use haft_model::{ModelRetry, ProviderModel};
use haft_plan::drive::PLAN_TOOL;
use haft_plan::planner::{
    GeneratedPlan, PlannerRequest, PlanningError, PlanningResult, PlanningStep, make_plan,
};
use haft_plan::{CheckedPlan, Plan, PlanInput, PlanProblem, PlanToolCatalogue};
use haft_policy::{Conditions, RuleAction, RuleSet, decide_access};
use serde_json::Value;

use super::model_text::retrying;
use crate::asking::escape_text;
use crate::error::CommandError;
use crate::model::ModelArgs;
use crate::plan_run::{NODES_LISTED_MAX, dangerous, is_name_of};
use crate::views::output;
use haft_app::Preset;
use haft_app::compose;
use haft_app::quote;
use haft_app::settings::EffectiveSettings;

/// Problems of a plan that are shown at once.
pub(crate) const PROBLEMS_SHOWN_MAX: usize = 20;
/// Longest shown inputs and longest shown purpose of a node in that list, in characters.
pub(crate) const NODE_CHARS_MAX: usize = 400;

/// The request for a plan.
pub(crate) struct PlanMakingRequest<'a> {
    pub(crate) request: &'a str,
    pub(crate) input: Option<&'a Value>,
    pub(crate) settings: &'a EffectiveSettings,
}

/// Lets the model make a plan of the tools on offer. Prints its progress on standard error.
pub(crate) async fn request_plan(
    model: &ProviderModel,
    registry: &Registry,
    catalogue: &PlanToolCatalogue,
    wish: &PlanMakingRequest<'_>,
) -> Result<GeneratedPlan, CommandError> {
    let offered = offered(registry, wish.settings)?;
    let name = model.name();
    let observer = |step: &PlanningStep<'_>| match step {
        PlanningStep::Asking => output::print_note(format_args!("asking {name} for a plan")),
        PlanningStep::Retrying(ModelRetry { error, pause, attempt, attempts_max }) => {
            let wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            output::print_note(retrying(&error.cause(), wait_ms, *attempt, *attempts_max));
        }
        PlanningStep::Repairing { problems, repair, repairs_max } => {
            output::print_note(format_args!(
                "the plan is not valid and goes back to the model (repair {repair} of {repairs_max}):\n{}",
                listed(problems)
            ))
        }
        // The plan crate may add further steps.
        _ => {}
    };
    let input = wish.input.map_or(PlanInput::Absent, PlanInput::Given);
    let brief = PlannerRequest {
        input,
        observer: &observer,
        ..PlannerRequest::new(wish.request, catalogue, &offered)
    };
    match make_plan(model, brief).await {
        Ok(PlanningResult::Plan(made)) => Ok(*made),
        Ok(PlanningResult::Missing(missing)) => Err(CommandError::missing(format!(
            "the tools on offer cannot do this, so there is no plan; the model says what is missing: {}",
            missing.capability
        ))
        .hint("haft tools list")),
        Err(PlanningError::Model { error, .. }) => {
            let err = CommandError::from(error);
            Err(CommandError { message: format!("no plan was made: {}", err.message), ..err })
        }
        Err(PlanningError::GaveUp { problems, repairs, .. }) => Err(CommandError::model(format!(
            "the model wrote no valid plan, and {repairs} repairs did not help: say the request more exactly, offer fewer \
             tools (--tools), or take another model (--model); the last one has these problems:\n{}",
            listed(&problems)
        ))
        .problems(problems)),
        Err(err) => Err(CommandError::usage(err)),
    }
}

/// Prints a note that names the dangerous tools of the plan.
pub(crate) fn warn_of_dangerous(plan: &CheckedPlan) {
    let names = dangerous(plan);
    if !names.is_empty() {
        output::print_note(format_args!(
            "dangerous, so that each runs only when it is allowed: {}",
            names.join(", ")
        ));
    }
}

/// Returns the tools that a plan may call. Tools that are always refused are left out: a model that knows of them makes
/// plans that fail.
fn offered(registry: &Registry, settings: &EffectiveSettings) -> Result<Vec<ToolId>, CommandError> {
    let rules = compose::rules_in_force(settings, registry)?;
    // A call without accesses matches no pattern, so the values of variables do not matter.
    let rules = RuleSet::compile(rules, &PatternVariables::default(), Conditions::default());
    let rules = rules.map_err(CommandError::usage)?;
    let is_named = |id: &ToolId| settings.allow.iter().any(|name| is_name_of(name, id));
    let is_offered = |contract: &&Contract| {
        let id = &contract.id;
        let may_act = contract.effect == Effect::Read || settings.preset != Preset::ReadOnly;
        let is_denied = decide_access(id, None, &rules).action == RuleAction::Deny;
        // A plan node has no agent loop, so it cannot start a subagent or another plan.
        let is_done_here = !contract.delegates && id.as_str() != PLAN_TOOL;
        is_done_here && (may_act || is_named(id)) && !is_denied
    };
    Ok(registry.contracts().filter(is_offered).map(|contract| contract.id.clone()).collect())
}

/// Returns the tool, the inputs and the purpose of each node. A drawing does not show them, and the person must know them
/// before agreeing. A model wrote these texts, so they are escaped.
pub(crate) fn nodes(plan: &Plan) -> String {
    let lines = plan.nodes.iter().take(NODES_LISTED_MAX).map(|node| {
        let short = |text: &str| cut(&escape_text(text), NODE_CHARS_MAX);
        let purpose = node.purpose().map(|purpose| format!(" ({})", short(purpose)));
        let (tool, inputs) = (escape_text(&node.label()), short(&node.work.input().to_string()));
        format!("{} {tool} {inputs}{}", node.id, purpose.unwrap_or_default())
    });
    let mut lines: Vec<String> = lines.collect();
    if plan.nodes.len() > NODES_LISTED_MAX {
        lines.push(format!("and {} more nodes", plan.nodes.len() - NODES_LISTED_MAX));
    }
    lines.join("\n")
}

/// Returns the command that runs a plan in a file. A model that was named in this command is named again for agent nodes.
pub(crate) fn run_command(
    plan: &CheckedPlan,
    file: &str,
    input: Option<&str>,
    model: &ModelArgs,
) -> String {
    let mut command = format!("haft run {}", quote::shell(file));
    let model = model.named_in_command().filter(|_| plan.plan().has_agent_nodes());
    command.extend(model.map(|model| format!(" --model {}", quote::shell(&model))));
    command.extend(dangerous(plan).iter().map(|tool| format!(" --allow {tool}")));
    command.extend(input.map(|input| format!(" --input {}", quote::shell(input))));
    command
}

fn listed(problems: &[PlanProblem]) -> String {
    let shown = problems.iter().take(PROBLEMS_SHOWN_MAX).map(|problem| format!("  {problem}"));
    let mut lines: Vec<String> = shown.collect();
    if problems.len() > PROBLEMS_SHOWN_MAX {
        lines.push(format!("  and {} more", problems.len() - PROBLEMS_SHOWN_MAX));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plan(nodes: usize, purpose: &str) -> Plan {
        let node = |id: usize| json!({"id": id, "tool": "read", "inputs": {"path": "a\u{1b}"}, "depends_on": [], "metadata": {"purpose": purpose}});
        let nodes: Vec<Value> = (0..nodes).map(node).collect();
        haft_plan::parse(&json!({"nodes": nodes, "final_output_node": 0}).to_string()).unwrap()
    }

    #[test]
    fn nodes_are_listed_up_to_a_number() {
        assert_eq!(nodes(&plan(1, "see")), "0 read {\"path\":\"a\\u001b\"} (see)");
        assert_eq!(nodes(&plan(NODES_LISTED_MAX, "")).lines().count(), NODES_LISTED_MAX);
        let more = nodes(&plan(NODES_LISTED_MAX + 2, ""));
        assert_eq!(more.lines().last(), Some("and 2 more nodes"));
    }

    #[test]
    fn what_a_node_is_for_is_shown_up_to_a_length_and_as_one_line() {
        assert!(nodes(&plan(1, "a\nb\u{202e}")).ends_with(r"(a\nb\u{202e})"));
        let shown = |chars| nodes(&plan(1, &"x".repeat(chars)));
        assert!(shown(NODE_CHARS_MAX).ends_with("xx)"));
        assert!(shown(NODE_CHARS_MAX + 1).ends_with("x…)"));
    }

    #[test]
    fn problems_are_listed_up_to_a_number() {
        let text = "[".to_owned() + &"{},".repeat(PROBLEMS_SHOWN_MAX) + "{}]";
        let nodes = format!("{{\"nodes\": {text}, \"final_output_node\": 0}}");
        let problems = haft_plan::parse(&nodes).unwrap_err();
        let some = |count| listed(problems.get(..count).unwrap());
        assert_eq!(some(PROBLEMS_SHOWN_MAX).lines().count(), PROBLEMS_SHOWN_MAX);
        assert_eq!(some(PROBLEMS_SHOWN_MAX + 1).lines().last(), Some("  and 1 more"));
    }
}
