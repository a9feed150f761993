//! The limits of reading pages, each with its unit in its name.

/// Largest page that is taken in, in bytes.
pub const PAGE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Longest line that asks for a page to be read, in bytes.
pub const REQUEST_BYTES_MAX: usize = 64 * 1024;
/// Largest text of one page, in bytes, whatever is asked for.
pub const TEXT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Longest title, in characters.
pub const TITLE_CHARS_MAX: usize = 500;
/// Nesting of the elements of a page. Browsers flatten what is nested deeper.
///
/// Limit (web): the fetch fails and says so.
pub const DEPTH_MAX: usize = 512;
/// Beginning of a page that is searched for the name of its character set, in bytes, as browsers do.
pub const DECLARATION_BYTES: usize = 1_024;
/// Columns of a table.
///
/// Limit (web): the rest of the row is left out.
pub const COLUMNS_MAX: usize = 200;
/// Rows that one cell spans.
pub const ROWS_SPANNED_MAX: usize = 1_000;
/// Empty cells that are added to one table so that its rows are equally long.
pub const CELLS_ADDED_MAX: usize = 100_000;
/// Pages of a PDF.
///
/// Limit (web): the rest is left out and the text says so.
pub const PDF_PAGES_MAX: usize = 2_000;
/// Memory for the stack of the thread that reads pages, in bytes.
pub const STACK_BYTES: usize = 256 * 1024 * 1024;
/// Longest text of the outputs of one notebook cell, in characters.
///
/// Limit (files): the rest is left out and the text says so.
pub const CELL_OUTPUT_CHARS_MAX: usize = 4_000;
/// Images of one answer: pages of a PDF, or outputs of a notebook.
///
/// Limit (files): the answer says how to see the next ones.
pub const IMAGES_MAX: usize = 5;
/// Longer side of an image that a model is shown, in pixels. Models scale larger ones down themselves.
///
/// Limit (files): a larger image is scaled down and the answer says so.
pub const EDGE_PIXELS_MAX: u32 = 1_568;
/// Longer side of a page that is drawn, in pixels.
pub const PAGE_EDGE_PIXELS: f32 = 1_568.0;
/// Largest image that a model is shown, in bytes. A larger one is made smaller.
pub const IMAGE_BYTES_MAX: usize = 1_000_000;
/// Most pixels of an image that is shown.
///
/// Limit (files): the image is not shown and the error says so.
pub const IMAGE_PIXELS_MAX: u64 = 50_000_000;
/// Largest image after decoding, in bytes.
pub const DECODED_BYTES_MAX: u64 = 400_000_000;
