//! The tables of a journal: their columns, keys and words. Databases show them under these names to people who query them
//! with SQL.

use super::Value;

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Where it is in the table.
    pub at: usize,
    /// The name in the database.
    pub name: &'static str,
    /// The kind of its values.
    pub kind: ColumnKind,
}

/// The kind of the values in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// A number.
    Integer,
    /// Yes or no.
    Flag,
    /// A text.
    Text,
    /// One of a few words that haft gives out.
    Word,
}

/// A table.
#[derive(Debug)]
pub struct Table {
    /// The name in the database.
    pub name: &'static str,
    /// All columns, in their order.
    pub columns: &'static [Column],
    /// No two rows have the same values here.
    pub key: &'static [Column],
    /// The column that numbers the rows in the order in which they were inserted. The store fills it.
    pub number: Option<Column>,
    /// The texts whose bytes count.
    pub weighed: &'static [Column],
    /// Columns by which rows are looked up beside the key: see that no look-up visits all rows.
    pub indexes: &'static [&'static [Column]],
}

impl Table {
    /// Returns a row of which nothing is given: its flags say no, and all else holds nothing.
    pub fn empty_row(&self) -> Vec<Value> {
        let empty = |column: &Column| match column.kind {
            ColumnKind::Flag => Value::Integer(0),
            ColumnKind::Integer | ColumnKind::Text | ColumnKind::Word => Value::Null,
        };
        self.columns.iter().map(empty).collect()
    }
}

impl PartialEq for Table {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Table {}

/// Defines a table as a module: a constant for each column, and `TABLE`.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $module:ident($name:literal) {
            $($(#[$column_doc:meta])* $constant:ident = $column:literal $kind:ident,)+
        }
        key [$($key:ident),+]
        number $number:expr;
        weighed [$($weighed:ident),*]
        indexes [$([$($index:ident),+]),*]
    ) => {
        $(#[$doc])*
        pub mod $module {
            use super::{Column, ColumnKind, Table};

            #[expect(non_camel_case_types, clippy::upper_case_acronyms, reason = "it numbers the constants below")]
            enum At { $($constant,)+ }

            $(
                $(#[$column_doc])*
                pub const $constant: Column = Column {
                    at: At::$constant as usize,
                    name: $column,
                    kind: ColumnKind::$kind,
                };
            )+

            /// The table.
            pub static TABLE: Table = Table {
                name: $name,
                columns: &[$($constant),+],
                key: &[$($key),+],
                number: $number,
                weighed: &[$($weighed),*],
                indexes: &[$(&[$($index),+]),*],
            };
        }
    };
}

table! {
    /// Runs, and who may advance them.
    runs("runs") {
        /// In the order in which runs began.
        NUMBER = "number" Integer,
        /// Names the run.
        ID = "id" Text,
        /// The front end that began it.
        FRONT_END = "front_end" Text,
        /// The workspace root.
        ROOT = "root" Text,
        /// The version of haft that began it.
        VERSION = "version" Text,
        /// When it began.
        STARTED_AT_MS = "started_at_ms" Integer,
        /// The settings of the run, as JSON.
        SETTINGS = "settings" Text,
        /// Grows each time the run changes hands.
        FENCING_TOKEN = "fencing_token" Integer,
        /// The owner of the lease; empty, with the next three, while the run is free.
        OWNER_ID = "owner_id" Text,
        /// Where the owner runs.
        OWNER_LOCATION = "owner_location" Text,
        /// When the lease was taken.
        HELD_SINCE_MS = "held_since_ms" Integer,
        /// When the lease expires.
        LEASE_EXPIRES_AT_MS = "lease_expires_at_ms" Integer,
        /// How many owners in a row died without getting the run any further.
        FAILED_RESUMES = "failed_resumes" Integer,
        /// The last change number when the first of them was given up.
        FAILED_SINCE = "failed_resumes_since" Integer,
        /// Whether the run is being removed, which takes several commits when it is long.
        IS_BEING_REMOVED = "is_being_removed" Flag,
        /// The part of the id by whose beginning people name the run.
        SHORT_KEY = "short_key" Text,
        /// Until when its owner may have used it: the end of its latest lease.
        HELD_UNTIL_MS = "held_until_ms" Integer,
    }
    key [ID]
    number Some(NUMBER);
    weighed []
    indexes [
        [NUMBER], [SHORT_KEY, ID], [HELD_UNTIL_MS, NUMBER], [ROOT, HELD_UNTIL_MS, NUMBER]
    ]
}

table! {
    /// Calls, each from its intent to its outcome.
    calls("calls") {
        /// Grows with every record and every settlement in the journal; no two rows share it.
        CHANGE = "change" Integer,
        /// The run.
        RUN = "run" Text,
        /// The node.
        NODE = "node" Text,
        /// The iteration of the node.
        ITERATION = "iteration" Integer,
        /// The attempt of the iteration.
        ATTEMPT = "attempt" Integer,
        /// The call's number inside the attempt.
        SEQ = "seq" Integer,
        /// The fencing token that the call was made under.
        FENCING_TOKEN = "fencing_token" Integer,
        /// The tool called.
        TOOL = "tool" Text,
        /// The tool's effect.
        EFFECT = "effect" Word,
        /// How far the call has come.
        STATUS = "status" Word,
        /// The verdict of a later settlement, if the call was in doubt.
        VERDICT = "verdict" Word,
        /// Who found it out.
        SETTLED_BY = "settled_by" Word,
        /// Whether the driver was told how a call in doubt ended.
        ACKNOWLEDGED = "acknowledged" Flag,
        /// Whether the call was refused because of what earlier calls did, and is still to be made.
        HELD_BACK = "held_back" Flag,
        /// When the call arrived.
        STARTED_AT_MS = "started_at_ms" Integer,
        /// When the call ended.
        FINISHED_AT_MS = "finished_at_ms" Integer,
        /// The key of the first such call of the attempt.
        FIRST_KEY = "first_key" Text,
        /// The key of this call.
        CALL_KEY = "call_key" Text,
        /// The driver's own id of the call.
        DRIVER_CALL_ID = "driver_call_id" Text,
        /// The input as JSON.
        INPUT = "input" Text,
        /// The accesses that the input implies, as JSON.
        ACCESSES = "accesses" Text,
        /// The change that the call was about to make, as JSON.
        DETAILS = "details" Text,
        /// The answer as JSON.
        ENVELOPE = "envelope" Text,
    }
    key [RUN, NODE, ITERATION, ATTEMPT, SEQ]
    number None;
    weighed [INPUT, ACCESSES, DETAILS, ENVELOPE]
    indexes [[CHANGE], [RUN, CHANGE], [RUN, DRIVER_CALL_ID], [RUN, STATUS]]
}

table! {
    /// Outcomes of calls whose run was taken over before they came.
    late_outcomes("late_outcomes") {
        /// In the order in which they came.
        NUMBER = "number" Integer,
        /// The run.
        RUN = "run" Text,
        /// The node.
        NODE = "node" Text,
        /// The iteration of the node.
        ITERATION = "iteration" Integer,
        /// The attempt of the iteration.
        ATTEMPT = "attempt" Integer,
        /// The call's number inside the attempt.
        SEQ = "seq" Integer,
        /// The fencing token that the call was made under.
        FENCING_TOKEN = "fencing_token" Integer,
        /// The tool called.
        TOOL = "tool" Text,
        /// How the call ended.
        STATUS = "status" Word,
        /// When the call ended.
        FINISHED_AT_MS = "finished_at_ms" Integer,
        /// The answer as JSON.
        ENVELOPE = "envelope" Text,
    }
    key [NUMBER]
    number Some(NUMBER);
    weighed []
    indexes [[RUN, NUMBER]]
}

table! {
    /// Which snapshots belong to a call.
    snapshots("snapshots") {
        /// In the order in which they were noted.
        NUMBER = "number" Integer,
        /// The run.
        RUN = "run" Text,
        /// The node.
        NODE = "node" Text,
        /// The iteration of the node.
        ITERATION = "iteration" Integer,
        /// The attempt of the iteration.
        ATTEMPT = "attempt" Integer,
        /// The call's number inside the attempt.
        SEQ = "seq" Integer,
        /// The root that was recorded.
        ROOT = "root" Text,
        /// The snapshot before the effect.
        BEFORE = "before" Text,
        /// The snapshot after the effect.
        AFTER = "after" Text,
        /// Why one of them is missing.
        NOTE = "note" Text,
        /// When the second was made.
        TAKEN_AT_MS = "taken_at_ms" Integer,
        /// The repositories that the call changed, as JSON.
        REPOSITORIES = "repositories" Text,
    }
    key [RUN, NODE, ITERATION, ATTEMPT, SEQ, ROOT]
    number Some(NUMBER);
    weighed []
    indexes [[RUN, NUMBER]]
}

table! {
    /// Sessions: conversations with an agent. Each is a run of the same name.
    sessions("sessions") {
        /// Names the session, and its run.
        ID = "id" Text,
        /// The session that began it.
        PARENT_ID = "parent_id" Text,
        /// The tool call that began it.
        PARENT_TOOL_CALL_ID = "parent_tool_call_id" Text,
        /// The session whose beginning it shares.
        FORKED_FROM_ID = "forked_from_id" Text,
        /// The last message of that beginning.
        FORKED_FROM_MESSAGE_ID = "forked_from_message_id" Text,
        /// The agent that answers.
        AGENT = "agent" Text,
        /// A few words about it.
        TITLE = "title" Text,
        /// The model that answers.
        MODEL = "model" Text,
        /// The workspace root.
        ROOT = "root" Text,
        /// Whether a turn is under way.
        STATUS = "status" Word,
        /// Whether anyone waits for it.
        MODE = "mode" Word,
        /// Whether people are shown it.
        INSPECTABLE = "inspectable" Flag,
        /// Whether its end was told to its parent.
        DELIVERED = "delivered" Flag,
        /// The restrictions of the session, as JSON.
        PERMISSIONS_JSON = "permissions_json" Text,
        /// Notes of the program that began it, as JSON.
        METADATA_JSON = "metadata_json" Text,
        /// How many sessions are above it.
        DEPTH = "depth" Integer,
        /// Tokens read by the model.
        TOKENS_INPUT = "tokens_input" Integer,
        /// Tokens written as answers.
        TOKENS_OUTPUT = "tokens_output" Integer,
        /// Tokens written before answers.
        TOKENS_REASONING = "tokens_reasoning" Integer,
        /// Tokens taken from the provider's cache.
        TOKENS_CACHE_READ = "tokens_cache_read" Integer,
        /// Tokens put into the provider's cache.
        TOKENS_CACHE_WRITE = "tokens_cache_write" Integer,
        /// How many answers of the model it has.
        STEPS = "steps" Integer,
        /// When it began.
        CREATED_AT_MS = "created_at_ms" Integer,
        /// When anything of it was recorded last.
        UPDATED_AT_MS = "updated_at_ms" Integer,
    }
    key [ID]
    number None;
    weighed []
    indexes [[PARENT_ID, ID]]
}

table! {
    /// The messages of sessions.
    messages("messages") {
        /// Names the message; a later one has a greater id.
        ID = "id" Text,
        /// The session.
        SESSION_ID = "session_id" Text,
        /// Who it is from.
        ROLE = "role" Word,
        /// The purpose of the message.
        KIND = "kind" Word,
        /// The agent that answered.
        AGENT = "agent" Text,
        /// The model that answered.
        MODEL = "model" Text,
        /// Why it ended.
        FINISH = "finish" Word,
        /// The error, for people.
        ERROR = "error" Text,
        /// Of a summary: the last message that it stands for.
        COVERS_THROUGH = "covers_through" Text,
        /// Tokens read by the model.
        TOKENS_INPUT = "tokens_input" Integer,
        /// Tokens written as an answer.
        TOKENS_OUTPUT = "tokens_output" Integer,
        /// Tokens written before the answer.
        TOKENS_REASONING = "tokens_reasoning" Integer,
        /// Tokens taken from the provider's cache.
        TOKENS_CACHE_READ = "tokens_cache_read" Integer,
        /// Tokens put into the provider's cache.
        TOKENS_CACHE_WRITE = "tokens_cache_write" Integer,
        /// When it began.
        CREATED_AT_MS = "created_at_ms" Integer,
        /// When it was whole.
        COMPLETED_AT_MS = "completed_at_ms" Integer,
        /// When it was set aside.
        REWOUND_AT_MS = "rewound_at_ms" Integer,
    }
    key [ID]
    number None;
    weighed [ERROR]
    indexes [[SESSION_ID, ID]]
}

table! {
    /// The parts of messages.
    parts("parts") {
        /// Names the part; a later one of the message has a greater id.
        ID = "id" Text,
        /// The message.
        MESSAGE_ID = "message_id" Text,
        /// The session.
        SESSION_ID = "session_id" Text,
        /// The kind of part.
        KIND = "type" Word,
        /// How far a tool call has come.
        STATE = "state" Word,
        /// When it began.
        CREATED_AT_MS = "created_at_ms" Integer,
        /// When it was recorded last.
        UPDATED_AT_MS = "updated_at_ms" Integer,
        /// Names a tool call; no other part of the session has the same.
        TOOL_CALL_ID = "tool_call_id" Text,
        /// The tool that is called.
        TOOL = "tool" Text,
        /// The call in the table of calls.
        CALL_ID = "call_id" Text,
        /// The text.
        TEXT = "text" Text,
        /// The arguments of a tool call.
        INPUT_JSON = "input_json" Text,
        /// The envelope that answered it.
        OUTPUT_JSON = "output_json" Text,
        /// The signatures that a provider needs in later requests.
        SIGNATURES_JSON = "signatures_json" Text,
    }
    key [ID]
    number None;
    weighed [TEXT, INPUT_JSON, OUTPUT_JSON, SIGNATURES_JSON]
    indexes [[MESSAGE_ID, ID], [SESSION_ID, TOOL_CALL_ID]]
}

table! {
    /// The content store: texts that rows only name by size and SHA-256. A store may keep them apart from its rows, as files
    /// for one. A text is whole and as durable as the commit before any row can name it.
    contents("contents") {
        /// The run. The texts go with it, or before.
        RUN = "run" Text,
        /// The SHA-256 of the text, in hexadecimal.
        SHA256 = "sha256" Text,
        /// The length of the text.
        BYTE_COUNT = "bytes" Integer,
        /// The text.
        CONTENT = "content" Text,
    }
    key [RUN, SHA256]
    number None;
    weighed [CONTENT]
    indexes []
}

table! {
    /// Asks, with their answers.
    asks("asks") {
        /// Names the ask.
        ID = "id" Text,
        /// The run.
        RUN = "run" Text,
        /// The node.
        NODE = "node" Text,
        /// The iteration.
        ITERATION = "iteration" Integer,
        /// The attempt.
        ATTEMPT = "attempt" Integer,
        /// The number of the call in the attempt.
        SEQ = "seq" Integer,
        /// The fencing token under which the call is made.
        FENCING_TOKEN = "fencing_token" Integer,
        /// The tool.
        TOOL = "tool" Text,
        /// The kind of front end that made the call.
        FRONT_END = "front_end" Text,
        /// The agents that led to the call, as a JSON list.
        AGENTS = "agents_json" Text,
        /// Where the process runs that asks.
        ASKER = "asker" Text,
        /// The subject of the ask, as JSON without contents.
        SUMMARY = "summary_json" Text,
        /// The SHA-256 of what is shown, which names it in the content store.
        SHOWN_SHA256 = "shown_sha256" Text,
        /// The length of what is shown.
        SHOWN_BYTES = "shown_bytes" Integer,
        /// When it was asked.
        ASKED_AT_MS = "asked_at_ms" Integer,
        /// When it expires.
        DEADLINE_MS = "deadline_ms" Integer,
        /// How it stands.
        STATE = "state" Word,
        /// When it ended.
        ENDED_AT_MS = "ended_at_ms" Integer,
        /// The meaning of the answer; empty, with all that follows, if there is none.
        VERDICT = "verdict" Word,
        /// Who answered.
        ANSWERED_BY = "answered_by" Text,
        /// The front end through which the answer came.
        ANSWERED_THROUGH = "answered_through" Text,
        /// The SHA-256 of what the person who answered was shown.
        ANSWER_SHOWN_SHA256 = "answer_shown_sha256" Text,
        /// Words for the model.
        WORDS = "words" Text,
        /// The SHA-256 of the edited input, which names it in the content store.
        EDITED_SHA256 = "edited_sha256" Text,
        /// The length of the edited input.
        EDITED_BYTES = "edited_bytes" Integer,
        /// When the process that asked received the answer.
        RECEIVED_AT_MS = "received_at_ms" Integer,
    }
    key [ID]
    number None;
    weighed [SUMMARY, WORDS]
    indexes [[RUN, STATE], [STATE, ASKED_AT_MS]]
}

/// All tables.
pub static TABLES: [&Table; 9] = [
    &runs::TABLE,
    &calls::TABLE,
    &late_outcomes::TABLE,
    &snapshots::TABLE,
    &sessions::TABLE,
    &messages::TABLE,
    &parts::TABLE,
    &contents::TABLE,
    &asks::TABLE,
];
