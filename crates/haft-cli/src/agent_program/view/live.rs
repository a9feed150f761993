//! The last lines of a terminal while the agent works: the calls that run, the end of their output or of the text that
//! streams, and a line with the time. They are drawn again and again, and gone when the turn ends.

use std::time::{Duration, Instant};

use clap::builder::styling::{AnsiColor, Style};

use super::fold::{cut_line, fold_text};
use super::limits::{LIVE_CALLS_MAX, LIVE_DRAW_MS, LIVE_OUTPUT_LINES_MAX, LIVE_TEXT_LINES_MAX};

const DIM: Style = Style::new().dimmed();
const MARK: Style = AnsiColor::Cyan.on_default();
/// The marks that follow each other before the line with the time.
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// The present activity of the agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum LiveActivity {
    #[default]
    Waiting,
    Thinking,
    Writing,
}

/// The work of the session that the person talks to.
#[derive(Default)]
pub(super) struct LiveWork {
    turn_since: Option<Instant>,
    activity: LiveActivity,
    /// The calls that have no result yet: id and title.
    calls: Vec<(String, String)>,
    calls_since: Option<Instant>,
    /// The end of the output of a running command.
    output: String,
    /// The share of the context that is left, in percent.
    pub(super) context_left_percent: Option<u64>,
}

impl LiveWork {
    /// Returns whether something is under way.
    pub(super) fn is_active(&self) -> bool {
        self.turn_since.is_some() || !self.calls.is_empty()
    }

    pub(super) fn begin_turn(&mut self, now: Instant) {
        self.turn_since = Some(now);
        self.activity = LiveActivity::Waiting;
    }

    pub(super) fn end_turn(&mut self) {
        self.turn_since = None;
        self.calls.clear();
    }

    pub(super) fn set_activity(&mut self, activity: LiveActivity) {
        self.activity = activity;
    }

    pub(super) fn begin_call(&mut self, id: &str, title: &str, now: Instant) {
        if self.calls.is_empty() {
            self.restart_clock(now);
        }
        self.calls.push((id.to_owned(), title.to_owned()));
    }

    /// Ends a call. The next one may only begin now.
    pub(super) fn end_call(&mut self, id: &str, now: Instant) {
        self.calls.retain(|(of, _)| of != id);
        self.restart_clock(now);
        self.output.clear();
    }

    /// Counts the time of the calls from now on.
    pub(super) fn restart_clock(&mut self, now: Instant) {
        self.calls_since = Some(now);
    }

    pub(super) fn set_output(&mut self, tail: String) {
        self.output = tail;
    }

    /// Returns the lines. `text` is the text that streams and is not shown yet.
    pub(super) fn lines(&self, now: Instant, text: &str, columns: usize) -> Vec<String> {
        // A line that fills the last column moves the cursor in some terminals.
        let columns = columns.saturating_sub(1);
        let since = |start: Option<Instant>| {
            start.map_or(Duration::ZERO, |start| now.saturating_duration_since(start))
        };
        let mut lines = Vec::new();
        if !self.calls.is_empty() {
            let titles = self.calls.iter().take(LIVE_CALLS_MAX).map(|(_, title)| title.as_str());
            let titles = titles.collect::<Vec<_>>().join(", ");
            let more = if self.calls.len() > LIVE_CALLS_MAX { ", …" } else { "" };
            let time = format!(" · {}", seconds_in_words(since(self.calls_since)));
            let room = columns.saturating_sub(time.chars().count());
            lines.push(format!(
                "{}{DIM}{time}{DIM:#}",
                cut_line(&format!("→ {titles}{more}"), room)
            ));
            let printed: Vec<&str> =
                self.output.lines().filter(|line| !line.trim().is_empty()).collect();
            let last = printed.len().saturating_sub(LIVE_OUTPUT_LINES_MAX);
            lines.extend(printed.iter().skip(last).map(|line| {
                let line = haft_contract::escape_controls(line).replace('\t', "    ");
                format!("{DIM}{}{DIM:#}", cut_line(&format!("    {line}"), columns))
            }));
        } else if !text.trim().is_empty() {
            let text = haft_contract::escape_controls(text.trim()).replace('\t', "    ");
            let folded = fold_text(&text, columns, "");
            let folded: Vec<&str> = folded.lines().collect();
            let last = folded.len().saturating_sub(LIVE_TEXT_LINES_MAX);
            lines.extend(folded.into_iter().skip(last).map(str::to_owned));
        }
        let doing = match self.activity {
            _ if !self.calls.is_empty() => "running",
            LiveActivity::Waiting => "waiting for the model",
            LiveActivity::Thinking => "thinking",
            LiveActivity::Writing => "writing",
        };
        let turn = since(self.turn_since.or(self.calls_since));
        let frame =
            usize::try_from(turn.as_millis() / u128::from(LIVE_DRAW_MS)).unwrap_or_default();
        let frame = FRAMES.get(frame % FRAMES.len()).copied().unwrap_or_default();
        let left = self.context_left_percent.map(|left| format!(" · {left}% of the context left"));
        let status = format!(
            " {doing} · {}{} · Ctrl-C stops",
            seconds_in_words(turn),
            left.unwrap_or_default()
        );
        let status = cut_line(&status, columns.saturating_sub(1));
        lines.push(format!("{MARK}{frame}{MARK:#}{DIM}{status}{DIM:#}"));
        lines
    }
}

/// The lines on the screen that are drawn again.
#[derive(Default)]
pub(super) struct LiveArea {
    drawn_lines: usize,
    drawn_at: Option<Instant>,
}

impl LiveArea {
    /// Returns whether the lines are not on the screen, or too old.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let since = self.drawn_at.map(|drawn| now.saturating_duration_since(drawn));
        let is_old = since.is_none_or(|since| since >= Duration::from_millis(LIVE_DRAW_MS));
        is_old || self.drawn_lines == 0
    }

    /// Returns what removes the lines from the screen.
    pub(super) fn erase(&mut self) -> String {
        match std::mem::take(&mut self.drawn_lines) {
            0 => String::new(),
            1 => "\r\u{1b}[J".to_owned(),
            lines => format!("\r\u{1b}[{}A\u{1b}[J", lines - 1),
        }
    }

    /// Returns what draws these lines in place of the former ones.
    pub(super) fn draw(&mut self, lines: &[String], now: Instant) -> String {
        let erased = self.erase();
        self.drawn_lines = lines.len();
        self.drawn_at = Some(now);
        format!("{erased}{}", lines.join("\n"))
    }
}

/// Returns a time in whole seconds: digits that flicker tell nothing.
fn seconds_in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(work: &LiveWork, now: Instant, text: &str, columns: usize) -> Vec<String> {
        let lines = work.lines(now, text, columns);
        lines.iter().map(|line| anstream::adapter::strip_str(line).to_string()).collect()
    }

    #[test]
    fn the_lines_say_what_is_done_and_for_how_long() {
        let begun = Instant::now();
        let at = |seconds: u64| begun + Duration::from_secs(seconds);
        let mut work = LiveWork { context_left_percent: Some(81), ..LiveWork::default() };
        assert!(!work.is_active());
        work.begin_turn(begun);
        let waits = "⠋ waiting for the model · 3 s · 81% of the context left · Ctrl-C stops";
        assert_eq!(plain(&work, at(3), "", 80), [waits]);
        work.set_activity(LiveActivity::Writing);
        let text = "one two three four five six";
        let shown = plain(&work, at(61), text, 11);
        assert_eq!(shown, ["one two", "three four", "five six", "⠋ writing…"]);
        work.begin_call("c1", "bash make", at(61));
        work.begin_call("c2", "read a", at(61));
        work.set_output("a\n\nb\tc\u{1b}\nd\ne\nf\ng\n".to_owned());
        let shown = plain(&work, at(63), text, 80);
        assert_eq!(
            shown,
            [
                "→ bash make, read a · 2 s",
                "    b    c\\u{1b}",
                "    d",
                "    e",
                "    f",
                "    g",
                "⠋ running · 1 min 3 s · 81% of the context left · Ctrl-C stops",
            ]
        );
        work.end_call("c1", at(64));
        assert_eq!(plain(&work, at(65), "", 80).first().unwrap(), "→ read a · 1 s");
        work.end_turn();
        assert!(!work.is_active());
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let now = Instant::now();
        let mut work = LiveWork::default();
        work.begin_turn(now);
        for number in 0..LIVE_CALLS_MAX + 1 {
            work.begin_call(&format!("c{number}"), &"x".repeat(30), now);
        }
        work.set_output("y".repeat(200));
        for line in plain(&work, now, "", 40) {
            assert!(line.chars().count() < 40, "{line}");
        }
    }

    #[test]
    fn lines_are_drawn_over_the_former_ones() {
        let now = Instant::now();
        let mut area = LiveArea::default();
        assert_eq!(area.erase(), "");
        assert!(area.is_due(now));
        let lines =
            |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(area.draw(&lines(&["a", "b"]), now), "a\nb");
        assert!(!area.is_due(now));
        assert_eq!(area.draw(&lines(&["c"]), now), "\r\u{1b}[1A\u{1b}[Jc");
        assert_eq!(area.erase(), "\r\u{1b}[J");
        assert_eq!(area.erase(), "");
    }
}
