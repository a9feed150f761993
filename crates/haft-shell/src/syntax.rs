//! The statements of a line, with everything that determines which commands run where. Descriptor
//! numbers, comments and terminators are dropped. Words are not decoded here.

use std::ops::Range;

use crate::analysis::UnknownReason;

mod pieces;
mod shuck;

pub use shuck::FUEL_MAX;

/// Brackets and here-documents within each other in a command line. The parser recurses.
///
/// Limit (commands): haft asks about the whole line.
pub const NESTING_MAX: usize = 16;
/// Longest command line that haft parses, in bytes.
///
/// Limit (commands): haft asks about the whole line.
pub const LINE_BYTES_MAX: usize = 32_768;

/// A sequence of statements.
#[derive(Debug)]
pub(crate) struct ShellScript(pub(crate) Vec<Statement>);

#[derive(Debug)]
pub(crate) enum Statement {
    Simple(SimpleStatement),
    /// Two commands or more, each in a separate shell.
    Pipeline(Vec<Statement>),
    /// A first statement, and the statements after it with `&&` or `||`.
    Chain(Box<Statement>, Vec<(ChainOperator, Statement)>),
    Negated(Box<Statement>),
    Background(Box<Statement>),
    Group(ShellScript),
    Subshell(ShellScript),
    If {
        /// Conditions with their branches.
        arms: Vec<(ShellScript, ShellScript)>,
        otherwise: ShellScript,
    },
    Loop(LoopStatement),
    Case {
        subject: ShellWord,
        arms: Vec<CaseArm>,
    },
    Function {
        name: String,
        body: Box<Statement>,
    },
    /// `[[ … ]]`
    Test(String),
    /// `(( … ))`
    Arithmetic(String),
    Redirected(Box<Statement>, Vec<Redirect>),
}

#[derive(Debug)]
pub(crate) enum ChainOperator {
    And,
    Or,
}

/// `for`, `while` and `until`.
#[derive(Debug)]
pub(crate) struct LoopStatement {
    pub(crate) variable: Option<String>,
    pub(crate) words: Vec<ShellWord>,
    /// Of `for ((…))`.
    pub(crate) arithmetic: Option<String>,
    pub(crate) condition: ShellScript,
    pub(crate) body: ShellScript,
}

#[derive(Debug)]
pub(crate) struct CaseArm {
    pub(crate) patterns: Vec<ShellWord>,
    pub(crate) body: ShellScript,
}

#[derive(Debug)]
pub(crate) struct SimpleStatement {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<ShellWord>,
    pub(crate) redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    /// The text between the brackets of `name[…]=`.
    pub(crate) subscript: Option<String>,
    pub(crate) value: AssignedValue,
}

#[derive(Debug)]
pub(crate) enum AssignedValue {
    Scalar(ShellWord),
    Array(String),
}

/// A redirection of a file or a document. Redirections between descriptors are omitted.
#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) kind: LineRedirectKind,
    pub(crate) target: ShellWord,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineRedirectKind {
    Read,
    Write,
    ReadWrite,
    HereString,
    /// A here-document in which the shell expands.
    Document,
    /// A here-document without expansion.
    QuotedDocument,
}

/// A word as written.
#[derive(Debug)]
pub(crate) struct ShellWord {
    pub(crate) source: String,
    pub(crate) code_expansions: Vec<CodeExpansion>,
}

/// A part of a word that contains code.
#[derive(Debug)]
pub(crate) struct CodeExpansion {
    /// Its range in the source of the word.
    pub(crate) range: Range<usize>,
    pub(crate) code: EmbeddedCode,
}

impl CodeExpansion {
    /// Returns the text of `$(cat <<'END' …)`, the usual way to pass an argument with several
    /// lines.
    pub(crate) fn constant(&self) -> Option<&str> {
        let EmbeddedCode::Command(ShellScript(statements)) = &self.code else { return None };
        let [Statement::Simple(simple)] = statements.as_slice() else { return None };
        match (simple.assignments.as_slice(), simple.words.as_slice(), simple.redirects.as_slice())
        {
            ([], [program], [redirect])
                if program.source == "cat" && redirect.kind == LineRedirectKind::QuotedDocument =>
            {
                Some(redirect.target.source.trim_end_matches('\n'))
            }
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(crate) enum EmbeddedCode {
    /// `$(…)` or backticks.
    Command(ShellScript),
    /// `<(…)` or `>(…)`.
    Process(ShellScript),
    /// `$((…))`
    Arithmetic,
}

/// Parses a line as `bash -c` does.
///
/// # Errors
///
/// If the line exceeds a limit, is not valid bash, or contains an unsupported construct.
pub(crate) fn parse(line: &str) -> Result<ShellScript, UnknownReason> {
    // Quotes are not understood here, so a text that is full of brackets may be refused although nothing
    // in it nests.
    if line.len() > LINE_BYTES_MAX {
        return Err(UnknownReason::TooLarge);
    }
    // `bash -c` takes such a line for an option.
    if line.starts_with(['-', '+']) {
        return Err(UnknownReason::Construct);
    }
    // bash treats a carriage return like any other character; people and some parsers treat it as
    // white space.
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
    // shuck counts no depth for keywords that precede each other.
    let mut count: usize = 0;
    for word in line.split_whitespace() {
        match word {
            "time" | "coproc" | "!" => count += 1,
            // Options and redirections may occur between them, and the name of a coprocess.
            _ if word.starts_with('-') || word.contains(['<', '>', '&']) || word.len() < 3 => {}
            _ => count = count.saturating_sub(1),
        }
        if count > NESTING_MAX {
            return Err(UnknownReason::TooLarge);
        }
    }
    shuck::parse(line)
}

/// Returns the text inside a substitution, or `None` if `source` is not a supported one.
///
/// In backticks a backslash changes the text of the inner shell, so text with one is not supported.
fn inside(source: &str) -> Option<&str> {
    match source.strip_prefix('`') {
        Some(rest) => rest.strip_suffix('`').filter(|inner| !inner.contains('\\')),
        None => {
            let rest = source.strip_prefix('$').or_else(|| source.strip_prefix(['<', '>']))?;
            rest.strip_prefix('(')?.strip_suffix(')')
        }
    }
}

/// Returns whether the text after `>&` or `<&` is a descriptor, which is duplicated, moved or
/// closed.
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
