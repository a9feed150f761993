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
