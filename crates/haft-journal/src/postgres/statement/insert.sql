-- Records new calls and says of each what became of it. $18 says that all this may have been committed before, in a
-- session that broke: then a row that is there as given is the one that was written.
WITH given AS MATERIALIZED (
    SELECT
        *,
        -- Two of one commit that want the same place: the first gets it.
        row_number() OVER (PARTITION BY run, node, iteration, attempt, seq, epoch ORDER BY number) AS copy
    FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[], $8::text[],
        $9::text[], $10::bigint[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[],
        $17::text[]
    ) WITH ORDINALITY AS entry (
        run, node, iteration, attempt, seq, epoch, tool, effect,
        status, started_at_ms, finished_at_ms, first_key, call_key, driver_call_id, input, accesses,
        envelope, number
    )
), judged AS MATERIALIZED (
    SELECT
        given.*,
        runs.owner_id,
        runs.owner_place,
        CASE
            WHEN $18::boolean AND calls.epoch = given.epoch AND calls.call_key = given.call_key
                AND calls.started_at_ms = given.started_at_ms AND calls.status = given.status
                AND calls.finished_at_ms IS NOT DISTINCT FROM given.finished_at_ms THEN 'done'
            WHEN runs.id IS NULL THEN 'unknown_run'
            WHEN runs.owner_id IS NULL OR runs.epoch <> given.epoch THEN 'fenced'
            WHEN calls.change IS NOT NULL OR given.copy > 1 THEN 'unfit'
            ELSE 'fresh'
        END AS judgement
    FROM given
    LEFT JOIN haft.runs ON runs.id = given.run AND NOT runs.is_going
    LEFT JOIN haft.calls
        ON calls.run = given.run AND calls.node = given.node AND calls.iteration = given.iteration
        AND calls.attempt = given.attempt AND calls.seq = given.seq
), recorded AS (
    INSERT INTO haft.calls (
        change, run, node, iteration, attempt, seq, epoch, tool, effect, status, started_at_ms, finished_at_ms,
        first_key, call_key, driver_call_id, input, accesses, envelope
    )
    SELECT
        (SELECT last FROM haft.changes WHERE id = 1) + row_number() OVER (ORDER BY number),
        run, node, iteration, attempt, seq, epoch, tool, effect, status, started_at_ms, finished_at_ms,
        first_key, call_key, driver_call_id, input, accesses, envelope
    FROM judged WHERE judgement = 'fresh'
    RETURNING change
), counted AS (
    UPDATE haft.changes SET last = (SELECT max(change) FROM recorded)
    WHERE id = 1 AND EXISTS (SELECT FROM recorded)
), late AS (
    INSERT INTO haft.late_outcomes (run, node, iteration, attempt, seq, epoch, tool, status, finished_at_ms, envelope)
    SELECT run, node, iteration, attempt, seq, epoch, tool, status, finished_at_ms, envelope
    FROM judged
    WHERE judgement = 'fenced' AND envelope IS NOT NULL AND NOT ($18::boolean AND EXISTS (
        SELECT FROM haft.late_outcomes AS kept
        WHERE kept.run = judged.run AND kept.node = judged.node AND kept.iteration = judged.iteration
        AND kept.attempt = judged.attempt AND kept.seq = judged.seq AND kept.epoch = judged.epoch
    ))
    ORDER BY number
)
SELECT judgement, owner_id, owner_place FROM judged ORDER BY number
