//! The tools that a server lists, read within bounds: a page at a time and a tool at a time, so that an error in one tool does
//! not hide the others. Their conversion to tools of haft is done elsewhere.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::limits::{
    SERVER_DESCRIPTION_CHARS_MAX, SERVER_LISTING_BYTES_MAX, SERVER_SCHEMA_BYTES_MAX,
    SERVER_TOOL_NAME_CHARS_MAX, SERVER_TOOLS_MAX,
};
use haft_contract::{clean, cut};

/// A server's tools as it listed them, sorted by name, and which protocol it speaks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct McpToolList {
    pub(super) era: ProtocolEra,
    pub(super) tools: Vec<ListedTool>,
    pub(super) left_out: Vec<String>,
}

/// Which era of the protocol a server speaks, so that it need not be found out again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ProtocolEra {
    /// It opens with a handshake.
    Handshake,
    /// It needs none.
    #[default]
    Stateless,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedTool {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) parameters: Value,
    pub(super) hints: ToolHints,
}

/// A server's claims about a tool, which may be false.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolHints {
    pub(super) is_read_only: bool,
    pub(super) is_idempotent: bool,
}

#[derive(Default)]
pub(super) struct ToolListReader {
    listing: McpToolList,
    bytes: usize,
    has_more: bool,
}

impl ToolListReader {
    /// Takes one page in, and returns where the next one is. Nothing is taken once the bounds are met.
    pub(super) fn read_page(&mut self, page: &Value) -> Result<Option<String>, String> {
        let Some(tools) = page.get("tools").and_then(Value::as_array) else {
            return Err("its list of tools is no list".to_owned());
        };
        for tool in tools {
            let bytes = tool.to_string().len();
            // Tools that are left out count as well: each has a line that says why.
            let taken = self.listing.tools.len() + self.listing.left_out.len();
            let is_full = taken >= SERVER_TOOLS_MAX
                || self.bytes.saturating_add(bytes) > SERVER_LISTING_BYTES_MAX;
            if is_full {
                self.has_more = true;
                continue;
            }
            self.bytes += bytes;
            match parse_tool(tool) {
                Ok(tool) if self.listing.tools.iter().any(|known| known.name == tool.name) => {
                    let name = tool.name;
                    self.listing.left_out.push(format!("a second tool is called {name:?}"));
                }
                Ok(tool) => self.listing.tools.push(tool),
                Err(why) => self.listing.left_out.push(why),
            }
        }
        let next = page.get("nextCursor").and_then(Value::as_str).filter(|_| !self.has_more);
        Ok(next.map(str::to_owned))
    }

    pub(super) fn mark_incomplete(&mut self) {
        self.has_more = true;
    }

    pub(super) fn finish(mut self, era: ProtocolEra) -> McpToolList {
        self.listing.era = era;
        self.listing.tools.sort_by(|one, other| one.name.cmp(&other.name));
        if self.has_more {
            self.listing.left_out.push(format!(
                "it has more tools than are taken in ({SERVER_TOOLS_MAX} tools, {SERVER_LISTING_BYTES_MAX} bytes)"
            ));
        }
        self.listing
    }
}

fn parse_tool(tool: &Value) -> Result<ListedTool, String> {
    let name = tool.get("name").and_then(Value::as_str).filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| "a tool has no name".to_owned())?;
    let shown = cut(&clean(name), SERVER_TOOL_NAME_CHARS_MAX);
    if shown != name {
        return Err(format!(
            "tool {shown:?}: expected a name of at most {SERVER_TOOL_NAME_CHARS_MAX} characters, all of which can be seen"
        ));
    }
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(clean);
    let title = || text(tool.get("title")).or_else(|| text(tool.pointer("/annotations/title")));
    let description =
        text(tool.get("description")).filter(|text| !text.trim().is_empty()).or_else(title);
    let description = description.unwrap_or_else(|| name.to_owned());
    let hint = |name: &str| {
        let hint = tool.get("annotations").and_then(|all| all.get(name));
        hint.and_then(Value::as_bool).unwrap_or(false)
    };
    let mut schema = match tool.get("inputSchema") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(schema)) => schema.clone(),
        Some(_) => return Err(format!("tool {name:?}: its schema is no object")),
    };
    let kind = schema.entry("type").or_insert_with(|| json!("object"));
    if *kind != "object" {
        return Err(format!(
            "tool {name:?}: its input is {kind}, and expected were parameters by name (\"type\": \"object\")"
        ));
    }
    let parameters = Value::Object(schema);
    let bytes = parameters.to_string().len();
    if bytes > SERVER_SCHEMA_BYTES_MAX {
        return Err(format!(
            "tool {name:?}: its schema has {bytes} bytes, more than {SERVER_SCHEMA_BYTES_MAX}"
        ));
    }
    Ok(ListedTool {
        name: name.to_owned(),
        description: cut(description.trim(), SERVER_DESCRIPTION_CHARS_MAX),
        parameters,
        hints: ToolHints {
            is_read_only: hint("readOnlyHint"),
            is_idempotent: hint("idempotentHint"),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(pages: &[Value]) -> McpToolList {
        let mut taking = ToolListReader::default();
        for page in pages {
            taking.read_page(page).unwrap();
        }
        taking.finish(ProtocolEra::Handshake)
    }

    fn names(listing: &McpToolList) -> Vec<&str> {
        listing.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn what_is_wrong_with_one_tool_does_not_hide_the_others() {
        let listing = taken(&[json!({"tools": [
            {"name": "b", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}},
            {"name": "a"},
            {"name": "a", "description": "again"},
            {"description": "nameless"},
            {"name": "odd", "inputSchema": []},
            {"name": "text", "inputSchema": {"type": "string"}},
            {"name": "bell\u{7}"},
        ]})]);
        assert_eq!(names(&listing), ["a", "b"]);
        assert!(listing.tools[1].hints.is_read_only && !listing.tools[0].hints.is_read_only);
        assert_eq!(listing.tools[0].description, "a");
        assert_eq!(listing.tools[0].parameters, json!({"type": "object"}));
        assert_eq!(
            listing.left_out,
            [
                "a second tool is called \"a\"",
                "a tool has no name",
                "tool \"odd\": its schema is no object",
                "tool \"text\": its input is \"string\", and expected were parameters by name (\"type\": \"object\")",
                "tool \"bell\": expected a name of at most 256 characters, all of which can be seen",
            ]
        );
    }

    #[test]
    fn lists_are_bounded() {
        let tools = |count: usize, from: usize| {
            let tool = |number: usize| json!({"name": format!("t{number:05}")});
            json!({"tools": (from..from + count).map(tool).collect::<Vec<_>>(), "nextCursor": "on"})
        };
        let mut taking = ToolListReader::default();
        assert_eq!(taking.read_page(&tools(SERVER_TOOLS_MAX, 0)), Ok(Some("on".to_owned())));
        assert_eq!(taking.read_page(&tools(1, SERVER_TOOLS_MAX)), Ok(None));
        let listing = taking.finish(ProtocolEra::Handshake);
        assert_eq!((listing.tools.len(), listing.left_out.len()), (SERVER_TOOLS_MAX, 1));

        let listing = taken(&[json!({"tools": vec![json!({}); SERVER_TOOLS_MAX + 1]})]);
        assert_eq!((listing.tools.len(), listing.left_out.len()), (0, SERVER_TOOLS_MAX + 1));

        let big = |bytes: usize| {
            let schema = json!({"type": "object", "title": ""});
            let title = "x".repeat(bytes - schema.to_string().len());
            json!({"tools": [{"name": "big", "inputSchema": {"type": "object", "title": title}}]})
        };
        assert_eq!(names(&taken(&[big(SERVER_SCHEMA_BYTES_MAX)])), ["big"]);
        assert!(names(&taken(&[big(SERVER_SCHEMA_BYTES_MAX + 1)])).is_empty());
        assert!(ToolListReader::default().read_page(&json!({"tools": 5})).is_err());

        let named = |chars: usize| json!({"tools": [{"name": "ä".repeat(chars)}]});
        assert_eq!(taken(&[named(SERVER_TOOL_NAME_CHARS_MAX)]).tools.len(), 1);
        let listing = taken(&[named(SERVER_TOOL_NAME_CHARS_MAX + 1)]);
        assert_eq!((listing.tools.len(), listing.left_out.len()), (0, 1));

        // All that is said of tools counts, also what is cut afterwards.
        let described = |name: &str, bytes: usize| {
            let around = json!({"name": name, "description": ""}).to_string().len();
            json!({"name": name, "description": "x".repeat(bytes - around)})
        };
        let half = SERVER_LISTING_BYTES_MAX / 2;
        let two = |bytes: usize| json!({"tools": [described("a", half), described("b", bytes)]});
        assert_eq!(names(&taken(&[two(half)])), ["a", "b"]);
        let listing = taken(&[two(half + 1)]);
        assert_eq!((names(&listing), listing.left_out.len()), (vec!["a"], 1));
    }

    #[test]
    fn descriptions_are_cut_and_cleaned() {
        let long = "ä".repeat(SERVER_DESCRIPTION_CHARS_MAX + 1);
        let page = json!({"tools": [
            {"name": "a", "description": long},
            {"name": "b", "description": "\u{1b}[2Jgone", "title": "B"},
            {"name": "c", "description": " ", "title": "Sea"},
        ]});
        let listing = taken(&[page]);
        assert_eq!(listing.tools[0].description.chars().count(), SERVER_DESCRIPTION_CHARS_MAX + 1);
        assert_eq!(listing.tools[1].description, "[2Jgone");
        assert_eq!(listing.tools[2].description, "Sea");
    }
}
