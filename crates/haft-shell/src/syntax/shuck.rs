//! The line as shuck reads it, with the source of every word. Substitutions are analysed in a word
//! or in double quotes. Inside parameter expansions, subscripts and tests they are left for the
//! decoder to refuse.
//!
//! shuck accepts more than bash, and reads some lines differently. [`LinePieces`] therefore checks
//! that nothing of the line was left out, and the constructs that shuck misreads are refused here.

use std::cell::RefCell;
use std::ops::Range;

use shuck_ast::{
    BackgroundOperator, BinaryCommand, BinaryOp, BuiltinCommand, Command, CompoundCommand,
    DeclOperand, Heredoc, HeredocBodyPart, RedirectTarget, Span, Stmt, StmtSeq, StmtTerminator,
    WordPart, WordPartNode,
};
use shuck_parser::parser::Parser;
use shuck_parser::{ShellDialect, ShellProfile};

use super::pieces::{LinePieces, PieceKind};
use super::{
    AssignedValue, Assignment, CaseArm, ChainOperator, CodeExpansion, EmbeddedCode, LINE_BYTES_MAX,
    LineRedirectKind, LoopStatement, NESTING_MAX, Redirect, ShellScript, ShellWord,
    SimpleStatement, Statement, inside, is_descriptor, redirected,
};
use crate::analysis::{RESERVED, UnknownReason};

type ShuckResult<T> = Result<T, UnknownReason>;

/// Maximum number of parser operations; a line of maximum length needs far fewer.
pub const FUEL_MAX: usize = LINE_BYTES_MAX * 32;
/// A longer operator comes before its beginning.
const OPERATORS: &[(&str, LineRedirectKind)] = &[
    ("<<<", LineRedirectKind::HereString),
    ("<<", LineRedirectKind::Document),
    ("<>", LineRedirectKind::ReadWrite),
    ("<&", LineRedirectKind::Read),
    ("<", LineRedirectKind::Read),
    ("&>>", LineRedirectKind::Write),
    ("&>", LineRedirectKind::Write),
    (">>", LineRedirectKind::Write),
    (">|", LineRedirectKind::Write),
    (">&", LineRedirectKind::Write),
    (">", LineRedirectKind::Write),
];
/// The parser counts several levels for one visible level.
const DEPTH_PER_NESTING: usize = 4;

pub(super) fn parse(line: &str) -> ShuckResult<ShellScript> {
    let depth_max = NESTING_MAX * DEPTH_PER_NESTING;
    let profile = ShellProfile::native(ShellDialect::Bash);
    let parser = Parser::with_limits_and_profile(line, depth_max, FUEL_MAX, profile);
    let parsed = parser.parse();
    if parsed.is_err() {
        return Err(UnknownReason::Syntax);
    }
    ShuckReader::new(line, 0..line.len()).whole_script(&parsed.file.body)
}

/// Reads a line, or the code of one substitution in it.
struct ShuckReader<'a> {
    line: &'a str,
    pieces: RefCell<LinePieces<'a>>,
}

impl<'a> ShuckReader<'a> {
    fn new(line: &'a str, range: Range<usize>) -> Self {
        Self { line, pieces: RefCell::new(LinePieces::new(line, range)) }
    }

    fn whole_script(self, sequence: &StmtSeq) -> ShuckResult<ShellScript> {
        let script = self.script(sequence)?;
        self.pieces.into_inner().check()?;
        Ok(script)
    }

    /// Reads the code of the substitution at `span`. Inside backticks with a backslash the parser
    /// sees another text than the line, and its positions are invalid.
    fn substitution(&self, span: Span, code: &StmtSeq) -> ShuckResult<ShellScript> {
        let source = self.slice(span);
        let inner = inside(source).ok_or(UnknownReason::Expansion)?;
        let end = span.end.offset() - 1;
        Self::new(self.line, end - inner.len()..end).whole_script(code)
    }

    fn add_piece(&self, span: Span, kind: PieceKind) {
        self.pieces.borrow_mut().add(span.start.offset()..span.end.offset(), kind);
    }

    fn script(&self, sequence: &StmtSeq) -> ShuckResult<ShellScript> {
        let statements = sequence.iter().map(|statement| {
            let inner = self.statement(statement)?;
            match statement.terminator {
                None | Some(StmtTerminator::Semicolon) => Ok(inner),
                Some(StmtTerminator::Background(BackgroundOperator::Plain)) => {
                    Ok(Statement::Background(Box::new(inner)))
                }
                Some(StmtTerminator::Background(
                    BackgroundOperator::Pipe | BackgroundOperator::Bang,
                )) => Err(UnknownReason::Construct),
            }
        });
        statements.collect::<ShuckResult<_>>().map(ShellScript)
    }

    fn statement(&self, statement: &Stmt) -> ShuckResult<Statement> {
        let inner = self.redirected_command(statement)?;
        Ok(if statement.negated { Statement::Negated(Box::new(inner)) } else { inner })
    }

    fn redirected_command(&self, statement: &Stmt) -> ShuckResult<Statement> {
        let mut redirects = Vec::new();
        for redirect in &statement.redirects {
            redirects.extend(self.redirect(redirect)?);
        }
        let simple = match &statement.command {
            Command::Simple(command) => {
                let words = std::iter::once(&command.name).chain(&command.args);
                let words = words.map(|word| self.argument(word));
                let words = words.collect::<ShuckResult<Vec<_>>>()?;
                let is_bare =
                    |word: &ShellWord| word.source.is_empty() && word.code_expansions.is_empty();
                let words: Vec<_> = words.into_iter().skip_while(is_bare).collect();
                if words.first().is_some_and(|program| !is_certainly_program(&program.source)) {
                    return Err(UnknownReason::Construct);
                }
                SimpleStatement {
                    assignments: self.assignments(&command.assignments)?,
                    words,
                    redirects,
                }
            }
            Command::Builtin(builtin) => {
                let (name, first, rest, assignments) = match builtin {
                    BuiltinCommand::Break(it) => {
                        ("break", &it.depth, &it.extra_args, &it.assignments)
                    }
                    BuiltinCommand::Continue(it) => {
                        ("continue", &it.depth, &it.extra_args, &it.assignments)
                    }
                    BuiltinCommand::Return(it) => {
                        ("return", &it.code, &it.extra_args, &it.assignments)
                    }
                    BuiltinCommand::Exit(it) => ("exit", &it.code, &it.extra_args, &it.assignments),
                };
                let mut words =
                    vec![ShellWord { source: name.to_owned(), code_expansions: Vec::new() }];
                for word in first.iter().chain(rest) {
                    words.push(self.argument(word)?);
                }
                SimpleStatement { assignments: self.assignments(assignments)?, words, redirects }
            }
            Command::Decl(clause) => {
                let name = self.slice(clause.variant_span).to_owned();
                let mut words = vec![ShellWord { source: name, code_expansions: Vec::new() }];
                self.add_piece(clause.variant_span, PieceKind::Word);
                for operand in &clause.operands {
                    let (span, parts) = match operand {
                        DeclOperand::Flag(word) | DeclOperand::Dynamic(word) => {
                            (word.span, word.parts.as_slice())
                        }
                        DeclOperand::Name(name) => (name.span, [].as_slice()),
                        DeclOperand::Assignment(assignment) => match &assignment.value {
                            shuck_ast::AssignmentValue::Scalar(word) => {
                                (assignment.span, word.parts.as_slice())
                            }
                            shuck_ast::AssignmentValue::Compound(_) => {
                                (assignment.span, [].as_slice())
                            }
                        },
                    };
                    self.add_piece(span, PieceKind::Word);
                    words.push(self.parts(span, parts)?);
                }
                let assignments = self.assignments(&clause.assignments)?;
                SimpleStatement { assignments, words, redirects }
            }
            Command::Binary(command) => return Ok(redirected(self.binary(command)?, redirects)),
            Command::Compound(command) => {
                return Ok(redirected(self.compound(command)?, redirects));
            }
            Command::Function(function) => {
                let mut names = function.static_name_entries();
                let (Some((name, span)), None) = (names.next(), names.next()) else {
                    return Err(UnknownReason::Construct);
                };
                let is_plain = |char: char| char.is_ascii_alphanumeric() || "_-.:+".contains(char);
                if self.slice(span) != name.as_str() || !name.as_str().chars().all(is_plain) {
                    return Err(UnknownReason::Construct);
                }
                self.add_piece(span, PieceKind::Head);
                let body = Box::new(self.statement(&function.body)?);
                let definition = Statement::Function { name: name.as_str().to_owned(), body };
                return Ok(redirected(definition, redirects));
            }
            Command::AnonymousFunction(_) => return Err(UnknownReason::Construct),
        };
        Ok(Statement::Simple(simple))
    }

    fn assignments(&self, assignments: &[shuck_ast::Assignment]) -> ShuckResult<Vec<Assignment>> {
        let read = |assignment: &shuck_ast::Assignment| {
            self.add_piece(assignment.span, PieceKind::Word);
            let name = assignment.target.name.as_str();
            let rest = self.slice(assignment.span).strip_prefix(name);
            let mut rest = rest.ok_or(UnknownReason::Syntax)?;
            let mut subscript = None;
            if let Some(inner) = rest.strip_prefix('[') {
                let (inner, after) = inner.split_once(']').ok_or(UnknownReason::Syntax)?;
                let is_plain = |char: char| char.is_ascii_alphanumeric() || "_$@*+-".contains(char);
                if !inner.chars().all(is_plain) {
                    return Err(UnknownReason::Expansion);
                }
                subscript = Some(inner.to_owned());
                rest = after;
            }
            rest = rest.strip_prefix('+').unwrap_or(rest);
            let source = rest.strip_prefix('=').ok_or(UnknownReason::Syntax)?;
            let value = match &assignment.value {
                shuck_ast::AssignmentValue::Scalar(word) if self.slice(word.span) == source => {
                    AssignedValue::Scalar(self.word(word)?)
                }
                shuck_ast::AssignmentValue::Scalar(_) => return Err(UnknownReason::Syntax),
                shuck_ast::AssignmentValue::Compound(_) => AssignedValue::Array(source.to_owned()),
            };
            Ok(Assignment { name: name.to_owned(), subscript, value })
        };
        assignments.iter().map(read).collect()
    }

    fn binary(&self, command: &BinaryCommand) -> ShuckResult<Statement> {
        let left = self.statement(&command.left)?;
        let right = self.statement(&command.right)?;
        let join = match command.op {
            BinaryOp::And => ChainOperator::And,
            BinaryOp::Or => ChainOperator::Or,
            BinaryOp::Pipe | BinaryOp::PipeAll => {
                let mut commands = match left {
                    Statement::Pipeline(commands) => commands,
                    first => vec![first],
                };
                match right {
                    Statement::Pipeline(more) => commands.extend(more),
                    last => commands.push(last),
                }
                return Ok(Statement::Pipeline(commands));
            }
        };
        Ok(match left {
            Statement::Chain(first, mut rest) => {
                rest.push((join, right));
                Statement::Chain(first, rest)
            }
            first => Statement::Chain(Box::new(first), vec![(join, right)]),
        })
    }

    fn compound(&self, command: &CompoundCommand) -> ShuckResult<Statement> {
        let plain_loop = |condition: &StmtSeq, body: &StmtSeq| {
            Ok(Statement::Loop(LoopStatement {
                variable: None,
                words: Vec::new(),
                arithmetic: None,
                condition: self.script(condition)?,
                body: self.script(body)?,
            }))
        };
        Ok(match command {
            CompoundCommand::If(command) => {
                let first = (&command.condition, &command.then_branch);
                let others =
                    command.elif_branches.iter().map(|(condition, body)| (condition, body));
                let arms = std::iter::once(first)
                    .chain(others)
                    .map(|(condition, body)| Ok((self.script(condition)?, self.script(body)?)));
                let arms = arms.collect::<ShuckResult<_>>()?;
                let otherwise =
                    command.else_branch.as_ref().map(|body| self.script(body)).transpose()?;
                Statement::If { arms, otherwise: otherwise.unwrap_or(ShellScript(Vec::new())) }
            }
            CompoundCommand::For(command) => {
                let [target] = command.targets.as_slice() else {
                    return Err(UnknownReason::Construct);
                };
                if !is_name(self.slice(target.span)) {
                    return Err(UnknownReason::Construct);
                }
                self.add_piece(target.span, PieceKind::Head);
                let words = command.words.iter().flatten().map(|word| self.argument(word));
                Statement::Loop(LoopStatement {
                    variable: target.name.as_ref().map(|name| name.as_str().to_owned()),
                    words: words.collect::<ShuckResult<_>>()?,
                    arithmetic: None,
                    condition: ShellScript(Vec::new()),
                    body: self.script(&command.body)?,
                })
            }
            CompoundCommand::ArithmeticFor(command) => {
                let header = command.left_paren_span.merge(command.right_paren_span);
                self.add_piece(header, PieceKind::Head);
                arithmetic(&self.slice(header).replace(';', " "), "((")?;
                Statement::Loop(LoopStatement {
                    variable: None,
                    words: Vec::new(),
                    arithmetic: Some(self.slice(header).to_owned()),
                    condition: ShellScript(Vec::new()),
                    body: self.script(&command.body)?,
                })
            }
            CompoundCommand::While(command) => plain_loop(&command.condition, &command.body)?,
            CompoundCommand::Until(command) => plain_loop(&command.condition, &command.body)?,
            CompoundCommand::Case(command) => {
                let arm = |arm: &shuck_ast::CaseItem| {
                    let pattern = |pattern: &shuck_ast::Pattern| {
                        self.add_piece(pattern.span, PieceKind::Word);
                        self.parts(pattern.span, &[])
                    };
                    Ok(CaseArm {
                        patterns: arm.patterns.iter().map(pattern).collect::<ShuckResult<_>>()?,
                        body: self.script(&arm.body)?,
                    })
                };
                self.add_piece(command.word.span, PieceKind::Head);
                let arms = command.cases.iter().map(arm).collect::<ShuckResult<_>>()?;
                Statement::Case { subject: self.word(&command.word)?, arms }
            }
            CompoundCommand::Subshell(body) => Statement::Subshell(self.script(body)?),
            CompoundCommand::BraceGroup(body) => Statement::Group(self.script(body)?),
            CompoundCommand::Arithmetic(command) => {
                self.add_piece(command.span, PieceKind::Head);
                Statement::Arithmetic(arithmetic(self.slice(command.span), "((")?.to_owned())
            }
            CompoundCommand::Time(command) => match &command.command {
                Some(timed) => self.statement(timed)?,
                None => return Err(UnknownReason::Construct),
            },
            CompoundCommand::Conditional(command) => {
                self.add_piece(command.span, PieceKind::Head);
                Statement::Test(self.slice(command.span).to_owned())
            }
            CompoundCommand::Repeat(_)
            | CompoundCommand::Foreach(_)
            | CompoundCommand::Select(_)
            | CompoundCommand::Coproc(_)
            | CompoundCommand::Always(_) => return Err(UnknownReason::Construct),
        })
    }

    /// Reads a redirection by its text. The parser invents a second one for `&>>`, and the word after
    /// an operator that ends in a digit.
    fn redirect(&self, redirect: &shuck_ast::Redirect) -> ShuckResult<Option<Redirect>> {
        let source = self.slice(redirect.span);
        if source == "&>>" {
            return Ok(None);
        }
        self.add_piece(redirect.span, PieceKind::Redirect);
        let text = source.trim_start_matches(|char: char| char.is_ascii_digit());
        let found = OPERATORS
            .iter()
            .find_map(|(operator, kind)| Some((operator, kind, text.strip_prefix(operator)?)));
        let (operator, kind, text) = found.ok_or(UnknownReason::Construct)?;
        let text = text.trim_start_matches([' ', '\t']);
        if operator.ends_with('&') {
            // bash expands the word twice, so quotes protect nothing in it. A dash ends the operator.
            let is_plain = |char: char| char.is_ascii_alphanumeric() || "_./".contains(char);
            if is_descriptor(text) {
                return Ok(None);
            } else if !text.chars().all(is_plain) {
                return Err(UnknownReason::Construct);
            }
        }
        let target = match &redirect.target {
            RedirectTarget::Word(word) => self.word(word)?,
            RedirectTarget::Heredoc(document) => {
                return self.document(redirect.span, document).map(Some);
            }
        };
        if target.source == text {
            Ok(Some(Redirect { kind: *kind, target }))
        } else {
            Err(UnknownReason::Syntax)
        }
    }

    /// Reads a here-document, and checks that its lines are those that bash takes.
    ///
    /// Several here-documents on one line are not supported, nor are line continuations after the
    /// operator, delimiters that are neither a name nor quoted as a whole, and the end of the input
    /// as a delimiter.
    fn document(&self, operator: Span, document: &Heredoc) -> ShuckResult<Redirect> {
        let delimiter = &document.delimiter;
        let raw = self.slice(delimiter.span);
        let unquoted = ['\'', '"'].iter().find_map(|quote| {
            let inner = raw.strip_prefix(*quote)?.strip_suffix(*quote)?;
            let is_plain = |char: char| char.is_ascii_alphanumeric() || " _-.:!".contains(char);
            inner.chars().all(is_plain).then_some(inner)
        });
        let mark = unquoted.or(Some(raw).filter(|raw| is_name(raw)));
        let mark = mark.filter(|mark| !mark.is_empty()).ok_or(UnknownReason::Construct)?;
        let head = self.slice(operator).trim_start_matches(|char: char| char.is_ascii_digit());
        let head = head.strip_suffix(raw).map(|head| head.trim_end_matches([' ', '\t']));
        let is_stripped = head == Some("<<-");
        if delimiter.expands_body != unquoted.is_none() || !(is_stripped || head == Some("<<")) {
            return Err(UnknownReason::Construct);
        }
        let after = self.line.get(operator.end.offset()..).unwrap_or_default();
        let (rest, lines) = after.split_once('\n').ok_or(UnknownReason::Construct)?;
        if rest.ends_with('\\') || rest.contains("<<") {
            return Err(UnknownReason::Construct);
        }
        let start = operator.end.offset() + rest.len() + 1;
        let mut end = start;
        let strip = |line: &'a str| if is_stripped { line.trim_start_matches('\t') } else { line };
        let last = lines.split_inclusive('\n').find(|line| {
            let is_last = strip(line).trim_end_matches('\n') == mark;
            end += if is_last { 0 } else { line.len() };
            is_last
        });
        let last = last.ok_or(UnknownReason::Construct)?;
        let source = lines.get(..end - start).unwrap_or_default();
        if source != self.slice(document.body.span)
            || (delimiter.expands_body && source.ends_with("\\\n"))
        {
            return Err(UnknownReason::Construct);
        }
        self.pieces.borrow_mut().add(start..end + last.len(), PieceKind::Document);
        if unquoted.is_some() {
            let source = source.split_inclusive('\n').map(strip).collect();
            let target = ShellWord { source, code_expansions: Vec::new() };
            return Ok(Redirect { kind: LineRedirectKind::QuotedDocument, target });
        }
        let mut holes = Vec::new();
        for part in &document.body.parts {
            let code = match &part.kind {
                HeredocBodyPart::Literal(_)
                | HeredocBodyPart::Variable(_)
                | HeredocBodyPart::Parameter(_) => continue,
                HeredocBodyPart::CommandSubstitution { body, .. } => {
                    EmbeddedCode::Command(self.substitution(part.span, body)?)
                }
                HeredocBodyPart::ArithmeticExpansion { .. } => {
                    arithmetic(self.slice(part.span), "$((")?;
                    EmbeddedCode::Arithmetic
                }
            };
            holes.push(CodeExpansion { range: within(document.body.span, part.span)?, code });
        }
        let target = ShellWord { source: source.to_owned(), code_expansions: holes };
        Ok(Redirect { kind: LineRedirectKind::Document, target })
    }

    fn argument(&self, word: &shuck_ast::Word) -> ShuckResult<ShellWord> {
        self.add_piece(word.span, PieceKind::Word);
        self.word(word)
    }

    fn word(&self, word: &shuck_ast::Word) -> ShuckResult<ShellWord> {
        self.parts(word.span, &word.parts)
    }

    fn parts(&self, span: Span, parts: &[WordPartNode]) -> ShuckResult<ShellWord> {
        let mut holes = Vec::new();
        self.collect_code_expansions(span, parts, &mut holes)?;
        Ok(ShellWord { source: self.slice(span).to_owned(), code_expansions: holes })
    }

    fn collect_code_expansions(
        &self,
        word: Span,
        parts: &[WordPartNode],
        holes: &mut Vec<CodeExpansion>,
    ) -> ShuckResult<()> {
        for part in parts {
            let code = match &part.kind {
                WordPart::DoubleQuoted { parts, .. } => {
                    self.collect_code_expansions(word, parts, holes)?;
                    continue;
                }
                WordPart::CommandSubstitution { body, .. } => {
                    EmbeddedCode::Command(self.substitution(part.span, body)?)
                }
                WordPart::ProcessSubstitution { body, .. } => {
                    EmbeddedCode::Process(self.substitution(part.span, body)?)
                }
                WordPart::ArithmeticExpansion { .. } => {
                    arithmetic(self.slice(part.span), "$((")?;
                    EmbeddedCode::Arithmetic
                }
                WordPart::ZshQualifiedGlob(_) => return Err(UnknownReason::Construct),
                WordPart::Literal(_)
                | WordPart::SingleQuoted { .. }
                | WordPart::Variable(_)
                | WordPart::Parameter(_)
                | WordPart::ParameterExpansion { .. }
                | WordPart::Length(_)
                | WordPart::ArrayAccess(_)
                | WordPart::ArrayLength(_)
                | WordPart::ArrayIndices(_)
                | WordPart::Substring { .. }
                | WordPart::ArraySlice { .. }
                | WordPart::IndirectExpansion { .. }
                | WordPart::PrefixMatch { .. }
                | WordPart::Transformation { .. } => continue,
            };
            holes.push(CodeExpansion { range: within(word, part.span)?, code });
        }
        Ok(())
    }

    fn slice(&self, span: Span) -> &str {
        span.slice(self.line)
    }
}

/// Returns whether bash, too, takes the first word of a command for the name of a program. It may be a
/// keyword, also if a line continuation is removed, or an assignment with white space in its
/// subscript.
fn is_certainly_program(source: &str) -> bool {
    let rest = source.trim_start_matches(is_name_char);
    let is_assignment = rest.len() < source.len()
        && ["[", "=", "+="].iter().any(|operator| rest.starts_with(operator));
    !RESERVED.contains(&source) && !source.contains("\\\n") && !is_assignment
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_name_char)
}

fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// Returns arithmetic that certainly ends where bash ends it. Otherwise, the text could be a
/// substitution or a subshell.
fn arithmetic<'a>(source: &'a str, opener: &str) -> ShuckResult<&'a str> {
    let inner = source.strip_prefix(opener).and_then(|rest| rest.strip_suffix("))"));
    let mut depth: usize = 0;
    for char in inner.ok_or(UnknownReason::Construct)?.chars() {
        match char {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or(UnknownReason::Construct)?,
            ';' | '\'' | '"' | '\\' | '`' => return Err(UnknownReason::Construct),
            _ => {}
        }
    }
    if depth == 0 { Ok(source) } else { Err(UnknownReason::Construct) }
}

/// Returns the range of `part` in `word`.
fn within(word: Span, part: Span) -> ShuckResult<Range<usize>> {
    let start = word.start.offset();
    let offset = |position: usize| position.checked_sub(start);
    let (from, to) = (offset(part.start.offset()), offset(part.end.offset()));
    from.zip(to)
        .filter(|(from, to)| from < to && part.end.offset() <= word.end.offset())
        .map(|(from, to)| from..to)
        .ok_or(UnknownReason::Syntax)
}
