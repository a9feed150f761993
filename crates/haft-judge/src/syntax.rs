//! The form in which both parsers report a line, so that what they say can be compared. It keeps what decides which
//! commands run where and drops the rest: descriptor numbers, comments, terminators, the bodies of quoted
//! here-documents. It does not decode words.

use std::ops::Range;

use crate::judgement::UnknownReason;

mod brush;
mod shuck;

pub use shuck::FUEL_MAX;

/// How deep constructs may nest. Both parsers recurse, and brush's time grows steeply with parentheses in each other.
pub const NESTING_MAX: usize = 16;
/// Digits of a descriptor.
pub const DESCRIPTOR_DIGITS_MAX: usize = 9;
/// The longest line that is parsed.
pub const LINE_BYTES_MAX: usize = 32_768;

/// Statements, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script(pub(crate) Vec<Statement>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Statement {
    Simple(Simple),
    /// Two commands or more, each in a shell of its own.
    Pipeline(Vec<Statement>),
    /// A first statement, and what follows it by `&&` or `||`.
    Chain(Box<Statement>, Vec<(Join, Statement)>),
    Negated(Box<Statement>),
    Background(Box<Statement>),
    Group(Script),
    Subshell(Script),
    If {
        /// Conditions with what they lead to.
        arms: Vec<(Script, Script)>,
        otherwise: Script,
    },
    Loop(Loop),
    Case {
        subject: Word,
        arms: Vec<CaseArm>,
    },
    Function {
        name: String,
        body: Box<Statement>,
    },
    /// `[[ … ]]`
    Test(Source),
    /// `(( … ))`
    Arithmetic(Source),
    Redirected(Box<Statement>, Vec<Redirect>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
}

/// `for`, `while` and `until`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) variable: Option<String>,
    pub(crate) words: Vec<Word>,
    /// Of `for ((…))`.
    pub(crate) arithmetic: Option<Source>,
    pub(crate) condition: Script,
    pub(crate) body: Script,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CaseArm {
    pub(crate) patterns: Vec<Word>,
    pub(crate) body: Script,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    pub(crate) redirects: Vec<Redirect>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    /// The text between the brackets of `name[…]=`.
    pub(crate) subscript: Option<Source>,
    pub(crate) value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    Scalar(Word),
    Array(Source),
}

/// A redirection of a file or a document. Those of descriptors alone are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) how: RedirectHow,
    pub(crate) target: Word,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectHow {
    Read,
    Write,
    ReadWrite,
    HereString,
    /// A here-document in which the shell expands.
    Document,
    /// A here-document that is taken as it stands.
    QuotedDocument,
}

/// A word as it is written.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub(crate) source: String,
    pub(crate) holes: Vec<Hole>,
}

/// A part of a word that holds code.
#[derive(Clone, Debug)]
pub(crate) struct Hole {
    /// Where in the source of the word; empty where the parser does not say.
    pub(crate) range: Range<usize>,
    pub(crate) code: Code,
}

impl Hole {
    /// Returns the text of `$(cat <<'END' …)`, which is the way to give a program an argument of several lines.
    pub(crate) fn constant(&self) -> Option<&str> {
        let Code::Command(Script(statements)) = &self.code else { return None };
        let [Statement::Simple(simple)] = statements.as_slice() else { return None };
        match (simple.assignments.as_slice(), simple.words.as_slice(), simple.redirects.as_slice())
        {
            ([], [program], [redirect])
                if program.source == "cat" && redirect.how == RedirectHow::QuotedDocument =>
            {
                Some(redirect.target.source.trim_end_matches('\n'))
            }
            _ => None,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// `$(…)` or backticks.
    Command(Script),
    /// `<(…)` or `>(…)`.
    Process(Script),
    /// `$((…))`
    Arithmetic,
}

/// Text that the parsers cut alike but spell differently, so that it is no part of the comparison.
#[derive(Clone, Debug)]
pub(crate) struct Source(pub(crate) String);

impl PartialEq for Source {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Source {}

/// Words are equal if they are written alike. Where code is inside, one parser reports the source only roughly, and
/// the code itself is compared instead.
impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        let codes =
            |word: &Self| word.holes.iter().map(|hole| hole.code.clone()).collect::<Vec<_>>();
        let is_rough = ["$(", "${", "$[", "`", "<(", ">("]
            .iter()
            .any(|opener| self.source.contains(opener) && other.source.contains(opener));
        codes(self) == codes(other) && (is_rough || joined(&self.source) == joined(&other.source))
    }
}

impl Eq for Word {}

/// Parses a line with both parsers.
///
/// # Errors
///
/// When the line is too large, is no bash, holds a construct that is not followed, or the parsers do not agree.
pub(crate) fn parse(line: &str) -> Result<Script, UnknownReason> {
    check_bounds(line)?;
    // shuck goes first: it has limits of its own, and refuses what would make brush hang.
    let script = shuck::parse(line, NESTING_MAX)?;
    if script == brush::parse(line, NESTING_MAX)? {
        Ok(script)
    } else {
        Err(UnknownReason::Ambiguous)
    }
}

/// Bounds what no parser should see. Quotes are not understood here, so a text that is full of brackets may be refused
/// although nothing in it nests.
fn check_bounds(line: &str) -> Result<(), UnknownReason> {
    if line.len() > LINE_BYTES_MAX {
        return Err(UnknownReason::TooLarge);
    }
    // A carriage return is a character like others to bash, and white space to people and to some parsers.
    if line.contains(['\0', '\r', '\u{b}', '\u{c}']) {
        return Err(UnknownReason::Syntax);
    }
    let mut nesting: usize = 0;
    for char in line.chars() {
        match char {
            '(' | '{' | '[' => nesting += 1,
            ')' | '}' | ']' => nesting = nesting.saturating_sub(1),
            _ => {}
        }
        if nesting > NESTING_MAX {
            return Err(UnknownReason::TooLarge);
        }
    }
    check_descriptors(line)?;
    check_prefixes(line)
}

/// Bounds the numbers before and after redirections. brush panics at one that has no 32 bits.
fn check_descriptors(line: &str) -> Result<(), UnknownReason> {
    let is_digit = |char: char| char.is_ascii_digit();
    let is_long = |part: &str| {
        let first = part.len() - part.trim_start_matches(is_digit).len();
        let last = part.len() - part.trim_end_matches(is_digit).len();
        first.max(last) > DESCRIPTOR_DIGITS_MAX
    };
    let mut parts = line.split(['<', '>', '&']);
    let is_plain = !line.contains(['<', '>']);
    if is_plain || !parts.any(is_long) { Ok(()) } else { Err(UnknownReason::TooLarge) }
}

/// Bounds the keywords that may stand before each other. shuck counts no depth for them.
fn check_prefixes(line: &str) -> Result<(), UnknownReason> {
    let mut count: usize = 0;
    for word in line.split_whitespace() {
        match word {
            "time" | "coproc" | "!" => count += 1,
            // Options and redirections may stand between them, and the name of a coprocess.
            _ if word.starts_with('-') || word.contains(['<', '>', '&']) || word.len() < 3 => {}
            _ => count = count.saturating_sub(1),
        }
        if count > NESTING_MAX {
            return Err(UnknownReason::TooLarge);
        }
    }
    Ok(())
}

/// Returns a source without its line continuations.
fn joined(source: &str) -> String {
    source.replace("\\\n", "")
}

/// Returns the text inside a substitution, or `None` if `source` is not one that is understood.
///
/// In backticks a backslash changes what the inner shell sees, so such text is not taken.
fn inside(source: &str) -> Option<&str> {
    match source.strip_prefix('`') {
        Some(rest) => rest.strip_suffix('`').filter(|inner| !inner.contains('\\')),
        None => {
            let rest = source.strip_prefix('$').or_else(|| source.strip_prefix(['<', '>']))?;
            rest.strip_prefix('(')?.strip_suffix(')')
        }
    }
}

/// Returns whether what follows `>&` or `<&` is a descriptor, which is duplicated, moved or closed.
fn is_descriptor(target: &str) -> bool {
    let number = target.strip_suffix('-').unwrap_or(target);
    !target.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Wraps a compound command in its redirections.
fn redirected(statement: Statement, redirects: Vec<Redirect>) -> Statement {
    if redirects.is_empty() {
        statement
    } else {
        Statement::Redirected(Box::new(statement), redirects)
    }
}
