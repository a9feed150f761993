//! Draws a plan for a stream: as wide as its terminal, or of a fixed width elsewhere.

use std::os::fd::AsFd;

use haft_plan::{DrawingCharset, PlanGraph};

use crate::views::table::columns_of;

/// Columns of a drawing that is not shown on a terminal.
const COLUMNS_ELSEWHERE: usize = 100;

/// Returns a drawing that fits the stream.
pub(crate) fn draw_graph(graph: &PlanGraph, stream: impl AsFd) -> String {
    // The locale tells which characters the terminal can show. Without a locale, haft expects all of Unicode.
    let variables = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let named = variables.filter_map(std::env::var_os).find(|value| !value.is_empty());
    let named = named.map(|value| value.to_string_lossy().to_ascii_lowercase());
    let charset = match named {
        Some(locale) if !(locale.contains("utf-8") || locale.contains("utf8")) => {
            DrawingCharset::Ascii
        }
        Some(_) | None => DrawingCharset::Unicode,
    };
    graph.terminal(columns_of(stream).unwrap_or(COLUMNS_ELSEWHERE), charset)
}
