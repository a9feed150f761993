//! Formats servers' answers for a model: one line per place, with the text of that line if the call
//! may read it. A server's answer is not trusted: nonexistent places, endless texts and unexpected
//! shapes do no harm.

use std::collections::HashMap;

use haft_contract::{Cx, clean, cut};
use serde_json::Value;

use crate::document::{load_document, path_of};
use crate::limits::{
    HOVER_CHARS_MAX, LINE_CHARS_MAX, QUOTED_FILES_MAX, SAID_CHARS_MAX, SYMBOL_DEPTH_MAX,
};
use crate::position::{Encoding, line_of};
use crate::text::one_line;
use crate::wire::text_of;

/// Names of symbol kinds by their protocol numbers, which start at 1.
const SYMBOL_KINDS: &[&str] = &[
    "file",
    "module",
    "namespace",
    "package",
    "class",
    "method",
    "property",
    "field",
    "constructor",
    "enum",
    "interface",
    "function",
    "variable",
    "constant",
    "string",
    "number",
    "boolean",
    "array",
    "object",
    "key",
    "null",
    "enum member",
    "struct",
    "event",
    "operator",
    "type parameter",
];
/// Names of diagnostic severities by their protocol numbers, which start at 1.
const SEVERITIES: &[&str] = &["error", "warning", "information", "hint"];

/// A place as a server names it, with its text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AnswerLocation {
    uri: String,
    /// Zero-based.
    line: usize,
    /// Zero-based, in units of the server's encoding.
    units: usize,
    /// `None` if the text of the line is to be shown.
    text: Option<String>,
}

/// Quotes the places of one call's answer.
pub(crate) struct AnswerReader<'a> {
    cx: &'a Cx,
    encoding: Encoding,
    /// The files that were read: display path and content. Files beyond the maximum have only a
    /// display path.
    files: HashMap<String, Option<(String, Option<String>)>>,
}

impl<'a> AnswerReader<'a> {
    /// Returns a reader without any files.
    pub(crate) fn new(cx: &'a Cx, encoding: Encoding) -> Self {
        Self { cx, encoding, files: HashMap::new() }
    }

    /// Returns the line for a place.
    pub(crate) fn location_line(&mut self, place: &AnswerLocation) -> String {
        let number = place.line.saturating_add(1);
        let encoding = self.encoding;
        let Some((display, text)) = self.file(&place.uri) else {
            // A file that the call may not read is still named, so that the reader knows where the
            // symbol is.
            let path = path_of(&place.uri).map(|path| path.to_string_lossy().into_owned());
            let name = one_line(&path.unwrap_or_else(|| place.uri.clone()), LINE_CHARS_MAX);
            return unread_line(&name, place, "(not in the workspace)");
        };
        let Some(text) = text else { return unread_line(display, place, "(not quoted: read it)") };
        let line = line_of(text, place.line);
        let column = encoding.column_after(line.unwrap_or_default(), place.units);
        let said = match (&place.text, line) {
            (Some(said), _) => said.clone(),
            (None, Some(line)) => one_line(line, LINE_CHARS_MAX),
            (None, None) => "(there is no such line)".to_owned(),
        };
        format!("{display}:{number}:{column}: {said}")
    }

    /// Returns the display path and the content of a file, if the call may read it. Files beyond
    /// the maximum have only a display path.
    fn file(&mut self, uri: &str) -> Option<&(String, Option<String>)> {
        if !self.files.contains_key(uri) {
            let read = || {
                let path = path_of(uri)?;
                let document = load_document(self.cx, path.to_str()?).ok()?;
                Some((document.display, Some(document.text)))
            };
            let is_quoted = self.files.len() < QUOTED_FILES_MAX;
            let named = || workspace_display(self.cx, uri).map(|display| (display, None));
            let file = if is_quoted { read() } else { named() };
            self.files.insert(uri.to_owned(), file);
        }
        self.files.get(uri)?.as_ref()
    }
}

/// Returns the places of an answer: one or several, in either of two formats.
pub(crate) fn locations(answer: &Value) -> Vec<AnswerLocation> {
    let mut places: Vec<AnswerLocation> = match answer {
        Value::Array(items) => items.iter().filter_map(parse_location).collect(),
        other => parse_location(other).into_iter().collect(),
    };
    places.sort();
    places.dedup();
    places
}

/// Returns the diagnostics of a file.
pub(crate) fn diagnostics(uri: &str, items: &Value) -> Vec<AnswerLocation> {
    let mut places = Vec::new();
    for item in items.as_array().into_iter().flatten() {
        let Some(message) = text_of(item, "message") else { continue };
        let message = one_line(message, SAID_CHARS_MAX);
        let (line, units) = range_start(item.get("range"));
        let severity = protocol_name(SEVERITIES, item.get("severity")).unwrap_or("error");
        let code = item.get("code").and_then(|code| {
            let code = code.as_str().map_or_else(|| code.to_string(), str::to_owned);
            (code != "null").then(|| format!("[{}]", one_line(&code, LINE_CHARS_MAX)))
        });
        let source = text_of(item, "source").map(|source| format!(" ({})", one_line(source, 64)));
        let (code, source) = (code.unwrap_or_default(), source.unwrap_or_default());
        let said = format!("{severity}{code}: {message}{source}");
        places.push(AnswerLocation { uri: uri.to_owned(), line, units, text: Some(said) });
    }
    places.sort();
    places
}

/// Returns the symbols of a file or of a project: nested with ranges, or flat with places.
pub(crate) fn symbols(cx: &Cx, uri: Option<&str>, answer: &Value) -> Vec<AnswerLocation> {
    let mut places = Vec::new();
    for item in answer.as_array().into_iter().flatten() {
        collect_symbols(uri, item, 0, &mut places);
    }
    // Some servers return every similar name of a standard library: places outside the workspace
    // are dropped, unless there are no others.
    let is_ours = |place: &AnswerLocation| workspace_display(cx, &place.uri).is_some();
    if uri.is_none() && places.iter().any(is_ours) {
        places.retain(is_ours);
    }
    places
}

/// Returns the display path of a file in the workspace.
fn workspace_display(cx: &Cx, uri: &str) -> Option<String> {
    let (place, _) = cx.fs().resolve(path_of(uri)?.to_str()?).ok()?;
    Some(place.display().to_owned())
}

/// Returns the line for a place in an unread file. Its column counts in the server's units.
fn unread_line(name: &str, place: &AnswerLocation, otherwise: &str) -> String {
    let (line, column) = (place.line.saturating_add(1), place.units.saturating_add(1));
    format!("{name}:{line}:{column}: {}", place.text.as_deref().unwrap_or(otherwise))
}

/// Returns the text about a name, without markup.
pub(crate) fn hover(answer: &Value) -> Option<String> {
    let contents = answer.get("contents")?;
    let parts: Vec<&str> = match contents {
        Value::Array(items) => items.iter().filter_map(hover_part).collect(),
        other => hover_part(other).into_iter().collect(),
    };
    let text = clean(parts.join("\n\n").trim());
    (!text.is_empty()).then(|| cut(&text, HOVER_CHARS_MAX))
}

fn hover_part(part: &Value) -> Option<&str> {
    part.as_str().or_else(|| text_of(part, "value"))
}

fn parse_location(item: &Value) -> Option<AnswerLocation> {
    let uri = text_of(item, "uri").or_else(|| text_of(item, "targetUri"))?;
    let range =
        ["targetSelectionRange", "targetRange", "range"].iter().find_map(|name| item.get(name));
    let (line, units) = range_start(range);
    Some(AnswerLocation { uri: uri.to_owned(), line, units, text: None })
}

/// Returns the start of a range; the beginning of the file if there is none.
fn range_start(range: Option<&Value>) -> (usize, usize) {
    let start = range.and_then(|range| range.get("start"));
    let number = |name: &str| {
        let number = start.and_then(|start| start.get(name)).and_then(Value::as_u64);
        number.and_then(|number| usize::try_from(number).ok()).unwrap_or_default()
    };
    (number("line"), number("character"))
}

fn collect_symbols(
    uri: Option<&str>,
    item: &Value,
    depth: usize,
    places: &mut Vec<AnswerLocation>,
) {
    let (Some(name), true) = (text_of(item, "name"), depth <= SYMBOL_DEPTH_MAX) else { return };
    let location = item.get("location");
    let own = location.and_then(|location| text_of(location, "uri"));
    let Some(uri) = own.or(uri) else { return };
    let range = item.get("selectionRange").or_else(|| item.get("range"));
    let range = range.or_else(|| location.and_then(|location| location.get("range")));
    let (line, units) = range_start(range);
    let kind = protocol_name(SYMBOL_KINDS, item.get("kind")).unwrap_or("symbol");
    let container = text_of(item, "containerName").filter(|name| !name.is_empty());
    let container = container.map(|name| format!(" (in {})", one_line(name, LINE_CHARS_MAX)));
    let said = format!(
        "{}{kind} {}{}",
        "  ".repeat(depth),
        one_line(name, LINE_CHARS_MAX),
        container.unwrap_or_default()
    );
    places.push(AnswerLocation { uri: uri.to_owned(), line, units, text: Some(said) });
    for child in item.get("children").and_then(Value::as_array).into_iter().flatten() {
        collect_symbols(Some(uri), child, depth + 1, places);
    }
}

/// Returns the name for a protocol number, which starts at 1.
fn protocol_name(names: &[&'static str], number: Option<&Value>) -> Option<&'static str> {
    let number = usize::try_from(number?.as_u64()?).ok()?;
    names.get(number.checked_sub(1)?).copied()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn range(line: u64, character: u64) -> Value {
        json!({ "start": { "line": line, "character": character }, "end": { "line": line, "character": 99 } })
    }

    #[test]
    fn places_have_several_forms() {
        let check = |item: Value, expect: Option<(&str, usize, usize)>| {
            let place = parse_location(&item);
            let found = place.as_ref().map(|place| (place.uri.as_str(), place.line, place.units));
            assert_eq!(found, expect, "{item}");
        };
        check(json!({ "uri": "file:///a", "range": range(1, 2) }), Some(("file:///a", 1, 2)));
        let link = json!({
            "targetUri": "file:///b", "targetRange": range(3, 0), "targetSelectionRange": range(4, 5),
        });
        check(link, Some(("file:///b", 4, 5)));
        check(json!({ "uri": "file:///a" }), Some(("file:///a", 0, 0)));
        check(
            json!({ "uri": "file:///a", "range": { "start": { "line": -1 } } }),
            Some(("file:///a", 0, 0)),
        );
        check(json!(null), None);
        check(json!({ "range": range(0, 0) }), None);
    }

    #[test]
    fn what_is_said_of_a_name_has_three_forms() {
        let check = |contents: Value, expect: Option<&str>| {
            assert_eq!(hover(&json!({ "contents": contents })).as_deref(), expect);
        };
        check(json!({ "kind": "markdown", "value": "a\u{1b}b" }), Some("ab"));
        check(json!("a"), Some("a"));
        check(json!(["a", { "language": "x", "value": "b" }]), Some("a\n\nb"));
        check(json!([]), None);
        check(json!(" "), None);
        assert_eq!(hover(&Value::Null), None);
        let long = hover(&json!({ "contents": "x".repeat(HOVER_CHARS_MAX + 1) })).unwrap();
        assert_eq!(long.chars().count(), HOVER_CHARS_MAX + 1, "the last one says that it was cut");
    }

    #[test]
    fn diagnostics_say_all_in_one_line() {
        let check = |item: Value, expect: Option<&str>| {
            let places = diagnostics("u", &json!([item]));
            assert_eq!(places.first().and_then(|place| place.text.as_deref()), expect);
        };
        let whole = json!({
            "range": range(1, 1), "severity": 2, "code": "E1", "source": "rustc", "message": "a\nb",
        });
        check(whole, Some("warning[E1]: a b (rustc)"));
        check(json!({ "message": "m", "code": 7 }), Some("error[7]: m"));
        check(json!({ "message": "m", "severity": 9, "code": null }), Some("error: m"));
        check(json!({}), None);
    }

    #[test]
    fn symbols_nest_only_so_deep() {
        let mut item = json!({ "name": "leaf", "kind": 12, "selectionRange": range(0, 0) });
        for _ in 0..SYMBOL_DEPTH_MAX + 5 {
            item = json!({ "name": "n", "kind": 99, "range": range(2, 0), "children": [item] });
        }
        let mut places = Vec::new();
        collect_symbols(Some("u"), &item, 0, &mut places);
        assert_eq!(places.len(), SYMBOL_DEPTH_MAX + 1);
        let flat = json!({
            "name": "f", "kind": 12, "containerName": "m",
            "location": { "uri": "file:///a", "range": range(5, 6) },
        });
        let mut places = Vec::new();
        collect_symbols(None, &flat, 0, &mut places);
        let place = places.pop().unwrap();
        assert_eq!((place.line, place.units), (5, 6));
        assert_eq!(place.text.as_deref(), Some("function f (in m)"));
    }
}
