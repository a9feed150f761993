//! A plan drawn for whoever looks at a stream: as wide as the terminal that it is, and of a fixed width where it is none.

use std::io::IsTerminal;
use std::os::fd::AsFd;

use haft_plan::{DrawingCharset, PlanGraph};

/// Columns of a drawing that no terminal shows.
const COLUMNS_ELSEWHERE: usize = 100;

/// Returns a drawing that fits the stream.
pub(crate) fn draw_graph(graph: &PlanGraph, stream: &(impl IsTerminal + AsFd)) -> String {
    graph.terminal(columns(stream), charset())
}

fn columns(stream: &(impl IsTerminal + AsFd)) -> usize {
    if !stream.is_terminal() {
        return COLUMNS_ELSEWHERE;
    }
    let size = rustix::termios::tcgetwinsize(stream).ok();
    // A terminal that does not know its width says 0.
    let columns = size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0);
    columns.unwrap_or(COLUMNS_ELSEWHERE)
}

/// Returns the characters that this terminal can show, as its locale says; one that says nothing can show all.
fn charset() -> DrawingCharset {
    let variables = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let named = variables.filter_map(std::env::var_os).find(|value| !value.is_empty());
    let named = named.map(|value| value.to_string_lossy().to_ascii_lowercase());
    match named {
        Some(locale) if !(locale.contains("utf-8") || locale.contains("utf8")) => {
            DrawingCharset::Ascii
        }
        Some(_) | None => DrawingCharset::Unicode,
    }
}
