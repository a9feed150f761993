//! Columns of text without lines around them, easy to read, copy and cut. On a terminal, the last column is cut to fit its
//! width; if that is not enough, each row becomes a paragraph.

use std::os::fd::AsFd;

use comfy_table::{Table, presets};
use haft_contract::cut;

/// Least useful width of the last column, in characters.
const LAST_COLUMN_CHARS_MIN: usize = 12;

/// Returns rows under their headings, within the width of the terminal if standard output is one.
pub(crate) fn table(headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    table_within(headings, rows.collect(), terminal_width())
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

/// Returns rows under their headings, within so many columns.
pub(crate) fn table_within(
    headings: &[&str],
    mut rows: Vec<Vec<String>>,
    columns: Option<usize>,
) -> String {
    let whole = aligned(headings, &rows);
    let Some(columns) = columns else { return whole };
    let too_many = whole.lines().map(width).max().unwrap_or_default().saturating_sub(columns);
    if too_many == 0 {
        return whole;
    }
    let last = rows.iter().filter_map(|row| row.last()).map(|cell| width(cell)).max();
    let left = last.unwrap_or_default().saturating_sub(too_many);
    let is_enough = left >= LAST_COLUMN_CHARS_MIN;
    let label = headings.iter().map(|heading| width(heading)).max().unwrap_or_default();
    let left = if is_enough { left } else { columns.saturating_sub(label + 2).max(left) };
    for cell in rows.iter_mut().filter_map(|row| row.last_mut()).filter(|it| width(it) > left) {
        *cell = cut(cell, left.saturating_sub(1));
    }
    if is_enough {
        return aligned(headings, &rows);
    }
    let paragraph = |row: &Vec<String>| {
        let lines = headings.iter().zip(row);
        lines.map(|(heading, cell)| format!("{heading:<label$}  {cell}\n")).collect::<String>()
    };
    rows.iter().map(paragraph).collect::<Vec<_>>().join("\n")
}

fn width(text: &str) -> usize {
    text.chars().count()
}

fn aligned(headings: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings.iter().copied());
    table.add_rows(rows.iter().cloned());
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(columns: Option<usize>, expect: &Expect) {
        let rows = [["r1/main/0/1/1", "read", "a long input of a call"], ["r2", "bash", "ls"]];
        let rows = rows.map(|row| row.map(str::to_owned).to_vec()).to_vec();
        expect.assert_eq(&table_within(&["CALL", "TOOL", "INPUT"], rows, columns));
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
            Some(26),
            &expect![[r#"
                CALL   r1/main/0/1/1
                TOOL   read
                INPUT  a long input of a …

                CALL   r2
                TOOL   bash
                INPUT  ls
            "#]],
        );
    }
}
