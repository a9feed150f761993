-- A journal that haft 0.1.0 recorded with the first schema. Its last process was killed while a command ran.
-- Never changed: every later version reads it.
PRAGMA foreign_keys = OFF;
BEGIN TRANSACTION;
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
INSERT INTO "calls" VALUES(1,'first','main',0,1,1,'read','read','succeeded',1795253425515,1795253425516,'2e93e901f22271cf5a7ee6d9c50c3a374ece0af445999e681266179b029a0c19','2e93e901f22271cf5a7ee6d9c50c3a374ece0af445999e681266179b029a0c19',NULL,'{"path":"a.txt"}','[{"capability":"fs.read","path":"a.txt"}]','{"type":"output","data":"hello\n","metadata":{"duration_ms":4,"call_id":"first/main/0/1/1"}}');
INSERT INTO "calls" VALUES(3,'first','main',0,1,2,'write','once','succeeded',1795253425562,1795253425565,'7893be8e1551d740022b8c99eee0665b733a0858caa54cf9a84ac143b62e8ad0','7893be8e1551d740022b8c99eee0665b733a0858caa54cf9a84ac143b62e8ad0',NULL,'{"content":{"bytes":1,"sha256":"2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"},"path":"b.txt"}','[{"capability":"fs.write","path":"b.txt"}]','{"type":"output","data":"ok","metadata":{"duration_ms":6,"call_id":"first/main/0/1/2"}}');
INSERT INTO "calls" VALUES(4,'first','main',0,1,3,'read','read','failed',1795253425634,1795253425634,'083161b71d3018553180870c7ddb851c35b45577ea121b1ac4c3d8751881dabe','083161b71d3018553180870c7ddb851c35b45577ea121b1ac4c3d8751881dabe',NULL,'{"path":"missing"}','[{"capability":"fs.read","path":"missing"}]','{"type":"error","error_text":"path \"missing\" does not exist: use glob to find it","metadata":{"duration_ms":6,"call_id":"first/main/0/1/3","code":"TOOL_PATH_INVALID"}}');
INSERT INTO "calls" VALUES(5,'first','main',0,1,4,'webfetch','read','refused',1795253425686,1795253425686,'f634a0ed954c117ec1d10c7af78867b26cdc85a9ae2e0621eb5c264ea02371e6','f634a0ed954c117ec1d10c7af78867b26cdc85a9ae2e0621eb5c264ea02371e6',NULL,'{"bytes":28,"sha256":"42989840cf9315b45fd071af8b77d5d2f5e86ed8db9e10fa42fcfbe5318609f6"}','[]','{"type":"error","error_text":"no tool is called \"webfetch\": list the tools to see what there is","metadata":{"duration_ms":1,"call_id":"first/main/0/1/4","code":"TOOL_NOT_FOUND"}}');
INSERT INTO "calls" VALUES(6,'second','main',0,1,1,'bash','once','refused',1795253454594,1795253454594,'8c2c9587ce6789a1aa1cc2a554c7e6060afddc80ef3e39332836a12dd6174632','8c2c9587ce6789a1aa1cc2a554c7e6060afddc80ef3e39332836a12dd6174632',NULL,'{"command":"sleep 5"}','[]','{"type":"error","error_text":"invalid input for bash: command: no such parameter; cmd: required, but missing","metadata":{"duration_ms":4,"call_id":"second/main/0/1/1","code":"INVALID_INPUT"}}');
INSERT INTO "calls" VALUES(7,'second','main',0,1,2,'read','read','succeeded',1795253456084,1795253456085,'8d9524d67e58e8aaad4579a5165af5f564ac43c433cf657ffceeebc864ed2be4','8d9524d67e58e8aaad4579a5165af5f564ac43c433cf657ffceeebc864ed2be4',NULL,'{"path":"a.txt"}','[{"capability":"fs.read","path":"a.txt"}]','{"type":"output","data":"hello\n","metadata":{"duration_ms":3,"call_id":"second/main/0/1/2"}}');
INSERT INTO "calls" VALUES(8,'second','main',0,1,3,'bash','once','intended',1795253504715,NULL,'702b27ffdf4abc2b295df0e951049e409e243732060f34697c17e679869078c4','702b27ffdf4abc2b295df0e951049e409e243732060f34697c17e679869078c4',NULL,'{"cmd":"sleep 5"}','[{"capability":"shell.run","command":{"argv":["sleep","5"]}}]',NULL);
INSERT INTO "calls" VALUES(9,'second','main',0,1,4,'read','read','succeeded',1795253505719,1795253505719,'8d9524d67e58e8aaad4579a5165af5f564ac43c433cf657ffceeebc864ed2be4','164139e769cab57fed7b9e4681c46de780b296184d4f479047b1e1d501d504f0',NULL,'{"path":"a.txt"}','[{"capability":"fs.read","path":"a.txt"}]','{"type":"output","data":"hello\n","metadata":{"duration_ms":3,"call_id":"second/main/0/1/4"}}');
CREATE TABLE changes (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last INTEGER NOT NULL
) STRICT;
INSERT INTO "changes" VALUES(1,9);
CREATE TABLE runs (
    number INTEGER PRIMARY KEY, -- In the order in which runs began.
    id TEXT NOT NULL UNIQUE,
    front_end TEXT NOT NULL,
    root TEXT NOT NULL,
    version TEXT NOT NULL,
    started_at_ms INTEGER NOT NULL
) STRICT;
INSERT INTO "runs" VALUES(1,'first','cli','/project','0.1.0',1795253425514);
INSERT INTO "runs" VALUES(2,'second','cli','/project','0.1.0',1795253454592);
CREATE UNIQUE INDEX calls_by_place ON calls (run, node, iteration, attempt, seq);
CREATE INDEX calls_by_run ON calls (run);
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
COMMIT;
PRAGMA application_id = 0x68616674;
PRAGMA user_version = 1;
