//! Changes to JSON with comments that leave the rest of the text as it is: order, comments, indentation and line ends. The
//! reader takes comments and trailing commas, which the configuration of editors may have.

use std::ops::Range;

use serde_json::Value;

/// Deepest nesting of a file that is changed.
const DEPTH_MAX: usize = 128;
/// The longest list that is written on one line, in characters.
const LINE_CHARS_MAX: usize = 100;

/// A part of the text: a value with its place, and the places of what is in it.
struct JsonSpan {
    range: Range<usize>,
    kind: JsonSpanKind,
}

enum JsonSpanKind {
    Object(Vec<JsonEntry>),
    Array(Vec<JsonEntry>),
    Scalar,
}

/// A member of an object or an item of a list.
struct JsonEntry {
    /// Empty for an item of a list.
    key: String,
    start: usize,
    value: JsonSpan,
    /// The place of the comma after it, if there is one.
    comma: Option<usize>,
}

impl JsonSpan {
    fn entries(&self) -> &[JsonEntry] {
        match &self.kind {
            JsonSpanKind::Object(entries) | JsonSpanKind::Array(entries) => entries,
            JsonSpanKind::Scalar => &[],
        }
    }

    fn member(&self, key: &str) -> Option<(usize, &JsonEntry)> {
        match &self.kind {
            // Of members with the same name, the last counts for those who read the file.
            JsonSpanKind::Object(entries) => {
                entries.iter().enumerate().rfind(|(_, entry)| entry.key == key)
            }
            JsonSpanKind::Array(_) | JsonSpanKind::Scalar => None,
        }
    }

    fn at(&self, place: &[String]) -> Option<&Self> {
        let mut span = self;
        for key in place {
            span = &span.member(key)?.1.value;
        }
        Some(span)
    }

    fn value(&self, text: &str) -> Value {
        let value = |entry: &JsonEntry| entry.value.value(text);
        match &self.kind {
            JsonSpanKind::Object(entries) => {
                Value::Object(entries.iter().map(|it| (it.key.clone(), value(it))).collect())
            }
            JsonSpanKind::Array(entries) => entries.iter().map(value).collect(),
            // The reader took it, so it is JSON.
            JsonSpanKind::Scalar => {
                serde_json::from_str(slice(text, &self.range)).unwrap_or_default()
            }
        }
    }
}

/// Returns the value at a place, if the text is such JSON and has one there.
pub(super) fn get(text: &str, place: &[String]) -> Result<Option<Value>, String> {
    let Some(root) = parse(text)? else { return Ok(None) };
    Ok(root.at(place).map(|span| span.value(text)))
}

/// Returns the text of the value at a place, as it is written.
pub(super) fn raw(text: &str, place: &[String]) -> Result<Option<String>, String> {
    let Some(root) = parse(text)? else { return Ok(None) };
    Ok(root.at(place).map(|span| slice(text, &span.range).to_owned()))
}

/// Returns whether a text has neither values nor comments.
pub(super) fn is_blank(text: &str) -> bool {
    let bare: String = text.chars().filter(|next| !next.is_whitespace()).collect();
    bare.is_empty() || bare == "{}"
}

/// Returns the text with a value at a place. Objects on the way are made.
pub(super) fn set(text: &str, place: &[String], value: &Value) -> Result<String, String> {
    let style = JsonStyle::of(text);
    let Some(root) = parse(text)? else {
        // A file without a value, as many editors make it. Its comments stay above.
        let value = nested(place, value);
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { style.line_end };
        return Ok(format!("{text}{gap}{}{}", style.render(&value, ""), style.line_end));
    };
    let mut span = &root;
    for (depth, key) in place.iter().enumerate() {
        let JsonSpanKind::Object(entries) = &span.kind else {
            let place = place.get(..depth).unwrap_or_default();
            return Err(format!("{} is not an object", shown_place(place)));
        };
        match span.member(key) {
            Some((_, entry)) => span = &entry.value,
            None => {
                let value = nested(place.get(depth + 1..).unwrap_or_default(), value);
                let key = Value::from(key.as_str());
                let entry = |indent: &str| format!("{key}: {}", style.render(&value, indent));
                return Ok(insert(text, span, entries, &style, entry));
            }
        }
    }
    let indent = line_indent(text, span.range.start);
    Ok(replaced(text, &span.range, &style.render(value, indent)))
}

/// Returns the text with another text of a value at a place that has one.
pub(super) fn set_raw(text: &str, place: &[String], written: &str) -> Result<String, String> {
    let root = parse(text)?;
    match root.as_ref().and_then(|root| root.at(place)) {
        Some(span) => Ok(replaced(text, &span.range, written)),
        None => Ok(text.to_owned()),
    }
}

/// Returns the text with one more item at the end of the list at a place.
pub(super) fn add(text: &str, place: &[String], item: &str) -> Result<String, String> {
    let item = Value::from(item);
    let root = parse(text)?;
    let Some(list) = root.as_ref().and_then(|root| root.at(place)) else {
        return set(text, place, &Value::from(vec![item]));
    };
    match &list.kind {
        JsonSpanKind::Array(entries) => {
            let style = JsonStyle::of(text);
            Ok(insert(text, list, entries, &style, |indent| style.render(&item, indent)))
        }
        JsonSpanKind::Object(_) | JsonSpanKind::Scalar => {
            Err(format!("{} is not a list", shown_place(place)))
        }
    }
}

/// Returns the text without the value at a place.
pub(super) fn remove(text: &str, place: &[String]) -> Result<String, String> {
    let Some((key, parents)) = place.split_last() else { return Ok(text.to_owned()) };
    let root = parse(text)?;
    let parent = root.as_ref().and_then(|root| root.at(parents));
    let found = parent.and_then(|parent| Some((parent, parent.member(key)?.0)));
    Ok(found.map_or_else(|| text.to_owned(), |(parent, index)| without(text, parent, index)))
}

/// Returns the text without an item of the list at a place.
pub(super) fn remove_item(text: &str, place: &[String], item: &str) -> Result<String, String> {
    let root = parse(text)?;
    let list = root.as_ref().and_then(|root| root.at(place));
    let found = list.and_then(|list| {
        let is_item = |entry: &JsonEntry| entry.value.value(text) == item;
        Some((list, list.entries().iter().rposition(is_item)?))
    });
    Ok(found.map_or_else(|| text.to_owned(), |(list, index)| without(text, list, index)))
}

/// Returns a value inside objects with these keys.
fn nested(place: &[String], value: &Value) -> Value {
    place.iter().rev().fold(value.clone(), |value, key| {
        Value::Object([(key.clone(), value)].into_iter().collect())
    })
}

/// Returns the text with one more entry at the end of an object or a list.
fn insert(
    text: &str,
    container: &JsonSpan,
    entries: &[JsonEntry],
    style: &JsonStyle,
    entry: impl Fn(&str) -> String,
) -> String {
    let outer = line_indent(text, container.range.start);
    let close = container.range.end - 1;
    let line_end = style.line_end;
    let Some(last) = entries.last() else {
        let indent = format!("{outer}{}", style.unit);
        let inside = slice(text, &(container.range.start + 1..close)).trim_end();
        let new = format!("{inside}{line_end}{indent}{}{line_end}{outer}", entry(&indent));
        return replaced(text, &(container.range.start + 1..close), &new);
    };
    if !slice(text, &(container.range.start..last.start)).contains('\n') {
        let at = last.comma.map_or(last.value.range.end, |comma| comma + 1);
        let comma = if last.comma.is_some() { "" } else { "," };
        // An object on one line stays on one line.
        // Strings of JSON have no line ends.
        let entry: Vec<String> = entry("").lines().map(|line| line.trim().to_owned()).collect();
        return replaced(text, &(at..at), &format!("{comma} {}", entry.join(" ")));
    }
    let indent = line_indent(text, last.start);
    let entry = entry(indent);
    match last.comma {
        Some(comma) => {
            let at = end_of_remark(text, comma + 1);
            replaced(text, &(at..at), &format!("{line_end}{indent}{entry},"))
        }
        None => {
            let at = end_of_remark(text, last.value.range.end);
            let text = replaced(text, &(at..at), &format!("{line_end}{indent}{entry}"));
            let end = last.value.range.end;
            replaced(&text, &(end..end), ",")
        }
    }
}

/// Returns the text without the entry with this index of an object or a list.
fn without(text: &str, container: &JsonSpan, index: usize) -> String {
    let entries = container.entries();
    let Some(entry) = entries.get(index) else { return text.to_owned() };
    let end = entry.comma.map_or(entry.value.range.end, |comma| comma + 1);
    let mut start = slice(text, &(0..entry.start)).trim_end().len();
    let before = index.checked_sub(1).and_then(|before| entries.get(before));
    let end_before = before.map_or(container.range.start + 1, |before| {
        before.comma.map_or(before.value.range.end, |comma| comma + 1)
    });
    let remark = slice(text, &(end_before..start)).lines().last().unwrap_or_default();
    let rest = slice(text, &(end..text.len()));
    let rest_of_line = rest.split_once('\n').map_or(rest, |(line, _)| line);
    if remark.contains("//") && !remark.ends_with("*/") && !rest_of_line.trim().is_empty() {
        // The rest of the line must not become a part of the remark.
        start = entry.start;
    }
    let mut changed = replaced(text, &(start..end), "");
    if entry.comma.is_none()
        && let Some(comma) = before.and_then(|before| before.comma)
    {
        changed = replaced(&changed, &(comma..comma + 1), "");
    }
    if entries.len() == 1 {
        let removed = text.len() - changed.len();
        let inside = container.range.start + 1..container.range.end - 1 - removed;
        if slice(&changed, &inside).trim().is_empty() {
            return replaced(&changed, &inside, "");
        }
    }
    changed
}

/// Returns the end of a remark that begins on this line, or the given place if there is none.
fn end_of_remark(text: &str, from: usize) -> usize {
    let rest = slice(text, &(from..text.len()));
    let line = rest.split_once('\n').map_or(rest, |(line, _)| line).trim_end();
    let is_remark = line.trim_start().starts_with("//")
        || line.trim_start().starts_with("/*") && line.ends_with("*/");
    if is_remark { from + line.len() } else { from }
}

/// Returns the white space that a line begins with.
fn line_indent(text: &str, at: usize) -> &str {
    let start = slice(text, &(0..at)).rfind('\n').map_or(0, |end| end + 1);
    let line = slice(text, &(start..text.len()));
    slice(line, &(0..line.len() - line.trim_start_matches([' ', '\t']).len()))
}

fn replaced(text: &str, range: &Range<usize>, new: &str) -> String {
    let mut changed = text.to_owned();
    changed.replace_range(range.clone(), new);
    changed
}

fn slice<'a>(text: &'a str, range: &Range<usize>) -> &'a str {
    text.get(range.clone()).unwrap_or_default()
}

fn shown_place(place: &[String]) -> String {
    if place.is_empty() { "the whole file".to_owned() } else { place.join(".") }
}

/// How a file is written.
struct JsonStyle<'a> {
    unit: &'a str,
    line_end: &'static str,
}

impl<'a> JsonStyle<'a> {
    fn of(text: &'a str) -> Self {
        let indents = text.lines().skip(1).filter(|line| !line.trim().is_empty());
        let mut indents =
            indents.map(|line| slice(line, &(0..line.len() - line.trim_start().len())));
        let unit = indents.find(|indent| !indent.is_empty()).unwrap_or("  ");
        let line_end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        Self { unit, line_end }
    }

    /// Returns a value as text, whose first line is placed by the caller.
    fn render(&self, value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let lines = |open: char, items: Vec<String>, close: char| {
            let items = items.join(&format!(",{}{inner}", self.line_end));
            format!("{open}{0}{inner}{items}{0}{indent}{close}", self.line_end)
        };
        match value {
            Value::Object(members) if !members.is_empty() => {
                let member = |(key, value): (&String, &Value)| {
                    format!("{}: {}", Value::from(key.as_str()), self.render(value, &inner))
                };
                lines('{', members.iter().map(member).collect(), '}')
            }
            Value::Array(items) if !items.is_empty() => {
                let texts: Vec<String> = items.iter().map(|it| self.render(it, &inner)).collect();
                let line = format!("[{}]", texts.join(", "));
                let fits = line.chars().count() <= LINE_CHARS_MAX && !line.contains('\n');
                if fits { line } else { lines('[', texts, ']') }
            }
            value => value.to_string(),
        }
    }
}

/// Reads a text. Returns `None` if it has no value.
fn parse(text: &str) -> Result<Option<JsonSpan>, String> {
    let start = text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len();
    let mut reader = JsonReader { text, at: start };
    reader.skip_space()?;
    if reader.at == text.len() {
        return Ok(None);
    }
    let root = reader.value(0)?;
    reader.skip_space()?;
    if reader.at < text.len() {
        return Err(reader.error("the end of the file"));
    }
    Ok(Some(root))
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
}

impl JsonReader<'_> {
    fn rest(&self) -> &str {
        slice(self.text, &(self.at..self.text.len()))
    }

    fn next(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn error(&self, expected: &str) -> String {
        let line = slice(self.text, &(0..self.at)).matches('\n').count() + 1;
        format!("line {line} is not JSON: expected {expected}")
    }

    fn skip_space(&mut self) -> Result<(), String> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n']);
            let space = rest.len() - trimmed.len();
            let comment = match trimmed.get(..2) {
                Some("//") => trimmed.find('\n').unwrap_or(trimmed.len()),
                Some("/*") => {
                    let end =
                        trimmed.find("*/").ok_or_else(|| self.error("the end of a comment"))?;
                    end + 2
                }
                _ => 0,
            };
            self.at += space + comment;
            if comment == 0 {
                return Ok(());
            }
        }
    }

    fn value(&mut self, depth: usize) -> Result<JsonSpan, String> {
        if depth > DEPTH_MAX {
            return Err(format!("values are nested deeper than {DEPTH_MAX}"));
        }
        let start = self.at;
        let kind = match self.next() {
            Some(b'{') => JsonSpanKind::Object(self.entries(b'}', depth)?),
            Some(b'[') => JsonSpanKind::Array(self.entries(b']', depth)?),
            Some(b'"') => {
                self.string()?;
                JsonSpanKind::Scalar
            }
            Some(_) | None => {
                let is_word = |next: char| next.is_ascii_alphanumeric() || "+-.".contains(next);
                let rest = self.rest();
                let word = slice(rest, &(0..rest.len() - rest.trim_start_matches(is_word).len()));
                if serde_json::from_str::<Value>(word).is_err() {
                    return Err(self.error("a value"));
                }
                self.at += word.len();
                JsonSpanKind::Scalar
            }
        };
        Ok(JsonSpan { range: start..self.at, kind })
    }

    fn entries(&mut self, close: u8, depth: usize) -> Result<Vec<JsonEntry>, String> {
        let mut entries = Vec::new();
        self.at += 1;
        loop {
            self.skip_space()?;
            if self.next() == Some(close) {
                self.at += 1;
                return Ok(entries);
            }
            let start = self.at;
            let mut key = String::new();
            if close == b'}' {
                if self.next() != Some(b'"') {
                    return Err(self.error("a name in quotes or }"));
                }
                key = self.string()?;
                self.skip_space()?;
                if self.next() != Some(b':') {
                    return Err(self.error("a colon"));
                }
                self.at += 1;
                self.skip_space()?;
            }
            let value = self.value(depth + 1)?;
            self.skip_space()?;
            let comma = (self.next() == Some(b',')).then_some(self.at);
            if comma.is_some() {
                self.at += 1;
            } else if self.next() != Some(close) {
                return Err(self.error(if close == b'}' {
                    "a comma or }"
                } else {
                    "a comma or ]"
                }));
            }
            entries.push(JsonEntry { key, start, value, comma });
        }
    }

    fn string(&mut self) -> Result<String, String> {
        let mut is_escaped = false;
        let end = self.rest().char_indices().skip(1).find_map(|(at, next)| {
            let ends = next == '"' && !is_escaped;
            is_escaped = next == '\\' && !is_escaped;
            ends.then_some(at + 1)
        });
        let end = end.ok_or_else(|| self.error("the end of a string"))?;
        let text = serde_json::from_str(slice(self.rest(), &(0..end)));
        let text = text.map_err(|_| self.error("a string"))?;
        self.at += end;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn place(path: &str) -> Vec<String> {
        path.split('.').map(str::to_owned).collect()
    }

    /// The configuration files of people: empty, with comments, on one line, with tabs, trailing commas and CRLF.
    const FILES: &[&str] = &[
        "{}\n",
        "{}",
        "{\n  \"a\": 1\n}\n",
        "{\"a\":1,\"servers\":{}}",
        "// mine\n{\n\t\"a\": [1, 2], // two\n\t/* all */\n\t\"b\": {\"c\": null}\n}\n",
        "{\n  \"servers\": {\n    \"x\": {}, // one\n  },\n  // \"off\": true,\n}\n",
        "{\r\n    \"a\": \"\\\" // no { comment\",\r\n    \"servers\": {\"x\": true} // end\r\n}\r\n",
        "\u{feff}{\n  \"deny\": [\n    \"A\" // a\n  ]\n}",
        "{\n  \"deny\": [\"A\", \"B\"]\n}",
        "{ // none\n}",
        "{\n  // a\n  \"b\": 1}",
    ];

    #[test]
    fn what_is_put_in_can_be_taken_out_and_nothing_else_changes() {
        for file in FILES {
            let value = json!({"command": "haft", "args": ["mcp"]});
            let at = place("servers.haft");
            let with = set(file, &at, &value).unwrap();
            assert_eq!(get(&with, &at).unwrap(), Some(value), "{with}");
            let mut without = remove(&with, &at).unwrap();
            if get(file, &at[..1]).unwrap().is_none() {
                without = remove(&without, &at[..1]).unwrap();
            }
            assert_eq!(&without, file, "{with}");

            let at = place("deny");
            let with = add(file, &at, "Bash").unwrap();
            let list = get(&with, &at).unwrap().unwrap();
            assert_eq!(list.as_array().unwrap().last().unwrap(), "Bash", "{with}");
            let mut without = remove_item(&with, &at, "Bash").unwrap();
            if get(file, &at).unwrap().is_none() {
                without = remove(&without, &at).unwrap();
            }
            assert_eq!(&without, file, "{with}");
        }
    }

    #[test]
    fn a_change_is_written_as_the_rest_is() {
        let check = |text: &str, path: &str, value: Value, expect: &str| {
            assert_eq!(set(text, &place(path), &value).unwrap(), expect);
        };
        check(
            "",
            "s.haft",
            json!({"c": "haft"}),
            "{\n  \"s\": {\n    \"haft\": {\n      \"c\": \"haft\"\n    }\n  }\n}\n",
        );
        check("// mine\n", "a", json!(1), "// mine\n{\n  \"a\": 1\n}\n");
        check(
            "{\n\t\"a\": 1 // one\n\t// two\n}",
            "s.haft",
            json!({}),
            "{\n\t\"a\": 1, // one\n\t\"s\": {\n\t\t\"haft\": {}\n\t}\n\t// two\n}",
        );
        check("{\"a\": 1}", "s", json!({"c": "h"}), "{\"a\": 1, \"s\": { \"c\": \"h\" }}");
        check("{\r\n    \"a\": 1,\r\n}", "b", json!(2), "{\r\n    \"a\": 1,\r\n    \"b\": 2,\r\n}");
        check(
            "{\n  \"a\": {\n    \"b\": 1\n  }\n}",
            "a.b",
            json!([1]),
            "{\n  \"a\": {\n    \"b\": [1]\n  }\n}",
        );
    }

    #[test]
    fn no_remark_swallows_what_follows() {
        let text = "{\n  // a\n  \"b\": 1}";
        assert_eq!(remove(text, &place("b")).unwrap(), "{\n  // a\n  }");
        let text = "{\n  \"a\": 1, // one\n  \"b\": 2 /* two */\n}";
        let without = remove(text, &place("b")).unwrap();
        assert_eq!(get(&without, &[]).unwrap(), Some(json!({"a": 1})), "{without}");
    }

    #[test]
    fn what_is_not_such_json_is_refused_with_its_line() {
        let check = |text: &str, expect: &str| {
            assert_eq!(set(text, &place("a.b"), &json!(1)).unwrap_err(), expect);
        };
        check("{\n  \"a\": }", "line 2 is not JSON: expected a value");
        check("{\n\n  a: 1}", "line 3 is not JSON: expected a name in quotes or }");
        check("{\"a\": 1 \"b\": 2}", "line 1 is not JSON: expected a comma or }");
        check("{\"a\": \"1}", "line 1 is not JSON: expected the end of a string");
        check("{} {}", "line 1 is not JSON: expected the end of the file");
        check("{ /* }", "line 1 is not JSON: expected the end of a comment");
        check("{\"a\": [1]}", "a is not an object");
        check("[]", "the whole file is not an object");
        check(&"[".repeat(200), "values are nested deeper than 128");
        assert_eq!(add("{\"a\": 1}", &place("a"), "x").unwrap_err(), "a is not a list");
    }
}
