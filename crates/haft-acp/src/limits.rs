//! Every bound of the ACP front end, each with its unit in its name. [`TABLE`] is its part of the generated table of
//! limits.

use haft_contract::limits::Limit;

/// Longest message that is read, in bytes. A prompt at its own largest bound fits in, even if most of it is escaped.
pub const MESSAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Messages that wait for an editor to read them, before it is taken for gone.
pub const MESSAGES_WAITING_MAX: usize = 100_000;
/// Time that an editor which says nothing more has to read what it was told, in milliseconds.
pub const LAST_WORDS_MS: u64 = 5_000;
/// Sessions of one editor that are open at the same time.
pub const OPEN_SESSIONS_MAX: usize = 64;
/// Sessions that one answer lists; the editor asks for more.
pub const LISTED_SESSIONS_MAX: u32 = 50;
/// What an editor is shown of one result, in characters.
pub const SHOWN_RESULT_CHARS_MAX: usize = 32 * 1024;
/// Largest text of a change that an editor is shown, in bytes, and what is read of a file before it is written.
pub const SHOWN_CHANGE_BYTES_MAX: usize = 256 * 1024;
/// Places of one patch that an editor is shown.
pub const SHOWN_HUNKS_MAX: usize = 200;
/// Accesses, reasons or rules that a question lists, each; of more it says how many.
pub const ASKED_LINES_MAX: usize = 20;
/// Longest line of a question, in characters.
pub const ASKED_LINE_CHARS_MAX: usize = 1_000;

/// All bounds of the ACP front end, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "MESSAGE_BYTES_MAX",
        MESSAGE_BYTES_MAX as u64,
        "bytes",
        "longest message that is read",
        "the connection ends",
    ),
    Limit::new(
        "MESSAGES_WAITING_MAX",
        MESSAGES_WAITING_MAX as u64,
        "messages",
        "messages that wait for an editor to read them",
        "the editor is taken for gone, and the connection ends",
    ),
    Limit::new(
        "LAST_WORDS_MS",
        LAST_WORDS_MS,
        "milliseconds",
        "time that an editor which says nothing more has to read what it was told",
        "the rest is not said, and haft ends",
    ),
    Limit::new(
        "OPEN_SESSIONS_MAX",
        OPEN_SESSIONS_MAX as u64,
        "sessions",
        "sessions of one editor that are open at the same time",
        "an error that says so",
    ),
    Limit::new(
        "LISTED_SESSIONS_MAX",
        LISTED_SESSIONS_MAX as u64,
        "sessions",
        "sessions that one answer lists",
        "the editor asks for the next ones",
    ),
    Limit::new(
        "SHOWN_RESULT_CHARS_MAX",
        SHOWN_RESULT_CHARS_MAX as u64,
        "characters",
        "what an editor is shown of one result",
        "the end is not shown",
    ),
    Limit::new(
        "SHOWN_CHANGE_BYTES_MAX",
        SHOWN_CHANGE_BYTES_MAX as u64,
        "bytes",
        "largest text of a change that an editor is shown, and of a file that is written anew",
        "the change is not drawn, or drawn without what was there before",
    ),
    Limit::new(
        "SHOWN_HUNKS_MAX",
        SHOWN_HUNKS_MAX as u64,
        "places",
        "places of one patch that an editor is shown",
        "the others are not drawn",
    ),
    Limit::new(
        "ASKED_LINES_MAX",
        ASKED_LINES_MAX as u64,
        "lines",
        "accesses, reasons or rules that a question lists, each",
        "it says how many more there are; with more rules, «always» is not offered",
    ),
    Limit::new(
        "ASKED_LINE_CHARS_MAX",
        ASKED_LINE_CHARS_MAX as u64,
        "characters",
        "longest line of a question",
        "the rest is not shown; with a longer rule, «always» is not offered",
    ),
];
