//! Tables that can be written as such: rows of one length, whatever spans several columns or rows. Tables that only place
//! things on a page are no tables, and become lines.

use dom_query::{Document, NodeRef};

use crate::limits::{CELLS_ADDED_MAX, COLUMNS_MAX, ROWS_SPANNED_MAX};

/// What no cell of a table holds.
const NOT_IN_CELLS: &[&str] =
    &["table", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "blockquote"];
/// Parts of a table, which become lines with it.
const PARTS: &[&str] = &["table", "thead", "tbody", "tfoot", "tr", "td", "th"];
/// Characters of a cell beyond which it is a text that was placed there, on average.
const CELL_CHARS_MEAN_MAX: usize = 400;

/// Makes the rows of each table equally long, or lines of a table that is none.
pub(super) fn normalize_tables(document: &Document) {
    let root = document.root();
    let tables: Vec<NodeRef<'_>> =
        root.descendants_it().filter(|node| node.has_name("table")).collect();
    for table in &tables {
        move_caption(table);
        if !is_table(table) || !fill(table) {
            lay_out(table);
        }
    }
}

/// Puts what names a table before it, since nothing but rows is written of a table.
fn move_caption(table: &NodeRef<'_>) {
    // What walks the document has to be gone before it is changed.
    let caption = table.children().into_iter().find(|node| node.has_name("caption"));
    if let Some(caption) = caption {
        caption.rename("p");
        table.insert_before(&caption);
    }
}

fn rows_of<'a>(table: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    table.descendants_it().filter(|node| node.has_name("tr")).collect()
}

fn cells_of<'a>(row: &NodeRef<'a>) -> Vec<NodeRef<'a>> {
    row.children_it(false).filter(|node| node.has_name("td") || node.has_name("th")).collect()
}

fn is_table(table: &NodeRef<'_>) -> bool {
    let is_placing =
        table.attr("role").is_some_and(|role| matches!(&*role, "presentation" | "none"));
    let holds_more = table
        .descendants_it()
        .any(|node| node.node_name().is_some_and(|name| NOT_IN_CELLS.contains(&&*name)));
    if is_placing || holds_more {
        return false;
    }
    let rows = rows_of(table);
    let columns = rows.iter().map(|row| cells_of(row).len()).max().unwrap_or(0);
    let cells: usize = rows.iter().map(|row| cells_of(row).len()).sum();
    columns > 1 && cells > 0 && table.text().chars().count() / cells <= CELL_CHARS_MEAN_MAX
}

/// Adds empty cells where others span, and at the ends of short rows; returns whether that were not too many.
fn fill(table: &NodeRef<'_>) -> bool {
    let rows = rows_of(table);
    // For each column, how many more rows a cell from above takes.
    let mut taken: Vec<usize> = Vec::new();
    let mut added = 0;
    for row in &rows {
        let mut column = 0;
        for cell in cells_of(row) {
            column = skip_taken(&cell, &mut taken, column, &mut added);
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
    lengthen(&rows, added)
}

/// Puts empty cells before a cell where cells from above are, and returns its column.
fn skip_taken(cell: &NodeRef<'_>, taken: &mut [usize], from: usize, added: &mut usize) -> usize {
    let mut column = from;
    while let Some(rows @ 1..) = taken.get_mut(column) {
        *rows -= 1;
        cell.insert_before(&empty_like(cell));
        *added += 1;
        column += 1;
    }
    column
}

/// Returns an empty cell of the same kind, so that a row of headings stays one.
fn empty_like<'a>(cell: &NodeRef<'a>) -> NodeRef<'a> {
    cell.tree.new_element(if cell.has_name("th") { "th" } else { "td" })
}

fn lengthen(rows: &[NodeRef<'_>], mut added: usize) -> bool {
    let columns = rows.iter().map(|row| cells_of(row).len()).max().unwrap_or(0);
    for row in rows {
        let length = cells_of(row).len();
        if length == 0 {
            continue;
        }
        added += columns - length;
        if added > CELLS_ADDED_MAX {
            return false;
        }
        for _ in length..columns {
            let is_heading = cells_of(row).iter().all(|cell| cell.has_name("th"));
            row.append_child(&row.tree.new_element(if is_heading { "th" } else { "td" }));
        }
    }
    true
}

fn span(cell: &NodeRef<'_>, name: &str, most: usize) -> usize {
    let value = cell.attr(name).and_then(|value| value.trim().parse().ok());
    value.unwrap_or(1_usize).clamp(1, most)
}

/// Makes lines of a table. Those within it are looked at for themselves.
fn lay_out(table: &NodeRef<'_>) {
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

#[cfg(test)]
mod tests;
