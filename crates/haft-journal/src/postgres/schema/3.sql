-- Chats: what a person and an agent said to each other. A chat is a run of its own, whose id it has; what was called in it
-- is in the table of calls. Columns and words are public: whoever reads a journal with SQL may rely on them. As with
-- calls, what belongs where is looked up by whoever writes.

CREATE TABLE haft.chat_sessions (
    id text COLLATE "C" PRIMARY KEY, -- Ids sort in the order in which they were made.
    run text COLLATE "C" NOT NULL GENERATED ALWAYS AS (id) STORED, -- For whoever joins with the calls.
    parent_id text COLLATE "C",
    parent_tool_call_id text,
    forked_from_id text,
    forked_from_message_id text,
    agent text NOT NULL,
    title text,
    model text NOT NULL,
    root text COLLATE "C" NOT NULL,
    status text NOT NULL CHECK (status IN ('idle', 'running', 'completed', 'failed', 'aborted')),
    mode text NOT NULL CHECK (mode IN ('foreground', 'background')),
    inspectable boolean NOT NULL,
    delivered boolean NOT NULL, -- Whether the parent was told how it ended.
    permissions_json text NOT NULL, -- What the chat is narrowed to.
    metadata_json text NOT NULL,
    depth bigint NOT NULL,
    tokens_input bigint NOT NULL, -- Each token is counted once: see `docs/sessions.md`.
    tokens_output bigint NOT NULL,
    tokens_reasoning bigint NOT NULL,
    tokens_cache_read bigint NOT NULL,
    tokens_cache_write bigint NOT NULL,
    steps bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL
);

CREATE INDEX chat_sessions_by_parent ON haft.chat_sessions (parent_id, id) WHERE parent_id IS NOT NULL;

CREATE TABLE haft.chat_messages (
    id text COLLATE "C" PRIMARY KEY,
    session_id text COLLATE "C" NOT NULL,
    role text NOT NULL CHECK (role IN ('user', 'assistant')),
    kind text NOT NULL CHECK (kind IN ('said', 'summary', 'notice')),
    agent text,
    model text,
    finish text CHECK (finish IN ('stop', 'tool-calls', 'length', 'interrupted', 'aborted', 'error', 'other')),
    error text,
    covers_through text, -- Of a summary: the last message that it stands for.
    tokens_input bigint NOT NULL,
    tokens_output bigint NOT NULL,
    tokens_reasoning bigint NOT NULL,
    tokens_cache_read bigint NOT NULL,
    tokens_cache_write bigint NOT NULL,
    created_at_ms bigint NOT NULL,
    completed_at_ms bigint,
    rewound_at_ms bigint -- Set aside, together with all that came after it.
);

CREATE INDEX chat_messages_by_session ON haft.chat_messages (session_id, id);

-- Small columns come first, so that none of them is read through the texts.
CREATE TABLE haft.chat_parts (
    id text COLLATE "C" PRIMARY KEY,
    message_id text COLLATE "C" NOT NULL,
    session_id text COLLATE "C" NOT NULL,
    type text NOT NULL CHECK (type IN ('text', 'reasoning', 'tool')),
    state text CHECK (state IN ('input-streaming', 'input-available', 'output-available', 'output-error')),
    created_at_ms bigint NOT NULL,
    updated_at_ms bigint NOT NULL,
    tool_call_id text COLLATE "C",
    tool text,
    call_id text, -- In the table of calls: run/node/iteration/attempt/seq.
    text text,
    input_json text,
    output_json text, -- The envelope.
    signatures_json text,
    CHECK ((type = 'tool') = (state IS NOT NULL)),
    CHECK ((type = 'tool') = (tool_call_id IS NOT NULL)),
    CHECK ((output_json IS NOT NULL) = coalesce(state IN ('output-available', 'output-error'), false))
);

CREATE INDEX chat_parts_by_message ON haft.chat_parts (message_id, id);

CREATE UNIQUE INDEX chat_parts_by_call ON haft.chat_parts (session_id, tool_call_id);
