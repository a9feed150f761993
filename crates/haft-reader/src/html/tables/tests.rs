use super::*;

/// Returns the cells of each row of a table, empty ones as empty texts; nothing if the table became lines.
fn rows(table: &str) -> Vec<Vec<String>> {
    let document = Document::from(format!("<table>{table}</table>"));
    normalize_tables(&document);
    let root = document.root();
    let rows = root.descendants_it().filter(|node| node.has_name("tr"));
    let texts = |row: &NodeRef<'_>| cells_of(row).iter().map(|cell| cell.text().into()).collect();
    rows.map(|row| texts(&row)).collect()
}

/// Returns a row with so many cells, each of which holds its number.
fn row(cells: usize) -> String {
    let cells: String = (1..=cells).map(|number| format!("<td>{number}")).collect();
    format!("<tr>{cells}")
}

#[test]
fn columns_beyond_the_most_are_left_out() {
    let last = |cells: usize| {
        let rows = rows(&row(cells));
        let [row] = rows.as_slice() else { panic!("it has one row: {rows:?}") };
        (row.len(), row.last().cloned().unwrap_or_default())
    };
    assert_eq!(last(COLUMNS_MAX), (COLUMNS_MAX, COLUMNS_MAX.to_string()));
    assert_eq!(last(COLUMNS_MAX + 1), (COLUMNS_MAX, COLUMNS_MAX.to_string()));
    let spanning =
        |columns: usize| rows(&format!("<tr><td colspan={columns}>wide<tr><td>a<td>b"))[0].len();
    assert_eq!([COLUMNS_MAX, COLUMNS_MAX + 1].map(spanning), [COLUMNS_MAX; 2]);
}

#[test]
fn a_cell_spans_no_more_rows_than_the_most() {
    // Each further row is shifted as long as the first cell reaches down to it.
    let shifted = |spanned: usize| {
        let further = "<tr><td>x".repeat(ROWS_SPANNED_MAX + 1);
        let rows = rows(&format!("<tr><td rowspan={spanned}>tall<td>x{further}"));
        rows.iter().filter(|row| row[0].is_empty() && row[1] == "x").count()
    };
    assert_eq!(shifted(ROWS_SPANNED_MAX - 1), ROWS_SPANNED_MAX - 2);
    assert_eq!(shifted(ROWS_SPANNED_MAX), ROWS_SPANNED_MAX - 1);
    assert_eq!(shifted(ROWS_SPANNED_MAX + 1), ROWS_SPANNED_MAX - 1);
}

#[test]
fn a_table_to_which_too_many_cells_would_be_added_is_lines() {
    // To a row with one cell all the others are added.
    let (short, rest) = (CELLS_ADDED_MAX / (COLUMNS_MAX - 1), CELLS_ADDED_MAX % (COLUMNS_MAX - 1));
    let at_bound = row(COLUMNS_MAX) + &row(1).repeat(short) + &row(COLUMNS_MAX - rest);
    assert_eq!(rows(&at_bound).iter().map(Vec::len).sum::<usize>(), COLUMNS_MAX * (short + 2));
    let beyond = at_bound + &row(COLUMNS_MAX - 1);
    assert!(rows(&beyond).is_empty());
    // Those that a span makes count as well.
    let wide = format!("<tr><td colspan={COLUMNS_MAX}>w<td>out");
    let spanned = |rows_wide: usize| rows(&wide.repeat(rows_wide)).len();
    assert_eq!([short, short + 1].map(spanned), [short, 0]);
}
