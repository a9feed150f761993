//! Reads references out of text, in one pass from left to right.

use super::path::{ReferencePath, ReferencePathSegment, index_of, is_plain_char};
use super::piece::{InputTemplateFault, InputTemplatePiece, Reference, ReferenceSource};
use crate::limits::PATH_SEGMENTS_MAX;
use crate::message_text::shortened;
use crate::node_id::NodeId;

const ESCAPE_HINT: &str = "two literal braces are written \\{{ (inside JSON: \"\\\\{{\")";

/// Splits `text` into literal pieces and references. Adjacent literals are one piece. Unreadable parts are left out and
/// reported.
pub(super) fn pieces(text: &str) -> (Vec<InputTemplatePiece>, Vec<InputTemplateFault>) {
    let mut pieces = Vec::new();
    let mut malformed = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("{{") {
        let (before, braces) = rest.split_at(at);
        let plain = before.trim_end_matches('\\');
        let backslashes = before.len() - plain.len();
        literal.push_str(plain);
        literal.extend(std::iter::repeat_n('\\', backslashes / 2));
        if backslashes % 2 == 1 {
            literal.push_str("{{");
            rest = braces.get(2..).unwrap_or_default();
            continue;
        }
        // The last two of several braces open, so that a reference can stand inside literal ones.
        let inside = braces.trim_start_matches('{');
        let extra = braces.len() - inside.len() - 2;
        literal.extend(std::iter::repeat_n('{', extra));
        rest = match reference(inside) {
            Ok((reference, after)) => {
                if !literal.is_empty() {
                    pieces.push(InputTemplatePiece::Literal(std::mem::take(&mut literal)));
                }
                pieces.push(InputTemplatePiece::Reference(reference));
                after
            }
            Err(why) => {
                malformed.push(why);
                inside.split_once("}}").map_or("", |(_, after)| after)
            }
        };
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(InputTemplatePiece::Literal(literal));
    }
    (pieces, malformed)
}

/// Returns the reference of another language that a text holds, such as `${STEPS.0}`. It would be handed on as it stands.
pub(super) fn foreign(text: &str) -> Option<InputTemplateFault> {
    let (_, inside) = text.split_once("${")?;
    let is_meant = ["STEPS", "INPUT"].iter().any(|name| {
        inside.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', '[', '}']))
    });
    let end = inside.find('}').map_or(inside.len(), |end| end + 1);
    let written = shortened(&format!("${{{}", inside.get(..end).unwrap_or(inside)));
    is_meant.then(|| {
        InputTemplateFault::Placeholder(format!(
            "{written} is a placeholder that nothing fills: a reference is {{{{STEPS.<id>.<path>}}}} or {{{{INPUT.<path>}}}}"
        ))
    })
}

/// Reads a reference whose opening braces were read, and returns what follows the closing ones.
fn reference(inside: &str) -> Result<(Reference, &str), InputTemplateFault> {
    let mut reader = ReferenceReader { rest: inside.trim_start() };
    let name = reader.plain_name();
    let source = match name {
        "STEPS" => {
            let number = match reader.segment().map_err(|why| bad(inside, why))? {
                Some(ReferencePathSegment::Name(name)) => index_of(&name),
                Some(ReferencePathSegment::Index(index)) => Some(index),
                Some(ReferencePathSegment::Quoted(_)) | None => None,
            };
            let id = number.and_then(|number| u32::try_from(number).ok()).map(NodeId::new);
            let missing = "STEPS is followed by the id of a node, as in {{STEPS.0}}";
            ReferenceSource::Step(id.ok_or_else(|| bad(inside, missing.to_owned()))?)
        }
        "INPUT" => ReferenceSource::Input,
        _ => {
            let meant = ["STEPS", "INPUT"].into_iter().find(|known| {
                name.eq_ignore_ascii_case(known)
                    || name.eq_ignore_ascii_case(known.trim_end_matches('S'))
            });
            let hint = match meant {
                Some(known) => format!("write {known} in capitals"),
                None => format!(
                    "a reference is {{{{STEPS.<id>.<path>}}}} or {{{{INPUT.<path>}}}}, and {ESCAPE_HINT}"
                ),
            };
            let found = excerpt(inside);
            return Err(InputTemplateFault::Placeholder(format!(
                "{found} is a placeholder that nothing fills: {hint}"
            )));
        }
    };
    let path = reader.path().map_err(|why| bad(inside, why))?;
    match reader.rest.trim_start().strip_prefix("}}") {
        Some(after) => Ok((Reference { source, path }, after)),
        None => {
            let why = match reader.rest.trim_start().chars().next() {
                None => "its closing }} is missing".to_owned(),
                Some('}') => "it ends with a single }".to_owned(),
                Some(one) => format!(
                    "{one:?} is not expected there; a name with such a character stands in quotes, as in [\"total sum\"]"
                ),
            };
            Err(bad(inside, why))
        }
    }
}

/// Reads a path that stands alone, such as `items[0].done`. An empty text is the path to the whole.
pub(crate) fn read_path(text: &str) -> Result<ReferencePath, String> {
    let text = text.trim();
    let is_begun = text.is_empty() || text.starts_with(['.', '[']);
    let text = if is_begun { text.to_owned() } else { format!(".{text}") };
    let mut reader = ReferenceReader { rest: &text };
    let path = reader.path()?;
    match reader.rest.chars().next() {
        None => Ok(path),
        Some(one) => Err(format!(
            "{one:?} is not expected there; a name with such a character stands in quotes, as in [\"total sum\"]"
        )),
    }
}

struct ReferenceReader<'t> {
    rest: &'t str,
}

impl<'t> ReferenceReader<'t> {
    fn plain_name(&mut self) -> &'t str {
        let end = self.rest.find(|one| !is_plain_char(one)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        name
    }

    fn path(&mut self) -> Result<ReferencePath, String> {
        let mut segments = Vec::new();
        while let Some(segment) = self.segment()? {
            if segments.len() == PATH_SEGMENTS_MAX {
                return Err(format!("its path is longer than {PATH_SEGMENTS_MAX} names"));
            }
            segments.push(segment);
        }
        Ok(ReferencePath(segments))
    }

    /// Reads one step of a path, or nothing where the path ends.
    fn segment(&mut self) -> Result<Option<ReferencePathSegment>, String> {
        if let Some(rest) = self.rest.strip_prefix('.') {
            self.rest = rest;
            let name = self.plain_name();
            if name.is_empty() {
                return Err("a name is missing after a dot".to_owned());
            }
            return Ok(Some(ReferencePathSegment::Name(name.to_owned())));
        }
        let Some(rest) = self.rest.strip_prefix('[') else { return Ok(None) };
        self.rest = rest;
        let segment = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let mut name = String::new();
                let mut chars = self.rest.char_indices().skip(1);
                let end = loop {
                    let (at, one) = chars.next().ok_or("a closing quote is missing")?;
                    match one {
                        one if one == quote => break at + quote.len_utf8(),
                        '\\' => name.extend(chars.next().map(|(_, next)| next)),
                        one => name.push(one),
                    }
                };
                self.rest = self.rest.get(end..).unwrap_or_default();
                ReferencePathSegment::Quoted(name)
            }
            _ => {
                let name = self.plain_name();
                let index = index_of(name).ok_or_else(|| {
                    format!("[{}] is neither an index from 0 nor a name in quotes", shortened(name))
                })?;
                ReferencePathSegment::Index(index)
            }
        };
        let closed = self.rest.strip_prefix(']').ok_or("a closing ] is missing")?;
        self.rest = closed;
        Ok(Some(segment))
    }
}

fn bad(inside: &str, why: String) -> InputTemplateFault {
    InputTemplateFault::Reference(format!(
        "{} is not a reference that can be read: {why}",
        excerpt(inside)
    ))
}

/// Returns the braces and what stands between them, shortened.
fn excerpt(inside: &str) -> String {
    let text = match inside.find("}}") {
        Some(end) => inside.get(..end + 2).unwrap_or(inside),
        None => inside,
    };
    shortened(&format!("{{{{{text}"))
}
