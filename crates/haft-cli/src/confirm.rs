//! A question to the person at the terminal that is about no single call's permission: it has a few answers, each a word
//! or its first letter. Questions about what a call may do have answers of their own and are not put here.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};

use crate::ask::{ANSWER_BYTES_MAX, ANSWER_TRIES_MAX};

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
    // The thread may wait for a line for ever; the process does not wait for it.
    let answered = tokio::task::spawn_blocking(move || ask(&prompt, answers)).await;
    Some(answered.unwrap_or(None))
}

/// Returns an answer with its first letter marked.
fn bracketed(answer: &str) -> String {
    let mut letters = answer.chars();
    letters.next().map_or_else(String::new, |first| format!("[{first}]{}", letters.as_str()))
}

fn ask(prompt: &str, answers: &[&str]) -> Option<usize> {
    let stdin = io::stdin();
    for _ in 0..ANSWER_TRIES_MAX {
        // What was typed before the question was shown is no answer to it.
        let _ = rustix::termios::tcflush(&stdin, rustix::termios::QueueSelector::IFlush);
        print_prompt(prompt);
        let mut line = String::new();
        let read = stdin.lock().take(ANSWER_BYTES_MAX).read_line(&mut line);
        if !matches!(read, Ok(bytes) if bytes > 0) {
            print_prompt("\n");
            return None;
        }
        match place_of(&line, answers) {
            Some(place) => return Some(place),
            None => print_prompt("That is none of the answers.\n"),
        }
    }
    None
}

fn place_of(line: &str, answers: &[&str]) -> Option<usize> {
    let line = line.trim().to_lowercase();
    let is_short =
        |answer: &str| answer.chars().next().is_some_and(|first| line == first.to_string());
    answers.iter().position(|answer| line == *answer || is_short(answer))
}

fn print_prompt(text: &str) {
    let mut stderr = io::stderr().lock();
    // When nobody sees the question nobody answers it either.
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
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
