//! The limits of the inspector, each with its unit in its name.

/// Asks on one page.
///
/// Limit (inspector): the page says how many more there are.
pub const ASKS_SHOWN_MAX: usize = 50;
/// Ended asks on one page.
pub const ENDED_ASKS_SHOWN_MAX: usize = 20;
/// Runs on one page.
pub const RUNS_SHOWN_MAX: usize = 50;
/// Runs that one search looks at.
///
/// Limit (inspector): the page offers to search further back.
pub const RUNS_SEARCHED_MAX: usize = 5_000;
/// Latest calls of a run whose inputs a search looks at.
///
/// Limit (inspector): earlier inputs of the run are not searched.
pub const RUN_CALLS_SEARCHED_MAX: u32 = 500;
/// Calls whose inputs one search looks at.
pub const CALLS_SEARCHED_MAX: usize = 20_000;
/// Calls that a page of a run gets at once.
pub const CALLS_SHOWN_MAX: u32 = 200;
/// Calls of a run that is shown as a tree.
///
/// Limit (inspector): the run is shown in the order of time only.
pub const TREE_CALLS_MAX: u64 = 2_000;
/// Bytes of a long text that a page gets at once.
pub const TEXT_BYTES_SHOWN_MAX: usize = 64 * 1024;
/// Pages of a journal that are followed live.
///
/// Limit (inspector): a further page says that it does not follow.
pub const STREAMS_MAX: usize = 64;
/// Time between two looks for changes, in milliseconds.
pub const FOLLOW_MS: u64 = 300;
/// Time without a change after which a page is told that the inspector still runs, in milliseconds.
pub const ALIVE_MS: u64 = 10_000;
/// Calls that one look for changes reads.
pub const FOLLOWED_CALLS_MAX: u32 = 1_000;
/// Calls in doubt on one page.
///
/// Limit (inspector): the page says how many there are.
pub const DOUBTS_SHOWN_MAX: usize = 100;
/// Sessions on one page.
pub const SESSIONS_SHOWN_MAX: u32 = 50;
/// Messages of a session on one page.
pub const MESSAGES_SHOWN_MAX: u32 = 100;
/// Longest text of one difference, in bytes.
///
/// Limit (inspector): the rest of the difference is not shown.
pub const DIFF_BYTES_SHOWN_MAX: usize = 512 * 1024;
/// Paths of which a page shows the difference.
///
/// Limit (inspector): further paths are listed without their text.
pub const DIFF_PATHS_SHOWN_MAX: usize = 200;
/// Longest line in which changed words are marked, in characters.
pub const MARKED_LINE_CHARS_MAX: usize = 2_000;
