-- The short key of a run: the part of its id that is chance, or the whole id if a person chose it. People name runs by its
-- beginning. haft writes it with the run.

ALTER TABLE haft.runs ADD COLUMN short_key text COLLATE "C" NOT NULL DEFAULT '';

UPDATE haft.runs
SET short_key = CASE WHEN id ~ '^(run|ses)_[0-9A-Za-z]{26}$' THEN substr(id, 15) ELSE id END;

CREATE INDEX runs_by_short_key ON haft.runs (short_key, id);
