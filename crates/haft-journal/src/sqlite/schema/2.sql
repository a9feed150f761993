-- Leases, verdicts, snapshots and late outcomes. What an older haft left open is unknown from now on: it kept no lease, so
-- nobody can say that its owner still lives.

ALTER TABLE runs ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
ALTER TABLE runs ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;

-- Who has the run: all four, or none of them while the run is free.
ALTER TABLE runs ADD COLUMN owner_id TEXT;
ALTER TABLE runs ADD COLUMN owner_place TEXT;
ALTER TABLE runs ADD COLUMN held_since_ms INTEGER;
ALTER TABLE runs ADD COLUMN lease_expires_at_ms INTEGER;

-- How many owners in a row died without getting the run any further, and the last change number when the first of them
-- was given up.
ALTER TABLE runs ADD COLUMN fruitless INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN fruitless_since INTEGER NOT NULL DEFAULT 0;

-- A run that is being removed, which takes several commits when it is long. Nobody is shown it any more.
ALTER TABLE runs ADD COLUMN is_going INTEGER NOT NULL DEFAULT 0;

-- From here on the last change number is kept here only where no call has it: see the writer. A run that is made again
-- after it was removed counts its epochs on from the greatest that was removed.
ALTER TABLE changes ADD COLUMN epoch_floor INTEGER NOT NULL DEFAULT 0;

DROP VIEW _smithers_tool_calls;

-- There is no default for the epoch: an older haft that still has the file open must not record calls without one.
CREATE TABLE calls_with_epoch (
    change INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs (id),
    node TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    tool TEXT NOT NULL,
    effect TEXT NOT NULL CHECK (effect IN ('read', 'idempotent', 'once')),
    status TEXT NOT NULL CHECK (status IN ('intended', 'succeeded', 'failed', 'refused', 'unknown')),
    verdict TEXT CHECK (verdict IN ('happened', 'not_happened', 'retry')),
    settled_by TEXT CHECK (settled_by IN ('probe', 'operator')),
    started_at_ms INTEGER NOT NULL,
    finished_at_ms INTEGER,
    first_key TEXT NOT NULL,
    call_key TEXT NOT NULL,
    driver_call_id TEXT,
    input TEXT NOT NULL,
    accesses TEXT NOT NULL,
    details TEXT,
    envelope TEXT,
    CHECK (status IN ('intended', 'unknown') OR envelope IS NOT NULL),
    CHECK (status <> 'intended' OR envelope IS NULL),
    CHECK ((envelope IS NULL) = (finished_at_ms IS NULL)),
    CHECK ((verdict IS NULL) = (settled_by IS NULL))
) STRICT;

INSERT INTO calls_with_epoch
SELECT
    change, run, node, iteration, attempt, seq, 0, tool, effect, status, NULL, NULL, started_at_ms, finished_at_ms,
    first_key, call_key, driver_call_id, input, accesses, NULL, envelope
FROM calls
WHERE status <> 'intended';

INSERT INTO calls_with_epoch
SELECT
    (SELECT last FROM changes) + row_number() OVER (ORDER BY change), run, node, iteration, attempt, seq, 0, tool, effect,
    'unknown', NULL, NULL, started_at_ms, NULL, first_key, call_key, driver_call_id, input, accesses, NULL, NULL
FROM calls
WHERE status = 'intended';

DROP TABLE calls;
ALTER TABLE calls_with_epoch RENAME TO calls;

CREATE UNIQUE INDEX calls_by_place ON calls (run, node, iteration, attempt, seq);

-- Every index ends in the row's key, so this one is in the order of (run, change).
CREATE INDEX calls_by_run ON calls (run);

-- As small as the number of calls that are open, so that giving a run back costs the same however long it is.
CREATE INDEX calls_open ON calls (run) WHERE status = 'intended';

CREATE INDEX calls_by_driver ON calls (run, driver_call_id) WHERE driver_call_id IS NOT NULL;

-- Outcomes of calls whose run was somebody else's when they came.
CREATE TABLE late_outcomes (
    number INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs (id),
    node TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    epoch INTEGER NOT NULL,
    tool TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('succeeded', 'failed', 'refused', 'unknown')),
    finished_at_ms INTEGER NOT NULL,
    envelope TEXT NOT NULL
) STRICT;

CREATE INDEX late_outcomes_by_run ON late_outcomes (run);

CREATE TABLE snapshots (
    number INTEGER PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs (id),
    node TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    root TEXT NOT NULL,
    before TEXT,
    after TEXT,
    note TEXT,
    taken_at_ms INTEGER NOT NULL
) STRICT;

CREATE UNIQUE INDEX snapshots_by_place ON snapshots (run, node, iteration, attempt, seq, root);

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
