//! Columns of text without lines around them, so that they can be read, copied and cut.

use comfy_table::{Table, presets};

/// Returns rows under their headings, the columns as wide as they need to be.
pub(crate) fn table(headings: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings.iter().copied());
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.trim_fmt()
}
