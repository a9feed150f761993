//! Checks that the parser left out nothing of a line: the text between the pieces that it found must
//! be separators, keywords at places where bash knows them, and comments. The pieces themselves are
//! checked where they are decoded.

use std::ops::Range;

use crate::analysis::UnknownReason;

const KEYWORDS: &[&str] = &[
    "!", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "then",
    "time", "until", "while", "{", "}",
];
/// Built-ins whose names the parser does not report as words.
const UNREPORTED: &[&str] = &["break", "continue", "exit", "return"];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum PieceKind {
    /// A word or an assignment, after which bash knows no keyword.
    Word,
    Redirect,
    /// A name, a subject or a condition of a compound command.
    Head,
    /// The lines of a here-document, with its delimiter.
    Document,
}

/// The pieces of a line, or of the code of one substitution in it.
pub(super) struct LinePieces<'a> {
    line: &'a str,
    range: Range<usize>,
    pieces: Vec<(Range<usize>, PieceKind)>,
}

/// The text just before a position.
struct TextBefore<'a> {
    /// No separator lies between.
    touches: bool,
    /// The last piece was a word or a redirection of the same command.
    is_in_command: bool,
    keyword: Option<&'a str>,
    /// The separator just before, if it is not white space.
    operator: Option<char>,
    /// The command is a later one of a pipeline.
    is_pipe: bool,
}

impl<'a> LinePieces<'a> {
    pub(super) fn new(line: &'a str, range: Range<usize>) -> Self {
        Self { line, range, pieces: Vec::new() }
    }

    pub(super) fn add(&mut self, range: Range<usize>, kind: PieceKind) {
        if !range.is_empty() {
            self.pieces.push((range, kind));
        }
    }

    pub(super) fn check(mut self) -> Result<(), UnknownReason> {
        self.pieces.sort_by_key(|(range, _)| (range.start, range.end));
        let mut before = TextBefore {
            touches: false,
            is_in_command: false,
            keyword: None,
            // The second parenthesis of `$((` could begin a subshell.
            operator: self.line.get(..self.range.start).and_then(|text| text.chars().last()),
            is_pipe: false,
        };
        let mut at = self.range.start;
        let mut last = "";
        for (range, kind) in &self.pieces {
            let gap = self.line.get(at..range.start).ok_or(UnknownReason::Syntax)?;
            before.pass_gap(gap)?;
            let text = self.line.get(range.clone()).ok_or(UnknownReason::Syntax)?;
            // A whole number before a redirection is its descriptor. Other digits belong to the word
            // that they touch.
            let is_number = |text: &str| text.starts_with(|char: char| char.is_ascii_digit());
            let is_redirect = *kind == PieceKind::Redirect && !is_number(text);
            let is_descriptor = is_number(last) && last.parse::<i32>().is_ok();
            if before.touches && (!is_redirect || is_descriptor) {
                return Err(UnknownReason::Syntax);
            }
            last = text;
            let is_document = *kind == PieceKind::Document;
            before = TextBefore {
                touches: !is_document,
                is_in_command: matches!(kind, PieceKind::Word | PieceKind::Redirect),
                keyword: None,
                operator: None,
                is_pipe: false,
            };
            at = range.end;
        }
        let gap = self.line.get(at..self.range.end).ok_or(UnknownReason::Syntax)?;
        before.pass_gap(gap)
    }
}

impl<'a> TextBefore<'a> {
    /// Passes text without pieces.
    fn pass_gap(&mut self, gap: &'a str) -> Result<(), UnknownReason> {
        let mut rest = gap;
        loop {
            let mut chars = rest.chars();
            let Some(char) = chars.next() else { return Ok(()) };
            let after = chars.as_str();
            rest = match char {
                ' ' | '\t' => {
                    self.touches = false;
                    self.operator = None;
                    after
                }
                '\\' if after.starts_with('\n') => after.strip_prefix('\n').unwrap_or_default(),
                '#' if !self.touches => after.trim_start_matches(|char| char != '\n'),
                ';' | '&' | '|' | '(' | ')' | '\n' => {
                    self.separate(char)?;
                    after
                }
                _ => {
                    let is_end = |char: char| " \t\n;&|()\\".contains(char);
                    let (word, after) = rest.split_at(rest.find(is_end).unwrap_or(rest.len()));
                    self.pass_keyword(word)?;
                    after
                }
            };
        }
    }

    fn separate(&mut self, char: char) -> Result<(), UnknownReason> {
        if char == '(' && self.is_in_command {
            return Err(UnknownReason::Syntax);
        }
        // bash decides by the rest of the line whether it is arithmetic.
        if char == '(' && self.operator == Some('(') && !self.touches {
            return Err(UnknownReason::Construct);
        }
        self.touches = false;
        self.is_in_command = false;
        if char != '\n' {
            self.is_pipe = match char {
                '|' => self.operator != Some('|'),
                '&' => self.is_pipe,
                _ => false,
            };
        }
        self.operator = Some(char);
        self.keyword = None;
        Ok(())
    }

    fn pass_keyword(&mut self, word: &'a str) -> Result<(), UnknownReason> {
        let is_unreported = UNREPORTED.contains(&word);
        let is_known = is_unreported
            || KEYWORDS.contains(&word)
            || (self.keyword == Some("time") && matches!(word, "-p" | "--"));
        if self.touches || !is_known || (self.is_in_command && !is_unreported) {
            return Err(UnknownReason::Syntax);
        }
        // After a pipe, bash starts the program of this name.
        if word == "time" && self.is_pipe {
            return Err(UnknownReason::Construct);
        }
        *self = Self {
            touches: true,
            is_in_command: is_unreported,
            keyword: Some(word),
            operator: None,
            is_pipe: false,
        };
        Ok(())
    }
}
