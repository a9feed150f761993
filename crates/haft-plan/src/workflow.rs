//! Builders for plans in Rust: a [`Workflow`] of [`Task`]s becomes a [`Plan`], which is checked and driven like any other. The
//! builders check nothing themselves. A task that refers to the output of another one waits for it.

use haft_contract::schema_of;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::node_id::NodeId;
use crate::plan::{AgentWork, OnFail, Plan, PlanNode, PlanWork, RepeatUntil};
use crate::reference::{InputTemplate, ReferenceSource};

/// Tasks that wait for one another, as a plan is made of them.
///
/// ```
/// use haft_plan::{Task, Workflow};
/// use serde_json::json;
///
/// let mut workflow = Workflow::new();
/// let notes = workflow.add(Task::call("read", json!({"path": "notes.txt"})));
/// let review = workflow.add(
///     Task::agent("explore", format!("Name the risks in: {}", notes.output()))
///         .output_schema(json!({"type": "object", "required": ["risks", "done"]}))
///         .retry(2)
///         .repeat_until("done", true, 5),
/// );
/// let ship = workflow.add(
///     Task::question(format!("Ship it in spite of {}?", review.part("risks[0]"))).options(["yes", "no"]),
/// );
/// let plan = workflow.finish(ship);
/// assert_eq!(plan.nodes[1].depends_on, [notes.id()]);
/// assert_eq!(plan.nodes[2].depends_on, [review.id()]);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Workflow {
    nodes: Vec<PlanNode>,
    allow: Vec<String>,
    extras: Map<String, Value>,
}

/// One task of a workflow: the call of a tool, the work of an agent, or a question to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    node: PlanNode,
}

/// A task that was added to a workflow, for tasks that need its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddedTask(NodeId);

impl Workflow {
    /// Returns a workflow without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a task. It waits for the tasks that it refers to.
    pub fn add(&mut self, task: Task) -> AddedTask {
        let id = NodeId::at(self.nodes.len());
        let mut node = PlanNode { id, ..task.node };
        let (template, _) = InputTemplate::read(&node.work.input(), "inputs");
        let mut depends_on = std::mem::take(&mut node.depends_on);
        template.each_reference("inputs", &mut |_, reference| {
            if let ReferenceSource::Step(earlier) = reference.source {
                depends_on.push(earlier);
            }
        });
        depends_on.sort_unstable();
        depends_on.dedup();
        node.depends_on = depends_on;
        self.nodes.push(node);
        AddedTask(id)
    }

    /// Asks to be allowed to call a dangerous tool. The user confirms it.
    pub fn allow(mut self, tool: impl Into<String>) -> Self {
        self.allow.push(tool.into());
        self
    }

    /// Returns the plan, whose output is that of `last`.
    pub fn finish(self, last: AddedTask) -> Plan {
        let Self { nodes, allow, extras } = self;
        Plan { nodes, final_output_node: last.0, allow, extras }
    }
}

impl Task {
    /// Returns a call of a tool with this input, which may hold references.
    pub fn call(tool: impl Into<String>, input: Value) -> Self {
        Self::with_work(PlanWork::Call { tool: tool.into(), function: None, inputs: input })
    }

    /// Returns the work of an agent. The prompt may hold references.
    pub fn agent(agent: impl Into<String>, prompt: impl Into<String>) -> Self {
        let (agent, prompt) = (agent.into(), prompt.into());
        Self::with_work(PlanWork::Agent(AgentWork { agent, prompt, ..AgentWork::default() }))
    }

    /// Returns a question to a person, whose answer is the output.
    pub fn question(question: impl Into<String>) -> Self {
        Self::with_work(PlanWork::Person { question: question.into(), options: Vec::new() })
    }

    fn with_work(work: PlanWork) -> Self {
        Self { node: PlanNode::with_work(NodeId::new(0), work) }
    }

    /// Has the agent answer with JSON that satisfies the schema of a Rust type. A task without an agent stays as it is.
    pub fn answers<T: JsonSchema>(self) -> Self {
        self.output_schema(schema_of::<T>())
    }

    /// Has the agent answer with JSON that satisfies a schema. A task without an agent stays as it is.
    pub fn output_schema(self, schema: Value) -> Self {
        self.with_agent_work(|work| work.output = Some(schema))
    }

    /// Limits the agent to these tools. A task without an agent stays as it is.
    pub fn tools<T: Into<String>>(self, tools: impl IntoIterator<Item = T>) -> Self {
        let tools = tools.into_iter().map(Into::into).collect();
        self.with_agent_work(|work| work.tools = Some(tools))
    }

    /// Limits the answers of the model in one turn of the agent. A task without an agent stays as it is.
    pub fn max_steps(self, steps: u32) -> Self {
        self.with_agent_work(|work| work.max_steps = Some(steps))
    }

    fn with_agent_work(mut self, change: impl FnOnce(&mut AgentWork)) -> Self {
        if let PlanWork::Agent(work) = &mut self.node.work {
            change(work);
        }
        self
    }

    /// Lets the person choose from these answers. A task without a question stays as it is.
    pub fn options<T: Into<String>>(mut self, labels: impl IntoIterator<Item = T>) -> Self {
        if let PlanWork::Person { options, .. } = &mut self.node.work {
            *options = labels.into_iter().map(Into::into).collect();
        }
        self
    }

    /// Waits for a task whose output this one does not refer to.
    pub fn after(mut self, earlier: AddedTask) -> Self {
        self.node.depends_on.push(earlier.0);
        self
    }

    /// Tries the task again so many times after it failed. Each try is an attempt.
    pub fn retry(mut self, retries: u8) -> Self {
        self.node.retry = retries;
        self
    }

    /// Repeats the task until a part of its output has this value, at most so many times. Each turn is an iteration.
    pub fn repeat_until(
        mut self,
        path: impl Into<String>,
        equals: impl Into<Value>,
        max_iterations: u32,
    ) -> Self {
        let (path, equals) = (path.into(), equals.into());
        self.node.repeat_until = Some(RepeatUntil { path, equals, max_iterations });
        self
    }

    /// Sets the time for one attempt, in seconds.
    pub fn timeout_s(mut self, seconds: u32) -> Self {
        let is_default = seconds == self.node.work.timeout_s_default();
        self.node.timeout_s = (!is_default).then_some(seconds);
        self
    }

    /// Lets tasks that do not depend on this one go on when it has failed.
    pub fn continue_on_fail(mut self) -> Self {
        self.node.on_fail = OnFail::Continue;
        self
    }

    /// Says what the task is for.
    pub fn purpose(mut self, purpose: impl Into<String>) -> Self {
        self.node.extras.insert("metadata".to_owned(), json!({"purpose": purpose.into()}));
        self
    }
}

impl AddedTask {
    /// Returns the id of the node.
    pub fn id(self) -> NodeId {
        self.0
    }

    /// Returns a reference to the whole output.
    pub fn output(self) -> String {
        format!("{{{{STEPS.{}}}}}", self.0)
    }

    /// Returns a reference to a part of the output, such as `risks[0]`.
    pub fn part(self, path: &str) -> String {
        let dot = if path.is_empty() || path.starts_with(['.', '[']) { "" } else { "." };
        format!("{{{{STEPS.{}{dot}{path}}}}}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize, JsonSchema)]
    struct Review {
        #[expect(dead_code, reason = "only its schema is used")]
        risks: Vec<String>,
    }

    #[test]
    fn a_workflow_is_the_plan_that_one_would_write() {
        let mut workflow = Workflow::new().allow("bash");
        let first = workflow.add(Task::call("read", json!({"path": "a"})).purpose("look"));
        let second = workflow.add(
            Task::agent("explore", format!("Name the risks in: {}", first.output()))
                .answers::<Review>()
                .tools(["read"])
                .max_steps(9)
                .retry(2)
                .timeout_s(600)
                .repeat_until("risks[0]", "none", 5),
        );
        let third = workflow.add(
            Task::call("bash", json!({"cmd": "echo", "args": [second.part("risks[0]")]}))
                .after(first)
                .timeout_s(5)
                .continue_on_fail(),
        );
        let plan = workflow.finish(third);
        let written = json!({
            "nodes": [
                {"id": 0, "tool": "read", "inputs": {"path": "a"}, "depends_on": [], "metadata": {"purpose": "look"}},
                {"id": 1, "agent": "explore", "prompt": "Name the risks in: {{STEPS.0}}", "tools": ["read"],
                 "output": schema_of::<Review>(), "max_steps": 9, "depends_on": [0], "retry": 2,
                 "repeat_until": {"path": "risks[0]", "equals": "none", "max_iterations": 5}},
                {"id": 2, "tool": "bash", "inputs": {"cmd": "echo", "args": ["{{STEPS.1.risks[0]}}"]},
                 "depends_on": [0, 1], "timeout": 5, "on_fail": "continue"},
            ],
            "final_output_node": 2,
            "allow": ["bash"],
        });
        assert_eq!(crate::parse(&written.to_string()), Ok(plan.clone()));
        assert_eq!(crate::parse(&json!(plan).to_string()), Ok(plan));
    }
}
