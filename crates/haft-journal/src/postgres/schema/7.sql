-- Questions to a person about calls, with their answers. What an ask shows is in the content store until the ask ends. A call
-- may be asked about before it has a row, so no ask refers to one.

CREATE TABLE haft.asks (
    id text COLLATE "C" PRIMARY KEY,
    run text COLLATE "C" NOT NULL,
    node text COLLATE "C" NOT NULL,
    iteration bigint NOT NULL,
    attempt bigint NOT NULL,
    seq bigint NOT NULL,
    fencing_token bigint NOT NULL,
    tool text NOT NULL,
    front_end text NOT NULL,
    agents_json text NOT NULL,
    asker text NOT NULL,
    summary_json text NOT NULL,
    shown_sha256 text NOT NULL,
    shown_bytes bigint NOT NULL,
    asked_at_ms bigint NOT NULL,
    deadline_ms bigint,
    state text NOT NULL CHECK (state IN ('pending', 'answered', 'expired', 'withdrawn')),
    ended_at_ms bigint,
    verdict text CHECK (
        verdict IN (
            'once', 'session', 'session_exact', 'always', 'always_exact', 'edited', 'reject', 'reject_session'
        )
    ),
    answered_by text,
    answered_through text,
    answer_shown_sha256 text,
    words text,
    edited_sha256 text,
    edited_bytes bigint,
    received_at_ms bigint,
    CHECK ((state = 'answered') = (verdict IS NOT NULL)),
    CHECK ((edited_sha256 IS NULL) = (edited_bytes IS NULL))
);

CREATE INDEX asks_of_run ON haft.asks (run, state);

CREATE INDEX asks_by_state ON haft.asks (state, asked_at_ms);

-- Processes that wait for an answer listen to this.
CREATE FUNCTION haft.notify_asks() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $$
BEGIN
    NOTIFY haft_asks;
    RETURN NULL;
END
$$;

CREATE TRIGGER asks_changed AFTER INSERT OR UPDATE ON haft.asks
    FOR EACH STATEMENT EXECUTE FUNCTION haft.notify_asks();
