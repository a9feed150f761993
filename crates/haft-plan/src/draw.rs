//! Drawings of a plan: boxes for a terminal, a compact list where boxes do not fit, and graphs for other programs. The
//! same plan always gives the same text. Nothing is checked here: an edge that no valid plan has is left out, and text
//! of the plan never reaches a terminal or a document as anything but text.

mod boxes;
mod dot;
mod layers;
mod list;
mod mermaid;
mod route;
mod svg;
#[cfg(test)]
mod tests;

use crate::limits::{BOXES_MAX, LABEL_CHARS_MAX};
use crate::plan::Plan;

/// A plan as it is drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    nodes: Vec<Drawn>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Drawn {
    tool: String,
    purpose: Option<String>,
    /// Places of the nodes that it waits for, in order, each once.
    depends_on: Vec<usize>,
    is_final: bool,
}

/// The characters that a terminal drawing is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Charset {
    /// Lines and corners of Unicode.
    Unicode,
    /// Nothing beyond ASCII.
    Ascii,
}

impl Graph {
    /// Returns the graph of a plan.
    pub fn new(plan: &Plan) -> Self {
        let nodes = plan.nodes.iter().enumerate().map(|(place, node)| {
            let mut depends_on: Vec<usize> =
                node.depends_on.iter().map(|id| id.index()).filter(|id| *id < place).collect();
            depends_on.sort_unstable();
            depends_on.dedup();
            Drawn {
                tool: printable(&node.tool),
                purpose: node.purpose().map(printable),
                depends_on,
                is_final: plan.final_output_node.index() == place,
            }
        });
        Self { nodes: nodes.collect() }
    }

    /// Returns a drawing for a terminal of so many columns: boxes where they fit, else a list.
    pub fn terminal(&self, columns: usize, charset: Charset) -> String {
        let boxes =
            if self.nodes.len() <= BOXES_MAX { boxes::draw(self, columns, charset) } else { None };
        boxes.unwrap_or_else(|| list::draw(self, columns, charset))
    }

    /// Returns the graph in the language of Graphviz.
    pub fn dot(&self) -> String {
        dot::draw(self)
    }

    /// Returns the graph in the language of Mermaid.
    pub fn mermaid(&self) -> String {
        mermaid::draw(self)
    }

    /// Returns a picture.
    pub fn svg(&self) -> String {
        svg::draw(self)
    }

    fn has_final(&self) -> bool {
        self.nodes.iter().any(|node| node.is_final)
    }
}

impl Drawn {
    /// Returns what names the node in a picture, at most so many characters.
    fn label(&self, place: usize, chars_max: usize) -> String {
        cut(&format!("{place} {}", self.tool), chars_max.min(LABEL_CHARS_MAX))
    }
}

/// Cuts text to so many characters, in its middle: tools of one kind have names that begin alike.
fn cut(text: &str, chars_max: usize) -> String {
    let count = text.chars().count();
    if count <= chars_max {
        return text.to_owned();
    }
    let kept = chars_max.saturating_sub(1);
    let end = kept / 2;
    let begun = text.chars().take(kept - end);
    begun.chain(['…']).chain(text.chars().skip(count - end)).collect()
}

/// Takes out of a text what a terminal or a viewer would obey rather than show: control characters, and marks that turn
/// the direction of writing.
fn printable(text: &str) -> String {
    let is_direction = |one: char| matches!(one, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let line: String = text
        .chars()
        .map(|one| if one.is_control() || is_direction(one) { ' ' } else { one })
        .collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
