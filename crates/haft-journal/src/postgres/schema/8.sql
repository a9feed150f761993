-- The short key of a run: the part of its id that is chance, or the whole id if a person chose it. People name runs by its
-- beginning. haft writes it with the run.

ALTER TABLE haft.runs ADD COLUMN short_key text COLLATE "C" NOT NULL DEFAULT '';

UPDATE haft.runs
SET short_key = CASE WHEN id ~ '^(run|ses)_[0-9A-Za-z]{26}$' THEN substr(id, 15) ELSE id END;

CREATE INDEX runs_by_short_key ON haft.runs (short_key, id);

-- Until when the owner of a run may have used it: the end of its latest lease. By this, the runs that were used last are found.

ALTER TABLE haft.runs ADD COLUMN held_until_ms bigint NOT NULL DEFAULT 0;

UPDATE haft.runs
SET held_until_ms = greatest(
    started_at_ms,
    lease_expires_at_ms,
    (SELECT max(calls.started_at_ms) FROM haft.calls WHERE calls.run = runs.id),
    (SELECT sessions.updated_at_ms FROM haft.sessions WHERE sessions.id = runs.id)
);

CREATE INDEX runs_by_use ON haft.runs (held_until_ms, number);

CREATE INDEX runs_of_root_by_use ON haft.runs (root, held_until_ms, number);
