//! A table of markdown: in columns if the terminal is wide enough, and otherwise as one line for each cell.

use super::MarkdownStyle;
use crate::agent_program::view::fold::{fold_text, text_columns};

/// Columns between two cells.
const GAP: &str = "  ";

/// Returns the lines of a table. The first row has the headings.
pub(super) fn table_lines(rows: &[Vec<String>], prefix: &str, style: MarkdownStyle) -> Vec<String> {
    let Some((headings, body)) = rows.split_first() else { return Vec::new() };
    let cells = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width_of = |cell: usize| {
        let widths = rows.iter().filter_map(|row| row.get(cell)).map(|text| text_columns(text));
        widths.max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..cells).map(width_of).collect();
    let gaps = GAP.len() * cells.saturating_sub(1);
    let needed = text_columns(prefix) + widths.iter().sum::<usize>() + gaps;
    if style.is_linear || needed > style.columns {
        return cell_lines(headings, body, prefix, style);
    }
    let aligned = |row: &Vec<String>| {
        let padded = widths.iter().enumerate().map(|(cell, width)| {
            let text = row.get(cell).map(String::as_str).unwrap_or_default();
            format!("{text}{}", " ".repeat(width.saturating_sub(text_columns(text))))
        });
        let line = padded.collect::<Vec<_>>().join(GAP);
        format!("{prefix}{}", line.trim_end())
    };
    let rule = widths.iter().map(|width| "-".repeat(*width)).collect::<Vec<_>>().join(GAP);
    let rule = format!("{prefix}{rule}");
    [aligned(headings), rule].into_iter().chain(body.iter().map(aligned)).collect()
}

/// Returns each cell on a line after its heading, with a gap between rows.
fn cell_lines(
    headings: &[String],
    body: &[Vec<String>],
    prefix: &str,
    style: MarkdownStyle,
) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, row) in body.iter().enumerate() {
        if index > 0 {
            lines.push(prefix.trim_end().to_owned());
        }
        for (cell, text) in row.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
            let heading = headings.get(cell).map(String::as_str).unwrap_or_default();
            let colon = if heading.is_empty() { "" } else { ": " };
            let line = format!("{prefix}{heading}{colon}{text}");
            let folded = fold_text(&line, style.columns, &format!("{prefix}  "));
            lines.extend(folded.split('\n').map(str::to_owned));
        }
    }
    lines
}
