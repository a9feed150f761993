-- Repositories that a call changed, beside the snapshots around it. The view for readers of Smithers databases has its columns
-- under their names in camel case too, which PostgreSQL reads in double quotes.

ALTER TABLE haft.snapshots ADD COLUMN repositories text;

DROP VIEW haft._smithers_tool_calls;

CREATE VIEW haft._smithers_tool_calls AS
SELECT
    named.*,
    run_id AS "runId",
    node_id AS "nodeId",
    tool_name AS "toolName",
    input_json AS "inputJson",
    output_json AS "outputJson",
    started_at_ms AS "startedAtMs",
    finished_at_ms AS "finishedAtMs",
    error_json AS "errorJson"
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
    ) AS measured
) AS named;
