//! A question to the person at the terminal that is about no single call's permission: it has a few answers, each a word
//! or its first letter. Questions about what a call may do have answers of their own and are not put here.

use std::io::{self, IsTerminal as _};

use super::question_terminal::{ANSWER_TRIES_MAX, QuestionScreen, QuestionTerminal};

/// Asks on standard error, and returns whether the answer was yes; `None` where there is nobody to ask. No answer is no.
/// What of the question was written by others must be visible text already.
pub(crate) async fn ask_confirmation(question: &str) -> Option<bool> {
    let chosen = ask_choice(question, &["yes", "no"]).await?;
    Some(chosen == Some(0))
}

/// Asks on standard error, and returns the place of the answer that was chosen, or nothing if none was; `None` where there
/// is nobody to ask. What of the question was written by others must be visible text already.
pub(crate) async fn ask_choice(
    question: &str,
    answers: &'static [&'static str],
) -> Option<Option<usize>> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return None;
    }
    let named: Vec<String> = answers.iter().map(|answer| bracketed(answer)).collect();
    let prompt = format!("{question} {}: ", named.join(", "));
    let (mut terminal, unanswered) = QuestionTerminal::new()?;
    // The thread may wait for a line for ever; the process does not wait for it.
    let answered =
        tokio::task::spawn_blocking(move || read_choice(&prompt, answers, &mut terminal)).await;
    unanswered.mark_answered();
    Some(answered.unwrap_or(None))
}

/// Returns an answer with its first letter marked.
fn bracketed(answer: &str) -> String {
    let mut letters = answer.chars();
    letters.next().map_or_else(String::new, |first| format!("[{first}]{}", letters.as_str()))
}

fn read_choice(prompt: &str, answers: &[&str], screen: &mut impl QuestionScreen) -> Option<usize> {
    for _ in 0..ANSWER_TRIES_MAX {
        let Some(line) = screen.read_answer(prompt) else {
            screen.show_text("\n");
            return None;
        };
        if let Some(place) = place_of(&line, answers) {
            return Some(place);
        }
        screen.show_text("That is none of the answers.\n");
    }
    None
}

fn place_of(line: &str, answers: &[&str]) -> Option<usize> {
    let line = line.trim().to_lowercase();
    let is_short =
        |answer: &str| answer.chars().next().is_some_and(|first| line == first.to_string());
    answers.iter().position(|answer| line == *answer || is_short(answer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_a_word_or_its_first_letter() {
        let check = |line: &str, expect: Option<usize>| {
            assert_eq!(
                place_of(line, &["happened", "not happened", "leave it"]),
                expect,
                "{line:?}"
            );
        };
        check("happened\n", Some(0));
        check(" N \n", Some(1));
        check("Not happened", Some(1));
        check("leave", None);
        check("", None);
        assert_eq!(bracketed("not happened"), "[n]ot happened");
    }
}
