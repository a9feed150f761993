//! A trace as a person reads it: a line a node, and the output at the end. Whole outputs of nodes are in the JSON form.

use std::fmt;

use serde_json::Value;

use super::{NodeError, NodeStatus, PlanTrace, TracedNode};
use crate::schedule::PlanEnding;

/// Characters of an error that a line shows.
const ERROR_CHARS: usize = 300;
/// Nodes of a deadlock that a line names.
const DEADLOCK_NODES: usize = 12;

impl fmt::Display for PlanTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number_width = self.nodes.last().map_or(1, |node| node.id.to_string().len());
        let tool_width = self.nodes.iter().map(|node| node.tool.as_str().len()).max();
        for node in &self.nodes {
            let (id, tool, width) = (node.id.number(), node.tool.as_str(), tool_width.unwrap_or(1));
            writeln!(f, "{id:>number_width$} {tool:width$} {node}")?;
        }
        writeln!(f, "{}", self.ending)?;
        match self.final_output() {
            Some(Value::String(text)) => writeln!(f, "output: {text}"),
            Some(output) => writeln!(f, "output: {output}"),
            None => writeln!(f, "no output: node {} has none", self.final_output_node),
        }
    }
}

impl fmt::Display for TracedNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.status {
            NodeStatus::InDoubt => "in doubt",
            status => status.as_str(),
        })?;
        if self.iterations > 1 {
            write!(f, " after {} iterations", self.iterations)?;
        }
        if self.attempts > 1 {
            write!(f, " after {} attempts", self.attempts)?;
        }
        if self.truncated {
            f.write_str(", its output cut")?;
        }
        if let Some(node) = self.because_of {
            write!(f, " because of node {node}")?;
        }
        match &self.error {
            Some(error) => write!(f, ": {error}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.text.lines().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(ERROR_CHARS) {
            Some((end, _)) => {
                write!(f, "{}: {}…", self.code, line.get(..end).unwrap_or_default())
            }
            None => write!(f, "{}: {line}", self.code),
        }
    }
}

impl fmt::Display for PlanEnding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => f.write_str("finished"),
            Self::Halted { by } => write!(f, "halted because node {by} failed"),
            Self::InDoubt => f.write_str("stopped, because a call is in doubt"),
            Self::Stopped => f.write_str("stopped"),
            Self::Aborted => f.write_str("aborted"),
            Self::Deadlock { nodes } => {
                let shown: Vec<String> =
                    nodes.iter().take(DEADLOCK_NODES).map(ToString::to_string).collect();
                write!(
                    f,
                    "deadlock: nothing of what is left can start: nodes {}",
                    shown.join(", ")
                )?;
                match nodes.len().saturating_sub(DEADLOCK_NODES) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
        }
    }
}
