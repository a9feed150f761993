-- A journal that haft 0.1.0 recorded with the second schema: calls settled in time, too late, and later by a probe
-- and an operator; a run that was taken over, and one whose owner had it still.
-- Never changed: every later version reads it.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
CREATE TABLE "calls" (
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
INSERT INTO "calls" VALUES(2,'first','main',0,1,1,1,'write','once','succeeded',NULL,NULL,1795254000001,1795254000050,'7bcf9dc3341a4cd0771ed44b92977a9d7506244da573a3a0b3b1b0ef5873bbe2','7bcf9dc3341a4cd0771ed44b92977a9d7506244da573a3a0b3b1b0ef5873bbe2','toolu_1','{"path":"a"}','[]','{"files":[{"path":"a","before":null,"after":"2d71"}]}','{"type":"output","data":"ok","metadata":{"duration_ms":0}}');
INSERT INTO "calls" VALUES(3,'first','main',0,1,2,1,'read','read','succeeded',NULL,NULL,1795254000002,1795254000050,'0d08d2f13e03391895537236c331c18922c2441f9440b07434ca55eaceee0e92','0d08d2f13e03391895537236c331c18922c2441f9440b07434ca55eaceee0e92',NULL,'{"path":"a"}','[]',NULL,'{"type":"output","data":"x","metadata":{"duration_ms":0}}');
INSERT INTO "calls" VALUES(9,'first','main',0,1,5,1,'bash','once','unknown',NULL,NULL,1795254000005,NULL,'1d943369612e429a44ef3e53bdb925b049de129d480a5b00dbdca9368fa20f7b','1d943369612e429a44ef3e53bdb925b049de129d480a5b00dbdca9368fa20f7b',NULL,'{"cmd":"date"}','[]',NULL,NULL);
INSERT INTO "calls" VALUES(10,'first','main',0,1,3,1,'edit','once','failed','not_happened','probe',1795254000003,1795254002100,'c4f5d427a2e2d340898f58e21eb749607ea67d7e757dc8de1953606e0ac79c1e','c4f5d427a2e2d340898f58e21eb749607ea67d7e757dc8de1953606e0ac79c1e',NULL,'{"path":"a"}','[]','{"files":[{"path":"a","before":"2d71","after":"77aa"}]}','{"type":"error","error_text":"the file is as it was before","metadata":{"duration_ms":0,"code":"IN_DOUBT"}}');
INSERT INTO "calls" VALUES(11,'first','main',0,1,4,1,'bash','once','succeeded','happened','operator',1795254000004,1795254002200,'0e1ea5004f53d2ecf83c017db46fd957d00a1aba18c7ec619c3fe16e2b70675b','0e1ea5004f53d2ecf83c017db46fd957d00a1aba18c7ec619c3fe16e2b70675b',NULL,'{"cmd":"make"}','[]',NULL,'{"type":"output","data":"made","metadata":{"duration_ms":0}}');
INSERT INTO "calls" VALUES(13,'first','main',0,1,6,2,'edit','once','failed',NULL,NULL,1795254000006,1795254002300,'c4f5d427a2e2d340898f58e21eb749607ea67d7e757dc8de1953606e0ac79c1e','c4f5d427a2e2d340898f58e21eb749607ea67d7e757dc8de1953606e0ac79c1e',NULL,'{"path":"a"}','[]',NULL,'{"type":"error","error_text":"the file changed","metadata":{"duration_ms":0,"code":"TOOL_PATH_INVALID"}}');
INSERT INTO "calls" VALUES(14,'first','main',0,2,1,2,'bash','once','refused',NULL,NULL,1795254000001,1795254002400,'924bd1a9d67618c8c8f40318474fa7fb8c67f769eab78715ccc62f1276a3f610','924bd1a9d67618c8c8f40318474fa7fb8c67f769eab78715ccc62f1276a3f610','toolu_1','{"cmd":"rm x"}','[]',NULL,'{"type":"error","error_text":"rule 1 denies it","metadata":{"duration_ms":0,"code":"PERMISSION_DENIED"}}');
INSERT INTO "calls" VALUES(15,'second','main',0,1,1,1,'todo','idempotent','intended',NULL,NULL,1795254000001,NULL,'2a9a07ca787a8253dc8e2b17a515468133b2b5df7c267d44d73288bd807787db','2a9a07ca787a8253dc8e2b17a515468133b2b5df7c267d44d73288bd807787db','toolu_1','{}','[]',NULL,NULL);
CREATE TABLE changes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last INTEGER NOT NULL
, epoch_floor INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "changes" VALUES(1,0,0);
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
INSERT INTO "late_outcomes" VALUES(1,'first','main',0,1,4,1,'bash','succeeded',1795254000050,'{"type":"output","data":"made","metadata":{"duration_ms":0}}');
CREATE TABLE runs (
    number INTEGER PRIMARY KEY, -- In the order in which runs began.
    id TEXT NOT NULL UNIQUE,
    front_end TEXT NOT NULL,
    root TEXT NOT NULL,
    version TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL
, settings TEXT NOT NULL DEFAULT '{}', epoch INTEGER NOT NULL DEFAULT 0, owner_id TEXT, owner_place TEXT, held_since_ms INTEGER, lease_expires_at_ms INTEGER, fruitless INTEGER NOT NULL DEFAULT 0, fruitless_since INTEGER NOT NULL DEFAULT 0, is_going INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO "runs" VALUES(1,'first','cli','/project','0.1.0',1795254000000,'{"ignored":"excluded"}',2,NULL,NULL,NULL,NULL,0,6,0);
INSERT INTO "runs" VALUES(2,'second','cli','/project','0.1.0',1795254000000,'{}',1,'three','process of three',1795254003000,1795254063000,0,0,0);
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
INSERT INTO "snapshots" VALUES(1,'first','main',0,1,1,'/project','b1','a1',NULL,1795254000060);
CREATE UNIQUE INDEX calls_by_place ON calls (run, node, iteration, attempt, seq);
CREATE INDEX calls_by_run ON calls (run);
CREATE INDEX calls_open ON calls (run) WHERE status = 'intended';
CREATE INDEX calls_by_driver ON calls (run, driver_call_id) WHERE driver_call_id IS NOT NULL;
CREATE INDEX late_outcomes_by_run ON late_outcomes (run);
CREATE UNIQUE INDEX snapshots_by_place ON snapshots (run, node, iteration, attempt, seq, root);
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
COMMIT;
PRAGMA application_id = 0x68616674;
PRAGMA user_version = 2;
