//! Drawings of a plan: boxes for a terminal, a compact list where boxes do not fit, and graphs for other programs. The
//! same plan always gives the same text. Nothing is checked here: an edge that no valid plan has is left out, and text
//! of the plan never reaches a terminal or a document as anything but text.

mod boxes;
mod dot;
mod graph;
mod layers;
mod list;
mod mermaid;
mod route;
mod svg;
#[cfg(test)]
mod tests;

use crate::limits::BOXES_MAX;

pub use graph::{DrawingCharset, PlanGraph};
pub use svg::PlanNodeMark;

impl PlanGraph {
    /// Returns a drawing for a terminal of so many columns: boxes where they fit, else a list.
    pub fn terminal(&self, columns: usize, charset: DrawingCharset) -> String {
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

    /// Returns a picture of a run of the plan, to be part of a page. The marks are those of the nodes, in their order.
    pub fn run_svg(&self, marks: &[PlanNodeMark]) -> String {
        svg::draw_run(self, marks)
    }

    /// Returns a picture.
    pub fn svg(&self) -> String {
        svg::draw(self)
    }
}
