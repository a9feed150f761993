//! Walks the statements of a line in execution order, and tracks the directories where each would
//! run. Both branches of a condition count, a loop counts once, and a function's body counts where
//! it is defined.

use std::collections::BTreeSet;

use crate::analysis::{
    CommandWord, FileUseMode, FileUseOrigin, ShellAnalysis, UnknownPart, UnknownReason, render_line,
};
use crate::builtin;
use crate::directories::WorkingDirectories;
use crate::findings::{DirectoriesAfter, LineFindings, StatementScope};
use crate::operands;
use crate::programs::{self, base_name};
use crate::syntax::{
    self, AssignedValue, ChainOperator, EmbeddedCode, LineRedirectKind, LoopStatement, Redirect,
    ShellScript, ShellWord, SimpleStatement, Statement,
};
use crate::variables::{self, VariableEffect};
use crate::word::{self, DecodedWord};
use crate::wrappers::{self, StartedCode};

/// Paths through which bash itself accesses the network.
const SOCKETS: &[&str] = &["/dev/tcp/", "/dev/udp/"];

/// Maximum number of parentheses that are tried as the end of a substitution in a condition.
const SUBSTITUTION_ENDS_MAX: usize = 8;

/// Pages are allocated on use, so unused stack costs nothing.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Analyses a line.
pub(crate) fn analyze_line(line: &str) -> ShellAnalysis {
    analyze_in_thread(line, |walk, scope| walk.analyze_line(line, scope))
}

/// Analyses a command that needs no shell.
pub(crate) fn analyze_command(words: &[CommandWord]) -> ShellAnalysis {
    analyze_in_thread(&render_line(words), |walk, scope| {
        walk.analyze_command(words, scope);
        Ok(())
    })
}

/// Analyses in a separate thread. It gives the parser a stack of known size, and turns a panic of
/// the parser into an unknown line.
fn analyze_in_thread(
    line: &str,
    step: impl Fn(&mut LineAnalyzer, &StatementScope) -> Result<(), UnknownReason> + Send,
) -> ShellAnalysis {
    let run = move |changes_directory: bool| {
        let mut walk = LineAnalyzer { changes_directory, ..LineAnalyzer::default() };
        let walked = step(&mut walk, &StatementScope::start());
        walk.analyze_started_lines();
        walked.map(|()| walk)
    };
    let analyze = move || {
        // A function may be called in another directory than where it is defined. Only a first walk
        // shows whether the line changes its directory at all.
        let walked = match run(false) {
            Ok(walk) if walk.findings.directory_changed && !walk.functions.is_empty() => run(true),
            walked => walked,
        };
        let mut findings = match walked {
            Ok(walk) => walk.findings,
            Err(reason) => return unknown_line(line, reason),
        };
        if findings.is_full {
            return unknown_line(line, UnknownReason::TooLarge);
        }
        if let Some(reason) = findings.data.code_source() {
            findings.add_unknown(line, reason);
        }
        if let Some(path) = findings.links.crossed_link().map(str::to_owned) {
            findings.add_unknown(&path, UnknownReason::Link);
        }
        findings.analysis
    };
    let judged = std::thread::scope(|threads| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        thread.spawn_scoped(threads, analyze).ok()?.join().ok()
    });
    judged.unwrap_or_else(|| unknown_line(line, UnknownReason::Syntax))
}

/// Returns whether the word is an array that holds no code, as an argument of a built-in that sets variables.
fn is_array_declaration(words: &[CommandWord], word: &ShellWord) -> bool {
    let declares =
        words.first().and_then(CommandWord::literal).is_some_and(builtin::is_declaration);
    let array = word.source.split_once('=').map(|(_, array)| array);
    declares && array.is_some_and(|array| word::check_array(array).is_ok())
}

/// Takes command substitutions out of a condition, and returns the rest and their code. A substitution whose end is not
/// certain stays in the condition.
fn take_substitutions(source: &str) -> (String, Vec<ShellScript>) {
    let mut rest = source;
    let mut without_code = String::new();
    let mut codes = Vec::new();
    while let Some((before, after)) = rest.split_once("$(") {
        // A comment or a here-document could hold the parenthesis that seems to end the code.
        let ends = after.match_indices(')').map(|(end, _)| end);
        let parsed = ends.take(SUBSTITUTION_ENDS_MAX).find_map(|end| {
            let code = after.get(..end)?;
            let is_plain = !code.starts_with('(') && !code.contains(['#', '`', '\n']);
            let script = syntax::parse(code).ok().filter(|_| is_plain && !code.contains("<<"))?;
            Some((script, after.get(end + 1..)?))
        });
        let is_quoted = before.matches('\'').count() % 2 == 1 || before.ends_with('\\');
        let Some((script, after)) = parsed.filter(|_| !is_quoted) else { break };
        codes.push(script);
        without_code.push_str(before);
        without_code.push_str("$_");
        rest = after;
    }
    without_code.push_str(rest);
    (without_code, codes)
}

fn unknown_line(line: &str, reason: UnknownReason) -> ShellAnalysis {
    let unknown = vec![UnknownPart { text: line.to_owned(), reason }];
    ShellAnalysis { unknown, ..ShellAnalysis::default() }
}

/// A walk through a line.
#[derive(Default)]
struct LineAnalyzer {
    findings: LineFindings,
    functions: BTreeSet<String>,
    /// The line changes its directory, as an earlier walk found.
    changes_directory: bool,
}

impl LineAnalyzer {
    /// Analyses a separate line, such as the argument of `bash -c`.
    fn analyze_line(&mut self, line: &str, scope: &StatementScope) -> Result<(), UnknownReason> {
        let script = syntax::parse(line)?;
        self.analyze_script(&script, scope);
        Ok(())
    }

    /// Analyses the lines that words of the commands so far start.
    fn analyze_started_lines(&mut self) {
        while let Some((line, scope)) = self.findings.started_lines.pop() {
            if self.findings.is_full {
                return;
            }
            let analyzed = if scope.is_too_deep() {
                Err(UnknownReason::TooLarge)
            } else {
                self.analyze_line(&line, &scope)
            };
            self.add_unknown_if_err(&line, analyzed);
        }
    }

    /// Analyses a command in a scope and returns the shell's directories after it.
    ///
    /// A command is a function, a built-in, a wrapper, or any other program. Compilers, package
    /// managers, interpreters and build tools are ordinary programs: the commands that they run are
    /// not in the line, and the sandbox confines them.
    fn analyze_command(
        &mut self,
        words: &[CommandWord],
        scope: &StatementScope,
    ) -> DirectoriesAfter {
        let text = || render_line(words);
        if scope.is_too_deep() || self.findings.is_full {
            self.findings.add_unknown(&text(), UnknownReason::TooLarge);
            return DirectoriesAfter::unknown();
        }
        let Some((CommandWord::Literal(program), arguments)) = words.split_first() else {
            self.findings.add_unknown(&text(), UnknownReason::Program);
            return DirectoriesAfter::unknown();
        };
        if self.functions.contains(program) {
            if arguments.iter().any(|word| word.literal().is_none()) {
                self.findings.data.add_unknown();
            }
            self.findings.add_command(words, scope);
            return if self.changes_directory {
                DirectoriesAfter::unknown()
            } else {
                DirectoriesAfter::unchanged(scope)
            };
        }
        if let Some(after) = builtin::analyze_builtin(&mut self.findings, words, scope) {
            return after;
        }
        let name = base_name(program);
        let mut started = Vec::new();
        let wrapped = wrappers::parse_wrapper(&mut self.findings, words, scope, &mut started);
        if let Some(mut parsed) = wrapped {
            let runs_builtins = wrappers::RUNS_BUILTINS.contains(&name);
            let mut after = DirectoriesAfter::unchanged(scope);
            for code in started {
                match code {
                    StartedCode::Command(words, scope) => {
                        let inner = self.analyze_command(&words, &scope);
                        if runs_builtins {
                            after = inner;
                        }
                    }
                    StartedCode::Line(line, scope) => {
                        parsed = parsed.and(self.analyze_line(&line, &scope));
                    }
                }
            }
            if let Err(reason) = parsed {
                self.findings.add_command(words, scope);
                self.findings.add_unknown(&text(), reason);
                if runs_builtins {
                    after = DirectoriesAfter::unknown();
                }
            }
            return after;
        }
        self.findings.add_command(words, scope);
        if operands::touches_other_files(name, arguments) {
            self.findings.add_unknown(&text(), UnknownReason::Files);
        } else if let Some(started) = programs::started_programs(name, arguments) {
            self.findings.add_unknown(&text(), started.reason);
            let scope = scope.started_by(program).in_directories(WorkingDirectories::Unknown);
            for line in started.lines {
                self.findings.add_started_line(&line, scope.clone());
            }
            for command in started.commands {
                self.analyze_command(&command, &scope);
            }
        }
        let command = format!("{name} {}", render_line(arguments));
        for (path, how) in operands::operand_files(name, arguments) {
            self.findings.add_operand((&path, how), &command, scope);
        }
        DirectoriesAfter::unchanged(scope)
    }

    fn analyze_script(&mut self, script: &ShellScript, scope: &StatementScope) -> DirectoriesAfter {
        let mut after = DirectoriesAfter::unchanged(scope);
        for statement in &script.0 {
            after = self.analyze_statement(statement, &scope.in_directories(after.either()));
            if self.findings.is_full {
                break;
            }
        }
        after
    }

    fn analyze_statement(
        &mut self,
        statement: &Statement,
        scope: &StatementScope,
    ) -> DirectoriesAfter {
        match statement {
            Statement::Simple(simple) => self.analyze_simple_statement(simple, scope),
            Statement::Pipeline(commands) => {
                for command in commands {
                    self.analyze_statement(command, scope);
                }
                DirectoriesAfter::unchanged(scope)
            }
            Statement::Chain(first, rest) => {
                let mut after = self.analyze_statement(first, scope);
                for (join, next) in rest {
                    let DirectoriesAfter { succeeded, failed } = after;
                    after = match join {
                        ChainOperator::And => {
                            let then =
                                self.analyze_statement(next, &scope.in_directories(succeeded));
                            DirectoriesAfter { failed: then.failed.union(failed), ..then }
                        }
                        ChainOperator::Or => {
                            let then = self.analyze_statement(next, &scope.in_directories(failed));
                            DirectoriesAfter { succeeded: then.succeeded.union(succeeded), ..then }
                        }
                    };
                }
                after
            }
            Statement::Negated(inner) => {
                let DirectoriesAfter { succeeded, failed } = self.analyze_statement(inner, scope);
                DirectoriesAfter { succeeded: failed, failed: succeeded }
            }
            Statement::Background(inner) => {
                self.analyze_statement(inner, scope);
                DirectoriesAfter::unchanged(scope)
            }
            Statement::Group(script) => self.analyze_script(script, scope),
            Statement::Subshell(script) => {
                self.analyze_script(script, scope);
                DirectoriesAfter::unchanged(scope)
            }
            Statement::If { arms, otherwise } => self.analyze_branches(arms, otherwise, scope),
            Statement::Loop(repeated) => self.analyze_loop(repeated, scope),
            Statement::Case { subject, arms } => {
                self.analyze_word(subject, scope);
                let mut places = scope.directories.clone();
                for arm in arms {
                    for pattern in &arm.patterns {
                        self.analyze_word(pattern, scope);
                    }
                    // The previous body may fall through to this one.
                    places = self
                        .analyze_script(&arm.body, &scope.in_directories(places.clone()))
                        .either()
                        .union(places);
                }
                DirectoriesAfter { succeeded: places.clone(), failed: places }
            }
            Statement::Function { name, body } => self.define_function(name, body, scope),
            Statement::Test(source) => {
                let (without_code, codes) = take_substitutions(source);
                for code in codes {
                    self.analyze_script(&code, scope);
                    self.findings.data.add_unknown();
                }
                self.add_unknown_if_err(source, word::check_test(&without_code));
                let compares = ["-eq ", "-ne ", "-lt ", "-le ", "-gt ", "-ge "];
                self.findings.data.evaluates |=
                    compares.iter().any(|operator| source.contains(operator));
                // These options take a name with a subscript, which is evaluated.
                let names = [" -v ", " -R "].into_iter().flat_map(|it| source.split(it).skip(1));
                let is_plain = |rest: &str| {
                    let name = rest.split_ascii_whitespace().next().unwrap_or_default();
                    name.chars().all(|char| char.is_ascii_alphanumeric() || char == '_')
                };
                if !names.into_iter().all(is_plain) {
                    self.findings.add_unknown(source, UnknownReason::Arithmetic);
                }
                DirectoriesAfter::unchanged(scope)
            }
            Statement::Arithmetic(source) => {
                self.check_arithmetic(source);
                DirectoriesAfter::unchanged(scope)
            }
            Statement::Redirected(inner, redirects) => {
                for redirect in redirects {
                    self.analyze_redirect(redirect, scope);
                }
                self.analyze_statement(inner, scope)
            }
        }
    }

    fn analyze_branches(
        &mut self,
        arms: &[(ShellScript, ShellScript)],
        otherwise: &ShellScript,
        scope: &StatementScope,
    ) -> DirectoriesAfter {
        let mut start = scope.directories.clone();
        let mut ends: Option<WorkingDirectories> = None;
        for (condition, body) in arms {
            let tested = self.analyze_script(condition, &scope.in_directories(start));
            let end = self.analyze_script(body, &scope.in_directories(tested.succeeded)).either();
            ends = Some(ends.map_or(end.clone(), |ends| ends.union(end)));
            start = tested.failed;
        }
        let end = self.analyze_script(otherwise, &scope.in_directories(start)).either();
        let places = ends.map_or(end.clone(), |ends| ends.union(end));
        DirectoriesAfter { succeeded: places.clone(), failed: places }
    }

    /// Walks a loop once. If the directory differs afterwards, each further round starts in another
    /// directory, so no directory is known.
    fn analyze_loop(
        &mut self,
        repeated: &LoopStatement,
        scope: &StatementScope,
    ) -> DirectoriesAfter {
        if let Some(variable) = &repeated.variable {
            self.check_variable(variable, variable, None, scope);
        }
        if let Some(source) = &repeated.arithmetic {
            self.check_arithmetic(source);
        }
        for word in &repeated.words {
            if !self.analyze_word(word, scope) {
                self.findings.data.add_unknown();
            }
        }
        let before = self.findings.analysis.clone();
        let end = self.analyze_loop_round(repeated, scope);
        let places = if scope.directories.covers(&end) {
            end.union(scope.directories.clone())
        } else {
            self.findings.analysis = before;
            self.analyze_loop_round(repeated, &scope.in_directories(WorkingDirectories::Unknown));
            WorkingDirectories::Unknown
        };
        DirectoriesAfter { succeeded: places.clone(), failed: places }
    }

    fn analyze_loop_round(
        &mut self,
        repeated: &LoopStatement,
        scope: &StatementScope,
    ) -> WorkingDirectories {
        let tested = self.analyze_script(&repeated.condition, scope);
        let end =
            self.analyze_script(&repeated.body, &scope.in_directories(tested.succeeded)).either();
        end.union(tested.failed)
    }

    fn define_function(
        &mut self,
        name: &str,
        body: &Statement,
        scope: &StatementScope,
    ) -> DirectoriesAfter {
        // The name would hide a command that is recognised by its name.
        let program = base_name(name);
        let is_well_known = builtin::is_builtin(program)
            || wrappers::is_wrapper(program)
            || programs::is_special(program)
            || operands::is_utility(program);
        if is_well_known {
            self.findings.add_unknown(name, UnknownReason::Redefinition);
        }
        self.functions.insert(name.to_owned());
        let places = if self.changes_directory {
            WorkingDirectories::Unknown
        } else {
            scope.directories.clone()
        };
        self.analyze_statement(body, &scope.in_directories(places));
        DirectoriesAfter::unchanged(scope)
    }

    fn analyze_simple_statement(
        &mut self,
        simple: &SimpleStatement,
        scope: &StatementScope,
    ) -> DirectoriesAfter {
        let program = simple.words.first().map(|word| word.source.as_str());
        for assignment in &simple.assignments {
            // `IFS= read` splits the input, and does not affect later commands.
            let is_for_read = assignment.name == "IFS" && program == Some("read");
            let name = &assignment.name;
            if let Some(subscript) = &assignment.subscript {
                self.check_arithmetic(subscript);
            }
            match &assignment.value {
                AssignedValue::Scalar(word) => {
                    let text = format!("{name}={}", word.source);
                    self.analyze_embedded_code(word, scope);
                    let is_output = |code| !matches!(code, &EmbeddedCode::Arithmetic);
                    if word.code_expansions.iter().any(|hole| is_output(&hole.code)) {
                        self.findings.data.add_unknown();
                    }
                    match word::decode(word) {
                        Ok(decoded) => {
                            let value = self.decode_argument(word, decoded);
                            if !is_for_read {
                                self.check_variable(&text, name, value.literal(), scope);
                            }
                        }
                        Err(reason) => self.findings.add_unknown(&text, reason),
                    }
                }
                AssignedValue::Array(source) => {
                    let text = format!("{name}={source}");
                    self.findings.data.add_unknown();
                    self.add_unknown_if_err(&text, word::check_array(source));
                    self.check_variable(&text, name, None, scope);
                }
            }
        }
        for redirect in &simple.redirects {
            self.analyze_redirect(redirect, scope);
        }
        let text = || {
            let sources = simple.words.iter().map(|word| word.source.as_str());
            sources.collect::<Vec<_>>().join(" ")
        };
        let mut words = Vec::new();
        for word in &simple.words {
            self.analyze_embedded_code(word, scope);
            match word::decode(word) {
                Ok(decoded) => words.push(self.decode_argument(word, decoded)),
                Err(_) if is_array_declaration(&words, word) => {
                    self.findings.data.add_unknown();
                    words.push(CommandWord::Unknown(word.source.clone()));
                }
                Err(reason) => {
                    self.findings.add_unknown(&text(), reason);
                    let stays = words.first().and_then(CommandWord::literal);
                    let stays = stays.is_some_and(|program| !builtin::changes_directory(program));
                    return if stays {
                        DirectoriesAfter::unchanged(scope)
                    } else {
                        DirectoriesAfter::unknown()
                    };
                }
            }
        }
        if words.is_empty() {
            DirectoriesAfter::unchanged(scope)
        } else {
            self.analyze_command(&words, scope)
        }
    }

    /// Records the data that an argument may carry into arithmetic.
    fn decode_argument(&mut self, word: &ShellWord, decoded: DecodedWord) -> CommandWord {
        match decoded {
            DecodedWord::Literal(text) => {
                self.findings.data.add_literal(&text);
                CommandWord::Literal(text)
            }
            DecodedWord::Dynamic { prefix, has_arithmetic } => {
                self.findings.data.add_literal(&prefix);
                self.findings.data.evaluates |= has_arithmetic;
                CommandWord::Unknown(word.source.clone())
            }
        }
    }

    fn check_variable(
        &mut self,
        text: &str,
        name: &str,
        value: Option<&str>,
        scope: &StatementScope,
    ) {
        match variables::effect(name, value) {
            VariableEffect::Harmless => {}
            VariableEffect::SearchPath => {
                self.findings.add_unknown(text, UnknownReason::SearchPath);
            }
            VariableEffect::Runs(line) => {
                self.findings.add_unknown(text, UnknownReason::StartsOthers);
                self.findings.add_started_line(line, scope.started_by(name));
            }
            VariableEffect::RunsAnything => {
                self.findings.add_unknown(text, UnknownReason::Variable);
            }
        }
    }

    /// Analyses the target of a redirection.
    fn analyze_redirect(&mut self, redirect: &Redirect, scope: &StatementScope) {
        let target = &redirect.target;
        let uses: &[FileUseMode] = match redirect.kind {
            LineRedirectKind::Read => &[FileUseMode::Read],
            LineRedirectKind::Write => &[FileUseMode::Write],
            LineRedirectKind::ReadWrite => &[FileUseMode::Read, FileUseMode::Write],
            LineRedirectKind::HereString => {
                self.analyze_word(target, scope);
                return;
            }
            LineRedirectKind::Document => {
                self.analyze_embedded_code(target, scope);
                match word::decode_document(target) {
                    Ok(DecodedWord::Dynamic { has_arithmetic, .. }) => {
                        self.findings.data.evaluates |= has_arithmetic;
                    }
                    Ok(DecodedWord::Literal(_)) => {}
                    Err(reason) => self.findings.add_unknown(&target.source, reason),
                }
                return;
            }
            LineRedirectKind::QuotedDocument => return,
        };
        self.analyze_embedded_code(target, scope);
        let is_process = || {
            let whole = 0..target.source.len();
            matches!(target.code_expansions.as_slice(), [hole] if hole.range == whole
                && matches!(hole.code, EmbeddedCode::Process(_)))
        };
        match word::decode(target) {
            Ok(DecodedWord::Literal(path)) => {
                if let Some(address) = SOCKETS.iter().find_map(|socket| path.strip_prefix(socket)) {
                    let host = address.split('/').next().unwrap_or_default();
                    self.findings.add_host(&host.to_ascii_lowercase());
                    return self.findings.add_unknown(&path, UnknownReason::Network);
                }
                for how in uses {
                    self.findings.add_file(&path, (*how, FileUseOrigin::Redirect), scope);
                }
            }
            // The commands on the other side of a process substitution were walked as the code of the
            // word.
            Ok(DecodedWord::Dynamic { .. }) if is_process() => {}
            Ok(DecodedWord::Dynamic { .. }) => {
                self.findings.add_unknown(&target.source, UnknownReason::RedirectTarget)
            }
            Err(reason) => self.findings.add_unknown(&target.source, reason),
        }
    }

    /// Walks a word whose value names nothing, and returns whether the word is literal.
    fn analyze_word(&mut self, word: &ShellWord, scope: &StatementScope) -> bool {
        self.analyze_embedded_code(word, scope);
        match word::decode(word) {
            Ok(decoded) => self.decode_argument(word, decoded).literal().is_some(),
            Err(reason) => {
                self.findings.add_unknown(&word.source, reason);
                false
            }
        }
    }

    /// Walks the code inside a word, which runs in separate shells.
    fn analyze_embedded_code(&mut self, word: &ShellWord, scope: &StatementScope) {
        for hole in &word.code_expansions {
            match &hole.code {
                EmbeddedCode::Command(script) | EmbeddedCode::Process(script) => {
                    self.analyze_script(script, scope);
                }
                EmbeddedCode::Arithmetic => {
                    let source = word.source.get(hole.range.clone()).unwrap_or_default();
                    self.check_arithmetic(source);
                }
            }
        }
    }

    fn check_arithmetic(&mut self, source: &str) {
        let inner = source.strip_prefix("$((").unwrap_or(source);
        self.add_unknown_if_err(source, word::check_no_code(inner));
        if variables::mentions_execution_variable(source) {
            self.findings.add_unknown(source, UnknownReason::Variable);
        }
        let names = |char: char| char.is_alphabetic() || char == '_' || char == '$';
        self.findings.data.evaluates |= inner.contains(names);
    }

    fn add_unknown_if_err(&mut self, text: &str, checked: Result<(), UnknownReason>) {
        if let Err(reason) = checked {
            self.findings.add_unknown(text, reason);
        }
    }
}
