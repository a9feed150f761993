-- Records how intended calls ended and says of each what became of that. $11 says that all this may have been committed
-- before, in a session that broke: then a row that ended as given is the one that was written.
WITH given AS MATERIALIZED (
    SELECT
        *,
        row_number() OVER (PARTITION BY run, node, iteration, attempt, seq, epoch ORDER BY number) AS copy
    FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[],
        $8::text[], $9::bigint[], $10::text[]
    ) WITH ORDINALITY AS entry (
        run, node, iteration, attempt, seq, epoch, tool,
        status, finished_at_ms, envelope, number
    )
), judged AS MATERIALIZED (
    SELECT
        given.*,
        calls.change,
        runs.owner_id,
        runs.owner_place,
        CASE
            WHEN $11::boolean AND calls.epoch = given.epoch AND calls.status = given.status
                AND calls.finished_at_ms = given.finished_at_ms AND calls.envelope = given.envelope THEN 'done'
            WHEN runs.id IS NULL THEN 'unknown_run'
            WHEN runs.owner_id IS NULL OR runs.epoch <> given.epoch THEN 'fenced'
            WHEN calls.status IS DISTINCT FROM 'intended' OR given.copy > 1 THEN 'unfit'
            ELSE 'fresh'
        END AS judgement
    FROM given
    LEFT JOIN haft.runs ON runs.id = given.run AND NOT runs.is_going
    LEFT JOIN haft.calls
        ON calls.run = given.run AND calls.node = given.node AND calls.iteration = given.iteration
        AND calls.attempt = given.attempt AND calls.seq = given.seq
), settled AS (
    UPDATE haft.calls
    SET change = (SELECT last FROM haft.changes WHERE id = 1) + fresh.place,
        status = fresh.status, finished_at_ms = fresh.finished_at_ms, envelope = fresh.envelope
    FROM (
        SELECT *, row_number() OVER (ORDER BY number) AS place FROM judged WHERE judgement = 'fresh'
    ) AS fresh
    WHERE calls.change = fresh.change
    RETURNING calls.change
), counted AS (
    UPDATE haft.changes SET last = (SELECT max(change) FROM settled)
    WHERE id = 1 AND EXISTS (SELECT FROM settled)
), late AS (
    INSERT INTO haft.late_outcomes (run, node, iteration, attempt, seq, epoch, tool, status, finished_at_ms, envelope)
    SELECT run, node, iteration, attempt, seq, epoch, tool, status, finished_at_ms, envelope
    FROM judged
    WHERE judgement = 'fenced' AND NOT ($11::boolean AND EXISTS (
        SELECT FROM haft.late_outcomes AS kept
        WHERE kept.run = judged.run AND kept.node = judged.node AND kept.iteration = judged.iteration
        AND kept.attempt = judged.attempt AND kept.seq = judged.seq AND kept.epoch = judged.epoch
    ))
    ORDER BY number
)
SELECT judgement, owner_id, owner_place FROM judged ORDER BY number
