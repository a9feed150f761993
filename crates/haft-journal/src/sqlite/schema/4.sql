-- Chats: what a person and an agent said to each other. A chat is a run of its own, whose id it has; what was called in it
-- is in the table of calls. Columns and words are public: whoever reads a journal with SQL may rely on them.

CREATE TABLE chat_sessions (
    id TEXT PRIMARY KEY NOT NULL REFERENCES runs (id), -- Ids sort in the order in which they were made.
    run TEXT NOT NULL GENERATED ALWAYS AS (id) VIRTUAL, -- For whoever joins with the calls.
    parent_id TEXT,
    parent_tool_call_id TEXT,
    forked_from_id TEXT,
    forked_from_message_id TEXT,
    agent TEXT NOT NULL,
    title TEXT,
    model TEXT NOT NULL,
    root TEXT NOT NULL,
    status TEXT NOT NULL CHECK (
        status = 'idle' OR status = 'running' OR status = 'completed' OR status = 'failed' OR status = 'aborted'
    ),
    mode TEXT NOT NULL CHECK (mode = 'foreground' OR mode = 'background'),
    inspectable INTEGER NOT NULL CHECK (inspectable = 0 OR inspectable = 1),
    delivered INTEGER NOT NULL CHECK (delivered = 0 OR delivered = 1), -- Whether the parent was told how it ended.
    permissions_json TEXT NOT NULL, -- What the chat is narrowed to.
    metadata_json TEXT NOT NULL,
    depth INTEGER NOT NULL,
    tokens_input INTEGER NOT NULL, -- Each token is counted once: see `docs/sessions.md`.
    tokens_output INTEGER NOT NULL,
    tokens_reasoning INTEGER NOT NULL,
    tokens_cache_read INTEGER NOT NULL,
    tokens_cache_write INTEGER NOT NULL,
    steps INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
) STRICT;

CREATE INDEX chat_sessions_by_parent ON chat_sessions (parent_id, id) WHERE parent_id IS NOT NULL;

CREATE TABLE chat_messages (
    id TEXT PRIMARY KEY NOT NULL,
    session_id TEXT NOT NULL REFERENCES chat_sessions (id),
    role TEXT NOT NULL CHECK (role = 'user' OR role = 'assistant'),
    kind TEXT NOT NULL CHECK (kind = 'said' OR kind = 'summary' OR kind = 'notice'),
    agent TEXT,
    model TEXT,
    finish TEXT CHECK (
        finish = 'stop' OR finish = 'tool-calls' OR finish = 'length' OR finish = 'interrupted' OR finish = 'aborted'
        OR finish = 'error' OR finish = 'other'
    ),
    error TEXT,
    covers_through TEXT, -- Of a summary: the last message that it stands for.
    tokens_input INTEGER NOT NULL,
    tokens_output INTEGER NOT NULL,
    tokens_reasoning INTEGER NOT NULL,
    tokens_cache_read INTEGER NOT NULL,
    tokens_cache_write INTEGER NOT NULL,
    created_at_ms INTEGER NOT NULL,
    completed_at_ms INTEGER,
    rewound_at_ms INTEGER -- Set aside, together with all that came after it.
) STRICT;

CREATE INDEX chat_messages_by_session ON chat_messages (session_id, id);

-- Small columns come first, so that none of them is read through the texts.
CREATE TABLE chat_parts (
    id TEXT PRIMARY KEY NOT NULL,
    message_id TEXT NOT NULL REFERENCES chat_messages (id),
    session_id TEXT NOT NULL,
    type TEXT NOT NULL CHECK (type = 'text' OR type = 'reasoning' OR type = 'tool'),
    state TEXT CHECK (
        state = 'input-streaming' OR state = 'input-available' OR state = 'output-available' OR state = 'output-error'
    ),
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    tool_call_id TEXT,
    tool TEXT,
    call_id TEXT, -- In the table of calls: run/node/iteration/attempt/seq.
    text TEXT,
    input_json TEXT,
    output_json TEXT, -- The envelope.
    signatures_json TEXT,
    CHECK ((type = 'tool') = (state IS NOT NULL)),
    CHECK ((type = 'tool') = (tool_call_id IS NOT NULL)),
    CHECK ((output_json IS NOT NULL) = coalesce(state = 'output-available' OR state = 'output-error', 0))
) STRICT;

CREATE INDEX chat_parts_by_message ON chat_parts (message_id, id);

CREATE UNIQUE INDEX chat_parts_by_call ON chat_parts (session_id, tool_call_id);
