//! Shows a notebook: each cell under a line with its number, with its outputs. Images follow the text of all cells, where their
//! numbers lead to them.

use base64::prelude::{BASE64_STANDARD, Engine as _};
use haft_contract::ContentPart;
use serde_json::{Map, Value};

use super::page_range;
use super::picture::{format_of, show};
use crate::limits::{CELL_OUTPUT_CHARS_MAX, IMAGES_MAX};

/// Returns whether a file is a notebook.
pub(super) fn is_notebook(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start();
    start.starts_with(b"{") && cells(&parse(bytes)).is_some()
}

/// Returns the wanted cells of a notebook, or all.
pub(super) fn view(bytes: &[u8], wanted: Option<&str>) -> Result<Vec<ContentPart>, String> {
    let notebook = parse(bytes);
    let cells = cells(&notebook).unwrap_or_default();
    let wanted = match wanted {
        Some(wanted) => page_range::parse(wanted, cells.len(), "cells")?,
        None => (1..=cells.len()).collect(),
    };
    let mut view = NotebookView { total: cells.len(), ..NotebookView::default() };
    for number in wanted {
        if let Some(cell) = number.checked_sub(1).and_then(|index| cells.get(index)) {
            view.add_cell(number, cell);
        }
    }
    if view.text.is_empty() {
        view.text.push_str("(the notebook has no cells)");
    }
    if view.unshown > 0 {
        view.text.push_str(&format!(
            "\n\n({} more images are not shown: ask for fewer cells with \"pages\")",
            view.unshown
        ));
    }
    let text = ContentPart::Text { text: view.text };
    Ok(std::iter::once(text).chain(view.images).collect())
}

fn parse(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_default()
}

/// Returns the cells of a notebook. Until version 3 of the format, they were in a worksheet.
fn cells(notebook: &Value) -> Option<&[Value]> {
    notebook.get("nbformat")?;
    let newer = notebook.get("cells");
    let cells = newer.or_else(|| notebook.pointer("/worksheets/0/cells"));
    cells?.as_array().map(Vec::as_slice)
}

/// The text and the images of a notebook so far.
#[derive(Default)]
struct NotebookView {
    total: usize,
    text: String,
    images: Vec<ContentPart>,
    /// Images beyond those that one answer has.
    unshown: usize,
}

impl NotebookView {
    fn add_cell(&mut self, number: usize, cell: &Value) {
        let kind = cell.get("cell_type").and_then(Value::as_str).unwrap_or("cell");
        let run = cell.get("execution_count").or_else(|| cell.get("prompt_number"));
        let run = run.and_then(Value::as_u64).map(|run| format!(" [{run}]")).unwrap_or_default();
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(&format!("--- cell {number} of {}: {kind}{run} ---\n", self.total));
        let source = cell.get("source").or_else(|| cell.get("input"));
        self.text.push_str(source.map(joined).unwrap_or_default().trim_end());
        let outputs = cell.get("outputs").and_then(Value::as_array);
        let mut shown = String::new();
        for output in outputs.into_iter().flatten() {
            let text = self.output_text(output);
            if !text.is_empty() {
                shown.push('\n');
                shown.push_str(&text);
            }
        }
        if shown.is_empty() {
            return;
        }
        self.text.push_str("\n--- output ---");
        match shown.char_indices().nth(CELL_OUTPUT_CHARS_MAX) {
            Some((end, _)) => {
                let (head, rest) = shown.split_at(end);
                self.text.push_str(head);
                let left_out = rest.chars().count();
                self.text.push_str(&format!(
                    "\n({left_out} more characters are not shown: find what you need in the file with grep)"
                ));
            }
            None => self.text.push_str(&shown),
        }
    }

    /// Returns the text of an output. Its image becomes a part of the answer.
    fn output_text(&mut self, output: &Value) -> String {
        let text = match output.get("output_type").and_then(Value::as_str) {
            Some("stream") => output.get("text").map(joined).unwrap_or_default(),
            Some("error" | "pyerr") => {
                let field = |name: &str| output.get(name).and_then(Value::as_str).unwrap_or("");
                let mut text = format!("{}: {}", field("ename"), field("evalue"));
                let traceback = output.get("traceback").and_then(Value::as_array);
                for line in traceback.into_iter().flatten().filter_map(Value::as_str) {
                    text.push('\n');
                    text.push_str(line);
                }
                text
            }
            _ => {
                // Until version 3 of the format, the data are fields of the output.
                let data = output.get("data").unwrap_or(output);
                self.data_text(data.as_object().unwrap_or(&Map::new()))
            }
        };
        without_colours(&text).trim_end().to_owned()
    }

    fn data_text(&mut self, data: &Map<String, Value>) -> String {
        let image = ["image/png", "image/jpeg", "image/gif", "image/webp", "png", "jpeg"];
        let image = image.iter().find_map(|name| data.get(*name));
        let plain = ["text/plain", "text/markdown", "text"].iter().find_map(|name| data.get(*name));
        let plain = plain.map(joined).unwrap_or_default();
        let Some(image) = image else {
            return match (plain.is_empty(), data.keys().next()) {
                (true, Some(kind)) => format!("({kind} is not shown)"),
                _ => plain,
            };
        };
        let mut letters = joined(image);
        // Notebooks break the lines.
        letters.retain(|letter| !letter.is_ascii_whitespace());
        let decoded = BASE64_STANDARD.decode(letters).unwrap_or_default();
        let shown = match format_of(&decoded) {
            Some(format) => show(&decoded, format),
            None => Err("is of an unknown format".to_owned()),
        };
        // A figure's plain text is only its type, such as `<Figure size 640x480 with 1 Axes>`.
        match shown {
            Err(problem) => format!("(an image {problem})"),
            Ok(_) if self.images.len() >= IMAGES_MAX => {
                self.unshown += 1;
                "(an image that is not shown)".to_owned()
            }
            Ok(picture) => {
                self.images.push(picture.part);
                format!("(image {}: {})", self.images.len(), picture.description)
            }
        }
    }
}

/// Returns a text that a notebook holds as one or in lines.
fn joined(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// Removes the escape sequences of colours, which tracebacks have, and other control characters.
fn without_colours(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            if !letter.is_control() || matches!(letter, '\n' | '\t') {
                plain.push(letter);
            }
            continue;
        }
        let is_end = |letter: &char| ('@'..='~').contains(letter);
        if letters.next() == Some('[') {
            letters.by_ref().find(is_end);
        }
    }
    plain
}
