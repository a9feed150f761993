-- Repositories that a call changed, beside the snapshots around it. The view for readers of Smithers databases has its columns
-- under their names in camel case too.

ALTER TABLE snapshots ADD COLUMN repositories TEXT;

DROP VIEW _smithers_tool_calls;

-- What readers of Smithers databases expect. An output over 200000 bytes is cut before the character that crosses the
-- bound; a byte between 80 and BF is never the first of a character. A call whose owner died has no envelope.
CREATE VIEW _smithers_tool_calls AS
SELECT
    *,
    run_id AS runId,
    node_id AS nodeId,
    tool_name AS toolName,
    input_json AS inputJson,
    output_json AS outputJson,
    started_at_ms AS startedAtMs,
    finished_at_ms AS finishedAtMs,
    error_json AS errorJson
FROM (
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
    FROM (SELECT *, CAST(envelope -> '$.data' AS BLOB) AS data FROM calls WHERE status <> 'intended')
);
