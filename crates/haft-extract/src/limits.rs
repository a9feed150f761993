//! Every bound of reading pages, each with its unit in its name. `docs/limits.md` is generated from [`TABLE`].

use haft_contract::limits::Limit;

/// Largest page that is taken in, in bytes.
pub const PAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Longest line that asks for a page to be read, in bytes.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// Largest text of one page, in bytes, whatever is asked for.
pub const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Longest title, in characters.
pub const TITLE_CHARS_MAX: usize = 500;
/// Deepest nesting of elements that a page is understood with. Browsers flatten what is nested deeper.
pub const DEPTH_MAX: usize = 512;
/// Beginning of a page that is searched for the name of its character set, in bytes, as browsers do.
pub const DECLARATION_BYTES: usize = 1_024;
/// Columns of a table that are kept apart.
pub const COLUMNS_MAX: usize = 200;
/// Rows that one cell spans.
pub const ROWS_SPANNED_MAX: usize = 1_000;
/// Empty cells that are added to one table so that its rows are equally long.
pub const CELLS_ADDED_MAX: usize = 100_000;
/// Pages of a PDF that are read.
pub const PDF_PAGES_MAX: usize = 2_000;
/// Memory for the stack of the thread that reads pages, in bytes.
pub const STACK_BYTES: usize = 256 * 1024 * 1024;

/// All bounds of reading pages, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "PAGE_BYTES_MAX",
        PAGE_BYTES_MAX as u64,
        "bytes",
        "a page",
        "the process that reads pages ends",
    ),
    Limit::new(
        "REQUEST_BYTES_MAX",
        REQUEST_BYTES_MAX as u64,
        "bytes",
        "a line that asks for a page to be read",
        "the process that reads pages ends",
    ),
    Limit::new(
        "TEXT_BYTES_MAX",
        TEXT_BYTES_MAX as u64,
        "bytes",
        "the text of a page",
        "the text is cut, and says so",
    ),
    Limit::new(
        "TITLE_CHARS_MAX",
        TITLE_CHARS_MAX as u64,
        "characters",
        "a title",
        "the title is cut",
    ),
    Limit::new(
        "DEPTH_MAX",
        DEPTH_MAX as u64,
        "elements",
        "elements within each other",
        "the page is stripped of its tags, and says so",
    ),
    Limit::new(
        "DECLARATION_BYTES",
        DECLARATION_BYTES as u64,
        "bytes",
        "the beginning of a page that may name its character set",
        "the character set is guessed",
    ),
    Limit::new(
        "COLUMNS_MAX",
        COLUMNS_MAX as u64,
        "columns",
        "a table",
        "the rest of a row is left out",
    ),
    Limit::new(
        "ROWS_SPANNED_MAX",
        ROWS_SPANNED_MAX as u64,
        "rows",
        "the rows that one cell spans",
        "the rows beyond are not shifted",
    ),
    Limit::new(
        "CELLS_ADDED_MAX",
        CELLS_ADDED_MAX as u64,
        "cells",
        "empty cells added to a table",
        "the table is written as lines",
    ),
    Limit::new(
        "PDF_PAGES_MAX",
        PDF_PAGES_MAX as u64,
        "pages",
        "a PDF",
        "the rest is left out, and the text says so",
    ),
    Limit::new(
        "STACK_BYTES",
        STACK_BYTES as u64,
        "bytes",
        "the stack that pages are read with",
        "the process that reads pages ends",
    ),
];
