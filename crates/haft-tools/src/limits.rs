//! The bounds of single tools, for the generated table of limits. Each is named where it is used.

use haft_contract::limits::Limit;
use haft_judge::limits as judge;

use crate::edit_match::nearest;
use crate::{bash, edit, edit_match, grep, patch, walk};

/// All bounds of the tools that the contract does not name, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "edit TRIES_MAX",
        edit::TRIES_MAX as u64,
        "tries",
        "an edit while others change the file",
        "the edit fails with nothing written",
    ),
    Limit::new(
        "edit REPLACEMENT_BYTES_MAX",
        edit_match::REPLACEMENT_BYTES_MAX as u64,
        "bytes",
        "a file after edit",
        "the edit is refused",
    ),
    Limit::new(
        "edit LINES_LISTED_MAX",
        edit_match::LINES_LISTED_MAX as u64,
        "lines",
        "the places named by an ambiguous edit",
        "further ones are left out",
    ),
    Limit::new(
        "patch PATCH_BYTES_MAX",
        patch::PATCH_BYTES_MAX as u64,
        "bytes",
        "a patch, whatever is configured",
        "the patch is refused",
    ),
    Limit::new(
        "patch FILES_MAX",
        patch::FILES_MAX as u64,
        "files",
        "one patch",
        "the patch is refused",
    ),
    Limit::new(
        "patch HUNKS_MAX",
        patch::HUNKS_MAX as u64,
        "hunks",
        "one patch",
        "the patch is refused",
    ),
    Limit::new(
        "patch LINE_BYTES_MAX",
        patch::LINE_BYTES_MAX as u64,
        "bytes",
        "a line of a patch",
        "the patch is refused",
    ),
    Limit::new(
        "patch SEARCH_STEPS_MAX",
        patch::SEARCH_STEPS_MAX as u64,
        "comparisons",
        "the search for the places of one file's hunks",
        "the patch is refused",
    ),
    Limit::new(
        "grep PATTERN_BYTES_MAX",
        grep::PATTERN_BYTES_MAX as u64,
        "bytes",
        "a regular expression",
        "the pattern is refused",
    ),
    Limit::new(
        "grep CONTEXT_LINES_MAX",
        grep::CONTEXT_LINES_MAX as u64,
        "lines",
        "context on either side of a match",
        "the input is refused",
    ),
    Limit::new(
        "grep LINE_BYTES_MAX",
        grep::LINE_BYTES_MAX as u64,
        "bytes",
        "a line as it is shown",
        "the line is cut around its match",
    ),
    Limit::new(
        "grep LINE_BUFFER_BYTES_MAX",
        grep::LINE_BUFFER_BYTES_MAX as u64,
        "bytes",
        "a line of a file that is searched",
        "the file is not searched",
    ),
    Limit::new(
        "walk ENTRIES_MAX",
        walk::ENTRIES_MAX as u64,
        "entries",
        "the directories of one search",
        "the search ends there and says so",
    ),
    Limit::new(
        "walk IGNORE_FILE_BYTES_MAX",
        walk::IGNORE_FILE_BYTES_MAX,
        "bytes",
        "an ignore file",
        "the rest of the file is passed over",
    ),
    Limit::new(
        "walk THREADS_MAX",
        walk::THREADS_MAX as u64,
        "threads",
        "one search",
        "the search uses no more",
    ),
    Limit::new(
        "edit TEXT_BYTES_MAX",
        nearest::TEXT_BYTES_MAX as u64,
        "bytes",
        "the text in which the passage nearest to a missing one is looked for",
        "the rest is not looked at",
    ),
    Limit::new(
        "edit PASSAGE_LINES_MAX",
        nearest::PASSAGE_LINES_MAX as u64,
        "lines",
        "the nearest passage as it is shown",
        "the rest is left out",
    ),
    Limit::new(
        "edit SHOWN_CHARS_MAX",
        nearest::SHOWN_CHARS_MAX as u64,
        "characters",
        "a line of the nearest passage as it is shown",
        "the line is cut",
    ),
    Limit::new(
        "patch PLACES_LISTED_MAX",
        patch::PLACES_LISTED_MAX as u64,
        "lines",
        "the places named by an ambiguous hunk",
        "further ones are left out",
    ),
    Limit::new(
        "grep PROGRAM_BYTES_MAX",
        grep::PROGRAM_BYTES_MAX as u64,
        "bytes",
        "a compiled regular expression",
        "the pattern is refused",
    ),
    Limit::new(
        "grep STATES_BYTES_MAX",
        grep::STATES_BYTES_MAX as u64,
        "bytes",
        "the states that the search by a regular expression keeps",
        "they are made anew",
    ),
    Limit::new(
        "bash ACCESSES_MAX",
        bash::ACCESSES_MAX as u64,
        "accesses",
        "the commands and files of a line that rules are asked about",
        "the line is unknown, which means ask",
    ),
];

/// All bounds of the command judge, in the order of the generated document.
pub const JUDGE: &[Limit] = &[
    Limit::new(
        "LINE_BYTES_MAX",
        judge::LINE_BYTES_MAX as u64,
        "bytes",
        "a line, before a parser sees it",
        "the line is unknown, which means ask",
    ),
    Limit::new(
        "NESTING_MAX",
        judge::NESTING_MAX as u64,
        "levels",
        "brackets and here-documents within each other",
        "the line is unknown, which means ask",
    ),
    Limit::new(
        "DESCRIPTOR_DIGITS_MAX",
        judge::DESCRIPTOR_DIGITS_MAX as u64,
        "digits",
        "the number of a file descriptor",
        "the line is unknown, which means ask",
    ),
    Limit::new(
        "FUEL_MAX",
        judge::FUEL_MAX as u64,
        "steps",
        "the parsing of one line",
        "the line is unknown, which means ask",
    ),
    Limit::new(
        "COMMANDS_MAX",
        judge::COMMANDS_MAX as u64,
        "commands",
        "what one line runs; as many reasons to ask",
        "the line is unknown, which means ask",
    ),
    Limit::new(
        "FILES_MAX",
        judge::FILES_MAX as u64,
        "uses",
        "the uses of files of one line, and the places that links may have led to",
        "the line is unknown, which means ask",
    ),
    Limit::new(
        "THROUGH_MAX",
        judge::THROUGH_MAX as u64,
        "programs",
        "programs that run each other, such as sudo and xargs",
        "the line is unknown, which means ask",
    ),
    Limit::new(
        "PLACES_MAX",
        judge::PLACES_MAX as u64,
        "directories",
        "where a command may be after `cd`",
        "its relative paths are unknown, which means ask",
    ),
];
