//! Asks the person at the terminal about a call, and puts the questions of tools. The runtime applies the answers. A model
//! may have written any shown text, so haft escapes and indents each line of it.

use std::io::{self, IsTerminal as _};

use haft::{Ask, AskAnswer, Asker, Elicitation, ElicitationReply};
use haft_contract::BoxFuture;
use haft_policy::{Rule, RuleAction};

use super::question_terminal::{
    ANSWER_TRIES_MAX, QuestionScreen, QuestionTerminal, escape_text, indent_untrusted_within,
};
use super::tool_questions;
use haft_app::project_rules::ProjectRuleFile;

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
                ApprovalPrompt { ask: &ask, file: &file, screen: terminal, span }.ask_for_approval()
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

/// One question until it is answered.
struct ApprovalPrompt<'a, S> {
    ask: &'a Ask,
    file: &'a str,
    screen: S,
    span: AskSpan,
}

/// A typed answer to a question about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ApprovalChoice {
    Once,
    Session,
    Project,
    Reject,
    RejectSession,
}

impl<S: QuestionScreen> ApprovalPrompt<'_, S> {
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
                    let deny =
                        |rule: &Rule| Rule::new(&rule.permission, &rule.pattern, RuleAction::Deny);
                    self.show_session_rules(self.ask.always_rules.iter().map(deny).collect());
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
            // A yes or a no counts, whichever words the question offers.
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

#[cfg(test)]
mod tests;
