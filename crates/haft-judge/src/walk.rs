//! Walks the statements of a line in the order in which they would run, and keeps where each would run. Both branches
//! of a condition count, a loop counts once, and a function's body counts where it is defined.

use std::collections::BTreeSet;

use crate::arithmetic::DataFlow;
use crate::builtin;
use crate::command;
use crate::judgement::{self, FileUse, How, Judgement, Unknown, UnknownReason, Why};
use crate::links::Links;
use crate::places::Places;
use crate::redirect;
use crate::syntax::{
    self, Assignment, Code, Join, Loop, Redirect, Script, Simple, Statement, Value,
};
use crate::variables;
use crate::word::{self, Decoded};

/// Commands of a line, those within its substitutions and inner lines included.
pub const COMMANDS_MAX: usize = 256;
/// Uses of files of a line.
pub const FILES_MAX: usize = 1_024;
/// Wrappers around each other, and lines within lines.
pub const THROUGH_MAX: usize = 8;
/// Pages are taken as they are used, so a stack that nobody needs costs nothing.
const STACK_BYTES: usize = 16 * 1024 * 1024;

/// Judges a line.
pub(crate) fn judge_line(line: &str) -> Judgement {
    judge_with(line, |walk, scope| walk.line(line, scope))
}

/// Judges a command that needs no shell.
pub(crate) fn judge_command(words: &[judgement::Word]) -> Judgement {
    judge_with(&word::line_of(words), |walk, scope| {
        walk.command(words, scope);
        Ok(())
    })
}

/// Judges in a thread of its own, which gives both parsers a stack of known size, and takes a panic of theirs for a
/// line that is not understood.
fn judge_with(
    line: &str,
    step: impl Fn(&mut Walk, &Scope) -> Result<(), UnknownReason> + Send,
) -> Judgement {
    let judged = std::thread::scope(|threads| {
        let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
        let judged = thread.spawn_scoped(threads, || judge_here(line, step)).ok()?;
        judged.join().ok()
    });
    judged.unwrap_or_else(|| unknown_whole(line, UnknownReason::Syntax))
}

fn judge_here(
    line: &str,
    step: impl Fn(&mut Walk, &Scope) -> Result<(), UnknownReason>,
) -> Judgement {
    let run = |is_moving: bool| {
        let mut walk = Walk { is_moving, ..Walk::default() };
        step(&mut walk, &Scope::start()).map(|()| walk)
    };
    // A function may be called where another directory is current than where it is defined. Whether the line changes
    // its directory at all is known after a walk.
    let walked = match run(false) {
        Ok(walk) if walk.moved && !walk.functions.is_empty() => run(true),
        walked => walked,
    };
    match walked {
        Ok(walk) if walk.is_full => unknown_whole(line, UnknownReason::TooLarge),
        Ok(mut walk) => {
            if walk.data.may_run_code() {
                walk.unknown(line, UnknownReason::Arithmetic);
            }
            if let Some(path) = walk.links.crossed().map(str::to_owned) {
                walk.unknown(&path, UnknownReason::Link);
            }
            walk.judgement
        }
        Err(reason) => unknown_whole(line, reason),
    }
}

fn unknown_whole(line: &str, reason: UnknownReason) -> Judgement {
    let unknown = vec![Unknown { text: line.to_owned(), reason }];
    Judgement { unknown, ..Judgement::default() }
}

/// What is found on the way.
#[derive(Default)]
pub(crate) struct Walk {
    judgement: Judgement,
    functions: BTreeSet<String>,
    pub(crate) data: DataFlow,
    links: Links,
    /// More was found than is kept.
    is_full: bool,
    /// The line changes its directory, as a walk before found out.
    is_moving: bool,
    /// The line changed its directory.
    pub(crate) moved: bool,
}

/// Where statements run.
#[derive(Clone)]
pub(crate) struct Scope {
    pub(crate) places: Places,
    /// The programs that start them.
    pub(crate) through: Vec<String>,
}

impl Scope {
    fn start() -> Self {
        Self { places: Places::start(), through: Vec::new() }
    }

    /// Returns the scope of what runs in `places`.
    pub(crate) fn at(&self, places: Places) -> Self {
        Self { places, through: self.through.clone() }
    }

    /// Returns the scope of what `program` starts.
    pub(crate) fn through(&self, program: &str) -> Self {
        let mut through = self.through.clone();
        through.push(program.to_owned());
        Self { places: self.places.clone(), through }
    }

    pub(crate) fn is_too_deep(&self) -> bool {
        self.through.len() > THROUGH_MAX
    }
}

/// Where the shell is after a statement.
pub(crate) struct After {
    pub(crate) succeeded: Places,
    pub(crate) failed: Places,
}

impl After {
    /// The statement changes no directory.
    pub(crate) fn unmoved(scope: &Scope) -> Self {
        Self { succeeded: scope.places.clone(), failed: scope.places.clone() }
    }

    pub(crate) fn anywhere() -> Self {
        Self { succeeded: Places::Unknown, failed: Places::Unknown }
    }

    fn either(self) -> Places {
        self.succeeded.union(self.failed)
    }
}

impl Walk {
    /// Walks a line of its own, as `bash -c` is given.
    pub(crate) fn line(&mut self, line: &str, scope: &Scope) -> Result<(), UnknownReason> {
        let script = syntax::parse(line)?;
        self.script(&script, scope);
        Ok(())
    }

    pub(crate) fn unknown(&mut self, text: &str, reason: UnknownReason) {
        let unknown = Unknown { text: text.to_owned(), reason };
        if !self.judgement.unknown.contains(&unknown) {
            self.judgement.unknown.push(unknown);
        }
        self.is_full |= self.judgement.unknown.len() > COMMANDS_MAX;
    }

    pub(crate) fn known(&mut self, words: &[judgement::Word], scope: &Scope) {
        let command =
            judgement::SimpleCommand { through: scope.through.clone(), words: words.to_vec() };
        if !self.judgement.commands.contains(&command) {
            self.judgement.commands.push(command);
        }
        self.is_full |= self.judgement.commands.len() > COMMANDS_MAX;
    }

    pub(crate) fn host(&mut self, host: &str) {
        self.judgement.hosts.push(host.to_owned());
    }

    pub(crate) fn file(&mut self, path: &str, kind: (How, Why), scope: &Scope) {
        for path in self.place(path, kind, scope) {
            self.links.note_use(&path, "");
        }
    }

    /// Notes a file that a command, spelled with the bare name of its program, is given; `ln` makes a link of what it writes.
    pub(crate) fn operand(&mut self, (path, how): (&str, How), command: &str, scope: &Scope) {
        let makes_link = how == How::Write && command.starts_with("ln ");
        for path in self.place(path, (how, Why::Operand), scope) {
            if makes_link {
                self.links.make(&path, command);
            } else {
                self.links.note_use(&path, command);
            }
        }
    }

    /// Notes a file and returns which it may be.
    fn place(&mut self, path: &str, (how, why): (How, Why), scope: &Scope) -> Vec<String> {
        // A dash is the standard input of what reads.
        let is_input = path == "-" && how == How::Read && why == Why::Operand;
        if path.is_empty() || is_input || redirect::is_device(path) {
            return Vec::new();
        }
        let Some(paths) = scope.places.resolve(path) else {
            self.unknown(path, UnknownReason::Directory);
            return Vec::new();
        };
        // Where the line would be if a `cd` failed may lie outside of where it starts. That is no claim to touch what is
        // there, but something that is not known.
        let climbs = |path: &String| path == ".." || path.starts_with("../");
        let (outside, inside): (Vec<String>, Vec<String>) = paths.into_iter().partition(climbs);
        let is_open = !outside.is_empty() && !inside.is_empty();
        if is_open {
            self.unknown(path, UnknownReason::Directory);
        }
        let paths = if is_open { inside } else { [outside, inside].concat() };
        for path in &paths {
            let file = FileUse { path: path.clone(), how, why };
            if !self.judgement.files.contains(&file) {
                self.judgement.files.push(file);
            }
        }
        self.is_full |= self.judgement.files.len() + self.links.len() > FILES_MAX;
        paths
    }

    pub(crate) fn is_function(&self, name: &str) -> bool {
        self.functions.contains(name)
    }

    /// Returns where the shell may be after a function was called.
    pub(crate) fn after_function(&self, scope: &Scope) -> After {
        if self.is_moving { After::anywhere() } else { After::unmoved(scope) }
    }

    fn script(&mut self, script: &Script, scope: &Scope) -> After {
        let mut after = After::unmoved(scope);
        for statement in &script.0 {
            after = self.statement(statement, &scope.at(after.either()));
            if self.is_full {
                break;
            }
        }
        after
    }

    fn statement(&mut self, statement: &Statement, scope: &Scope) -> After {
        match statement {
            Statement::Simple(simple) => self.simple(simple, scope),
            Statement::Pipeline(commands) => {
                for command in commands {
                    self.statement(command, scope);
                }
                After::unmoved(scope)
            }
            Statement::Chain(first, rest) => self.chain(first, rest, scope),
            Statement::Negated(inner) => {
                let After { succeeded, failed } = self.statement(inner, scope);
                After { succeeded: failed, failed: succeeded }
            }
            Statement::Background(inner) => {
                self.statement(inner, scope);
                After::unmoved(scope)
            }
            Statement::Group(script) => self.script(script, scope),
            Statement::Subshell(script) => {
                self.script(script, scope);
                After::unmoved(scope)
            }
            Statement::If { arms, otherwise } => self.branches(arms, otherwise, scope),
            Statement::Loop(repeated) => self.repeated(repeated, scope),
            Statement::Case { subject, arms } => {
                self.text(subject, scope);
                let mut places = scope.places.clone();
                for arm in arms {
                    for pattern in &arm.patterns {
                        self.check(&pattern.source, word::check_no_code(&pattern.source));
                    }
                    // The body before may fall through to this one.
                    places =
                        self.script(&arm.body, &scope.at(places.clone())).either().union(places);
                }
                After { succeeded: places.clone(), failed: places }
            }
            Statement::Function { name, body } => self.function(name, body, scope),
            Statement::Test(source) => {
                self.test(&source.0);
                After::unmoved(scope)
            }
            Statement::Arithmetic(source) => {
                self.arithmetic(&source.0);
                After::unmoved(scope)
            }
            Statement::Redirected(inner, redirects) => {
                self.redirects(redirects, scope);
                self.statement(inner, scope)
            }
        }
    }

    fn chain(&mut self, first: &Statement, rest: &[(Join, Statement)], scope: &Scope) -> After {
        let mut after = self.statement(first, scope);
        for (join, next) in rest {
            let (start, skipped) = match join {
                Join::And => (after.succeeded, after.failed),
                Join::Or => (after.failed, after.succeeded),
            };
            let then = self.statement(next, &scope.at(start));
            after = match join {
                Join::And => After { failed: then.failed.union(skipped), ..then },
                Join::Or => After { succeeded: then.succeeded.union(skipped), ..then },
            };
        }
        after
    }

    fn branches(&mut self, arms: &[(Script, Script)], otherwise: &Script, scope: &Scope) -> After {
        let mut start = scope.places.clone();
        let mut ends: Option<Places> = None;
        for (condition, body) in arms {
            let tested = self.script(condition, &scope.at(start));
            let end = self.script(body, &scope.at(tested.succeeded)).either();
            ends = Some(ends.map_or(end.clone(), |ends| ends.union(end)));
            start = tested.failed;
        }
        let end = self.script(otherwise, &scope.at(start)).either();
        let places = ends.map_or(end.clone(), |ends| ends.union(end));
        After { succeeded: places.clone(), failed: places }
    }

    /// Walks a loop once. If that leads to another directory, a second round starts there, and so on: then no
    /// directory is known.
    fn repeated(&mut self, repeated: &Loop, scope: &Scope) -> After {
        if let Some(variable) = &repeated.variable {
            self.check_variable(variable, variable, None);
        }
        if let Some(source) = &repeated.arithmetic {
            self.arithmetic(&source.0);
        }
        for word in &repeated.words {
            if self.text(word, scope) != TextKind::Literal {
                self.data.take_unknown();
            }
        }
        let before = self.judgement.clone();
        let end = self.round(repeated, scope);
        let places = if scope.places.covers(&end) {
            end.union(scope.places.clone())
        } else {
            self.judgement = before;
            self.round(repeated, &scope.at(Places::Unknown));
            Places::Unknown
        };
        After { succeeded: places.clone(), failed: places }
    }

    fn round(&mut self, repeated: &Loop, scope: &Scope) -> Places {
        let tested = self.script(&repeated.condition, scope);
        let end = self.script(&repeated.body, &scope.at(tested.succeeded)).either();
        end.union(tested.failed)
    }

    fn function(&mut self, name: &str, body: &Statement, scope: &Scope) -> After {
        if command::is_well_known(name) {
            self.unknown(name, UnknownReason::Redefinition);
        }
        self.functions.insert(name.to_owned());
        let places = if self.is_moving { Places::Unknown } else { scope.places.clone() };
        self.statement(body, &scope.at(places));
        After::unmoved(scope)
    }

    fn simple(&mut self, simple: &Simple, scope: &Scope) -> After {
        let program = simple.words.first().map(|word| word.source.as_str());
        for assignment in &simple.assignments {
            // `IFS= read` splits what is read, and lasts no longer.
            let is_for_read = assignment.name == "IFS" && program == Some("read");
            self.assignment(
                assignment,
                if is_for_read { Sets::OneRead } else { Sets::Shell },
                scope,
            );
        }
        self.redirects(&simple.redirects, scope);
        let text = || {
            let sources = simple.words.iter().map(|word| word.source.as_str());
            sources.collect::<Vec<_>>().join(" ")
        };
        let mut words = Vec::new();
        for word in &simple.words {
            self.code(word, scope);
            match word::decode(word) {
                Ok(decoded) => words.push(self.argument(word, decoded)),
                Err(reason) => {
                    self.unknown(&text(), reason);
                    let stays = words.first().and_then(judgement::Word::literal);
                    let stays = stays.is_some_and(|program| !builtin::moves(program));
                    return if stays { After::unmoved(scope) } else { After::anywhere() };
                }
            }
        }
        if words.is_empty() { After::unmoved(scope) } else { self.command(&words, scope) }
    }

    /// Notes what an argument may carry into arithmetic.
    fn argument(&mut self, word: &syntax::Word, decoded: Decoded) -> judgement::Word {
        match decoded {
            Decoded::Literal(text) => {
                self.data.take_literal(&text);
                judgement::Word::Literal(text)
            }
            Decoded::Dynamic { prefix, has_arithmetic } => {
                self.data.take_literal(&prefix);
                self.data.evaluates |= has_arithmetic;
                judgement::Word::Unknown(word.source.clone())
            }
        }
    }

    fn assignment(&mut self, assignment: &Assignment, sets: Sets, scope: &Scope) {
        let name = &assignment.name;
        if let Some(subscript) = &assignment.subscript {
            self.arithmetic(&subscript.0);
        }
        match &assignment.value {
            Value::Scalar(word) => {
                let text = format!("{name}={}", word.source);
                self.code(word, scope);
                if word.holes.iter().any(|hole| hole.code != Code::Arithmetic) {
                    self.data.take_unknown();
                }
                match word::decode(word) {
                    Ok(decoded) => {
                        let value = self.argument(word, decoded);
                        if sets == Sets::Shell {
                            self.check_variable(&text, name, value.literal());
                        }
                    }
                    Err(reason) => self.unknown(&text, reason),
                }
            }
            Value::Array(source) => {
                let text = format!("{name}={}", source.0);
                self.data.take_unknown();
                self.check(&text, word::check_no_code(&source.0));
                self.check_variable(&text, name, None);
            }
        }
    }

    pub(crate) fn check_variable(&mut self, text: &str, name: &str, value: Option<&str>) {
        if variables::decides(name, value) {
            self.unknown(text, UnknownReason::Variable);
        }
    }

    fn redirects(&mut self, redirects: &[Redirect], scope: &Scope) {
        for redirect in redirects {
            redirect::judge(self, redirect, scope);
        }
    }

    /// Walks a word whose value names nothing.
    pub(crate) fn text(&mut self, word: &syntax::Word, scope: &Scope) -> TextKind {
        self.code(word, scope);
        match word::decode(word) {
            Ok(decoded @ Decoded::Literal(_)) => {
                self.argument(word, decoded);
                TextKind::Literal
            }
            Ok(decoded @ Decoded::Dynamic { .. }) => {
                self.argument(word, decoded);
                TextKind::Dynamic
            }
            Err(reason) => {
                self.unknown(&word.source, reason);
                TextKind::Dynamic
            }
        }
    }

    /// Walks the code inside a word, which runs in shells of its own.
    pub(crate) fn code(&mut self, word: &syntax::Word, scope: &Scope) {
        for hole in &word.holes {
            match &hole.code {
                Code::Command(script) | Code::Process(script) => {
                    self.script(script, scope);
                }
                Code::Arithmetic => {
                    let source = word.source.get(hole.range.clone()).unwrap_or_default();
                    self.arithmetic(source);
                }
            }
        }
    }

    fn test(&mut self, source: &str) {
        self.check(source, word::check_no_code(source));
        let compares = ["-eq ", "-ne ", "-lt ", "-le ", "-gt ", "-ge "];
        self.data.evaluates |= compares.iter().any(|operator| source.contains(operator));
        // These take a name with a subscript, which is evaluated.
        if source.contains(" -v ") || source.contains(" -R ") {
            self.unknown(source, UnknownReason::Arithmetic);
        }
    }

    fn arithmetic(&mut self, source: &str) {
        let inner = source.strip_prefix("$((").unwrap_or(source);
        self.check(source, word::check_no_code(inner));
        if variables::names_decisive(source) {
            self.unknown(source, UnknownReason::Variable);
        }
        let names = |char: char| char.is_alphabetic() || char == '_' || char == '$';
        self.data.evaluates |= inner.contains(names);
    }

    fn check(&mut self, text: &str, checked: Result<(), UnknownReason>) {
        if let Err(reason) = checked {
            self.unknown(text, reason);
        }
    }
}

/// How far an assignment reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sets {
    Shell,
    OneRead,
}

/// Whether a word is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    Literal,
    Dynamic,
}
