//! The bounds of single tools, for the generated table of limits. Each is named where it is used.

use haft_contract::limits::Limit;

use crate::{edit, edit_match, grep, patch, walk};

/// All bounds of the tools that the contract does not name, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "edit TRIES_MAX",
        edit::TRIES_MAX as u64,
        "tries",
        "an edit while others change the file",
    ),
    Limit::new(
        "edit REPLACEMENT_BYTES_MAX",
        edit_match::REPLACEMENT_BYTES_MAX as u64,
        "bytes",
        "a file after edit",
    ),
    Limit::new(
        "edit LINES_LISTED_MAX",
        edit_match::LINES_LISTED_MAX as u64,
        "lines",
        "the places named by an ambiguous edit",
    ),
    Limit::new(
        "patch PATCH_BYTES_MAX",
        patch::PATCH_BYTES_MAX as u64,
        "bytes",
        "a patch, whatever is configured",
    ),
    Limit::new("patch FILES_MAX", patch::FILES_MAX as u64, "files", "one patch"),
    Limit::new("patch HUNKS_MAX", patch::HUNKS_MAX as u64, "hunks", "one patch"),
    Limit::new("patch LINE_BYTES_MAX", patch::LINE_BYTES_MAX as u64, "bytes", "a line of a patch"),
    Limit::new(
        "patch SEARCH_STEPS_MAX",
        patch::SEARCH_STEPS_MAX as u64,
        "comparisons",
        "the search for the places of one file's hunks",
    ),
    Limit::new(
        "grep PATTERN_BYTES_MAX",
        grep::PATTERN_BYTES_MAX as u64,
        "bytes",
        "a regular expression",
    ),
    Limit::new(
        "grep CONTEXT_LINES_MAX",
        grep::CONTEXT_LINES_MAX as u64,
        "lines",
        "context on either side of a match",
    ),
    Limit::new(
        "grep LINE_BYTES_MAX",
        grep::LINE_BYTES_MAX as u64,
        "bytes",
        "a line as it is shown",
    ),
    Limit::new(
        "grep LINE_BUFFER_BYTES_MAX",
        grep::LINE_BUFFER_BYTES_MAX as u64,
        "bytes",
        "a line of a file that is searched",
    ),
    Limit::new(
        "walk ENTRIES_MAX",
        walk::ENTRIES_MAX as u64,
        "entries",
        "the directories of one search",
    ),
    Limit::new(
        "walk IGNORE_FILE_BYTES_MAX",
        walk::IGNORE_FILE_BYTES_MAX,
        "bytes",
        "an ignore file",
    ),
    Limit::new("walk THREADS_MAX", walk::THREADS_MAX as u64, "threads", "one search"),
];
