-- The first schema. Files in this folder are never changed once released: a later version adds a file. Everything is in
-- a schema of its own, so that a database can hold other things too. Texts compare byte by byte.

CREATE TABLE haft.runs (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- In the order in which runs began.
    id text COLLATE "C" NOT NULL UNIQUE,
    front_end text NOT NULL,
    root text NOT NULL,
    version text NOT NULL,
    started_at_ms bigint NOT NULL,
    settings text NOT NULL,
    epoch bigint NOT NULL DEFAULT 0, -- Grows each time the run changes hands.
    owner_id text COLLATE "C", -- Null while nobody holds the run.
    owner_place text,
    held_since_ms bigint,
    lease_expires_at_ms bigint,
    fruitless bigint NOT NULL DEFAULT 0, -- How many owners in a row died without getting the run any further.
    fruitless_since bigint NOT NULL DEFAULT 0, -- The last change number when the first of them was given up.
    is_going boolean NOT NULL DEFAULT false, -- It is being removed, which takes several commits when it is long.
    CHECK ((owner_id IS NULL) = (owner_place IS NULL)),
    CHECK ((owner_id IS NULL) = (held_since_ms IS NULL)),
    CHECK ((owner_id IS NULL) = (lease_expires_at_ms IS NULL))
);

-- The change number moves with every change of the row, so that following the journal is reading on from a key. The run
-- of a call is looked up by whoever writes it, which happens one transaction at a time; a foreign key would look it
-- up again, and lock its row, for every call.
CREATE TABLE haft.calls (
    change bigint PRIMARY KEY,
    run text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    iteration bigint NOT NULL,
    attempt bigint NOT NULL,
    seq bigint NOT NULL,
    tool text COLLATE "C" NOT NULL,
    effect text NOT NULL CHECK (effect IN ('read', 'idempotent', 'once')),
    status text NOT NULL CHECK (status IN ('intended', 'succeeded', 'failed', 'refused', 'unknown')),
    verdict text CHECK (verdict IN ('happened', 'not_happened', 'retry')),
    settled_by text CHECK (settled_by IN ('probe', 'operator')),
    epoch bigint NOT NULL,
    started_at_ms bigint NOT NULL,
    finished_at_ms bigint,
    first_key text COLLATE "C" NOT NULL,
    call_key text COLLATE "C" NOT NULL,
    driver_call_id text COLLATE "C",
    input text NOT NULL,
    accesses text NOT NULL,
    details text,
    envelope text,
    CHECK ((verdict IS NULL) = (settled_by IS NULL)),
    CHECK (envelope IS NOT NULL OR status IN ('intended', 'unknown')),
    CHECK (status <> 'intended' OR envelope IS NULL),
    CHECK ((envelope IS NULL) = (finished_at_ms IS NULL))
);

CREATE UNIQUE INDEX calls_by_place ON haft.calls (run, node, iteration, attempt, seq);

-- For following a run. It is of an expression, so that only who asks for that very expression gets it: before the first
-- statistics are made, PostgreSQL takes it to be as good for finding a place as the index of places, and keeps to that.
CREATE INDEX calls_by_run ON haft.calls ((run || ''), change);

CREATE INDEX calls_by_driver_id ON haft.calls (run, driver_call_id) WHERE driver_call_id IS NOT NULL;

-- Small however long a run is, so that giving a run back costs nothing where nothing is open.
CREATE INDEX calls_open ON haft.calls (run) WHERE status = 'intended';

-- Outcomes of owners who had lost their run.
CREATE TABLE haft.late_outcomes (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    iteration bigint NOT NULL,
    attempt bigint NOT NULL,
    seq bigint NOT NULL,
    tool text NOT NULL,
    epoch bigint NOT NULL,
    status text NOT NULL CHECK (status IN ('succeeded', 'failed', 'refused', 'unknown')),
    finished_at_ms bigint NOT NULL,
    envelope text NOT NULL
);

CREATE INDEX late_outcomes_by_run ON haft.late_outcomes (run);

CREATE TABLE haft.snapshots (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    iteration bigint NOT NULL,
    attempt bigint NOT NULL,
    seq bigint NOT NULL,
    root text COLLATE "C" NOT NULL,
    before text,
    after text,
    note text,
    taken_at_ms bigint NOT NULL
);

CREATE UNIQUE INDEX snapshots_by_place ON haft.snapshots (run, node, iteration, attempt, seq, root);

-- The last change number that was given out. It is not the greatest in use: a row that carried it may be gone. Whoever
-- writes calls locks this row until the commit, so that change numbers become visible in their order, and so that what
-- a transaction has looked at stays as it is. Nearly empty pages keep the updates of the one row in place.
CREATE TABLE haft.changes (
    id bigint PRIMARY KEY CHECK (id = 1),
    last bigint NOT NULL,
    epoch_floor bigint NOT NULL DEFAULT 0 -- A run that is made again after it was removed counts its epochs on from here.
) WITH (fillfactor = 10);

INSERT INTO haft.changes (id, last) VALUES (1, 0);

-- What readers of Smithers databases expect. An output over 200000 bytes is cut before the character that crosses the
-- bound; a byte between 80 and BF, the first bits 10, is never the first of a character.
CREATE VIEW haft._smithers_tool_calls AS
SELECT
    run AS run_id,
    node AS node_id,
    iteration,
    attempt,
    seq,
    tool AS tool_name,
    input AS input_json,
    CASE
        WHEN octet_length(data) <= 200000 THEN data
        WHEN get_byte(bytes, 200000) & 192 <> 128 THEN convert_from(substr(bytes, 1, 200000), 'UTF8')
        WHEN get_byte(bytes, 199999) & 192 <> 128 THEN convert_from(substr(bytes, 1, 199999), 'UTF8')
        WHEN get_byte(bytes, 199998) & 192 <> 128 THEN convert_from(substr(bytes, 1, 199998), 'UTF8')
        ELSE convert_from(substr(bytes, 1, 199997), 'UTF8')
    END AS output_json,
    started_at_ms,
    finished_at_ms,
    CASE status WHEN 'succeeded' THEN 'success' ELSE 'error' END AS status,
    CASE
        WHEN status = 'succeeded' THEN NULL
        WHEN envelope IS NULL THEN '{"code":"IN_DOUBT","message":"haft ended before it was told how the call ended"}'
        ELSE '{"code":' || coalesce((envelope::json -> 'metadata' -> 'code')::text, 'null')
            || ',"message":' || coalesce((envelope::json -> 'error_text')::text, 'null') || '}'
    END AS error_json
FROM (
    SELECT *, convert_to(data, 'UTF8') AS bytes
    FROM (SELECT *, (envelope::json -> 'data')::text AS data FROM haft.calls WHERE status <> 'intended') AS answered
) AS measured;
