//! The questions of a tool to the person at the terminal. The person chooses options by number, or answers in other words.
//! An answer here allows nothing.

use std::io::{self, IsTerminal as _};

use haft::{Elicitation, ElicitationReply};
use haft_contract::UserQuestion;
use haft_plan::drive::PERSON_NODE_TOOL;

use super::question_terminal::{
    ANSWER_TRIES_MAX, QuestionScreen, QuestionTerminal, ask_on_terminal, escape_text,
    indent_untrusted_within,
};

/// Asks the questions one after the other. If the person ends the input, all questions stay unanswered.
pub(super) fn ask_questions(
    asked: &Elicitation,
    screen: &mut impl QuestionScreen,
) -> ElicitationReply {
    let questions = &asked.questions;
    let count = questions.len();
    let asks = if count == 1 { "a question".to_owned() } else { format!("{count} questions") };
    let who = if asked.tool.as_str() == PERSON_NODE_TOOL { "plan" } else { "agent" };
    screen.show_text(&format!("\nThe {who} has {asks}; what you answer allows nothing.\n"));
    let mut answers = Vec::with_capacity(count);
    for (place, question) in questions.iter().enumerate() {
        let number = (count > 1).then(|| format!("{} of {count}", place + 1));
        let title = [number, question.header.as_deref().map(escape_text)];
        let title: Vec<String> =
            title.into_iter().flatten().filter(|part| !part.is_empty()).collect();
        let title =
            if title.is_empty() { String::new() } else { format!("{}:\n", title.join(" · ")) };
        let lines: Vec<String> = question.question.lines().map(str::to_owned).collect();
        let options = option_lines(question);
        let gap = if options.is_empty() { "" } else { "\n" };
        let columns = screen.columns();
        let [lines, options] =
            [lines, options].map(|texts| indent_untrusted_within(&texts, columns));
        screen.show_text(&format!("\n{title}{lines}{gap}{options}"));
        let Some(answer) = read_answer(question, screen) else {
            screen.show_text("\nNo answer.\n");
            return ElicitationReply::Dismissed(None);
        };
        answers.push(answer);
    }
    ElicitationReply::Answers(answers)
}

/// Asks the questions on the terminal. Returns `None` without a terminal, and without an answer.
pub(crate) async fn ask_on_terminal_about(asked: Elicitation) -> Option<Vec<Vec<String>>> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return None;
    }
    let asking = move |terminal: &mut QuestionTerminal| ask_questions(&asked, terminal);
    match ask_on_terminal(ElicitationReply::Unanswered, asking).await? {
        ElicitationReply::Answers(answers) => Some(answers),
        _ => None,
    }
}

/// Returns the options of a question, one line each, numbered from 1.
pub(crate) fn option_lines(question: &UserQuestion) -> Vec<String> {
    let lines = question.options.iter().enumerate().map(|(place, option)| {
        let about = option.description.as_deref().map(|about| format!(": {about}"));
        format!("{:2}. {}{}", place + 1, option.label, about.unwrap_or_default())
    });
    lines.collect()
}

/// Returns the answer. Returns `None` at the end of the input, and after too many tries.
fn read_answer(question: &UserQuestion, screen: &mut impl QuestionScreen) -> Option<Vec<String>> {
    let prompt = match (question.options.is_empty(), question.multi_select) {
        (true, _) => "\nYour answer: ",
        (false, false) => "\nYour answer (a number, or your own words): ",
        (false, true) => "\nYour answer (numbers, separated by commas, or your own words): ",
    };
    for _ in 0..ANSWER_TRIES_MAX {
        let line = screen.read_answer(prompt)?;
        match TypedAnswer::parse(line.trim(), question) {
            TypedAnswer::Answers(answers) => return Some(answers),
            TypedAnswer::Nothing => {
                screen.show_text("Please answer, or press Ctrl-D to leave it.\n")
            }
            TypedAnswer::NoSuchOption(number) => {
                let count = question.options.len();
                screen
                    .show_text(&format!("There is no option {number}: there are 1 to {count}.\n"));
            }
        }
    }
    None
}

/// The meaning of a typed line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TypedAnswer {
    /// The chosen labels, or the person's own words.
    Answers(Vec<String>),
    /// The line is empty, or names no option.
    Nothing,
    /// There is no option of this number.
    NoSuchOption(usize),
}

impl TypedAnswer {
    /// Parses a line. Numbers choose options, in the order of the options. A label in any case chooses its option. Any other
    /// text is the answer itself.
    pub(crate) fn parse(line: &str, question: &UserQuestion) -> Self {
        if line.is_empty() {
            return Self::Nothing;
        }
        let own = || Self::Answers(vec![line.to_owned()]);
        let parts = line.split([',', ' ']).filter(|part| !part.is_empty());
        let numbers: Result<Vec<usize>, _> = parts.map(str::parse).collect();
        let numbers = match numbers {
            _ if question.options.is_empty() => return own(),
            Ok(numbers) if question.multi_select || numbers.len() == 1 => numbers,
            Ok(_) | Err(_) => {
                let is_meant = |label: &str| label.trim().to_lowercase() == line.to_lowercase();
                let meant = question.options.iter().find(|option| is_meant(&option.label));
                return meant.map_or_else(own, |option| Self::Answers(vec![option.label.clone()]));
            }
        };
        let count = question.options.len();
        if let Some(number) = numbers.iter().find(|number| !(1..=count).contains(*number)) {
            return Self::NoSuchOption(*number);
        }
        let options = question.options.iter().enumerate();
        let chosen = options.filter(|(place, _)| numbers.contains(&(place + 1)));
        match chosen.map(|(_, option)| option.label.clone()).collect::<Vec<_>>() {
            none if none.is_empty() => Self::Nothing,
            labels => Self::Answers(labels),
        }
    }
}

#[cfg(test)]
mod tests;
