//! The limits of the ACP front end, each with its unit in its name.

/// Longest message of an editor, in bytes. A prompt at its own largest bound fits in, even if most
/// of it is escaped.
///
/// Limit (editors): the connection ends.
pub const MESSAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Images of a prompt.
///
/// Limit (editors): the prompt is refused.
pub const PROMPT_IMAGES_MAX: usize = 20;
/// All images of a prompt together, in bytes. Written in base64, they must fit into [`MESSAGE_BYTES_MAX`].
///
/// Limit (editors): the prompt is refused.
pub const PROMPT_IMAGES_BYTES_MAX: usize = 5_000_000;
/// Messages that wait for an editor to read them, before it is taken for gone.
pub const MESSAGES_WAITING_MAX: usize = 100_000;
/// Time that an editor which says nothing more has to read what it was told, in milliseconds.
pub const LAST_WORDS_MS: u64 = 5_000;
/// Open sessions of one editor.
///
/// Limit (editors): the session is refused.
pub const OPEN_SESSIONS_MAX: usize = 64;
/// Sessions that one answer lists.
///
/// Limit (editors): the editor asks for the next page.
pub const LISTED_SESSIONS_MAX: u32 = 50;
/// Longest result of a call that an editor shows, in characters.
///
/// Limit (editors): the end is not shown.
pub const SHOWN_RESULT_CHARS_MAX: usize = 32 * 1024;
/// Largest text of a change that an editor shows, in bytes.
///
/// Limit (editors): the change is not shown as a difference.
pub const SHOWN_CHANGE_BYTES_MAX: usize = 256 * 1024;
/// Hunks of one patch that an editor shows.
///
/// Limit (editors): the others are not shown.
pub const SHOWN_HUNKS_MAX: usize = 200;
/// Accesses, reasons or rules that a question lists, each; of more it says how many.
pub const ASKED_LINES_MAX: usize = 20;
/// Longest line of a question, in characters.
pub const ASKED_LINE_CHARS_MAX: usize = 1_000;
