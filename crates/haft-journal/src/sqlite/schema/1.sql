-- The first schema. Files in this folder are never changed once released: a later version adds a file.

CREATE TABLE runs (
    number INTEGER PRIMARY KEY, -- In the order in which runs began.
    id TEXT NOT NULL UNIQUE,
    front_end TEXT NOT NULL,
    root TEXT NOT NULL,
    version TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL
) STRICT;

-- The change number is the row's key and moves with every change of the row, so that following the journal is
-- reading on from a key, and the table itself is in that order. Small columns come first: counting calls by status
-- then never walks through large texts.
CREATE TABLE calls (
    change INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs (id),
    node TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    tool TEXT NOT NULL,
    effect TEXT NOT NULL CHECK (effect IN ('read', 'idempotent', 'once')),
    status TEXT NOT NULL CHECK (status IN ('intended', 'succeeded', 'failed', 'refused', 'unknown')),
    started_at_ms INTEGER NOT NULL,
    finished_at_ms INTEGER,
    first_key TEXT NOT NULL,
    call_key TEXT NOT NULL,
    driver_call_id TEXT,
    input TEXT NOT NULL,
    accesses TEXT NOT NULL,
    envelope TEXT,
    CHECK ((status = 'intended') = (envelope IS NULL)),
    CHECK ((status = 'intended') = (finished_at_ms IS NULL))
) STRICT;

CREATE UNIQUE INDEX calls_by_place ON calls (run, node, iteration, attempt, seq);

-- Every index ends in the row's key, so this one is in the order of (run, change).
CREATE INDEX calls_by_run ON calls (run);

-- The last change number that was given out. It is not the greatest in use: a row that carried it may be gone.
CREATE TABLE changes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last INTEGER NOT NULL
) STRICT;

INSERT INTO changes (id, last) VALUES (1, 0);

-- What readers of Smithers databases expect. An output over 200000 bytes is cut before the character that crosses the
-- bound; a byte between 80 and BF is never the first of a character.
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
    CASE status
        WHEN 'succeeded' THEN NULL
        ELSE json_object('code', envelope ->> '$.metadata.code', 'message', envelope ->> '$.error_text')
    END AS error_json
FROM (SELECT *, CAST(envelope -> '$.data' AS BLOB) AS data FROM calls WHERE status <> 'intended');
