//! Walks the statements of a line in execution order, and tracks the directories where each would
//! run. Both branches of a condition count, a loop counts once, and a function's body counts where
//! it is defined.

use std::collections::BTreeSet;

use crate::analysis::{
    self, FileUse, FileUseMode, FileUseOrigin, ShellAnalysis, UnknownPart, UnknownReason,
};
use crate::arithmetic::DataFlow;
use crate::builtin;
use crate::command;
use crate::directories::WorkingDirectories;
use crate::links::LinkUses;
use crate::redirect;
use crate::syntax::{
    self, AssignedValue, Assignment, ChainOperator, EmbeddedCode, LoopStatement, Redirect,
    ShellScript, SimpleStatement, Statement,
};
use crate::variables;
use crate::word::{self, DecodedWord};

/// Commands that one command line runs.
///
/// Limit (commands): haft asks about the whole line.
pub const COMMANDS_MAX: usize = 256;
/// Maximum number of file uses in a line.
pub const FILES_MAX: usize = 1_024;
/// Maximum nesting of wrappers, and of lines within lines.
pub const THROUGH_MAX: usize = 8;
/// Pages are allocated on use, so unused stack costs nothing.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Analyses a line.
pub(crate) fn analyze_line(line: &str) -> ShellAnalysis {
    analyze_in_thread(line, |walk, scope| walk.analyze_line(line, scope))
}

/// Analyses a command that needs no shell.
pub(crate) fn analyze_command(words: &[analysis::CommandWord]) -> ShellAnalysis {
    analyze_in_thread(&word::render_line(words), |walk, scope| {
        walk.analyze_command(words, scope);
        Ok(())
    })
}

/// Analyses in a separate thread. It gives both parsers a stack of known size, and turns a panic of
/// theirs into an unknown line.
fn analyze_in_thread(
    line: &str,
    step: impl Fn(&mut LineAnalyzer, &StatementScope) -> Result<(), UnknownReason> + Send,
) -> ShellAnalysis {
    let judged = std::thread::scope(|threads| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let judged = thread.spawn_scoped(threads, || analyze_on_this_thread(line, step)).ok()?;
        judged.join().ok()
    });
    judged.unwrap_or_else(|| unknown_line(line, UnknownReason::Syntax))
}

fn analyze_on_this_thread(
    line: &str,
    step: impl Fn(&mut LineAnalyzer, &StatementScope) -> Result<(), UnknownReason>,
) -> ShellAnalysis {
    let run = |is_moving: bool| {
        let mut walk = LineAnalyzer { changes_directory: is_moving, ..LineAnalyzer::default() };
        step(&mut walk, &StatementScope::start()).map(|()| walk)
    };
    // A function may be called in another directory than where it is defined. Only a first walk
    // shows whether the line changes its directory at all.
    let walked = match run(false) {
        Ok(walk) if walk.directory_changed && !walk.functions.is_empty() => run(true),
        walked => walked,
    };
    match walked {
        Ok(walk) if walk.is_full => unknown_line(line, UnknownReason::TooLarge),
        Ok(mut walk) => {
            if walk.data.may_run_code() {
                walk.add_unknown(line, UnknownReason::Arithmetic);
            }
            if let Some(path) = walk.links.crossed_link().map(str::to_owned) {
                walk.add_unknown(&path, UnknownReason::Link);
            }
            walk.analysis
        }
        Err(reason) => unknown_line(line, reason),
    }
}

fn unknown_line(line: &str, reason: UnknownReason) -> ShellAnalysis {
    let unknown = vec![UnknownPart { text: line.to_owned(), reason }];
    ShellAnalysis { unknown, ..ShellAnalysis::default() }
}

/// The findings of a walk.
#[derive(Default)]
pub(crate) struct LineAnalyzer {
    analysis: ShellAnalysis,
    functions: BTreeSet<String>,
    pub(crate) data: DataFlow,
    links: LinkUses,
    /// There were more findings than the limits allow.
    is_full: bool,
    /// The line changes its directory, as an earlier walk found.
    changes_directory: bool,
    /// The line has changed its directory.
    pub(crate) directory_changed: bool,
}

/// The context in which statements run.
#[derive(Clone)]
pub(crate) struct StatementScope {
    pub(crate) directories: WorkingDirectories,
    /// The programs that start them.
    pub(crate) launchers: Vec<String>,
}

impl StatementScope {
    fn start() -> Self {
        Self { directories: WorkingDirectories::start(), launchers: Vec::new() }
    }

    /// Returns the scope of statements that run in `places`.
    pub(crate) fn in_directories(&self, places: WorkingDirectories) -> Self {
        Self { directories: places, launchers: self.launchers.clone() }
    }

    /// Returns the scope of statements that `program` starts.
    pub(crate) fn started_by(&self, program: &str) -> Self {
        let mut through = self.launchers.clone();
        through.push(program.to_owned());
        Self { directories: self.directories.clone(), launchers: through }
    }

    pub(crate) fn is_too_deep(&self) -> bool {
        self.launchers.len() > THROUGH_MAX
    }
}

/// The directories of the shell after a statement.
pub(crate) struct DirectoriesAfter {
    pub(crate) succeeded: WorkingDirectories,
    pub(crate) failed: WorkingDirectories,
}

impl DirectoriesAfter {
    /// For a statement that does not change the directory.
    pub(crate) fn unchanged(scope: &StatementScope) -> Self {
        Self { succeeded: scope.directories.clone(), failed: scope.directories.clone() }
    }

    pub(crate) fn unknown() -> Self {
        Self { succeeded: WorkingDirectories::Unknown, failed: WorkingDirectories::Unknown }
    }

    fn either(self) -> WorkingDirectories {
        self.succeeded.union(self.failed)
    }
}

impl LineAnalyzer {
    /// Analyses a separate line, such as the argument of `bash -c`.
    pub(crate) fn analyze_line(
        &mut self,
        line: &str,
        scope: &StatementScope,
    ) -> Result<(), UnknownReason> {
        let script = syntax::parse(line)?;
        self.analyze_script(&script, scope);
        Ok(())
    }

    pub(crate) fn add_unknown(&mut self, text: &str, reason: UnknownReason) {
        let unknown = UnknownPart { text: text.to_owned(), reason };
        if !self.analysis.unknown.contains(&unknown) {
            self.analysis.unknown.push(unknown);
        }
        self.is_full |= self.analysis.unknown.len() > COMMANDS_MAX;
    }

    pub(crate) fn add_command(&mut self, words: &[analysis::CommandWord], scope: &StatementScope) {
        let command =
            analysis::SimpleCommand { launchers: scope.launchers.clone(), words: words.to_vec() };
        if !self.analysis.commands.contains(&command) {
            self.analysis.commands.push(command);
        }
        self.is_full |= self.analysis.commands.len() > COMMANDS_MAX;
    }

    pub(crate) fn add_host(&mut self, host: &str) {
        self.analysis.hosts.push(host.to_owned());
    }

    pub(crate) fn add_file(
        &mut self,
        path: &str,
        kind: (FileUseMode, FileUseOrigin),
        scope: &StatementScope,
    ) {
        for path in self.add_file_uses(path, kind, scope) {
            self.links.add_use(&path, "");
        }
    }

    /// Records a file argument of a command that is spelled with the bare name of its program.
    /// Files that `ln` writes are links.
    pub(crate) fn add_operand(
        &mut self,
        (path, how): (&str, FileUseMode),
        command: &str,
        scope: &StatementScope,
    ) {
        let makes_link = how == FileUseMode::Write && command.starts_with("ln ");
        for path in self.add_file_uses(path, (how, FileUseOrigin::Operand), scope) {
            if makes_link {
                self.links.add_link(&path, command);
            } else {
                self.links.add_use(&path, command);
            }
        }
    }

    /// Records a file and returns its possible paths.
    fn add_file_uses(
        &mut self,
        path: &str,
        (how, why): (FileUseMode, FileUseOrigin),
        scope: &StatementScope,
    ) -> Vec<String> {
        // A dash is standard input for a program that reads.
        let is_input = path == "-" && how == FileUseMode::Read && why == FileUseOrigin::Operand;
        if path.is_empty() || is_input || redirect::is_device(path) {
            return Vec::new();
        }
        let Some(paths) = scope.directories.resolve(path) else {
            self.add_unknown(path, UnknownReason::Directory);
            return Vec::new();
        };
        // If a `cd` failed, the path may lie outside of the start directory. Whether the line
        // touches that file is then unknown.
        let climbs = |path: &String| path == ".." || path.starts_with("../");
        let (outside, inside): (Vec<String>, Vec<String>) = paths.into_iter().partition(climbs);
        let is_open = !outside.is_empty() && !inside.is_empty();
        if is_open {
            self.add_unknown(path, UnknownReason::Directory);
        }
        let paths = if is_open { inside } else { [outside, inside].concat() };
        for path in &paths {
            let file = FileUse { path: path.clone(), mode: how, origin: why };
            if !self.analysis.files.contains(&file) {
                self.analysis.files.push(file);
            }
        }
        self.is_full |= self.analysis.files.len() + self.links.len() > FILES_MAX;
        paths
    }

    pub(crate) fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// Returns the possible directories of the shell after a function call.
    pub(crate) fn after_function(&self, scope: &StatementScope) -> DirectoriesAfter {
        if self.changes_directory {
            DirectoriesAfter::unknown()
        } else {
            DirectoriesAfter::unchanged(scope)
        }
    }

    fn analyze_script(&mut self, script: &ShellScript, scope: &StatementScope) -> DirectoriesAfter {
        let mut after = DirectoriesAfter::unchanged(scope);
        for statement in &script.0 {
            after = self.analyze_statement(statement, &scope.in_directories(after.either()));
            if self.is_full {
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
            Statement::Chain(first, rest) => self.analyze_chain(first, rest, scope),
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
                        self.add_unknown_if_err(
                            &pattern.source,
                            word::check_no_code(&pattern.source),
                        );
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
                self.check_test_expression(&source.0);
                DirectoriesAfter::unchanged(scope)
            }
            Statement::Arithmetic(source) => {
                self.check_arithmetic(&source.0);
                DirectoriesAfter::unchanged(scope)
            }
            Statement::Redirected(inner, redirects) => {
                self.analyze_redirects(redirects, scope);
                self.analyze_statement(inner, scope)
            }
        }
    }

    fn analyze_chain(
        &mut self,
        first: &Statement,
        rest: &[(ChainOperator, Statement)],
        scope: &StatementScope,
    ) -> DirectoriesAfter {
        let mut after = self.analyze_statement(first, scope);
        for (join, next) in rest {
            let (start, skipped) = match join {
                ChainOperator::And => (after.succeeded, after.failed),
                ChainOperator::Or => (after.failed, after.succeeded),
            };
            let then = self.analyze_statement(next, &scope.in_directories(start));
            after = match join {
                ChainOperator::And => {
                    DirectoriesAfter { failed: then.failed.union(skipped), ..then }
                }
                ChainOperator::Or => {
                    DirectoriesAfter { succeeded: then.succeeded.union(skipped), ..then }
                }
            };
        }
        after
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
            self.check_variable(variable, variable, None);
        }
        if let Some(source) = &repeated.arithmetic {
            self.check_arithmetic(&source.0);
        }
        for word in &repeated.words {
            if self.analyze_word(word, scope) != WordKind::Literal {
                self.data.add_unknown();
            }
        }
        let before = self.analysis.clone();
        let end = self.analyze_loop_round(repeated, scope);
        let places = if scope.directories.covers(&end) {
            end.union(scope.directories.clone())
        } else {
            self.analysis = before;
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
        if command::is_well_known(name) {
            self.add_unknown(name, UnknownReason::Redefinition);
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
            self.analyze_assignment(
                assignment,
                if is_for_read { AssignmentScope::NextRead } else { AssignmentScope::Shell },
                scope,
            );
        }
        self.analyze_redirects(&simple.redirects, scope);
        let text = || {
            let sources = simple.words.iter().map(|word| word.source.as_str());
            sources.collect::<Vec<_>>().join(" ")
        };
        let mut words = Vec::new();
        for word in &simple.words {
            self.analyze_embedded_code(word, scope);
            match word::decode(word) {
                Ok(decoded) => words.push(self.decode_argument(word, decoded)),
                Err(reason) => {
                    self.add_unknown(&text(), reason);
                    let stays = words.first().and_then(analysis::CommandWord::literal);
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
    fn decode_argument(
        &mut self,
        word: &syntax::ShellWord,
        decoded: DecodedWord,
    ) -> analysis::CommandWord {
        match decoded {
            DecodedWord::Literal(text) => {
                self.data.add_literal(&text);
                analysis::CommandWord::Literal(text)
            }
            DecodedWord::Dynamic { prefix, has_arithmetic } => {
                self.data.add_literal(&prefix);
                self.data.evaluates |= has_arithmetic;
                analysis::CommandWord::Unknown(word.source.clone())
            }
        }
    }

    fn analyze_assignment(
        &mut self,
        assignment: &Assignment,
        sets: AssignmentScope,
        scope: &StatementScope,
    ) {
        let name = &assignment.name;
        if let Some(subscript) = &assignment.subscript {
            self.check_arithmetic(&subscript.0);
        }
        match &assignment.value {
            AssignedValue::Scalar(word) => {
                let text = format!("{name}={}", word.source);
                self.analyze_embedded_code(word, scope);
                if word.code_expansions.iter().any(|hole| hole.code != EmbeddedCode::Arithmetic) {
                    self.data.add_unknown();
                }
                match word::decode(word) {
                    Ok(decoded) => {
                        let value = self.decode_argument(word, decoded);
                        if sets == AssignmentScope::Shell {
                            self.check_variable(&text, name, value.literal());
                        }
                    }
                    Err(reason) => self.add_unknown(&text, reason),
                }
            }
            AssignedValue::Array(source) => {
                let text = format!("{name}={}", source.0);
                self.data.add_unknown();
                self.add_unknown_if_err(&text, word::check_no_code(&source.0));
                self.check_variable(&text, name, None);
            }
        }
    }

    pub(crate) fn check_variable(&mut self, text: &str, name: &str, value: Option<&str>) {
        if variables::decides_what_runs(name, value) {
            self.add_unknown(text, UnknownReason::Variable);
        }
    }

    fn analyze_redirects(&mut self, redirects: &[Redirect], scope: &StatementScope) {
        for redirect in redirects {
            redirect::analyze_redirect(self, redirect, scope);
        }
    }

    /// Walks a word whose value names nothing.
    pub(crate) fn analyze_word(
        &mut self,
        word: &syntax::ShellWord,
        scope: &StatementScope,
    ) -> WordKind {
        self.analyze_embedded_code(word, scope);
        match word::decode(word) {
            Ok(decoded @ DecodedWord::Literal(_)) => {
                self.decode_argument(word, decoded);
                WordKind::Literal
            }
            Ok(decoded @ DecodedWord::Dynamic { .. }) => {
                self.decode_argument(word, decoded);
                WordKind::Dynamic
            }
            Err(reason) => {
                self.add_unknown(&word.source, reason);
                WordKind::Dynamic
            }
        }
    }

    /// Walks the code inside a word, which runs in separate shells.
    pub(crate) fn analyze_embedded_code(
        &mut self,
        word: &syntax::ShellWord,
        scope: &StatementScope,
    ) {
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

    fn check_test_expression(&mut self, source: &str) {
        self.add_unknown_if_err(source, word::check_no_code(source));
        let compares = ["-eq ", "-ne ", "-lt ", "-le ", "-gt ", "-ge "];
        self.data.evaluates |= compares.iter().any(|operator| source.contains(operator));
        // These options take a name with a subscript, which is evaluated.
        if source.contains(" -v ") || source.contains(" -R ") {
            self.add_unknown(source, UnknownReason::Arithmetic);
        }
    }

    fn check_arithmetic(&mut self, source: &str) {
        let inner = source.strip_prefix("$((").unwrap_or(source);
        self.add_unknown_if_err(source, word::check_no_code(inner));
        if variables::mentions_execution_variable(source) {
            self.add_unknown(source, UnknownReason::Variable);
        }
        let names = |char: char| char.is_alphabetic() || char == '_' || char == '$';
        self.data.evaluates |= inner.contains(names);
    }

    fn add_unknown_if_err(&mut self, text: &str, checked: Result<(), UnknownReason>) {
        if let Err(reason) = checked {
            self.add_unknown(text, reason);
        }
    }
}

/// The scope of an assignment.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AssignmentScope {
    Shell,
    NextRead,
}

/// Whether a word is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum WordKind {
    Literal,
    Dynamic,
}
