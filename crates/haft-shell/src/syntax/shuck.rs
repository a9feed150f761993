//! The line as shuck reads it, with the source of every word. Substitutions are analysed in a word
//! or in double quotes. Inside parameter expansions, subscripts and tests they are left for the
//! decoder to refuse.

use std::ops::Range;

use shuck_ast::{
    BackgroundOperator, BinaryCommand, BinaryOp, BuiltinCommand, Command, CompoundCommand,
    DeclOperand, HeredocBodyPart, RedirectKind, RedirectTarget, Span, Stmt, StmtSeq,
    StmtTerminator, WordPart, WordPartNode,
};
use shuck_parser::parser::Parser;
use shuck_parser::{ShellDialect, ShellProfile};

use super::{
    AssignedValue, Assignment, CaseArm, ChainOperator, CodeExpansion, EmbeddedCode, LINE_BYTES_MAX,
    LineRedirectKind, LoopStatement, Redirect, ShellScript, ShellWord, SimpleStatement, Statement,
    UncomparedSource, inside, is_descriptor, redirected,
};
use crate::analysis::UnknownReason;

type ShuckResult<T> = Result<T, UnknownReason>;

/// Maximum number of parser operations; a line of maximum length needs far fewer.
pub const FUEL_MAX: usize = LINE_BYTES_MAX * 32;
/// The parser counts several levels for one visible level.
const DEPTH_PER_NESTING: usize = 4;

pub(super) fn parse(line: &str, nesting_max: usize) -> ShuckResult<ShellScript> {
    let depth_max = nesting_max * DEPTH_PER_NESTING;
    let profile = ShellProfile::native(ShellDialect::Bash);
    let parser = Parser::with_limits_and_profile(line, depth_max, FUEL_MAX, profile);
    let parsed = parser.parse();
    if parsed.is_err() {
        return Err(UnknownReason::Syntax);
    }
    ShuckReader { line }.script(&parsed.file.body)
}

struct ShuckReader<'a> {
    line: &'a str,
}

impl ShuckReader<'_> {
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
                let words = words.map(|word| self.word(word)).collect::<ShuckResult<Vec<_>>>()?;
                let is_bare =
                    |word: &ShellWord| word.source.is_empty() && word.code_expansions.is_empty();
                let words = words.into_iter().skip_while(is_bare).collect();
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
                    words.push(self.word(word)?);
                }
                SimpleStatement { assignments: self.assignments(assignments)?, words, redirects }
            }
            Command::Decl(clause) => {
                let name = self.slice(clause.variant_span).to_owned();
                let mut words = vec![ShellWord { source: name, code_expansions: Vec::new() }];
                for operand in &clause.operands {
                    words.push(match operand {
                        DeclOperand::Flag(word) | DeclOperand::Dynamic(word) => self.word(word)?,
                        DeclOperand::Name(name) => self.parts(name.span, &[])?,
                        DeclOperand::Assignment(assignment) => match &assignment.value {
                            shuck_ast::AssignmentValue::Scalar(word) => {
                                self.parts(assignment.span, &word.parts)?
                            }
                            shuck_ast::AssignmentValue::Compound(_) => {
                                self.parts(assignment.span, &[])?
                            }
                        },
                    });
                }
                let assignments = self.assignments(&clause.assignments)?;
                SimpleStatement { assignments, words, redirects }
            }
            Command::Binary(command) => return Ok(redirected(self.binary(command)?, redirects)),
            Command::Compound(command) => {
                return Ok(redirected(self.compound(command)?, redirects));
            }
            Command::Function(function) => {
                let mut names = function.static_names();
                let (Some(name), None) = (names.next(), names.next()) else {
                    return Err(UnknownReason::Construct);
                };
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
            let subscript = assignment.target.subscript.as_ref();
            Ok(Assignment {
                name: assignment.target.name.as_str().to_owned(),
                subscript: subscript
                    .map(|it| UncomparedSource(it.syntax_text(self.line).to_owned())),
                value: match &assignment.value {
                    shuck_ast::AssignmentValue::Scalar(word) => {
                        AssignedValue::Scalar(self.word(word)?)
                    }
                    shuck_ast::AssignmentValue::Compound(array) => {
                        AssignedValue::Array(UncomparedSource(self.slice(array.span).to_owned()))
                    }
                },
            })
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
                let words = command.words.iter().flatten().map(|word| self.word(word));
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
                Statement::Loop(LoopStatement {
                    variable: None,
                    words: Vec::new(),
                    arithmetic: Some(UncomparedSource(self.slice(header).to_owned())),
                    condition: ShellScript(Vec::new()),
                    body: self.script(&command.body)?,
                })
            }
            CompoundCommand::While(command) => plain_loop(&command.condition, &command.body)?,
            CompoundCommand::Until(command) => plain_loop(&command.condition, &command.body)?,
            CompoundCommand::Case(command) => {
                let arm = |arm: &shuck_ast::CaseItem| {
                    let pattern = |pattern: &shuck_ast::Pattern| self.parts(pattern.span, &[]);
                    Ok(CaseArm {
                        patterns: arm.patterns.iter().map(pattern).collect::<ShuckResult<_>>()?,
                        body: self.script(&arm.body)?,
                    })
                };
                let arms = command.cases.iter().map(arm).collect::<ShuckResult<_>>()?;
                Statement::Case { subject: self.word(&command.word)?, arms }
            }
            CompoundCommand::Subshell(body) => Statement::Subshell(self.script(body)?),
            CompoundCommand::BraceGroup(body) => Statement::Group(self.script(body)?),
            CompoundCommand::Arithmetic(command) => {
                Statement::Arithmetic(UncomparedSource(self.slice(command.span).to_owned()))
            }
            CompoundCommand::Time(command) => match &command.command {
                Some(timed) => self.statement(timed)?,
                None => return Err(UnknownReason::Construct),
            },
            CompoundCommand::Conditional(command) => {
                Statement::Test(UncomparedSource(self.slice(command.span).to_owned()))
            }
            CompoundCommand::Repeat(_)
            | CompoundCommand::Foreach(_)
            | CompoundCommand::Select(_)
            | CompoundCommand::Coproc(_)
            | CompoundCommand::Always(_) => return Err(UnknownReason::Construct),
        })
    }

    fn redirect(&self, redirect: &shuck_ast::Redirect) -> ShuckResult<Option<Redirect>> {
        if redirect.fd_var.is_some() {
            return Err(UnknownReason::Construct);
        }
        let word = match &redirect.target {
            RedirectTarget::Word(word) => self.word(word)?,
            RedirectTarget::Heredoc(document) if document.delimiter.expands_body => {
                let body = &document.body;
                let mut holes = Vec::new();
                for part in &body.parts {
                    let code = match &part.kind {
                        HeredocBodyPart::Literal(_)
                        | HeredocBodyPart::Variable(_)
                        | HeredocBodyPart::Parameter(_) => continue,
                        HeredocBodyPart::CommandSubstitution { body, .. } => {
                            self.check_substitution(part.span)?;
                            EmbeddedCode::Command(self.script(body)?)
                        }
                        HeredocBodyPart::ArithmeticExpansion { .. } => EmbeddedCode::Arithmetic,
                    };
                    holes.push(CodeExpansion { range: within(body.span, part.span)?, code });
                }
                ShellWord { source: self.slice(body.span).to_owned(), code_expansions: holes }
            }
            RedirectTarget::Heredoc(document) => {
                let source = self.slice(document.body.span);
                let source = if document.delimiter.strip_tabs {
                    let lines = source.split_inclusive('\n');
                    lines.map(|line| line.trim_start_matches('\t')).collect()
                } else {
                    source.to_owned()
                };
                let target = ShellWord { source, code_expansions: Vec::new() };
                return Ok(Some(Redirect { kind: LineRedirectKind::QuotedDocument, target }));
            }
        };
        // The text after `>&` or `<&`. The parser invents the word if the operator ends in a digit, and the
        // second redirection that `&>>` stands for.
        let is_descriptor =
            || redirect.word_target().is_some_and(|word| is_descriptor(&word.render(self.line)));
        let how = match redirect.kind {
            RedirectKind::DupOutput | RedirectKind::DupInput if is_descriptor() => {
                return Ok(None);
            }
            RedirectKind::Output
            | RedirectKind::Clobber
            | RedirectKind::Append
            | RedirectKind::DupOutput
            | RedirectKind::OutputBoth => LineRedirectKind::Write,
            RedirectKind::Input | RedirectKind::DupInput => LineRedirectKind::Read,
            RedirectKind::ReadWrite => LineRedirectKind::ReadWrite,
            RedirectKind::HereString => LineRedirectKind::HereString,
            RedirectKind::HereDoc | RedirectKind::HereDocStrip => LineRedirectKind::Document,
        };
        Ok(Some(Redirect { kind: how, target: word }))
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
                    self.check_substitution(part.span)?;
                    EmbeddedCode::Command(self.script(body)?)
                }
                WordPart::ProcessSubstitution { body, .. } => {
                    self.check_substitution(part.span)?;
                    EmbeddedCode::Process(self.script(body)?)
                }
                WordPart::ArithmeticExpansion { .. } => EmbeddedCode::Arithmetic,
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

    /// Fails unless the source at `span` is a substitution. Inside backticks the parser sees
    /// another text than the line, and its positions are invalid.
    fn check_substitution(&self, span: Span) -> ShuckResult<()> {
        inside(self.slice(span)).map(|_| ()).ok_or(UnknownReason::Expansion)
    }

    fn slice(&self, span: Span) -> &str {
        span.slice(self.line)
    }
}

/// Returns the range of `part` in `word`.
fn within(word: Span, part: Span) -> ShuckResult<Range<usize>> {
    let start = word.start.offset();
    let offset = |position: usize| position.checked_sub(start);
    let (from, to) = (offset(part.start.offset()), offset(part.end.offset()));
    from.zip(to)
        .filter(|(from, to)| from < to && part.end.offset() <= word.end.offset())
        .map(|(from, to)| from..to)
        .ok_or(UnknownReason::Ambiguous)
}
