//! The problems of a plan, as data for programs and as text that a model can repair a plan by. Every problem is
//! reported at once; only their number is bounded.

use std::collections::HashSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::PROBLEMS_MAX;
use crate::node_id::NodeId;

/// One thing that is wrong with a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanProblem {
    /// The node, unless it concerns the plan as a whole.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<NodeId>,
    /// Where inside the node or the plan, as `inputs.path`; empty for the whole.
    #[serde(skip_serializing_if = "String::is_empty", default)]
    pub field: String,
    /// The kind of the problem.
    pub code: Code,
    /// The found and the expected value, and the next step.
    pub message: String,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident => $text:literal,)*) => {
        /// Names the kind of a problem; the text is stable across versions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum Code {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)*
        }

        impl Code {
            /// All codes.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// Returns the stable text.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

codes! {
    /// The text is not JSON.
    BadJson => "bad_json",
    /// The text, the number of nodes or the depth of inputs is beyond its bound.
    TooLarge => "too_large",
    /// A field that must be there is not.
    MissingField => "missing_field",
    /// A field holds something of another type.
    WrongType => "wrong_type",
    /// A field looks like another one, misspelt.
    MisspeltField => "misspelt_field",
    /// A field stands twice in one object.
    DuplicateField => "duplicate_field",
    /// A field that would change what happens, if there was one of that name.
    UnknownField => "unknown_field",
    /// There are no nodes.
    NoNodes => "no_nodes",
    /// An id is not the next number.
    BadId => "bad_id",
    /// Two nodes have the same id.
    DuplicateId => "duplicate_id",
    /// No tool has that name.
    UnknownTool => "unknown_tool",
    /// No agent has that name.
    UnknownAgent => "unknown_agent",
    /// A tool that gives tasks to agents, for which there are agent nodes.
    AgentNode => "agent_node",
    /// The function is not the tool's.
    WrongFunction => "wrong_function",
    /// A parameter that the tool requires is missing.
    MissingParameter => "missing_parameter",
    /// The tool has no such parameter.
    InventedParameter => "invented_parameter",
    /// A parameter does not satisfy the tool's schema.
    BadInput => "bad_input",
    /// The tool's own schema cannot be used.
    BadSchema => "bad_schema",
    /// A node depends on one that does not exist.
    UnknownDependency => "unknown_dependency",
    /// A node depends on itself.
    SelfDependency => "self_dependency",
    /// A node depends on a later one.
    LaterDependency => "later_dependency",
    /// A dependency is named twice.
    DuplicateDependency => "duplicate_dependency",
    /// Nodes depend on one another in a circle.
    Cycle => "cycle",
    /// A number is out of its range.
    OutOfRange => "out_of_range",
    /// A name that nothing can be called by, or that stands twice.
    BadName => "bad_name",
    /// A tool whose effect must not be repeated would be tried again.
    RetryOfOnce => "retry_of_once",
    /// The final output node does not exist.
    UnknownFinalNode => "unknown_final_node",
    /// A placeholder that is no reference was left.
    Placeholder => "placeholder",
    /// A reference that cannot be read.
    BadReference => "bad_reference",
    /// A reference to a node that is missing from `depends_on`.
    UndeclaredReference => "undeclared_reference",
    /// A reference to the node itself.
    SelfReference => "self_reference",
    /// A reference to a later node.
    LaterReference => "later_reference",
    /// A reference to a node that does not exist.
    UnknownReference => "unknown_reference",
    /// A reference where a shell or another program reads code, or in the place of a program.
    ShellLine => "shell_line",
    /// A reference into an input that is not given or lacks what it names.
    NoInput => "no_input",
    /// More problems than are listed.
    More => "more",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for PlanProblem {
    /// Writes one line: `node 3: inputs.path: expected string, found 7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(node) = self.node {
            write!(f, "node {node}: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        f.write_str(&self.message)
    }
}

/// Returns problems as one line.
pub(crate) fn joined_problems(problems: &[PlanProblem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Problems as they are found: the first ones in full, the rest as a number.
#[derive(Debug, Default)]
pub(crate) struct PlanProblems {
    list: Vec<LocatedPlanProblem>,
    unlisted_count: usize,
    /// The place of the node that is looked at, which tells nodes apart whatever their ids are.
    place: Option<usize>,
    /// Fields in whose place something harmless stands, because they could not be read.
    unread: HashSet<(Option<usize>, String)>,
}

#[derive(Debug)]
struct LocatedPlanProblem {
    place: Option<usize>,
    problem: PlanProblem,
}

impl PlanProblems {
    /// Turns to the node at a place, or to the plan as a whole.
    pub(crate) fn select_node(&mut self, place: Option<usize>) {
        self.place = place;
    }

    pub(crate) fn push(&mut self, problem: PlanProblem) {
        if self.list.len() < PROBLEMS_MAX {
            self.list.push(LocatedPlanProblem { place: self.place, problem });
        } else {
            self.unlisted_count += 1;
        }
    }

    /// Notes that what stands in for a field, of the node or the plan that is looked at, is not what was written.
    pub(crate) fn mark_unread(&mut self, field: &str) {
        self.unread.insert((self.place, field.to_owned()));
    }

    pub(crate) fn push_for_plan(&mut self, field: &str, code: Code, message: impl Into<String>) {
        self.push(PlanProblem {
            node: None,
            field: field.to_owned(),
            code,
            message: message.into(),
        });
    }

    pub(crate) fn push_for_node(
        &mut self,
        node: NodeId,
        field: &str,
        code: Code,
        message: impl Into<String>,
    ) {
        let (field, message) = (field.to_owned(), message.into());
        self.push(PlanProblem { node: Some(node), field, code, message });
    }

    /// Adds what a later look found, but for what it found about fields that could not be read: that would be said of what
    /// stands in for them and not of what was written.
    pub(crate) fn append_new(&mut self, later: Self) {
        for LocatedPlanProblem { place, problem } in later.list {
            let ends = problem.field.match_indices(['.', '[']).map(|(end, _)| end);
            let mut wholes =
                ends.chain([problem.field.len()]).filter_map(|end| problem.field.get(..end));
            if !wholes.any(|whole| self.unread.contains(&(place, whole.to_owned()))) {
                self.select_node(place);
                self.push(problem);
            }
        }
        self.unlisted_count += later.unlisted_count;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub(crate) fn into_list(self) -> Vec<PlanProblem> {
        let mut list: Vec<PlanProblem> = self.list.into_iter().map(|found| found.problem).collect();
        if self.unlisted_count > 0 {
            let message =
                format!("{} more problems are not listed: mend these first", self.unlisted_count);
            list.push(PlanProblem { node: None, field: String::new(), code: Code::More, message });
        }
        list
    }
}
