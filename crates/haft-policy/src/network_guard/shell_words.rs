//! Cuts a shell line into simple commands and their words, roughly. It expands nothing, knows no here-documents and
//! accepts every text; it is good enough for a name list and for nothing that safety rests on.

/// Returns the words of each simple command of a line that is not understood, quotes removed. It is a guess for lists of
/// names, which err towards finding too much. Substitutions are included, nothing is expanded, and here-documents count as
/// commands.
///
/// ```
/// let words = haft_policy::rough_commands("cd x && git \"commit\" -m 'a b'");
/// assert_eq!(words, [vec!["cd", "x"], vec!["git", "commit", "-m", "a b"]]);
/// ```
pub fn rough_commands(line: &str) -> Vec<Vec<String>> {
    let mut cutter = ShellSplitter { commands: Vec::new(), frames: vec![QuoteFrame::default()] };
    let mut rest = line;
    while let Some(char) = rest.chars().next() {
        let taken = cutter.take(char, rest);
        rest = rest.get(taken..).unwrap_or_default();
    }
    while !cutter.frames.is_empty() {
        cutter.close_frame();
    }
    cutter.commands
}

struct ShellSplitter {
    commands: Vec<Vec<String>>,
    /// The line itself and the substitutions that are open in it, innermost last.
    frames: Vec<QuoteFrame>,
}

/// A stretch of code that is read to its own end, and the command being read in it.
#[derive(Default)]
struct QuoteFrame {
    closer: Option<char>,
    is_quoted: bool,
    words: Vec<String>,
    word: Option<String>,
    /// The next word is where a redirection leads, and no part of the command.
    is_redirected: bool,
}

impl ShellSplitter {
    /// Takes what `rest`, which starts with `char`, begins with, and returns its length in bytes.
    fn take(&mut self, char: char, rest: &str) -> usize {
        let Some(frame) = self.frames.last_mut() else { return rest.len() };
        let after = rest.get(char.len_utf8()..).unwrap_or_default();
        match char {
            // An escaped line end vanishes.
            '\\' => {
                let Some(escaped) = after.chars().next() else { return 1 };
                if escaped != '\n' {
                    frame.push_text(escaped.encode_utf8(&mut [0; 4]));
                }
                return 1 + escaped.len_utf8();
            }
            '\'' if !frame.is_quoted => {
                let end = after.find('\'').unwrap_or(after.len());
                frame.push_text(after.get(..end).unwrap_or_default());
                return (1 + end + 1).min(rest.len());
            }
            '"' => {
                frame.push_text("");
                frame.is_quoted = !frame.is_quoted;
            }
            '$' if after.starts_with('(') => {
                self.open_frame(')');
                return 2;
            }
            char if frame.closer == Some(char) && (char == '`' || !frame.is_quoted) => {
                self.close_frame()
            }
            '`' => self.open_frame('`'),
            char if frame.is_quoted => frame.push_text(char.encode_utf8(&mut [0; 4])),
            '<' | '>' => {
                let is_descriptor = |word: &String| word.bytes().all(|byte| byte.is_ascii_digit());
                if frame.word.as_ref().is_some_and(is_descriptor) {
                    frame.word = None;
                }
                frame.end_word();
                let operator = rest.len() - rest.trim_start_matches(['<', '>', '&', '|']).len();
                // `<(` and `>(` open a separate command.
                if rest.get(operator..).is_some_and(|after| after.starts_with('(')) {
                    frame.end_command(&mut self.commands);
                } else {
                    frame.is_redirected = true;
                }
                return operator;
            }
            '(' => self.open_frame(')'),
            ';' | '|' | '&' | '\n' | ')' => frame.end_command(&mut self.commands),
            // `name() { command` begins a command though no operator does.
            '{' if frame.word.is_none() && after.starts_with(char::is_whitespace) => {
                frame.end_command(&mut self.commands);
            }
            char if char.is_whitespace() => frame.end_word(),
            char => frame.push_text(char.encode_utf8(&mut [0; 4])),
        }
        char.len_utf8()
    }

    fn open_frame(&mut self, closer: char) {
        self.frames.push(QuoteFrame { closer: Some(closer), ..QuoteFrame::default() });
    }

    /// Ends the innermost stretch; what it would expand to is unknown and leaves an empty mark in the word around.
    fn close_frame(&mut self) {
        if let Some(mut frame) = self.frames.pop() {
            frame.end_command(&mut self.commands);
        }
        if let Some(outer) = self.frames.last_mut() {
            outer.push_text("");
        }
    }
}

impl QuoteFrame {
    fn push_text(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn end_word(&mut self) {
        if let Some(word) = self.word.take()
            && !std::mem::take(&mut self.is_redirected)
        {
            self.words.push(word);
        }
    }

    fn end_command(&mut self, commands: &mut Vec<Vec<String>>) {
        self.end_word();
        self.is_redirected = false;
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            commands.push(words);
        }
    }
}
