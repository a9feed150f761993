//! The output of a command as a terminal shows it: colours go, and progress that overwrites itself becomes its last state. It
//! never adds or removes a line break, so that line numbers are those of the output.

use std::borrow::Cow;

const ESCAPE: char = '\u{1b}';
/// The one character that stands for `ESC [` in some outputs.
const CONTROL_SEQUENCE: char = '\u{9b}';

/// Returns a text as a terminal shows it. CR LF at the end of a line stays.
pub fn terminal_text(text: &str) -> Cow<'_, str> {
    let is_noise =
        |one: char| one == CONTROL_SEQUENCE || (one.is_control() && !"\t\n\r".contains(one));
    let overwrites = |line: &str| line.trim_end_matches('\n').trim_end_matches('\r').contains('\r');
    if !text.contains(is_noise) && !text.split_inclusive('\n').any(overwrites) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, ending) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        let (line, ending) = match line.strip_suffix('\r') {
            // The last state of a line of progress is what stands before its break.
            Some(line) if line.contains(['\r', ESCAPE]) => (line, ending),
            Some(line) if !ending.is_empty() => (line, "\r\n"),
            Some(_) | None => (line, ending),
        };
        shown.push_str(&TerminalLine::of(line));
        shown.push_str(ending);
    }
    Cow::Owned(shown)
}

/// One line of a terminal, and where the next character goes.
#[derive(Default)]
struct TerminalLine {
    cells: Vec<char>,
    cursor: usize,
}

impl TerminalLine {
    /// Returns a line as it is shown in the end.
    fn of(line: &str) -> String {
        let mut shown = Self::default();
        let mut rest = line.chars();
        while let Some(one) = rest.next() {
            match one {
                ESCAPE => match rest.next() {
                    Some('[') => shown.control(&mut rest),
                    // Titles and the like end with BEL or with `ESC \`.
                    Some(']' | 'P' | 'X' | '^' | '_') => {
                        let mut last = ' ';
                        for other in rest.by_ref() {
                            if other == '\u{7}' || (last == ESCAPE && other == '\\') {
                                break;
                            }
                            last = other;
                        }
                    }
                    // The choice of a character set has one more character.
                    Some(' '..='/') => {
                        rest.find(|one| !(' '..='/').contains(one));
                    }
                    Some(_) | None => {}
                },
                CONTROL_SEQUENCE => shown.control(&mut rest),
                '\r' => shown.cursor = 0,
                '\u{8}' => shown.cursor = shown.cursor.saturating_sub(1),
                one if one == '\t' || !one.is_control() => shown.put(one),
                _ => {}
            }
        }
        shown.cells.into_iter().collect()
    }

    fn put(&mut self, one: char) {
        match self.cells.get_mut(self.cursor) {
            Some(cell) => *cell = one,
            None => self.cells.push(one),
        }
        self.cursor += 1;
    }

    /// Takes a control sequence. Only those that erase a part of the line change what is shown.
    fn control(&mut self, rest: &mut std::str::Chars<'_>) {
        let mut parameters = String::new();
        for one in rest.by_ref() {
            match one {
                '@'..='~' => {
                    match (one, parameters.as_str()) {
                        ('K', "" | "0") => self.cells.truncate(self.cursor),
                        ('K', "1") => {
                            let end = self.cursor.min(self.cells.len());
                            self.cells.iter_mut().take(end).for_each(|cell| *cell = ' ');
                        }
                        ('K', "2") => {
                            self.cells.iter_mut().for_each(|cell| *cell = ' ');
                            self.cells.truncate(self.cursor);
                        }
                        ('G', "" | "1") => self.cursor = 0,
                        _ => {}
                    }
                    return;
                }
                ' '..='?' => parameters.push(one),
                // A broken sequence ends here.
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_sees_what_a_terminal_shows() {
        let check = |output: &str, expect: &str| {
            assert_eq!(terminal_text(output), expect, "for {output:?}");
            assert_eq!(output.matches('\n').count(), expect.matches('\n').count());
        };
        check("plain\ttext\n", "plain\ttext\n");
        check("a\r\nb\r\n", "a\r\nb\r\n");
        check("\u{1b}[31mred\u{1b}[0m \u{1b}[1;32mbold\u{1b}[m\n", "red bold\n");
        check("\u{1b}[38;5;12mblue\u{1b}(B\u{1b}[m", "blue");
        check("\u{9b}31mred\u{9b}0m", "red");
        check(" 1%\r 50%\r100%\n", "100%\n");
        check("100%\rdone\n", "done\n");
        check("long line\rshort\u{1b}[K\n", "short\n");
        check("50%\r100%\r\n", "100%\n");
        check("50%\r\u{1b}[2Kdone\n", "done\n");
        check("ab\u{8}c\n", "ac\n");
        check("\u{1b}]0;title\u{7}text", "text");
        check("\u{1b}]8;;http://a\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link");
        check("bell\u{7}\u{0}", "bell");
        check("cut \u{1b}[3", "cut ");
        check("cut \u{1b}", "cut ");
        check("ä\u{1b}[1mö\n", "äö\n");
    }
}
