-- Adds to intended calls what exactly is about to change, and says of each what became of that. The change number stays:
-- an amendment shows with the status that follows it. To do it twice is to do it once.
WITH given AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY run, node, iteration, attempt, seq ORDER BY number DESC) AS copy
    FROM unnest(
        $1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::text[]
    ) WITH ORDINALITY AS entry (run, node, iteration, attempt, seq, epoch, details, number)
), judged AS MATERIALIZED (
    SELECT
        given.*,
        calls.change,
        runs.owner_id,
        runs.owner_place,
        CASE
            WHEN runs.id IS NULL THEN 'unknown_run'
            WHEN runs.owner_id IS NULL OR runs.epoch <> given.epoch THEN 'fenced'
            WHEN calls.status IS DISTINCT FROM 'intended' THEN 'unfit'
            WHEN given.copy > 1 THEN 'done'
            ELSE 'fresh'
        END AS judgement
    FROM given
    LEFT JOIN haft.runs ON runs.id = given.run AND NOT runs.is_going
    LEFT JOIN haft.calls
        ON calls.run = given.run AND calls.node = given.node AND calls.iteration = given.iteration
        AND calls.attempt = given.attempt AND calls.seq = given.seq
), amended AS (
    UPDATE haft.calls SET details = judged.details
    FROM judged WHERE calls.change = judged.change AND judged.judgement = 'fresh'
)
SELECT judgement, owner_id, owner_place FROM judged ORDER BY number
