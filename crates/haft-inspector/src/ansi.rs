//! The colours of a terminal in the output of a command. Only colours and weights become marks on a page. Every other
//! sequence is left out: a page has no cursor, and the target of a link in an output is not to be trusted.

use crate::text;

/// A piece of an output in one style.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StyledText {
    /// The classes of the style; empty without one.
    pub(crate) classes: String,
    /// The text, as a page shows it.
    pub(crate) text: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TextStyle {
    foreground: Option<u8>,
    background: Option<u8>,
    is_bold: bool,
    is_dim: bool,
    is_italic: bool,
    is_underlined: bool,
    is_inverse: bool,
}

impl TextStyle {
    fn classes(self) -> String {
        let (front, back) = match self.is_inverse {
            true => (self.background, self.foreground),
            false => (self.foreground, self.background),
        };
        let mut classes = Vec::new();
        classes.extend(front.map(|colour| format!("f{colour}")));
        classes.extend(back.map(|colour| format!("b{colour}")));
        let weights = [
            (self.is_bold, "bold"),
            (self.is_dim, "dim"),
            (self.is_italic, "italic"),
            (self.is_underlined, "underlined"),
            (self.is_inverse && front.is_none() && back.is_none(), "inverse"),
        ];
        classes.extend(weights.iter().filter(|(is, _)| *is).map(|(_, name)| (*name).to_owned()));
        classes.join(" ")
    }

    /// Applies the numbers of one sequence that selects a style.
    fn select(&mut self, numbers: &str) {
        let mut numbers = numbers.split([';', ':']).map(|number| number.parse().unwrap_or(0_u16));
        while let Some(number) = numbers.next() {
            match number {
                0 => *self = Self::default(),
                1 => self.is_bold = true,
                2 => self.is_dim = true,
                3 => self.is_italic = true,
                4 => self.is_underlined = true,
                7 => self.is_inverse = true,
                22 => (self.is_bold, self.is_dim) = (false, false),
                23 => self.is_italic = false,
                24 => self.is_underlined = false,
                27 => self.is_inverse = false,
                30..=37 => self.foreground = u8::try_from(number - 30).ok(),
                38 => self.foreground = extended(&mut numbers),
                39 => self.foreground = None,
                40..=47 => self.background = u8::try_from(number - 40).ok(),
                48 => self.background = extended(&mut numbers),
                49 => self.background = None,
                90..=97 => self.foreground = u8::try_from(number - 82).ok(),
                100..=107 => self.background = u8::try_from(number - 92).ok(),
                _ => {}
            }
        }
    }
}

/// Returns the nearest of the 16 colours to one of 256, or to one of red, green and blue.
fn extended(numbers: &mut impl Iterator<Item = u16>) -> Option<u8> {
    match numbers.next()? {
        5 => match numbers.next()? {
            basic @ 0..=15 => u8::try_from(basic).ok(),
            cube @ 16..=231 => {
                let cube = cube - 16;
                Some(nearest([cube / 36, cube / 6 % 6, cube % 6].map(|part| part * 51)))
            }
            grey @ 232..=255 => Some(nearest([(grey - 232) * 10 + 8; 3])),
            _ => None,
        },
        2 => {
            let (red, green, blue) = (numbers.next()?, numbers.next()?, numbers.next()?);
            Some(nearest([red, green, blue]))
        }
        _ => None,
    }
}

/// Returns the nearest of the 16 colours.
fn nearest(colour: [u16; 3]) -> u8 {
    const BRIGHT_MIN: u16 = 192;
    const PRESENT_MIN: u16 = 96;
    let brightest = colour.into_iter().max().unwrap_or(0);
    let darkest = colour.into_iter().min().unwrap_or(0);
    if brightest.saturating_sub(darkest) < 40 {
        return match brightest {
            0..64 => 0,
            64..160 => 8,
            160..224 => 7,
            _ => 15,
        };
    }
    let bits = [1, 2, 4];
    let present =
        colour.iter().zip(bits).filter(|(part, _)| **part >= PRESENT_MIN.max(brightest / 2));
    let base: u8 = present.map(|(_, bit)| bit).sum();
    if brightest >= BRIGHT_MIN { base + 8 } else { base }
}

/// Returns an output in pieces of one style. A line that was written over is shown as it was written last.
pub(crate) fn styled(output: &str) -> Vec<StyledText> {
    let mut pieces: Vec<(TextStyle, String)> = Vec::new();
    // Where the present line begins: the piece, and the byte inside it.
    let mut line = (0, 0);
    let mut style = TextStyle::default();
    let mut rest = output;
    while let Some(character) = rest.chars().next() {
        let after = rest.get(character.len_utf8()..).unwrap_or_default();
        rest = after;
        match character {
            '\u{1b}' | '\u{9b}' => {
                let (numbers, behind) = sequence(character, after);
                rest = behind;
                if let Some(numbers) = numbers {
                    style.select(numbers);
                }
            }
            // The text behind the return replaces the line, as on a terminal.
            '\r' if !after.is_empty() && !after.starts_with(['\n', '\r']) => {
                pieces.truncate(line.0 + 1);
                if let Some((_, text)) = pieces.get_mut(line.0) {
                    text.truncate(line.1);
                }
            }
            '\r' => {}
            other => {
                match pieces.last_mut() {
                    Some((of, text)) if *of == style => text.push(other),
                    _ => pieces.push((style, other.to_string())),
                }
                if other == '\n' {
                    let last = pieces.len().saturating_sub(1);
                    line = (last, pieces.get(last).map_or(0, |(_, text)| text.len()));
                }
            }
        }
    }
    let shown = pieces.into_iter().filter(|(_, text)| !text.is_empty());
    shown
        .map(|(style, text)| StyledText { classes: style.classes(), text: text::shown(&text) })
        .collect()
}

/// Returns the numbers of a sequence if it selects a style, and the text behind the sequence.
fn sequence(begin: char, text: &str) -> (Option<&str>, &str) {
    let inside = match (begin, text.chars().next()) {
        ('\u{9b}', _) => text,
        (_, Some('[')) => text.get(1..).unwrap_or_default(),
        // A text for the terminal, such as a link or a title, up to its end.
        (_, Some(']' | 'P' | '_' | '^' | 'X')) => {
            let end = text.find(['\u{7}', '\u{9c}']).map(|at| (at, 1));
            let other = text.find("\u{1b}\\").map(|at| (at, 2));
            let end = [end, other].into_iter().flatten().min();
            return (None, end.map_or("", |(at, bytes)| text.get(at + bytes..).unwrap_or("")));
        }
        (_, Some(one)) => return (None, text.get(one.len_utf8()..).unwrap_or_default()),
        (_, None) => return (None, ""),
    };
    let end = inside.find(|one: char| ('@'..='~').contains(&one)).unwrap_or(inside.len());
    let (numbers, rest) = inside.split_at(end);
    let behind = rest.get(1..).unwrap_or_default();
    (rest.starts_with('m').then_some(numbers), behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(output: &str, expect: &[(&str, &str)]) {
        let found = styled(output);
        let found: Vec<(&str, &str)> =
            found.iter().map(|piece| (piece.classes.as_str(), piece.text.as_str())).collect();
        assert_eq!(found, expect, "{output:?}");
    }

    #[test]
    fn colours_become_classes() {
        check("plain", &[("", "plain")]);
        check("a\u{1b}[31mred\u{1b}[0mb", &[("", "a"), ("f1", "red"), ("", "b")]);
        check("\u{1b}[1;92;40mx", &[("f10 b0 bold", "x")]);
        check("\u{1b}[7mx\u{1b}[27;4my", &[("inverse", "x"), ("underlined", "y")]);
        check("\u{1b}[38;5;196mx\u{1b}[38;2;0;200;0my", &[("f9", "x"), ("f10", "y")]);
        check("\u{1b}[38;5;240mx", &[("f8", "x")]);
    }

    #[test]
    fn other_sequences_are_left_out() {
        check("a\u{1b}[2J\u{1b}[10;10Hb", &[("", "ab")]);
        check("\u{1b}]8;;https://evil.example\u{7}here\u{1b}]8;;\u{7}!", &[("", "here!")]);
        check("\u{1b}]0;title\u{1b}\\x", &[("", "x")]);
        check("a\u{1b}", &[("", "a")]);
        check("a\u{1b}[3", &[("", "a")]);
        check("a\u{1b}]never ends", &[("", "a")]);
        check("a\u{202e}b\u{8}", &[("", "a\\u{202e}b\\u{8}")]);
    }

    #[test]
    fn a_line_that_was_written_over_is_shown_once() {
        check("one\n10 %\r50 %\r100 %\ntwo\r\n", &[("", "one\n100 %\ntwo\n")]);
        check("\u{1b}[32mok\u{1b}[0m 1\r\u{1b}[31mbad", &[("f1", "bad")]);
        check("a\n\u{1b}[32mb\rc\n", &[("", "a\n"), ("f2", "c\n")]);
    }
}
