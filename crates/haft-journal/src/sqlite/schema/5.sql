-- Columns and tables have the words that the rest of haft uses. Their old names stay readable for one release: columns as
-- generated ones that take no room, tables as views. Whether a call was held back is a column of its own; before, it was
-- searched for in the text of the answer each time.

DROP VIEW _smithers_tool_calls;

ALTER TABLE runs RENAME COLUMN epoch TO fencing_token;
ALTER TABLE runs RENAME COLUMN owner_place TO owner_location;
ALTER TABLE runs RENAME COLUMN fruitless TO failed_resumes;
ALTER TABLE runs RENAME COLUMN fruitless_since TO failed_resumes_since;
ALTER TABLE runs RENAME COLUMN is_going TO is_being_removed;
ALTER TABLE runs ADD COLUMN epoch INTEGER GENERATED ALWAYS AS (fencing_token) VIRTUAL;
ALTER TABLE runs ADD COLUMN owner_place TEXT GENERATED ALWAYS AS (owner_location) VIRTUAL;
ALTER TABLE runs ADD COLUMN fruitless INTEGER GENERATED ALWAYS AS (failed_resumes) VIRTUAL;
ALTER TABLE runs ADD COLUMN fruitless_since INTEGER GENERATED ALWAYS AS (failed_resumes_since) VIRTUAL;
ALTER TABLE runs ADD COLUMN is_going INTEGER GENERATED ALWAYS AS (is_being_removed) VIRTUAL;

-- Empty most of the time: sessions are listed without those whose run is being removed.
CREATE INDEX runs_being_removed ON runs (id) WHERE is_being_removed = 1;

ALTER TABLE changes RENAME COLUMN epoch_floor TO removed_fencing_token;

ALTER TABLE late_outcomes RENAME COLUMN epoch TO fencing_token;
ALTER TABLE late_outcomes ADD COLUMN epoch INTEGER GENERATED ALWAYS AS (fencing_token) VIRTUAL;

-- The number is the change number that recorded the call. `closed` is that of the latest change since the call was
-- no longer open; an open one has none. The change number of a call is coalesce(closed, number).
-- Small columns come first: counting calls by status then never walks through large texts.
CREATE TABLE calls_with_words (
    number INTEGER PRIMARY KEY,
    closed INTEGER,
    run TEXT NOT NULL REFERENCES runs (id),
    node TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    fencing_token INTEGER NOT NULL,
    tool TEXT NOT NULL,
    effect TEXT NOT NULL CHECK (effect = 'once' OR effect = 'idempotent' OR effect = 'read'),
    status TEXT NOT NULL CHECK (
        status = 'intended' OR status = 'succeeded' OR status = 'failed' OR status = 'refused' OR status = 'unknown'
    ),
    verdict TEXT CHECK (verdict = 'happened' OR verdict = 'not_happened' OR verdict = 'retry'),
    settled_by TEXT CHECK (settled_by = 'probe' OR settled_by = 'operator'),
    acknowledged INTEGER NOT NULL DEFAULT 0 CHECK (acknowledged = 0 OR acknowledged = 1),
    held_back INTEGER NOT NULL DEFAULT 0 CHECK (held_back = 0 OR held_back = 1),
    started_at_ms INTEGER NOT NULL,
    finished_at_ms INTEGER,
    first_key TEXT NOT NULL,
    call_key TEXT NOT NULL,
    driver_call_id TEXT,
    input TEXT NOT NULL,
    accesses TEXT NOT NULL,
    details TEXT,
    envelope TEXT,
    epoch INTEGER GENERATED ALWAYS AS (fencing_token) VIRTUAL,
    heard INTEGER GENERATED ALWAYS AS (acknowledged) VIRTUAL,
    CHECK ((status = 'intended') = (closed IS NULL)),
    CHECK (status = 'intended' OR status = 'unknown' OR envelope IS NOT NULL),
    CHECK (status <> 'intended' OR envelope IS NULL),
    CHECK ((envelope IS NULL) = (finished_at_ms IS NULL)),
    CHECK ((verdict IS NULL) = (settled_by IS NULL))
) STRICT;

INSERT INTO calls_with_words (
    number, closed, run, node, iteration, attempt, seq, fencing_token, tool, effect, status, verdict, settled_by,
    acknowledged, held_back, started_at_ms, finished_at_ms, first_key, call_key, driver_call_id, input, accesses, details,
    envelope
)
SELECT
    number, closed, run, node, iteration, attempt, seq, epoch, tool, effect, status, verdict, settled_by, heard,
    coalesce(status = 'refused' AND instr(envelope, '"held_back":true') > 0, 0), started_at_ms, finished_at_ms, first_key, call_key,
    driver_call_id, input, accesses, details, envelope
FROM calls;

DROP TABLE calls;
ALTER TABLE calls_with_words RENAME TO calls;

CREATE UNIQUE INDEX calls_by_place ON calls (run, node, iteration, attempt, seq);

-- All that is open comes first, in the order in which it was recorded, however long the journal is; then all else in the
-- order of its latest change.
CREATE INDEX calls_by_change ON calls (closed);

-- What is open is missing here: an index that it were in would be written twice for each call.
CREATE INDEX calls_of_run ON calls (run, closed) WHERE closed IS NOT NULL;

CREATE INDEX calls_by_driver ON calls (run, driver_call_id) WHERE driver_call_id IS NOT NULL;

-- What readers of Smithers databases expect. An output over 200000 bytes is cut before the character that crosses the
-- bound; a byte between 80 and BF is never the first of a character. A call whose owner died has no envelope.
CREATE VIEW _smithers_tool_calls AS
SELECT
    run AS run_id,
    node AS node_id,
    iteration,
    attempt,
    seq,
    tool AS tool_name,
    input AS input_json,
    CASE
        WHEN length(data) <= 200000 THEN CAST(data AS TEXT)
        WHEN substr(data, 200001, 1) NOT BETWEEN x'80' AND x'BF' THEN CAST(substr(data, 1, 200000) AS TEXT)
        WHEN substr(data, 200000, 1) NOT BETWEEN x'80' AND x'BF' THEN CAST(substr(data, 1, 199999) AS TEXT)
        WHEN substr(data, 199999, 1) NOT BETWEEN x'80' AND x'BF' THEN CAST(substr(data, 1, 199998) AS TEXT)
        ELSE CAST(substr(data, 1, 199997) AS TEXT)
    END AS output_json,
    started_at_ms,
    finished_at_ms,
    CASE status WHEN 'succeeded' THEN 'success' ELSE 'error' END AS status,
    CASE
        WHEN status = 'succeeded' THEN NULL
        WHEN envelope IS NULL THEN json_object('code', 'IN_DOUBT', 'message', 'haft ended before it was told how the call ended')
        ELSE json_object('code', envelope ->> '$.metadata.code', 'message', envelope ->> '$.error_text')
    END AS error_json
FROM (SELECT *, CAST(envelope -> '$.data' AS BLOB) AS data FROM calls WHERE status <> 'intended');

ALTER TABLE chat_sessions RENAME TO sessions;
ALTER TABLE chat_messages RENAME TO messages;
ALTER TABLE chat_parts RENAME TO parts;

CREATE VIEW chat_sessions AS SELECT * FROM sessions;
CREATE VIEW chat_messages AS SELECT * FROM messages;
CREATE VIEW chat_parts AS SELECT * FROM parts;
