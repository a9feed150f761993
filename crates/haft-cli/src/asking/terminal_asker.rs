//! Asks the person at the terminal about a call, and puts the questions of tools. The runtime applies the answers. A model
//! may have written any shown text, so haft escapes and indents each line of it.

use std::io::{self, IsTerminal as _};

use haft::{Ask, AskAnswer, Asker, Elicitation, ElicitationReply};
use haft_contract::BoxFuture;
use haft_policy::Rule;

use super::question_terminal::{
    ANSWER_TRIES_MAX, QuestionScreen, ask_on_terminal, escape_text, indent_untrusted_within,
};
use super::tool_questions;
use crate::views::output;
use haft_app::ProjectRuleFile;

/// Asks the person at the terminal, on standard error.
pub(crate) struct TerminalAsker {
    project: ProjectRuleFile,
    span: AskSpan,
}

/// The calls that an answer for the session covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AskSpan {
    /// One call, so an answer for the session means nothing.
    OneCall,
    /// The calls of a plan or of an agent.
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
            let answer = ask_on_terminal(AskAnswer::Reject, move |terminal| {
                ask_for_approval(&ask, &file, span, terminal)
            });
            answer.await.unwrap_or(AskAnswer::Unanswered)
        })
    }

    fn has_deadline(&self) -> bool {
        false
    }

    fn note_end(&self, _: &str, how: &str) {
        output::print_aside(format!("\nanswered elsewhere: {how}"));
    }

    fn elicit(&self, asked: Elicitation) -> BoxFuture<'_, ElicitationReply> {
        Box::pin(async move {
            let reply = ask_on_terminal(ElicitationReply::Unanswered, move |terminal| {
                tool_questions::ask_questions(&asked, terminal)
            });
            reply.await.unwrap_or(ElicitationReply::Unanswered)
        })
    }
}

/// Asks about one call until the question is answered.
fn ask_for_approval(
    ask: &Ask,
    file: &str,
    span: AskSpan,
    screen: &mut impl QuestionScreen,
) -> AskAnswer {
    let columns = screen.columns();
    let mut question = format!("\nThe tool {} needs approval.\n", ask.tool);
    let sections = [
        ("It wants", ask.accesses.as_slice()),
        ("Input", std::slice::from_ref(&ask.input)),
        ("Why you are asked", ask.reasons.as_slice()),
    ];
    for (heading, lines) in sections.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        question.push_str(&format!("\n{heading}:\n{}", indent_untrusted_within(lines, columns)));
    }
    screen.show_text(&question);
    let has_rules = !ask.always_rules.is_empty();
    let choices = match (has_rules, span) {
        (false, _) => "\nAllow it? [y]es, [n]o: ",
        (true, AskSpan::OneCall) => "\nAllow it? [o]nce, always for this [p]roject, [r]eject: ",
        (true, AskSpan::ManyCalls) => {
            "\nAllow it? [o]nce, always in this [s]ession, always for this [p]roject,\n\
             [d]eny it for this session, [r]eject: "
        }
    };
    let offers_session = has_rules && span == AskSpan::ManyCalls;
    let listed = |rules: &[Rule]| {
        let rules: Vec<String> = rules.iter().map(ToString::to_string).collect();
        indent_untrusted_within(&rules, columns)
    };
    for _ in 0..ANSWER_TRIES_MAX {
        let Some(line) = screen.read_answer(choices) else {
            screen.show_text("\n");
            return AskAnswer::Reject;
        };
        if let Some(words) = words_of_rejection(&line) {
            return AskAnswer::RejectWithWords(words);
        }
        match line.trim().to_lowercase().as_str() {
            // A yes or a no counts, whichever words the question offers.
            "o" | "once" | "y" | "yes" => return AskAnswer::AllowOnce,
            "r" | "reject" | "n" | "no" => return AskAnswer::Reject,
            // The question is about one call, and an answer for the session may cover more.
            "s" | "session" if offers_session => {
                let Some(chosen) = chosen_rules(ask, "in this session", columns, screen) else {
                    continue;
                };
                let rules = listed(chosen.rules(ask));
                screen.show_text(&format!("From now on, in this session:\n{rules}"));
                return match chosen {
                    RuleChoice::Exact => AskAnswer::AllowExactForSession,
                    RuleChoice::Offered => AskAnswer::AllowForSession,
                };
            }
            "d" | "deny" if offers_session => {
                let rules = listed(&ask.denied_rules());
                screen.show_text(&format!("From now on, in this session:\n{rules}"));
                return AskAnswer::RejectForSession;
            }
            "p" | "project" if has_rules => {
                let Some(chosen) = chosen_rules(ask, "for this project", columns, screen) else {
                    continue;
                };
                let confirmation = format!(
                    "\nFor every later call in {}, this is written to\n{}:\n\n{}\nWrite it? [y]es, [n]o: ",
                    escape_text(&ask.root.to_string_lossy()),
                    escape_text(file),
                    listed(chosen.rules(ask))
                );
                let Some(line) = screen.read_answer(&confirmation) else {
                    screen.show_text("\n");
                    return AskAnswer::Reject;
                };
                if matches!(line.trim().to_lowercase().as_str(), "y" | "yes") {
                    return match chosen {
                        RuleChoice::Exact => AskAnswer::AllowExactForProject,
                        RuleChoice::Offered => AskAnswer::AllowForProject,
                    };
                }
            }
            _ => screen.show_text("This is not one of the answers.\n"),
        }
    }
    screen.show_text("No answer, so the call is rejected.\n");
    AskAnswer::Reject
}

/// Returns the words for the model that follow a rejection, as in `r use cargo nextest instead`.
fn words_of_rejection(line: &str) -> Option<String> {
    let (answer, words) = line.trim().split_once(char::is_whitespace)?;
    let is_rejection = ["r", "reject", "n", "no"].contains(&answer.to_lowercase().as_str());
    (is_rejection && !words.trim().is_empty()).then(|| words.trim().to_owned())
}

/// Which rules an answer «always» adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleChoice {
    Exact,
    Offered,
}

impl RuleChoice {
    /// Returns the rules.
    fn rules(self, ask: &Ask) -> &[Rule] {
        match self {
            Self::Exact => &ask.exact_rules,
            Self::Offered => &ask.always_rules,
        }
    }
}

/// Asks which rules are meant, if there are narrower and wider ones; `None` if neither is.
fn chosen_rules(
    ask: &Ask,
    span: &str,
    columns: usize,
    screen: &mut impl QuestionScreen,
) -> Option<RuleChoice> {
    if ask.exact_rules.is_empty() {
        return Some(RuleChoice::Offered);
    }
    let listed = |choice: RuleChoice| {
        let rules: Vec<String> = choice.rules(ask).iter().map(ToString::to_string).collect();
        indent_untrusted_within(&rules, columns)
    };
    let question = format!(
        "\nAlways {span}, which rules?\n\n1, exactly this:\n{}\n2, wider:\n{}\n[1], [2], [n]either: ",
        listed(RuleChoice::Exact),
        listed(RuleChoice::Offered)
    );
    match screen.read_answer(&question)?.trim().to_lowercase().as_str() {
        "1" => Some(RuleChoice::Exact),
        "2" => Some(RuleChoice::Offered),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
