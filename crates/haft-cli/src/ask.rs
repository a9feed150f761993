//! Asking the person at the terminal about a call, and what tools want to know: what is shown, what is answered. What an
//! answer changes is the runtime's affair. Everything that is shown may have been written by a model, so none of it reaches the terminal
//! unescaped, and each line of it is set in.

mod screen_asker;
mod tool_questions;

use std::io::{self, BufRead as _, IsTerminal as _, PipeReader, PipeWriter, Read as _, Write as _};

use haft::{Ask, AskAnswer, Asker, Elicitation, ElicitationReply};
use haft_contract::BoxFuture;
use haft_policy::{Rule, RuleAction};
use rustix::event::{PollFd, PollFlags, poll};

use crate::output::escape_nonprinting;
use crate::table::columns_of;
use haft_app::project_rules::ProjectRuleFile;

pub(crate) use screen_asker::{ScreenAsker, SharedScreen};

/// Longest line that is read as an answer, in bytes.
pub(crate) const ANSWER_BYTES_MAX: u64 = 4_096;
/// Tries to answer a question in a terminal.
///
/// Limit (calls): the call is rejected.
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
    project: ProjectRuleFile,
    span: AskSpan,
}

/// How much a session of the command line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskSpan {
    /// One call, so that nothing can be allowed for it beyond this once.
    OneCall,
    /// The calls of a plan.
    ManyCalls,
}

impl TerminalAsker {
    /// Returns an asker if there is a terminal to ask on and to be answered from.
    pub(crate) fn new(project: &ProjectRuleFile) -> Option<Self> {
        let has_person = io::stdin().is_terminal() && io::stderr().is_terminal();
        has_person.then(|| Self { project: project.clone(), span: AskSpan::OneCall })
    }

    /// Returns the asker for a session of many calls: what is asked can be allowed for all of them, too.
    pub(crate) fn for_many_calls(self) -> Self {
        Self { span: AskSpan::ManyCalls, ..self }
    }
}

impl Asker for TerminalAsker {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        let file = self.project.path().to_string_lossy().into_owned();
        let span = self.span;
        Box::pin(async move {
            let Some((terminal, unanswered)) = QuestionTerminal::new() else {
                return AskAnswer::Unanswered;
            };
            let answered = tokio::task::spawn_blocking(move || {
                ApprovalPrompt::new(&ask, &file, terminal).with_span(span).ask_for_approval()
            });
            let answer = answered.await.unwrap_or(AskAnswer::Reject);
            unanswered.mark_answered();
            answer
        })
    }

    fn elicit(&self, inquiry: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async move {
            let Some((mut terminal, unanswered)) = QuestionTerminal::new() else {
                return ElicitationReply::Unanswered;
            };
            let replied = tokio::task::spawn_blocking(move || {
                tool_questions::ask_questions(&inquiry, &mut terminal)
            });
            let reply = replied.await.unwrap_or(ElicitationReply::Unanswered);
            unanswered.mark_answered();
            reply
        })
    }
}

/// Ends the line of a question that was withdrawn, so that what is said next begins a new one, and the waiting for a line,
/// so that the next line that is typed goes to whoever asks for it.
struct OpenQuestionGuard {
    /// Closing it is what the other end waits for.
    _withdraw: PipeWriter,
    is_answered: bool,
}

impl OpenQuestionGuard {
    fn mark_answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for OpenQuestionGuard {
    fn drop(&mut self) {
        if !self.is_answered {
            write_stderr("\n");
        }
    }
}

/// Where questions go and answers come from.
trait QuestionScreen {
    /// How wide lines may be: what the terminal itself folds does not begin where haft sets it in.
    fn columns(&self) -> usize;
    /// Shows text that is ready to be shown.
    fn show_text(&mut self, text: &str);
    /// Shows text, and returns the line that is typed afterwards; `None` at the end of the input.
    fn read_answer(&mut self, text: &str) -> Option<String>;
}

struct QuestionTerminal {
    withdrawn: PipeReader,
    /// Whether nobody waits for the answer any more, so that nothing more is said of the question.
    is_withdrawn: bool,
}

impl QuestionTerminal {
    /// Returns the terminal for one question, and what withdraws the question.
    fn new() -> Option<(Self, OpenQuestionGuard)> {
        let (withdrawn, withdraw) = io::pipe().ok()?;
        Some((
            Self { withdrawn, is_withdrawn: false },
            OpenQuestionGuard { _withdraw: withdraw, is_answered: false },
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

fn write_stderr(text: &str) {
    let mut stderr = io::stderr().lock();
    // When nobody sees the question nobody answers it either.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}

impl QuestionScreen for QuestionTerminal {
    fn columns(&self) -> usize {
        columns()
    }

    fn show_text(&mut self, text: &str) {
        if !self.is_withdrawn {
            write_stderr(text);
        }
    }

    fn read_answer(&mut self, text: &str) -> Option<String> {
        let stdin = io::stdin();
        // What was typed before the question was shown is no answer to it.
        let _ = rustix::termios::tcflush(&stdin, rustix::termios::QueueSelector::IFlush);
        self.show_text(text);
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
struct ApprovalPrompt<'a, S> {
    ask: &'a Ask,
    file: &'a str,
    screen: S,
    span: AskSpan,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApprovalChoice {
    Once,
    Session,
    Project,
    Reject,
    RejectSession,
}

impl<'a, S: QuestionScreen> ApprovalPrompt<'a, S> {
    fn new(ask: &'a Ask, file: &'a str, screen: S) -> Self {
        Self { ask, file, screen, span: AskSpan::OneCall }
    }

    fn with_span(self, span: AskSpan) -> Self {
        Self { span, ..self }
    }

    fn ask_for_approval(mut self) -> AskAnswer {
        self.screen.show_text(&question_text(self.ask, self.screen.columns()));
        for _ in 0..ANSWER_TRIES_MAX {
            let Some(line) = self.screen.read_answer(self.choices()) else {
                return self.end_of_input();
            };
            match self.parse_choice(&line) {
                Some(ApprovalChoice::Once) => return AskAnswer::AllowOnce,
                Some(ApprovalChoice::Session) => {
                    self.show_session_rules(self.ask.always_rules.clone());
                    return AskAnswer::AllowForSession;
                }
                Some(ApprovalChoice::Reject) => return AskAnswer::Reject,
                Some(ApprovalChoice::RejectSession) => {
                    self.show_session_rules(self.ask.always_rules.iter().map(deny_rule).collect());
                    return AskAnswer::RejectForSession;
                }
                Some(ApprovalChoice::Project) => match self.confirm_project_rules() {
                    Some(true) => return AskAnswer::AllowForProject,
                    Some(false) => {}
                    None => return self.end_of_input(),
                },
                None => self.screen.show_text("That is none of the answers.\n"),
            }
        }
        self.screen.show_text("No answer, so the call is rejected.\n");
        AskAnswer::Reject
    }

    fn choices(&self) -> &'static str {
        match (self.ask.always_rules.is_empty(), self.span) {
            (true, _) => "\nAllow it? [y]es, [n]o: ",
            (false, AskSpan::OneCall) => {
                "\nAllow it? [o]nce, always for this [p]roject, [r]eject: "
            }
            (false, AskSpan::ManyCalls) => {
                "\nAllow it? [o]nce, always in this [s]ession, always for this [p]roject,\n\
                 [d]eny it for this session, [r]eject: "
            }
        }
    }

    fn parse_choice(&self, line: &str) -> Option<ApprovalChoice> {
        match line.trim().to_lowercase().as_str() {
            // What a yes or a no means is never in doubt, whatever the words are.
            "o" | "once" | "y" | "yes" => Some(ApprovalChoice::Once),
            "r" | "reject" | "n" | "no" => Some(ApprovalChoice::Reject),
            "s" | "session" if self.offers_session() => Some(ApprovalChoice::Session),
            "d" | "deny" if self.offers_session() => Some(ApprovalChoice::RejectSession),
            "p" | "project" if !self.ask.always_rules.is_empty() => Some(ApprovalChoice::Project),
            _ => None,
        }
    }

    /// Says what holds from now on: what was asked about is one call, and an answer for the session may cover more.
    fn show_session_rules(&mut self, rules: Vec<Rule>) {
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        let rules = indent_untrusted_within(&rules, self.screen.columns());
        self.screen.show_text(&format!("From now on, in this session:\n{rules}"));
    }

    fn offers_session(&self) -> bool {
        !self.ask.always_rules.is_empty() && self.span == AskSpan::ManyCalls
    }

    /// Shows what would be written, and returns whether it shall be; `None` at the end of the input.
    fn confirm_project_rules(&mut self) -> Option<bool> {
        let rules: Vec<String> = self.ask.always_rules.iter().map(ToString::to_string).collect();
        let text = format!(
            "\nFor every later call in {}, this is written to\n{}:\n\n{}\nWrite it? [y]es, [n]o: ",
            escape_text(&self.ask.root.to_string_lossy()),
            escape_text(self.file),
            indent_untrusted_within(&rules, self.screen.columns())
        );
        let line = self.screen.read_answer(&text)?;
        Some(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
    }

    fn end_of_input(mut self) -> AskAnswer {
        self.screen.show_text("\n");
        AskAnswer::Reject
    }
}

/// Returns the rule that denies what a rule allows.
fn deny_rule(rule: &Rule) -> Rule {
    Rule::new(&rule.permission, &rule.pattern, RuleAction::Deny)
}

/// Returns what is asked, without the answers to choose from.
fn question_text(ask: &Ask, columns: usize) -> String {
    let mut text = format!("\nThe tool {} needs approval.\n", ask.tool);
    let sections = [
        ("It wants", ask.accesses.as_slice()),
        ("Input", std::slice::from_ref(&ask.input)),
        ("Why you are asked", ask.reasons.as_slice()),
    ];
    for (heading, lines) in sections {
        if !lines.is_empty() {
            text.push_str(&format!("\n{heading}:\n{}", indent_untrusted_within(lines, columns)));
        }
    }
    text
}

/// Returns texts escaped, folded and set in, so that no line of them can be taken for one of haft's.
pub(crate) fn indent_untrusted(texts: &[String]) -> String {
    indent_untrusted_within(texts, columns())
}

fn indent_untrusted_within(texts: &[String], columns: usize) -> String {
    texts.iter().map(|text| fold_text(&escape_text(text), columns)).collect()
}

/// Returns how wide lines of questions are.
fn columns() -> usize {
    columns_of(io::stderr()).map_or(WIDTH, |columns| columns.clamp(WIDTH_MIN, WIDTH))
}

/// Lines break after a gap where there is one in their second half, and else wherever they are full.
fn fold_text(text: &str, columns: usize) -> String {
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
pub(crate) fn escape_text(text: &str) -> String {
    let mut characters = text.chars();
    let begun: String = characters.by_ref().take(ASKED_TEXT_CHARS_MAX).collect();
    let shown = escape_nonprinting(&begun);
    match characters.count() {
        0 => shown,
        more => format!("{shown}… ({more} more characters are not shown)"),
    }
}

#[cfg(test)]
mod tests;
