//! The lines of `haft log`: aligned columns that fit the terminal. On a narrow one, columns are left out.

use clap::builder::styling::{AnsiColor, Effects, Style};
use haft_contract::cut;

use super::entry::{LogEntry, UndoneState};
use crate::views::output::painted;
use crate::views::path_text::{counted, shown};
use crate::views::time::age_in_words;

pub(super) const DIM: Style = Style::new().dimmed();
const BAD: Style = AnsiColor::Red.on_default();
const DOUBTFUL: Style = AnsiColor::Magenta.on_default();
const RUNNING: Style = AnsiColor::Cyan.on_default();
const CHANGED: Style = AnsiColor::Green.on_default();
const SHORT_ID: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
const PLAIN: Style = Style::new();

/// Least useful width of the subject, in characters.
const SUBJECT_CHARS_MIN: usize = 16;
/// Width of the subject where no terminal bounds it, in characters.
const SUBJECT_CHARS_MAX: usize = 60;
/// Characters of the name of an agent or a client.
const NAME_CHARS_MAX: usize = 16;
/// Characters of the name of a workspace.
const ROOT_CHARS_MAX: usize = 20;
/// Characters between two columns.
const GAP: &str = "  ";

/// A column of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogColumn {
    Age,
    By,
    Root,
    Calls,
    Trouble,
    Subject,
    Lines,
    Id,
}

const COLUMNS: [LogColumn; 8] = [
    LogColumn::Age,
    LogColumn::By,
    LogColumn::Root,
    LogColumn::Calls,
    LogColumn::Trouble,
    LogColumn::Subject,
    LogColumn::Lines,
    LogColumn::Id,
];

/// The columns that a narrow terminal does not show, the first to go first.
const DROPPED: [LogColumn; 4] =
    [LogColumn::Lines, LogColumn::Calls, LogColumn::By, LogColumn::Trouble];

/// Returns the lines of the list.
pub(super) fn text(
    entries: &[LogEntry],
    of_all: bool,
    now_ms: u64,
    columns: Option<usize>,
    has_colours: bool,
) -> String {
    let rows: Vec<Vec<(Style, String)>> = entries
        .iter()
        .map(|entry| COLUMNS.iter().map(|column| cell(*column, entry, of_all, now_ms)).collect())
        .collect();
    let mut widths = column_widths(&rows);
    let subject = place_of(LogColumn::Subject);
    let fixed = |widths: &[usize]| -> usize {
        let others =
            widths.iter().enumerate().filter(|(place, width)| *place != subject && **width > 0);
        others.map(|(_, width)| width + GAP.len()).sum()
    };
    let wanted = widths.get(subject).copied().unwrap_or_default();
    let room = match columns {
        None => SUBJECT_CHARS_MAX,
        Some(columns) => {
            let least = SUBJECT_CHARS_MIN.min(wanted);
            for column in DROPPED {
                if fixed(&widths) + least <= columns {
                    break;
                }
                set(&mut widths, place_of(column), 0);
            }
            columns.saturating_sub(fixed(&widths))
        }
    };
    set(&mut widths, subject, wanted.min(room));
    let line = |row: &Vec<(Style, String)>| {
        let cells = row.iter().zip(&widths).filter(|(_, width)| **width > 0);
        let cells: Vec<String> = cells
            .map(|((style, text), width)| {
                let text = if chars(text) > *width {
                    cut(text, width.saturating_sub(1))
                } else {
                    text.clone()
                };
                let padding = " ".repeat(width.saturating_sub(chars(&text)));
                format!("{}{padding}", painted(*style, &text, has_colours))
            })
            .collect();
        format!("{}\n", cells.join(GAP).trim_end())
    };
    rows.iter().map(line).collect()
}

/// Returns the text of a column for a run, and its style.
fn cell(column: LogColumn, entry: &LogEntry, of_all: bool, now_ms: u64) -> (Style, String) {
    let work = &entry.work;
    match column {
        LogColumn::Age => (DIM, age_in_words(work.used_at_ms, now_ms)),
        LogColumn::By => (PLAIN, cut_to(&entry.by(), NAME_CHARS_MAX)),
        LogColumn::Root if of_all => {
            let root = haft_contract::escape_controls(&shown(work.root.as_ref()));
            let chars_left_out = chars(&root).saturating_sub(ROOT_CHARS_MAX);
            let end: String = root.chars().skip(chars_left_out).collect();
            (
                DIM,
                if chars_left_out > 0 {
                    format!("…{}", end.chars().skip(1).collect::<String>())
                } else {
                    end
                },
            )
        }
        LogColumn::Root => (PLAIN, String::new()),
        LogColumn::Calls => {
            let calls = usize::try_from(work.count(|run| run.calls)).unwrap_or(usize::MAX);
            (PLAIN, counted(calls, "call"))
        }
        LogColumn::Trouble => trouble(entry),
        LogColumn::Subject => (PLAIN, subject(entry)),
        LogColumn::Lines => match (entry.undone, entry.lines) {
            (UndoneState::Whole, _) => (DIM, "undone".to_owned()),
            (UndoneState::Partly, _) => (DIM, "partly undone".to_owned()),
            (UndoneState::No, Some((added, removed))) => {
                (CHANGED, format!("+{added} \u{2212}{removed}"))
            }
            (UndoneState::No, None) => (PLAIN, String::new()),
        },
        LogColumn::Id => (SHORT_ID, entry.short.clone()),
    }
}

/// Returns what a person should look at: running calls, calls in doubt, and those that failed or were refused.
fn trouble(entry: &LogEntry) -> (Style, String) {
    let count = |count: u64, what: &str| (count > 0).then(|| format!("{count} {what}"));
    let in_doubt = u64::try_from(entry.in_doubt).unwrap_or(u64::MAX);
    let running = entry.is_running().then(|| "running".to_owned());
    let parts = [
        running,
        count(in_doubt, "in doubt"),
        count(entry.work.count(|run| run.refused), "refused"),
        count(entry.work.count(|run| run.failed), "failed"),
    ];
    let style = match parts.each_ref() {
        [_, Some(_), ..] => DOUBTFUL,
        [_, None, None, None] => RUNNING,
        [_, None, ..] => BAD,
    };
    (style, parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// Returns what a run was about: the title of a session and the changed files, or the first call.
fn subject(entry: &LogEntry) -> String {
    let title = entry.title.as_ref().map(|title| format!("\u{201c}{title}\u{201d}"));
    let files = (!entry.files.is_empty()).then(|| entry.files.join(" "));
    let parts: Vec<String> = title.into_iter().chain(files).collect();
    match parts.is_empty() {
        true => entry.first_call.clone().unwrap_or_default(),
        false => parts.join(" "),
    }
}

/// Returns the width of each column; 0 for one in which nothing is said.
fn column_widths(rows: &[Vec<(Style, String)>]) -> Vec<usize> {
    let of_column = |place: usize| {
        rows.iter().filter_map(|row| row.get(place)).map(|(_, text)| chars(text)).max()
    };
    (0..COLUMNS.len()).map(|place| of_column(place).unwrap_or_default()).collect()
}

fn place_of(column: LogColumn) -> usize {
    COLUMNS.iter().position(|known| *known == column).unwrap_or_default()
}

fn set(widths: &mut [usize], place: usize, width: usize) {
    if let Some(known) = widths.get_mut(place) {
        *known = width;
    }
}

fn cut_to(text: &str, chars_max: usize) -> String {
    if chars(text) > chars_max { cut(text, chars_max.saturating_sub(1)) } else { text.to_owned() }
}

fn chars(text: &str) -> usize {
    text.chars().count()
}
