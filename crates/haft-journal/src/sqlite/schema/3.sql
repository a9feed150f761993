-- A call keeps its row for good. Before, the change number was the row's key, so that settling a call moved the whole row,
-- and with it every entry of every index. Now only what orders the calls by their changes is written again.

DROP VIEW _smithers_tool_calls;

-- The number is the change number that recorded the call. `closed` is that of the latest change since the call was
-- no longer open; an open one has none. The change number of a call is coalesce(closed, number).
-- Small columns come first: counting calls by status then never walks through large texts. The words are compared one by
-- one, because for IN with more than two of them SQLite builds a table of them, anew for every row that it checks.
CREATE TABLE calls_in_place (
    number INTEGER PRIMARY KEY,
    closed INTEGER,
    run TEXT NOT NULL REFERENCES runs (id),
    node TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    tool TEXT NOT NULL,
    effect TEXT NOT NULL CHECK (effect = 'once' OR effect = 'idempotent' OR effect = 'read'),
    status TEXT NOT NULL CHECK (
        status = 'intended' OR status = 'succeeded' OR status = 'failed' OR status = 'refused' OR status = 'unknown'
    ),
    verdict TEXT CHECK (verdict = 'happened' OR verdict = 'not_happened' OR verdict = 'retry'),
    settled_by TEXT CHECK (settled_by = 'probe' OR settled_by = 'operator'),
    heard INTEGER NOT NULL DEFAULT 0 CHECK (heard = 0 OR heard = 1),
    started_at_ms INTEGER NOT NULL,
    finished_at_ms INTEGER,
    first_key TEXT NOT NULL,
    call_key TEXT NOT NULL,
    driver_call_id TEXT,
    input TEXT NOT NULL,
    accesses TEXT NOT NULL,
    details TEXT,
    envelope TEXT,
    CHECK ((status = 'intended') = (closed IS NULL)),
    CHECK (status = 'intended' OR status = 'unknown' OR envelope IS NOT NULL),
    CHECK (status <> 'intended' OR envelope IS NULL),
    CHECK ((envelope IS NULL) = (finished_at_ms IS NULL)),
    CHECK ((verdict IS NULL) = (settled_by IS NULL))
) STRICT;

INSERT INTO calls_in_place
SELECT
    change, CASE WHEN status <> 'intended' THEN change END, run, node, iteration, attempt, seq, epoch, tool, effect, status,
    verdict, settled_by, 0, started_at_ms, finished_at_ms, first_key, call_key, driver_call_id, input, accesses, details,
    envelope
FROM calls;

DROP TABLE calls;
ALTER TABLE calls_in_place RENAME TO calls;

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
