//! Columns of text without lines around them, easy to read, copy and cut. A row is one line. On a terminal, the last column is
//! cut to fit the width; if that is not enough, columns are left out.

use std::os::fd::AsFd;

use comfy_table::{Table, presets};
use haft_contract::cut;

/// Least useful width of the last column, in characters.
const LAST_COLUMN_CHARS_MIN: usize = 12;
/// Characters between two columns.
const GAP_CHARS: usize = GAP_COLUMNS as usize;
const GAP_COLUMNS: u16 = 2;

/// Returns rows under their headings, within the width of the terminal if standard output is one.
pub(crate) fn table(headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    table_dropping(headings, &[], rows)
}

/// Returns rows as `table` does. If the terminal is too narrow, the columns under `dropped` go first, in this order.
pub(crate) fn table_dropping(
    headings: &[&str],
    dropped: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    table_within(headings, dropped, rows.collect(), terminal_width())
}

/// Returns the columns of standard output, if it is a terminal that knows them.
pub(crate) fn terminal_width() -> Option<usize> {
    columns_of(std::io::stdout())
}

/// Returns the columns of a stream, if it is a terminal that knows them.
pub(crate) fn columns_of(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(&stream).ok()?;
    // A terminal that does not know its width says 0.
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// Returns rows under their headings, within so many columns. The first column stays whole in any case.
pub(crate) fn table_within(
    headings: &[&str],
    dropped: &[&str],
    rows: Vec<Vec<String>>,
    columns: Option<usize>,
) -> String {
    let mut headings = headings.to_vec();
    let mut rows = rows;
    let Some(columns) = columns else { return aligned(&headings, &rows) };
    let last_heading = headings.last().copied().unwrap_or_default();
    // Columns that are named go first, then the others from the right.
    let inner = headings.get(1..headings.len().saturating_sub(1)).unwrap_or_default();
    let others: Vec<&str> =
        inner.iter().rev().copied().filter(|it| !dropped.contains(it)).collect();
    let mut going = dropped.iter().copied().chain(others).chain([last_heading]);
    loop {
        let widths = widths_of(&headings, &rows);
        let used = widths.iter().sum::<usize>() + GAP_CHARS * widths.len().saturating_sub(1);
        let too_many = used.saturating_sub(columns);
        if too_many == 0 {
            return aligned(&headings, &rows);
        }
        if headings.len() > 1 && headings.last() == Some(&last_heading) {
            let last = widths.last().copied().unwrap_or_default();
            let left = last.saturating_sub(too_many);
            if left >= LAST_COLUMN_CHARS_MIN.max(width(last_heading)) {
                cut_last_column(&mut rows, left);
                return aligned(&headings, &rows);
            }
        }
        let Some(heading) = going.next() else { return aligned(&headings, &rows) };
        if let Some(place) = headings.iter().skip(1).position(|it| *it == heading) {
            headings.remove(place + 1);
            for row in rows.iter_mut().filter(|row| row.len() > place + 1) {
                row.remove(place + 1);
            }
        }
    }
}

fn cut_last_column(rows: &mut [Vec<String>], chars_max: usize) {
    for cell in rows.iter_mut().filter_map(|row| row.last_mut()).filter(|it| width(it) > chars_max)
    {
        *cell = cut(cell, chars_max.saturating_sub(1));
    }
}

/// Returns the width of each column.
fn widths_of(headings: &[&str], rows: &[Vec<String>]) -> Vec<usize> {
    let of_column = |(place, heading): (usize, &&str)| {
        let cells = rows.iter().filter_map(|row| row.get(place)).map(|cell| width(cell));
        cells.max().unwrap_or_default().max(width(heading))
    };
    headings.iter().enumerate().map(of_column).collect()
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn aligned(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings.iter().copied());
    table.add_rows(rows.iter().cloned());
    for column in table.column_iter_mut() {
        column.set_padding((0, GAP_COLUMNS));
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(columns: Option<usize>, expect: &Expect) {
        check_dropping(&[], columns, expect);
    }

    fn check_dropping(dropped: &[&str], columns: Option<usize>, expect: &Expect) {
        let rows = [["r1/main/0/1/1", "read", "a long input of a call"], ["r2", "bash", "ls"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        expect.assert_eq(&table_within(&["CALL", "TOOL", "INPUT"], dropped, rows, columns));
    }

    #[test]
    fn a_table_fits_the_terminal() {
        let whole = expect![[r#"
            CALL           TOOL  INPUT
            r1/main/0/1/1  read  a long input of a call
            r2             bash  ls"#]];
        check(None, &whole);
        check(Some(43), &whole);
        check(
            Some(40),
            &expect![[r#"
                CALL           TOOL  INPUT
                r1/main/0/1/1  read  a long input of a …
                r2             bash  ls"#]],
        );
        check(
            Some(28),
            &expect![[r#"
                CALL           INPUT
                r1/main/0/1/1  a long input…
                r2             ls"#]],
        );
        check(
            Some(20),
            &expect![[r#"
                CALL
                r1/main/0/1/1
                r2"#]],
        );
        check_dropping(
            &["INPUT"],
            Some(28),
            &expect![[r#"
                CALL           TOOL
                r1/main/0/1/1  read
                r2             bash"#]],
        );
    }
}
