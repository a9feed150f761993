//! A node's inputs: their references, and the tool's schema around them.

use haft::shown_value;
use serde_json::json;

use super::ids::NodeIdTarget;
use super::plan_check::PlanCheck;
use crate::checked::{PlanInput, field_in_node};
use crate::node_id::NodeId;
use crate::plan::{AgentWork, PlanNode, PlanWork};
use crate::problem::{Code, PlanProblems};
use crate::reference::{InputTemplate, InputTemplateFault, Reference, ReferenceSource};
use crate::schema::violations;
use crate::tools::PlanTool;

/// Checks the inputs of a node and returns them with their references read.
pub(super) fn check_inputs(
    node: &PlanNode,
    tool: Option<PlanTool<'_>>,
    depends_on: &[NodeId],
    check: &mut PlanCheck<'_>,
) -> InputTemplate {
    let input = match &node.work {
        PlanWork::Agent(work) => json!(with_tool_ids(work, check)),
        PlanWork::Call { .. } | PlanWork::Person { .. } => node.work.input().into_owned(),
    };
    let (template, errors) = InputTemplate::read(&input, "inputs");
    if !input.is_object() {
        let message = format!("expected an object of parameters, found {}", shown_value(&input));
        check.problems.push_for_node(node.id, "inputs", Code::WrongType, message);
        return template;
    }
    let is_own_work = match node.work {
        PlanWork::Call { .. } => false,
        PlanWork::Agent(_) | PlanWork::Person { .. } => true,
    };
    for error in &errors {
        let (code, message) = describe(&error.malformed);
        let field = field_in_node(is_own_work, &error.field);
        check.problems.push_for_node(node.id, field, code, message);
    }
    if is_own_work {
        check_fields(node.id, &template, check.problems);
    }
    check_steps(node.id, is_own_work, &template, depends_on, check);
    check_input_references((node.id, is_own_work), &template, check.input, check.problems);
    if let Some(tool) = tool {
        check_code(node, tool, &template, check);
        let schema = match tool.schema {
            Ok(schema) => schema,
            Err(why) => {
                let message = format!("the schema of {} cannot be used: {why}", tool.contract.id);
                check.problems.push_for_node(node.id, "tool", Code::BadSchema, message);
                return template;
            }
        };
        let input = match check.input {
            PlanInput::Given(value) => Some(value),
            PlanInput::Absent | PlanInput::Unknown => None,
        };
        let (preview, open) = template.preview(input);
        for violation in violations(schema, &preview, &open) {
            let field = format!("inputs{}", violation.field);
            // A text that could not be read was reported before.
            let is_unread = errors.iter().any(|error| {
                let rest = field.strip_prefix(&error.field);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            });
            if !is_unread {
                check.problems.push_for_node(node.id, &field, violation.code, violation.message);
            }
        }
    }
    template
}

/// Returns the task with the ids of its tools, which a plan may also name as clients do.
fn with_tool_ids(work: &AgentWork, check: &mut PlanCheck<'_>) -> AgentWork {
    let mut id = |name: &String| match check.tools.find(name) {
        Ok(tool) => tool.contract.id.to_string(),
        Err(_) => name.clone(),
    };
    let tools = work.tools.as_ref().map(|tools| tools.iter().map(&mut id).collect());
    AgentWork { tools, ..work.clone() }
}

/// Checks that no reference stands where a program reads code. A text out of a file or a page would be code there.
fn check_code(
    node: &PlanNode,
    tool: PlanTool<'_>,
    template: &InputTemplate,
    check: &mut PlanCheck<'_>,
) {
    let Some(line) = tool.contract.shell_line else { return };
    let (parameter, words) = (line.parameter, line.words);
    let input = node.work.input();
    let has_words = input.get(words).is_some_and(|words| !words.is_null());
    let code = if has_words { template.code_places(line) } else { vec![0] };
    template.each_reference("inputs", &mut |at, reference| {
        let Some(place) = at.word_place(line).filter(|place| code.contains(place)) else { return };
        let message = match (place, has_words) {
            (0, false) => format!(
                "{reference} would become part of a line that a shell reads, and so could be code: give the program \
                 alone in {parameter} and its words in {words}, as {{\"{parameter}\": \"grep\", \"{words}\": [\"-c\", \
                 \"{reference}\", \"notes.txt\"]}}"
            ),
            (0, true) => format!("{reference} would decide which program runs: name the program"),
            _ => format!(
                "{reference} stands where a program reads code or is started: write the code itself, and hand the value on \
                 as a further word, as {{\"{parameter}\": \"sh\", \"{words}\": [\"-c\", \"wc -l < \\\"$1\\\"\", \"sh\", \
                 \"{reference}\"]}}"
            ),
        };
        check.problems.push_for_node(node.id, &at.written(), Code::ShellLine, message);
    });
}

fn describe(malformed: &InputTemplateFault) -> (Code, String) {
    match malformed {
        InputTemplateFault::Placeholder(message) => (Code::Placeholder, message.clone()),
        InputTemplateFault::Reference(message) => (Code::BadReference, message.clone()),
        InputTemplateFault::Depth => {
            let max = crate::limits::INPUTS_DEPTH_MAX;
            (Code::TooLarge, format!("inputs are nested at most {max} levels deep: flatten them"))
        }
    }
}

/// Checks that the references of an agent or person node stand in its texts. Whatever else such a node says must be known
/// before the plan starts.
fn check_fields(node: NodeId, template: &InputTemplate, problems: &mut PlanProblems) {
    template.each_reference("inputs", &mut |at, reference| {
        let field = at.written();
        let field = field_in_node(true, &field);
        if !["prompt", "question", "options["].iter().any(|text| field.starts_with(text)) {
            let message = format!("{reference} stands where no output can: write the value itself");
            problems.push_for_node(node, field, Code::Placeholder, message);
        }
    });
}

/// Checks that references to outputs reach earlier nodes that this one waits for.
fn check_steps(
    node: NodeId,
    is_own_work: bool,
    template: &InputTemplate,
    depends_on: &[NodeId],
    check: &mut PlanCheck<'_>,
) {
    let PlanCheck { ids, problems, place, .. } = check;
    template.each_reference("inputs", &mut |at, reference| {
        let ReferenceSource::Step(id) = reference.source else { return };
        let meant = ids.find_node(id);
        let (code, message) = if meant == NodeIdTarget::At(*place) {
            let message =
                format!("{reference} refers to the node itself, whose output is not there yet");
            (Code::SelfReference, message)
        } else if meant == NodeIdTarget::Missing {
            let ids = ids.describe();
            (Code::UnknownReference, format!("{reference} refers to no node: the plan has {ids}"))
        } else if matches!(meant, NodeIdTarget::At(other) if other > *place) {
            let message = format!(
                "{reference} refers to a later node: only outputs of earlier ones are there"
            );
            (Code::LaterReference, message)
        } else if depends_on.binary_search(&id).is_err()
            // A dependency that could not be read may mean this node.
            && depends_on.last() != Some(&NodeId::UNREAD)
        {
            let message = format!(
                "{reference} refers to a node that is not waited for: add {id} to depends_on"
            );
            (Code::UndeclaredReference, message)
        } else {
            return;
        };
        problems.push_for_node(node, field_in_node(is_own_work, &at.written()), code, message);
    });
}

/// Checks that references to the input of the plan name something, as far as the input is known.
///
/// `node` is its id, and whether it is the work of an agent or of a person.
pub(super) fn check_input_references(
    (node, is_own_work): (NodeId, bool),
    template: &InputTemplate,
    input: PlanInput<'_>,
    problems: &mut PlanProblems,
) {
    let why = |reference: &Reference| match input {
        PlanInput::Unknown => None,
        PlanInput::Absent => Some("names nothing: the plan was given no input".to_owned()),
        PlanInput::Given(value) => reference.part_of(value).err().map(|why| why.to_string()),
    };
    if input == PlanInput::Unknown {
        return;
    }
    template.each_reference("inputs", &mut |at, reference| {
        if reference.source == ReferenceSource::Input
            && let Some(why) = why(reference)
        {
            problems.push_for_node(
                node,
                field_in_node(is_own_work, &at.written()),
                Code::NoInput,
                format!("{reference} {why}"),
            );
        }
    });
}
