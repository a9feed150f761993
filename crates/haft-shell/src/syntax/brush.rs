//! The line as brush-parser reads it. A piece of text that could hide an expansion makes the line
//! unknown, because brush turns a substitution that it cannot parse into text.

use brush_parser::ast;
use brush_parser::word::{self, WordPiece, WordPieceWithSource};
use brush_parser::{Parser, ParserOptions};

use super::{
    AssignedValue, Assignment, CaseArm, ChainOperator, CodeExpansion, EmbeddedCode,
    LineRedirectKind, LoopStatement, Redirect, ShellScript, ShellWord, SimpleStatement, Statement,
    UncomparedSource, is_descriptor, redirected,
};
use crate::analysis::UnknownReason;

type BrushResult<T> = Result<T, UnknownReason>;

pub(super) fn parse(line: &str, nesting_max: usize) -> BrushResult<ShellScript> {
    if nesting_max == 0 {
        return Err(UnknownReason::TooLarge);
    }
    let program = Parser::new(line.as_bytes(), &options())
        .parse_program()
        .map_err(|_| UnknownReason::Syntax)?;
    let reader = BrushReader { nesting_max };
    let mut statements = Vec::new();
    for list in &program.complete_commands {
        statements.extend(reader.list(list)?.0);
    }
    Ok(ShellScript(statements))
}

/// The options of `bash -c`.
fn options() -> ParserOptions {
    ParserOptions { enable_extended_globbing: false, ..ParserOptions::default() }
}

struct BrushReader {
    /// The remaining depth of nested substitutions.
    nesting_max: usize,
}

impl BrushReader {
    fn list(&self, list: &ast::CompoundList) -> BrushResult<ShellScript> {
        let item = |item: &ast::CompoundListItem| {
            let list = &item.0;
            let mut statement = self.pipeline(&list.first)?;
            if !list.additional.is_empty() {
                let rest = list.additional.iter().map(|next| {
                    let (join, pipeline) = match next {
                        ast::AndOr::And(pipeline) => (ChainOperator::And, pipeline),
                        ast::AndOr::Or(pipeline) => (ChainOperator::Or, pipeline),
                    };
                    Ok((join, self.pipeline(pipeline)?))
                });
                let rest = rest.collect::<BrushResult<_>>()?;
                statement = Statement::Chain(Box::new(statement), rest);
            }
            Ok(match item.1 {
                ast::SeparatorOperator::Async => Statement::Background(Box::new(statement)),
                ast::SeparatorOperator::Sequence => statement,
            })
        };
        list.0.iter().map(item).collect::<BrushResult<_>>().map(ShellScript)
    }

    fn pipeline(&self, pipeline: &ast::Pipeline) -> BrushResult<Statement> {
        let mut commands = pipeline
            .seq
            .iter()
            .map(|command| self.command(command))
            .collect::<BrushResult<Vec<_>>>()?;
        let statement = match (commands.len(), commands.pop()) {
            (1, Some(only)) => only,
            (_, Some(last)) => {
                commands.push(last);
                Statement::Pipeline(commands)
            }
            (_, None) => return Err(UnknownReason::Syntax),
        };
        Ok(if pipeline.bang { Statement::Negated(Box::new(statement)) } else { statement })
    }

    fn command(&self, command: &ast::Command) -> BrushResult<Statement> {
        Ok(match command {
            ast::Command::Simple(simple) => Statement::Simple(self.simple(simple)?),
            ast::Command::Compound(compound, redirects) => {
                redirected(self.compound(compound)?, self.redirects(redirects.as_ref())?)
            }
            ast::Command::Function(function) => {
                let ast::FunctionBody(body, redirects) = &function.body;
                let body = redirected(self.compound(body)?, self.redirects(redirects.as_ref())?);
                Statement::Function { name: function.fname.value.clone(), body: Box::new(body) }
            }
            ast::Command::ExtendedTest(test, redirects) => redirected(
                Statement::Test(UncomparedSource(test.to_string())),
                self.redirects(redirects.as_ref())?,
            ),
        })
    }

    fn compound(&self, compound: &ast::CompoundCommand) -> BrushResult<Statement> {
        use ast::CompoundCommand as Compound;

        Ok(match compound {
            Compound::Arithmetic(command) => {
                Statement::Arithmetic(UncomparedSource(command.expr.value.clone()))
            }
            Compound::ArithmeticForClause(command) => Statement::Loop(LoopStatement {
                variable: None,
                words: Vec::new(),
                arithmetic: Some(UncomparedSource(command.to_string())),
                condition: ShellScript(Vec::new()),
                body: self.list(&command.body.list)?,
            }),
            Compound::BraceGroup(group) => Statement::Group(self.list(&group.list)?),
            Compound::Subshell(subshell) => Statement::Subshell(self.list(&subshell.list)?),
            Compound::ForClause(command) => Statement::Loop(LoopStatement {
                variable: Some(command.variable_name.clone()),
                words: self.words(command.values.as_deref().unwrap_or_default())?,
                arithmetic: None,
                condition: ShellScript(Vec::new()),
                body: self.list(&command.body.list)?,
            }),
            Compound::CaseClause(command) => Statement::Case {
                subject: self.word(&command.value)?,
                arms: command.cases.iter().map(|arm| self.arm(arm)).collect::<BrushResult<_>>()?,
            },
            Compound::IfClause(command) => {
                let mut arms = vec![(self.list(&command.condition)?, self.list(&command.then)?)];
                let mut otherwise = ShellScript(Vec::new());
                for branch in command.elses.iter().flatten() {
                    let body = self.list(&branch.body)?;
                    match &branch.condition {
                        Some(condition) => arms.push((self.list(condition)?, body)),
                        None => otherwise = body,
                    }
                }
                Statement::If { arms, otherwise }
            }
            Compound::WhileClause(command) | Compound::UntilClause(command) => {
                Statement::Loop(LoopStatement {
                    variable: None,
                    words: Vec::new(),
                    arithmetic: None,
                    condition: self.list(&command.0)?,
                    body: self.list(&command.1.list)?,
                })
            }
            Compound::Coprocess(_) => return Err(UnknownReason::Construct),
        })
    }

    fn arm(&self, arm: &ast::CaseItem) -> BrushResult<CaseArm> {
        let body = arm.cmd.as_ref().map(|body| self.list(body)).transpose()?;
        Ok(CaseArm {
            patterns: self.words(&arm.patterns)?,
            body: body.unwrap_or(ShellScript(Vec::new())),
        })
    }

    fn simple(&self, command: &ast::SimpleCommand) -> BrushResult<SimpleStatement> {
        let mut simple = SimpleStatement::default();
        for item in command.prefix.iter().flat_map(|prefix| &prefix.0) {
            match item {
                ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, _) => {
                    simple.assignments.push(self.assignment(assignment)?);
                }
                other => self.item(other, &mut simple)?,
            }
        }
        if let Some(program) = &command.word_or_name {
            simple.words.push(self.word(program)?);
        }
        for item in command.suffix.iter().flat_map(|suffix| &suffix.0) {
            self.item(item, &mut simple)?;
        }
        Ok(simple)
    }

    /// Adds an item in the position of an argument.
    fn item(
        &self,
        item: &ast::CommandPrefixOrSuffixItem,
        simple: &mut SimpleStatement,
    ) -> BrushResult<()> {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                simple.redirects.extend(self.redirect(redirect)?);
            }
            ast::CommandPrefixOrSuffixItem::Word(word)
            | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                simple.words.push(self.word(word)?);
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                simple.words.push(self.process(kind, subshell)?);
            }
        }
        Ok(())
    }

    fn process(
        &self,
        kind: &ast::ProcessSubstitutionKind,
        subshell: &ast::SubshellCommand,
    ) -> BrushResult<ShellWord> {
        let code = EmbeddedCode::Process(self.list(&subshell.list)?);
        Ok(ShellWord {
            source: format!("{kind}()"),
            code_expansions: vec![CodeExpansion { range: 0..0, code }],
        })
    }

    fn assignment(&self, assignment: &ast::Assignment) -> BrushResult<Assignment> {
        let (name, subscript) = match &assignment.name {
            ast::AssignmentName::VariableName(name) => (name.clone(), None),
            ast::AssignmentName::ArrayElementName(name, index) => {
                (name.clone(), Some(UncomparedSource(index.clone())))
            }
        };
        let value = match &assignment.value {
            ast::AssignmentValue::Scalar(word) => AssignedValue::Scalar(self.word(word)?),
            ast::AssignmentValue::Array(_) => {
                AssignedValue::Array(UncomparedSource(assignment.value.to_string()))
            }
        };
        Ok(Assignment { name, subscript, value })
    }

    fn redirects(&self, redirects: Option<&ast::RedirectList>) -> BrushResult<Vec<Redirect>> {
        let mut all = Vec::new();
        for redirect in redirects.iter().flat_map(|redirects| &redirects.0) {
            all.extend(self.redirect(redirect)?);
        }
        Ok(all)
    }

    fn redirect(&self, redirect: &ast::IoRedirect) -> BrushResult<Option<Redirect>> {
        use ast::IoFileRedirectKind as Kind;

        Ok(Some(match redirect {
            ast::IoRedirect::File(_, kind, target) => {
                let kind = match kind {
                    Kind::Read | Kind::DuplicateInput => LineRedirectKind::Read,
                    Kind::Write | Kind::Append | Kind::Clobber | Kind::DuplicateOutput => {
                        LineRedirectKind::Write
                    }
                    Kind::ReadAndWrite => LineRedirectKind::ReadWrite,
                };
                let target = match target {
                    ast::IoFileRedirectTarget::Fd(_) => return Ok(None),
                    ast::IoFileRedirectTarget::Duplicate(word) if is_descriptor(&word.value) => {
                        return Ok(None);
                    }
                    ast::IoFileRedirectTarget::Filename(word)
                    | ast::IoFileRedirectTarget::Duplicate(word) => self.word(word)?,
                    ast::IoFileRedirectTarget::ProcessSubstitution(kind, subshell) => {
                        self.process(kind, subshell)?
                    }
                };
                Redirect { kind, target }
            }
            ast::IoRedirect::HereDocument(_, document) if document.requires_expansion => {
                Redirect { kind: LineRedirectKind::Document, target: self.document(&document.doc)? }
            }
            ast::IoRedirect::HereDocument(_, document) => Redirect {
                kind: LineRedirectKind::QuotedDocument,
                target: ShellWord {
                    source: document.doc.value.clone(),
                    code_expansions: Vec::new(),
                },
            },
            ast::IoRedirect::HereString(_, word) => {
                Redirect { kind: LineRedirectKind::HereString, target: self.word(word)? }
            }
            ast::IoRedirect::OutputAndError(word, _) => {
                Redirect { kind: LineRedirectKind::Write, target: self.word(word)? }
            }
        }))
    }

    fn words(&self, words: &[ast::Word]) -> BrushResult<Vec<ShellWord>> {
        words.iter().map(|word| self.word(word)).collect()
    }

    fn word(&self, word: &ast::Word) -> BrushResult<ShellWord> {
        let mut holes = Vec::new();
        if word.value.contains(['$', '`']) {
            let pieces = word::parse(&word.value, &options()).map_err(|_| UnknownReason::Syntax)?;
            self.collect_code_expansions(&pieces, &mut holes)?;
        }
        Ok(ShellWord { source: word.value.clone(), code_expansions: holes })
    }

    fn document(&self, document: &ast::Word) -> BrushResult<ShellWord> {
        let mut holes = Vec::new();
        if document.value.contains(['$', '`']) {
            let pieces = word::parse_heredoc(&document.value, &options())
                .map_err(|_| UnknownReason::Syntax)?;
            self.collect_code_expansions(&pieces, &mut holes)?;
        }
        Ok(ShellWord { source: document.value.clone(), code_expansions: holes })
    }

    fn collect_code_expansions(
        &self,
        pieces: &[WordPieceWithSource],
        holes: &mut Vec<CodeExpansion>,
    ) -> BrushResult<()> {
        for piece in pieces {
            match &piece.piece {
                WordPiece::Text(text) => {
                    if ["$(", "${", "$[", "`"].iter().any(|opener| text.contains(opener)) {
                        return Err(UnknownReason::Ambiguous);
                    }
                }
                WordPiece::DoubleQuotedSequence(pieces)
                | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                    self.collect_code_expansions(pieces, holes)?
                }
                WordPiece::CommandSubstitution(line) => holes.push(self.command_expansion(line)?),
                WordPiece::BackquotedCommandSubstitution(line) => {
                    if line.contains('\\') {
                        return Err(UnknownReason::Expansion);
                    }
                    holes.push(self.command_expansion(line)?);
                }
                WordPiece::ArithmeticExpression(_) => {
                    holes.push(CodeExpansion { range: 0..0, code: EmbeddedCode::Arithmetic });
                }
                WordPiece::SingleQuotedText(_)
                | WordPiece::AnsiCQuotedText(_)
                | WordPiece::TildeExpansion(_)
                | WordPiece::ParameterExpansion(_)
                | WordPiece::EscapeSequence(_) => {}
            }
        }
        Ok(())
    }

    fn command_expansion(&self, line: &str) -> BrushResult<CodeExpansion> {
        let script = parse(line, self.nesting_max - 1)?;
        Ok(CodeExpansion { range: 0..0, code: EmbeddedCode::Command(script) })
    }
}
