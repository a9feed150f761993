//! Asking the person at the terminal about a call, and what tools want to know: what is shown, what is answered. What an
//! answer changes is the runtime's affair. Everything that is shown may have been written by a model, so none of it reaches the terminal
//! unescaped, and each line of it is set in.

mod inquiry;
mod on_screen;

use std::io::{self, BufRead as _, IsTerminal as _, PipeReader, PipeWriter, Read as _, Write as _};

use haft::{Answer, Ask, Asker, Inquiry, Reply};
use haft_contract::BoxFuture;
use haft_policy::{Action, Rule};
use rustix::event::{PollFd, PollFlags, poll};

use crate::output::plainly_visible;
use crate::project::Project;
use crate::table::columns_of;

pub(crate) use on_screen::{AskerOnScreen, SharedScreen};

/// Longest line that is read as an answer, in bytes.
pub(crate) const ANSWER_BYTES_MAX: u64 = 4_096;
/// Answers that are no answer before the call is rejected, or the question is left without one.
pub(crate) const ANSWER_TRIES_MAX: usize = 5;
/// What is shown of one text of a question, in characters.
pub(crate) const ASKED_TEXT_CHARS_MAX: usize = 4_000;
/// Columns of a question, unless the terminal has fewer.
const WIDTH: usize = 80;
/// Columns that are folded into at least, also where the terminal has fewer.
const WIDTH_MIN: usize = 20;
const INDENT: &str = "  ";

/// Asks the person at the terminal, on standard error.
pub(crate) struct TerminalAsker {
    project: Project,
    span: Span,
}

/// How much a session of the command line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    /// One call, so that nothing can be allowed for it beyond this once.
    OneCall,
    /// The calls of a plan.
    ManyCalls,
}

impl TerminalAsker {
    /// Returns an asker if there is a terminal to ask on and to be answered from.
    pub(crate) fn new(project: &Project) -> Option<Self> {
        let has_person = io::stdin().is_terminal() && io::stderr().is_terminal();
        has_person.then(|| Self { project: project.clone(), span: Span::OneCall })
    }

    /// Returns the asker for a session of many calls: what is asked can be allowed for all of them, too.
    pub(crate) fn of_many_calls(self) -> Self {
        Self { span: Span::ManyCalls, ..self }
    }
}

impl Asker for TerminalAsker {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, Answer> {
        let file = self.project.path().to_string_lossy().into_owned();
        let span = self.span;
        Box::pin(async move {
            let Some((terminal, unanswered)) = Terminal::new() else { return Answer::Nobody };
            let answered = tokio::task::spawn_blocking(move || {
                Dialogue::new(&ask, &file, terminal).of(span).hold()
            });
            let answer = answered.await.unwrap_or(Answer::Reject);
            unanswered.answered();
            answer
        })
    }

    fn inquire(&self, inquiry: Inquiry) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            let Some((mut terminal, unanswered)) = Terminal::new() else { return Reply::Nobody };
            let replied =
                tokio::task::spawn_blocking(move || inquiry::hold(&inquiry, &mut terminal));
            let reply = replied.await.unwrap_or(Reply::Nobody);
            unanswered.answered();
            reply
        })
    }
}

/// Ends the line of a question that was withdrawn, so that what is said next begins a new one, and the waiting for a line,
/// so that the next line that is typed goes to whoever asks for it.
struct Unanswered {
    /// Closing it is what the other end waits for.
    _withdraw: PipeWriter,
    is_answered: bool,
}

impl Unanswered {
    fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        if !self.is_answered {
            say("\n");
        }
    }
}

/// Where questions go and answers come from.
trait Screen {
    /// How wide lines may be: what the terminal itself folds does not begin where haft sets it in.
    fn columns(&self) -> usize;
    /// Shows text that is ready to be shown.
    fn say(&mut self, text: &str);
    /// Shows text, and returns the line that is typed afterwards; `None` at the end of the input.
    fn ask(&mut self, text: &str) -> Option<String>;
}

struct Terminal {
    withdrawn: PipeReader,
    /// Whether nobody waits for the answer any more, so that nothing more is said of the question.
    is_withdrawn: bool,
}

impl Terminal {
    /// Returns the terminal for one question, and what withdraws the question.
    fn new() -> Option<(Self, Unanswered)> {
        let (withdrawn, withdraw) = io::pipe().ok()?;
        Some((
            Self { withdrawn, is_withdrawn: false },
            Unanswered { _withdraw: withdraw, is_answered: false },
        ))
    }

    /// Waits for a line, and returns whether there is one; else the question was withdrawn.
    fn has_line(&self) -> bool {
        let stdin = io::stdin();
        loop {
            let mut ends =
                [PollFd::new(&stdin, PollFlags::IN), PollFd::new(&self.withdrawn, PollFlags::IN)];
            match poll(&mut ends, None) {
                Ok(_) => return ends.last().is_some_and(|end| end.revents().is_empty()),
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}

fn say(text: &str) {
    let mut stderr = io::stderr().lock();
    // When nobody sees the question nobody answers it either.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

impl Screen for Terminal {
    fn columns(&self) -> usize {
        columns()
    }

    fn say(&mut self, text: &str) {
        if !self.is_withdrawn {
            say(text);
        }
    }

    fn ask(&mut self, text: &str) -> Option<String> {
        let stdin = io::stdin();
        // What was typed before the question was shown is no answer to it.
        let _ = rustix::termios::tcflush(&stdin, rustix::termios::QueueSelector::IFlush);
        self.say(text);
        if !self.has_line() {
            self.is_withdrawn = true;
            return None;
        }
        let mut line = String::new();
        let read = stdin.lock().take(ANSWER_BYTES_MAX).read_line(&mut line);
        matches!(read, Ok(bytes) if bytes > 0).then_some(line)
    }
}

/// One question until it is answered.
struct Dialogue<'a, S> {
    ask: &'a Ask,
    file: &'a str,
    screen: S,
    span: Span,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Once,
    Session,
    Project,
    Reject,
    RejectSession,
}

impl<'a, S: Screen> Dialogue<'a, S> {
    fn new(ask: &'a Ask, file: &'a str, screen: S) -> Self {
        Self { ask, file, screen, span: Span::OneCall }
    }

    fn of(self, span: Span) -> Self {
        Self { span, ..self }
    }

    fn hold(mut self) -> Answer {
        self.screen.say(&question(self.ask, self.screen.columns()));
        for _ in 0..ANSWER_TRIES_MAX {
            let Some(line) = self.screen.ask(self.choices()) else { return self.end_of_input() };
            match self.choice(&line) {
                Some(Choice::Once) => return Answer::Once,
                Some(Choice::Session) => {
                    self.say_rules(self.ask.always.clone());
                    return Answer::AlwaysSession;
                }
                Some(Choice::Reject) => return Answer::Reject,
                Some(Choice::RejectSession) => {
                    self.say_rules(self.ask.always.iter().map(denying).collect());
                    return Answer::RejectSession;
                }
                Some(Choice::Project) => match self.confirmed() {
                    Some(true) => return Answer::AlwaysProject,
                    Some(false) => {}
                    None => return self.end_of_input(),
                },
                None => self.screen.say("That is none of the answers.\n"),
            }
        }
        self.screen.say("No answer, so the call is rejected.\n");
        Answer::Reject
    }

    fn choices(&self) -> &'static str {
        match (self.ask.always.is_empty(), self.span) {
            (true, _) => "\nAllow it? [y]es, [n]o: ",
            (false, Span::OneCall) => "\nAllow it? [o]nce, always for this [p]roject, [r]eject: ",
            (false, Span::ManyCalls) => {
                "\nAllow it? [o]nce, always in this [s]ession, always for this [p]roject,\n\
                 [d]eny it for this session, [r]eject: "
            }
        }
    }

    fn choice(&self, line: &str) -> Option<Choice> {
        match line.trim().to_lowercase().as_str() {
            // What a yes or a no means is never in doubt, whatever the words are.
            "o" | "once" | "y" | "yes" => Some(Choice::Once),
            "r" | "reject" | "n" | "no" => Some(Choice::Reject),
            "s" | "session" if self.offers_session() => Some(Choice::Session),
            "d" | "deny" if self.offers_session() => Some(Choice::RejectSession),
            "p" | "project" if !self.ask.always.is_empty() => Some(Choice::Project),
            _ => None,
        }
    }

    /// Says what holds from now on: what was asked about is one call, and an answer for the session may cover more.
    fn say_rules(&mut self, rules: Vec<Rule>) {
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        let rules = set_in_within(&rules, self.screen.columns());
        self.screen.say(&format!("From now on, in this session:\n{rules}"));
    }

    fn offers_session(&self) -> bool {
        !self.ask.always.is_empty() && self.span == Span::ManyCalls
    }

    /// Shows what would be written, and returns whether it shall be; `None` at the end of the input.
    fn confirmed(&mut self) -> Option<bool> {
        let rules: Vec<String> = self.ask.always.iter().map(ToString::to_string).collect();
        let text = format!(
            "\nFor every later call in {}, this is written to\n{}:\n\n{}\nWrite it? [y]es, [n]o: ",
            escaped(&self.ask.root.to_string_lossy()),
            escaped(self.file),
            set_in_within(&rules, self.screen.columns())
        );
        let line = self.screen.ask(&text)?;
        Some(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    fn end_of_input(mut self) -> Answer {
        self.screen.say("\n");
        Answer::Reject
    }
}

/// Returns the rule that denies what a rule allows.
fn denying(rule: &Rule) -> Rule {
    Rule::new(&rule.permission, &rule.pattern, Action::Deny)
}

/// Returns what is asked, without the answers to choose from.
fn question(ask: &Ask, columns: usize) -> String {
    let mut text = format!("\nThe tool {} needs approval.\n", ask.tool);
    let sections = [
        ("It wants", ask.accesses.as_slice()),
        ("Input", std::slice::from_ref(&ask.input)),
        ("Why you are asked", ask.reasons.as_slice()),
    ];
    for (heading, lines) in sections {
        if !lines.is_empty() {
            text.push_str(&format!("\n{heading}:\n{}", set_in_within(lines, columns)));
        }
    }
    text
}

/// Returns texts escaped, folded and set in, so that no line of them can be taken for one of haft's.
pub(crate) fn set_in(texts: &[String]) -> String {
    set_in_within(texts, columns())
}

fn set_in_within(texts: &[String], columns: usize) -> String {
    texts.iter().map(|text| folded(&escaped(text), columns)).collect()
}

/// Returns how wide lines of questions are.
fn columns() -> usize {
    columns_of(io::stderr()).map_or(WIDTH, |columns| columns.clamp(WIDTH_MIN, WIDTH))
}

/// Lines break after a gap where there is one in their second half, and else wherever they are full.
fn folded(text: &str, columns: usize) -> String {
    let mut lines = String::new();
    let mut line = String::from(INDENT);
    for character in text.chars() {
        if line.chars().map(width).sum::<usize>() + width(character) > columns {
            let gap = line.rfind(' ').filter(|gap| *gap > line.len() / 2);
            let rest = gap.map_or(String::new(), |gap| line.split_off(gap).split_off(1));
            lines.push_str(&line);
            lines.push('\n');
            line = format!("{INDENT}{INDENT}{rest}");
        }
        line.push(character);
    }
    format!("{lines}{line}\n")
}

/// Some characters are two columns wide. Folding early is only a little ugly.
fn width(character: char) -> usize {
    if character.is_ascii() { 1 } else { 2 }
}

/// Returns the beginning of a text, plainly visible, and how much more there is.
pub(crate) fn escaped(text: &str) -> String {
    let mut characters = text.chars();
    let begun: String = characters.by_ref().take(ASKED_TEXT_CHARS_MAX).collect();
    let shown = plainly_visible(&begun);
    match characters.count() {
        0 => shown,
        more => format!("{shown}… ({more} more characters are not shown)"),
    }
}

#[cfg(test)]
mod tests;
