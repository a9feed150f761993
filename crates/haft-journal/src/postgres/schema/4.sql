-- Columns and tables have the words that the rest of haft uses. Their old names stay readable for one release: columns as
-- generated ones, tables as views. Whether a call was held back is a column of its own; before, it was searched for in the
-- text of the answer each time.

ALTER TABLE haft.runs RENAME COLUMN epoch TO fencing_token;
ALTER TABLE haft.runs RENAME COLUMN owner_place TO owner_location;
ALTER TABLE haft.runs RENAME COLUMN fruitless TO failed_resumes;
ALTER TABLE haft.runs RENAME COLUMN fruitless_since TO failed_resumes_since;
ALTER TABLE haft.runs RENAME COLUMN is_going TO is_being_removed;
ALTER TABLE haft.runs
    ADD COLUMN epoch bigint GENERATED ALWAYS AS (fencing_token) STORED,
    ADD COLUMN owner_place text GENERATED ALWAYS AS (owner_location) STORED,
    ADD COLUMN fruitless bigint GENERATED ALWAYS AS (failed_resumes) STORED,
    ADD COLUMN fruitless_since bigint GENERATED ALWAYS AS (failed_resumes_since) STORED,
    ADD COLUMN is_going boolean GENERATED ALWAYS AS (is_being_removed) STORED;

-- Empty most of the time: sessions are listed without those whose run is being removed.
CREATE INDEX runs_being_removed ON haft.runs (id) WHERE is_being_removed;

ALTER TABLE haft.changes RENAME COLUMN epoch_floor TO removed_fencing_token;

ALTER TABLE haft.late_outcomes RENAME COLUMN epoch TO fencing_token;
ALTER TABLE haft.late_outcomes ADD COLUMN epoch bigint GENERATED ALWAYS AS (fencing_token) STORED;

ALTER TABLE haft.calls RENAME COLUMN epoch TO fencing_token;
ALTER TABLE haft.calls RENAME COLUMN heard TO acknowledged;
ALTER TABLE haft.calls
    ADD COLUMN held_back boolean NOT NULL DEFAULT false,
    ADD COLUMN epoch bigint GENERATED ALWAYS AS (fencing_token) STORED,
    ADD COLUMN heard boolean GENERATED ALWAYS AS (acknowledged) STORED;
UPDATE haft.calls SET held_back = true WHERE status = 'refused' AND position('"held_back":true' in envelope) > 0;

ALTER TABLE haft.chat_sessions RENAME TO sessions;
ALTER TABLE haft.chat_messages RENAME TO messages;
ALTER TABLE haft.chat_parts RENAME TO parts;
CREATE VIEW haft.chat_sessions AS SELECT * FROM haft.sessions;
CREATE VIEW haft.chat_messages AS SELECT * FROM haft.messages;
CREATE VIEW haft.chat_parts AS SELECT * FROM haft.parts;

-- The last commit of each process that writes. If a connection breaks during a commit, the next one finds out here
-- whether that commit took place.
CREATE TABLE haft.writers (
    id text COLLATE "C" PRIMARY KEY,
    last_commit bigint NOT NULL,
    written_at timestamptz NOT NULL
) WITH (fillfactor = 10);
