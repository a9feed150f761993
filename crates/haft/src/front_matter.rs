//! Parses the front matter of a Markdown file, between its first two lines of three dashes, and returns the body.
//! Parsing is bounded, because workspaces can be from strangers. The caller interprets the fields.

use std::fmt;

use serde::de::{DeserializeOwned, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Number;
use serde_saphyr::Spanned;

/// Largest front matter of a skill or an agent, in bytes.
///
/// Limit (agents): the skill or agent is left out.
pub(crate) const FRONT_MATTER_BYTES_MAX: usize = 16 * 1024;
/// Nodes and aliases in front matter, each, after which it is not read on.
pub(crate) const FRONT_MATTER_NODES_MAX: usize = 1_000;
/// How deep lists and tables of front matter lie in each other.
const DEPTH_MAX: usize = 16;

/// A text parted into its front matter and what stands below.
#[derive(Clone, Copy, Debug)]
pub struct FrontMatter<'a> {
    yaml: &'a str,
    body: &'a [u8],
}

/// A mistake in the front matter of a text or in its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatterFault {
    /// The line of the file, from 1, where it is one line's.
    pub line: Option<u64>,
    /// The expected content, the content found, and the fix.
    pub message: String,
}

/// A key of front matter with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontMatterField {
    /// The key.
    pub key: String,
    /// The line of the file in which the key stands, from 1.
    pub line: u64,
    /// Its value.
    pub value: FrontMatterValue,
}

/// A value of front matter.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontMatterValue {
    /// The line of the file in which it begins, from 1.
    pub line: u64,
    /// The kind of the value, with its content.
    pub kind: FrontMatterKind,
}

/// The kinds of values in front matter.
#[derive(Clone, Debug, PartialEq)]
pub enum FrontMatterKind {
    /// There is none.
    Nothing,
    /// True or false.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// Values, in order.
    List(Vec<FrontMatterValue>),
    /// Values with keys, in order.
    Table(Vec<FrontMatterField>),
}

impl<'a> FrontMatter<'a> {
    /// Parts a text at the lines of dashes. Only the front matter must be UTF-8 for that: the text may be cut anywhere
    /// after it.
    pub fn split(bytes: &'a [u8]) -> Result<Self, FrontMatterFault> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        if first.trim_ascii_end() != b"---" {
            return Err(fault(
                Some(1),
                "expected front matter, which begins with a first line of three dashes (---), found none",
            ));
        }
        let (mut bytes_read, mut end) = (first.len(), None);
        for line in lines {
            if line.trim_ascii_end() == b"---" {
                end = Some((bytes_read, bytes_read + line.len()));
                break;
            }
            bytes_read += line.len();
        }
        let Some((yaml_end, below)) =
            end.filter(|(end, _)| end - first.len() <= FRONT_MATTER_BYTES_MAX)
        else {
            let message = format!(
                "expected a line of three dashes (---) that ends the front matter within {FRONT_MATTER_BYTES_MAX} bytes, \
                 found none"
            );
            return Err(fault(Some(1), &message));
        };
        let yaml = bytes.get(first.len()..yaml_end).unwrap_or_default();
        let yaml = std::str::from_utf8(yaml)
            .map_err(|_| fault(Some(1), "expected front matter in UTF-8, found other bytes"))?;
        Ok(Self { yaml, body: bytes.get(below..).unwrap_or_default() })
    }

    /// Returns what stands below.
    pub fn body(&self) -> Result<&'a str, FrontMatterFault> {
        std::str::from_utf8(self.body).map_err(|_| fault(None, "expected UTF-8, found other bytes"))
    }

    /// Returns all fields with their lines.
    pub fn fields(&self) -> Result<Vec<FrontMatterField>, FrontMatterFault> {
        let not_table = "expected front matter of lines «key: value», found something else";
        match self.read::<Spanned<RawYamlValue>>() {
            Ok(read) => match value_of(read).kind {
                FrontMatterKind::Table(fields) => Ok(fields),
                FrontMatterKind::Nothing => Ok(Vec::new()),
                FrontMatterKind::Bool(_)
                | FrontMatterKind::Number(_)
                | FrontMatterKind::Text(_)
                | FrontMatterKind::List(_) => Err(fault(Some(2), not_table)),
            },
            Err(err) => {
                let message = format!("the front matter is not YAML: {}", err.message);
                Err(FrontMatterFault { message, ..err })
            }
        }
    }

    /// Reads the fields that `T` has; all others are passed over. The message says what YAML makes of it, and no more.
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, FrontMatterFault> {
        serde_saphyr::from_str_with_options(self.yaml, options()).map_err(|err| {
            let err = err.without_snippet();
            // The first line of the front matter is the second of the file.
            let line = err.location().map(|location| location.line() + 1);
            let text = err.to_string();
            let text = text.lines().next().unwrap_or_default();
            let text = text.rsplit_once(" at line ").map_or(text, |(text, _)| text);
            // The YAML parser's advice about options is for programmers, and authors of such files cannot set options.
            let text = text.split_once(", set ").map_or(text, |(text, _)| text);
            let advice = if text.starts_with("mapping values are not allowed") {
                "; put a text that holds a colon into quotes"
            } else {
                ""
            };
            fault(line, &format!("{text}{advice}"))
        })
    }

    /// Returns the line of the file in which a key of the front matter stands.
    pub(crate) fn line_of(&self, key: &str) -> Option<u64> {
        let is_key = |line: &str| {
            line.strip_prefix(key).is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        let place = self.yaml.lines().position(is_key)?;
        u64::try_from(place + 2).ok()
    }
}

impl FrontMatterKind {
    /// Returns what it is in a word, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
        }
    }
}

/// A value as the reader of YAML hands it over.
enum RawYamlValue {
    Nothing,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Spanned<RawYamlValue>>),
    Table(Vec<(Spanned<String>, Spanned<RawYamlValue>)>),
}

impl<'de> Deserialize<'de> for RawYamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawYamlVisitor)
    }
}

struct RawYamlVisitor;

impl<'de> Visitor<'de> for RawYamlVisitor {
    type Value = RawYamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<RawYamlValue, E> {
        Ok(RawYamlValue::Nothing)
    }

    fn visit_none<E>(self) -> Result<RawYamlValue, E> {
        Ok(RawYamlValue::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<RawYamlValue, E> {
        Ok(RawYamlValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<RawYamlValue, E> {
        Ok(RawYamlValue::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<RawYamlValue, E> {
        Ok(RawYamlValue::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<RawYamlValue, E> {
        // JSON has no infinity and no NaN, so these become nothing.
        Ok(Number::from_f64(value).map_or(RawYamlValue::Nothing, RawYamlValue::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<RawYamlValue, E> {
        Ok(RawYamlValue::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<RawYamlValue, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(RawYamlValue::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<RawYamlValue, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(RawYamlValue::Table(entries))
    }
}

/// The first line of the front matter is the second of the file.
fn value_of(read: Spanned<RawYamlValue>) -> FrontMatterValue {
    let line = read.referenced.line() + 1;
    let kind = match read.value {
        RawYamlValue::Nothing => FrontMatterKind::Nothing,
        RawYamlValue::Bool(value) => FrontMatterKind::Bool(value),
        RawYamlValue::Number(value) => FrontMatterKind::Number(value),
        RawYamlValue::Text(value) => FrontMatterKind::Text(value),
        RawYamlValue::List(items) => {
            FrontMatterKind::List(items.into_iter().map(value_of).collect())
        }
        RawYamlValue::Table(entries) => {
            let field = |(key, value): (Spanned<String>, _)| FrontMatterField {
                line: key.referenced.line() + 1,
                key: key.value,
                value: value_of(value),
            };
            FrontMatterKind::Table(entries.into_iter().map(field).collect())
        }
    };
    FrontMatterValue { line, kind }
}

/// Aliases are how a few lines of YAML become gigabytes; such files need none.
fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_reader_input_bytes: Some(FRONT_MATTER_BYTES_MAX),
            max_events: 4 * FRONT_MATTER_NODES_MAX,
            max_nodes: FRONT_MATTER_NODES_MAX,
            max_aliases: FRONT_MATTER_NODES_MAX,
            max_anchors: FRONT_MATTER_NODES_MAX,
            max_depth: DEPTH_MAX,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: FRONT_MATTER_NODES_MAX,
            max_replay_stack_depth: DEPTH_MAX,
            max_alias_expansions_per_anchor: FRONT_MATTER_NODES_MAX,
        },
        with_snippet: false,
    }
}

fn fault(line: Option<u64>, message: &str) -> FrontMatterFault {
    FrontMatterFault { line, message: message.to_owned() }
}
