//! Makes the rows of each table equally long, including cells that span columns or rows. Tables that only place elements on
//! a page become lines.

use dom_query::{Document, NodeRef};

use crate::limits::{CELLS_ADDED_MAX, COLUMNS_MAX, ROWS_SPANNED_MAX};

/// Elements that no cell of a table of data holds.
const NOT_IN_CELLS: &[&str] =
    &["table", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "blockquote"];
/// Parts of a table, which become lines if the table does.
const PARTS: &[&str] = &["table", "thead", "tbody", "tfoot", "tr", "td", "th"];
/// Most characters of a cell, on average. The cells of a table that only places text have more.
const CELL_CHARS_MEAN_MAX: usize = 400;

/// Makes the rows of each table of data equally long, and lines of any other table.
pub(super) fn normalize_tables(document: &Document) {
    let root = document.root();
    let tables: Vec<NodeRef<'_>> =
        root.descendants_it().filter(|node| node.has_name("table")).collect();
    for table in &tables {
        // Only rows of a table are written, so its caption moves before it. The iterator ends before the document changes.
        let caption = table.children().into_iter().find(|node| node.has_name("caption"));
        if let Some(caption) = caption {
            caption.rename("p");
            table.insert_before(&caption);
        }
        let role = table.attr("role");
        let is_placing = matches!(role.as_deref(), Some("presentation" | "none"));
        let holds_more = table
            .descendants_it()
            .any(|node| node.node_name().is_some_and(|name| NOT_IN_CELLS.contains(&&*name)));
        let rows: Vec<NodeRef<'_>> =
            table.descendants_it().filter(|node| node.has_name("tr")).collect();
        let lengths: Vec<usize> = rows.iter().map(|row| cells_of(row).len()).collect();
        let cells: usize = lengths.iter().sum();
        let is_data = !is_placing
            && !holds_more
            && lengths.iter().any(|length| *length > 1)
            && table.text().chars().count() / cells <= CELL_CHARS_MEAN_MAX;
        if is_data && fill(&rows) {
            continue;
        }
        // A table inside this one is handled separately.
        let mut parts = vec![*table];
        let mut pending: Vec<NodeRef<'_>> = table.children_it(false).collect();
        while let Some(node) = pending.pop() {
            if node.has_name("table") {
                continue;
            }
            pending.extend(node.children_it(false));
            if node.node_name().is_some_and(|name| PARTS.contains(&&*name)) {
                parts.push(node);
            }
        }
        for part in parts {
            part.rename("div");
        }
    }
}

fn cells_of<'a>(row: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    row.children_it(false).filter(|node| node.has_name("td") || node.has_name("th")).collect()
}

/// Adds empty cells where others span, and at the ends of short rows. Returns whether they stay within the limit.
fn fill(rows: &[NodeRef<'_>]) -> bool {
    // For each column, how many more rows a cell from above takes.
    let mut taken: Vec<usize> = Vec::new();
    let mut added = 0;
    for row in rows {
        let mut column = 0;
        for cell in cells_of(row) {
            while let Some(rows @ 1..) = taken.get_mut(column) {
                *rows -= 1;
                cell.insert_before(&empty_like(&cell));
                added += 1;
                column += 1;
            }
            let columns = span(&cell, "colspan", COLUMNS_MAX);
            let below = span(&cell, "rowspan", ROWS_SPANNED_MAX) - 1;
            cell.remove_attrs(&["colspan", "rowspan"]);
            if column >= COLUMNS_MAX {
                cell.remove_from_parent();
                continue;
            }
            for place in column..(column + columns).min(COLUMNS_MAX) {
                if place >= taken.len() {
                    taken.resize(place + 1, 0);
                }
                if let Some(rows) = taken.get_mut(place) {
                    *rows = below;
                }
                if place > column {
                    cell.insert_after(&empty_like(&cell));
                    added += 1;
                }
            }
            column += columns;
        }
        for rows in taken.iter_mut().skip(column) {
            *rows = rows.saturating_sub(1);
        }
        if added > CELLS_ADDED_MAX {
            return false;
        }
    }
    let columns = rows.iter().map(|row| cells_of(row).len()).max().unwrap_or(0);
    for row in rows {
        let cells = cells_of(row);
        let length = cells.len();
        if length == 0 {
            continue;
        }
        added += columns - length;
        if added > CELLS_ADDED_MAX {
            return false;
        }
        let is_heading = cells.iter().all(|cell| cell.has_name("th"));
        for _ in length..columns {
            row.append_child(&row.tree.new_element(if is_heading { "th" } else { "td" }));
        }
    }
    true
}

/// Returns an empty cell of the same kind, so that a row of headings stays one.
fn empty_like<'a>(cell: &NodeRef<'a>) -> NodeRef<'a> {
    cell.tree.new_element(if cell.has_name("th") { "th" } else { "td" })
}

fn span(cell: &NodeRef<'_>, name: &str, most: usize) -> usize {
    let value = cell.attr(name).and_then(|value| value.trim().parse().ok());
    value.unwrap_or(1_usize).clamp(1, most)
}

#[cfg(test)]
mod tests;
