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
/// The lines of a file above its front matter: the first line of dashes.
const FIRST_LINE: u64 = 1;

/// A text parted into its front matter and what stands below.
#[derive(Clone, Copy, Debug)]
pub struct FrontMatter<'a> {
    /// The lines between the two lines of dashes.
    yaml: &'a str,
    /// The bytes after the second line of dashes.
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
    /// Parts a text at the lines of dashes. Only the front matter must be UTF-8 for that: the text may be cut
    /// anywhere after it.
    ///
    /// # Errors
    ///
    /// Says that one of the two lines of dashes is missing, or that the front matter is not UTF-8.
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
    ///
    /// # Errors
    ///
    /// Says that the text is not UTF-8.
    pub fn body(&self) -> Result<&'a str, FrontMatterFault> {
        std::str::from_utf8(self.body).map_err(|_| fault(None, "expected UTF-8, found other bytes"))
    }

    /// Returns all fields with their lines.
    ///
    /// # Errors
    ///
    /// Says where the front matter is not YAML, or that it has no keys.
    pub fn fields(&self) -> Result<Vec<FrontMatterField>, FrontMatterFault> {
        let not_table = "expected front matter of lines «key: value», found something else";
        match self.read::<FrontMatterKind>() {
            Ok(read) => match read {
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
            let line = err.location().map(|location| location.line() + FIRST_LINE);
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

impl<'de> Deserialize<'de> for FrontMatterKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(FrontMatterVisitor)
    }
}

/// Builds a value from the events of the YAML parser.
struct FrontMatterVisitor;

impl<'de> Visitor<'de> for FrontMatterVisitor {
    type Value = FrontMatterKind;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<FrontMatterKind, E> {
        Ok(FrontMatterKind::Nothing)
    }

    fn visit_none<E>(self) -> Result<FrontMatterKind, E> {
        Ok(FrontMatterKind::Nothing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<FrontMatterKind, E> {
        Ok(FrontMatterKind::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<FrontMatterKind, E> {
        Ok(FrontMatterKind::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<FrontMatterKind, E> {
        Ok(FrontMatterKind::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<FrontMatterKind, E> {
        // JSON has no infinity and no NaN, so these become nothing.
        Ok(Number::from_f64(value).map_or(FrontMatterKind::Nothing, FrontMatterKind::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<FrontMatterKind, E> {
        Ok(FrontMatterKind::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<FrontMatterKind, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element::<Spanned<FrontMatterKind>>()? {
            items.push(item.into());
        }
        Ok(FrontMatterKind::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<FrontMatterKind, A::Error> {
        let mut fields = Vec::new();
        while let Some((key, value)) =
            access.next_entry::<Spanned<String>, Spanned<FrontMatterKind>>()?
        {
            let line = key.referenced.line() + FIRST_LINE;
            fields.push(FrontMatterField { key: key.value, line, value: value.into() });
        }
        Ok(FrontMatterKind::Table(fields))
    }
}

impl From<Spanned<FrontMatterKind>> for FrontMatterValue {
    fn from(read: Spanned<FrontMatterKind>) -> Self {
        Self { line: read.referenced.line() + FIRST_LINE, kind: read.value }
    }
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

/// Returns a fault at a line of the file.
fn fault(line: Option<u64>, message: &str) -> FrontMatterFault {
    FrontMatterFault { line, message: message.to_owned() }
}
