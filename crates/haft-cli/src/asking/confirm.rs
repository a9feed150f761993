//! Questions to the person at the terminal with a few answers, each a word or its first letter. Questions about the
//! permission of a call have other answers and are asked elsewhere.

use std::io::{self, IsTerminal as _};

use super::question_terminal::{ANSWER_TRIES_MAX, QuestionScreen, ask_on_terminal};

/// Asks on standard error, and returns whether the answer was yes. No answer is no. Returns `None` without a terminal. The
/// caller escapes those parts of the question that others wrote.
pub(crate) async fn ask_confirmation(question: &str) -> Option<bool> {
    let chosen = ask_choice(question, &["yes", "no"]).await?;
    Some(chosen == Some(0))
}

/// Asks on standard error, and returns the index of the chosen answer, or `Some(None)` without an answer. Returns `None`
/// without a terminal. The caller escapes those parts of the question that others wrote.
pub(crate) async fn ask_choice(
    question: &str,
    answers: &'static [&'static str],
) -> Option<Option<usize>> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return None;
    }
    // The first letter, in brackets, is enough as an answer.
    let named = answers.iter().map(|answer| answer.split_at(1));
    let named: Vec<String> = named.map(|(first, rest)| format!("[{first}]{rest}")).collect();
    let prompt = format!("{question} {}: ", named.join(", "));
    ask_on_terminal(None, move |terminal| read_choice(&prompt, answers, terminal)).await
}

/// Asks on standard error, and returns the line that is typed, without blanks around it. Returns `None` without a terminal, and
/// at the end of the input. The caller escapes those parts of the question that others wrote.
pub(crate) async fn ask_line(question: &str) -> Option<String> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return None;
    }
    let prompt = question.to_owned();
    let typed = ask_on_terminal(None, move |terminal| terminal.read_answer(&prompt)).await?;
    typed.map(|line| line.trim().to_owned())
}

fn read_choice(prompt: &str, answers: &[&str], screen: &mut impl QuestionScreen) -> Option<usize> {
    for _ in 0..ANSWER_TRIES_MAX {
        let Some(line) = screen.read_answer(prompt) else {
            screen.show_text("\n");
            return None;
        };
        let line = line.trim().to_lowercase();
        let is_meant = |answer: &&str| line == **answer || line == answer[..1];
        if let Some(place) = answers.iter().position(is_meant) {
            return Some(place);
        }
        screen.show_text("This is not one of the answers.\n");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers with one line, then ends the input.
    struct Script(Option<String>);

    impl QuestionScreen for Script {
        fn columns(&self) -> usize {
            80
        }

        fn show_text(&mut self, _: &str) {}

        fn read_answer(&mut self, _: &str) -> Option<String> {
            self.0.take()
        }
    }

    #[test]
    fn an_answer_is_a_word_or_its_first_letter() {
        let answers = ["happened", "not happened", "leave it"];
        let check = |line: &str, expect: Option<usize>| {
            let mut script = Script(Some(line.to_owned()));
            assert_eq!(read_choice("?", &answers, &mut script), expect, "{line:?}");
        };
        check("happened\n", Some(0));
        check(" N \n", Some(1));
        check("Not happened", Some(1));
        check("leave", None);
        check("", None);
    }
}
