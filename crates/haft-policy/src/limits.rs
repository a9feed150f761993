//! The bounds of rules and of what is said of them, for the generated table of limits. Each is named where it is used.

use haft_contract::limits::Limit;

use crate::access::SHOWN_CHARS_MAX;
use crate::explain::SUGGESTION_BYTES_MAX;
use crate::lasting::LASTING_RULES_MAX;
use crate::network_guard::NESTING_MAX;

/// All bounds of rules, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "LASTING_RULES_MAX",
        LASTING_RULES_MAX as u64,
        "rules",
        "what one answer «always» adds",
        "nothing is added, and such a call is asked about each time",
    ),
    Limit::new(
        "SUGGESTION_BYTES_MAX",
        SUGGESTION_BYTES_MAX as u64,
        "bytes",
        "the pattern of a rule that haft proposes or writes",
        "a message proposes the program alone; «always» is not offered",
    ),
    Limit::new(
        "SHOWN_CHARS_MAX",
        SHOWN_CHARS_MAX as u64,
        "characters",
        "a line as an access shows it",
        "the rest is left out",
    ),
    Limit::new(
        "NESTING_MAX",
        NESTING_MAX as u64,
        "lines",
        "lines within lines that the network guard follows",
        "the command is refused while the network is off",
    ),
];
