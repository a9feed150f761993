-- The short key of a run: the part of its id that is chance, or the whole id if a person chose it. People name runs by its
-- beginning. haft writes it with the run.

ALTER TABLE runs ADD COLUMN short_key TEXT NOT NULL DEFAULT '';

UPDATE runs
SET short_key = CASE
    WHEN length(id) = 30 AND (id GLOB 'run_*' OR id GLOB 'ses_*') AND substr(id, 5) NOT GLOB '*[^0-9A-Za-z]*'
        THEN substr(id, 15)
    ELSE id
END;

CREATE INDEX runs_by_short_key ON runs (short_key, id);

-- Until when the owner of a run may have used it: the end of its latest lease. By this, the runs that were used last are found.

ALTER TABLE runs ADD COLUMN held_until_ms INTEGER NOT NULL DEFAULT 0;

UPDATE runs
SET held_until_ms = max(
    started_at_ms,
    coalesce(lease_expires_at_ms, 0),
    coalesce((SELECT max(calls.started_at_ms) FROM calls WHERE calls.run = runs.id), 0),
    coalesce((SELECT sessions.updated_at_ms FROM sessions WHERE sessions.id = runs.id), 0)
);

CREATE INDEX runs_by_use ON runs (held_until_ms, number);

CREATE INDEX runs_of_root_by_use ON runs (root, held_until_ms, number);
