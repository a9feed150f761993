//! A separate terminal for one process: a pseudo-terminal whose other end a test reads and types on.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

pub(crate) struct Terminal {
    screen: File,
    keyboard: OwnedFd,
    shown: String,
    /// The screen at the time of the last input.
    answered: usize,
    /// Whether the note about a new journal is shown. Most tests begin one.
    names_journal: bool,
}

/// Begins the note about a new journal.
const NEW_JOURNAL: &str = "this begins a new journal, ";

impl Terminal {
    /// Returns a terminal of so many columns and rows.
    pub(crate) fn of_size(columns: u16, rows: u16) -> Self {
        Self { names_journal: true, ..Self::new() }.with_size(columns, rows)
    }

    /// Returns this terminal with so many columns and rows.
    pub(crate) fn with_size(self, columns: u16, rows: u16) -> Self {
        let (ws_col, ws_row) = (columns, rows);
        let size = rustix::termios::Winsize { ws_col, ws_row, ws_xpixel: 0, ws_ypixel: 0 };
        rustix::termios::tcsetwinsize(&self.keyboard, size).unwrap();
        self
    }

    pub(crate) fn new() -> Self {
        let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&screen).unwrap();
        unlockpt(&screen).unwrap();
        let name = ptsname(&screen, Vec::new()).unwrap();
        let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::NOCTTY;
        let keyboard = rustix::fs::open(name.as_c_str(), flags, rustix::fs::Mode::empty()).unwrap();
        Self {
            screen: screen.into(),
            keyboard,
            shown: String::new(),
            answered: 0,
            names_journal: false,
        }
    }

    /// Starts a command that reads from the terminal and says on it what is not data.
    pub(crate) fn start(&mut self, command: &mut Command) -> Child {
        let end = || Stdio::from(self.keyboard.try_clone().unwrap());
        let child = command.stdin(end()).stderr(end()).stdout(Stdio::piped()).spawn().unwrap();
        // Else the command's ends stay open here, and its end is not seen.
        command.stdin(Stdio::null()).stderr(Stdio::null());
        child
    }

    /// Starts a command that has the terminal for all that it says, data included.
    pub(crate) fn start_whole(&mut self, command: &mut Command) -> Child {
        let end = || Stdio::from(self.keyboard.try_clone().unwrap());
        let child = command.stdin(end()).stderr(end()).stdout(end()).spawn().unwrap();
        command.stdin(Stdio::null()).stderr(Stdio::null()).stdout(Stdio::null());
        child
    }

    pub(crate) fn type_text(&mut self, text: &str) {
        self.answered = self.shown.len();
        self.screen.write_all(text.as_bytes()).unwrap();
    }

    /// Reads until the screen ends with this text, shown after what was typed last.
    pub(crate) fn wait_for(&mut self, end: &str) {
        while !self.shown[self.answered..].ends_with(end) {
            assert!(self.read() > 0, "the command ended; shown so far:\n{}", self.shown);
        }
    }

    /// Reads until the screen shows this text somewhere, after what was typed last.
    pub(crate) fn wait_for_any(&mut self, text: &str) {
        while !self.shown[self.answered..].contains(text) {
            assert!(self.read() > 0, "the command ended; shown so far:\n{}", self.shown);
        }
    }

    /// Reads until the screen shows this text, and waits for later texts after it.
    pub(crate) fn skip_past(&mut self, text: &str) {
        self.wait_for_any(text);
        let start = self.shown[self.answered..].find(text).unwrap();
        self.answered += start + text.len();
    }

    /// Returns what was shown so far.
    pub(crate) fn shown(&self) -> &str {
        &self.shown
    }

    /// Lets the command finish; returns what was shown, what it printed, and its status.
    pub(crate) fn finish(mut self, child: Child) -> (String, String, Option<i32>) {
        // The last ends that are open are the command's; without them, reading ends.
        drop(std::mem::replace(&mut self.keyboard, self.screen.try_clone().unwrap().into()));
        while self.read() > 0 {}
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        (self.shown, stdout, output.status.code())
    }

    fn read(&mut self) -> usize {
        let mut buffer = [0; 4096];
        // Linux answers with an error, and not with an end, when the other side is closed.
        let count = self.screen.read(&mut buffer).unwrap_or(0);
        self.shown.push_str(&String::from_utf8_lossy(&buffer[..count]).replace("\r\n", "\n"));
        if let Some(start) = self.shown.find(NEW_JOURNAL).filter(|_| !self.names_journal)
            && let Some(end) = self.shown[start..].find('\n')
        {
            // A style may be around the line.
            let start = self.shown[..start].rfind('\n').map_or(0, |newline| newline + 1);
            let end = self.shown[start..].find('\n').map_or(start + end, |end| start + end);
            self.shown.replace_range(start..=end, "");
            self.answered = self.answered.min(self.shown.len());
        }
        count
    }
}

/// Returns what is left on a screen of any width after all that was written to it, with the lines that scrolled by.
pub(crate) fn rendered(written: &str) -> String {
    let mut rows: Vec<Vec<char>> = vec![Vec::new()];
    let (mut row, mut column) = (0_usize, 0_usize);
    let mut rest = written.chars();
    while let Some(character) = rest.next() {
        match character {
            '\n' => {
                (row, column) = (row + 1, 0);
                rows.resize(rows.len().max(row + 1), Vec::new());
            }
            '\r' => column = 0,
            '\u{8}' => column = column.saturating_sub(1),
            '\u{7}' => {}
            '\u{1b}' => {
                let mut sequence = String::new();
                while !sequence.ends_with(|it: char| it.is_ascii_alphabetic()) {
                    let Some(next) = rest.next() else { break };
                    sequence.push(next);
                }
                let Some(sequence) = sequence.strip_prefix('[') else { continue };
                let (number, kind) = sequence.split_at(sequence.len() - 1);
                let count = number.parse().unwrap_or(1);
                match (kind, number) {
                    ("A", _) => row = row.saturating_sub(count),
                    ("B", _) => {
                        row += count;
                        rows.resize(rows.len().max(row + 1), Vec::new());
                    }
                    ("C", _) => column += count,
                    ("D", _) => column = column.saturating_sub(count),
                    ("G", _) => column = count - 1,
                    ("K", "2") => rows[row].clear(),
                    ("K", _) => rows[row].truncate(column),
                    ("J", _) => {
                        rows[row].truncate(column);
                        rows.truncate(row + 1);
                    }
                    _ => {}
                }
            }
            character => {
                let cells = &mut rows[row];
                cells.resize(cells.len().max(column + 1), ' ');
                cells[column] = character;
                column += 1;
            }
        }
    }
    let line = |cells: &Vec<char>| cells.iter().collect::<String>().trim_end().to_owned();
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_is_drawn_over_is_gone() {
    let check = |written: &str, expect: &str| assert_eq!(rendered(written), expect);
    check("a\nb", "a\nb");
    check("waits\r\u{1b}[Jdone\n", "done\n");
    check("one\ntwo\nthree\r\u{1b}[2A\u{1b}[Jx\n", "x\n");
    check("ab\u{1b}[1Dc\u{1b}[2md\u{1b}[0m\u{1b}[K", "acd");
}
