-- Questions to a person about calls, with their answers. What an ask shows is in the content store until the ask ends. A call
-- may be asked about before it has a row, so no ask refers to one.

CREATE TABLE asks (
    id TEXT NOT NULL PRIMARY KEY,
    run TEXT NOT NULL REFERENCES runs (id),
    node TEXT NOT NULL,
    iteration INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    fencing_token INTEGER NOT NULL,
    tool TEXT NOT NULL,
    front_end TEXT NOT NULL,
    agents_json TEXT NOT NULL,
    asker TEXT NOT NULL,
    summary_json TEXT NOT NULL,
    shown_sha256 TEXT NOT NULL,
    shown_bytes INTEGER NOT NULL,
    asked_at_ms INTEGER NOT NULL,
    deadline_ms INTEGER,
    state TEXT NOT NULL CHECK (state IN ('pending', 'answered', 'expired', 'withdrawn')),
    ended_at_ms INTEGER,
    verdict TEXT CHECK (
        verdict IN (
            'once', 'session', 'session_exact', 'always', 'always_exact', 'edited', 'reject', 'reject_session'
        )
    ),
    answered_by TEXT,
    answered_through TEXT,
    answer_shown_sha256 TEXT,
    words TEXT,
    edited_sha256 TEXT,
    edited_bytes INTEGER,
    received_at_ms INTEGER,
    CHECK ((state = 'answered') = (verdict IS NOT NULL)),
    CHECK ((edited_sha256 IS NULL) = (edited_bytes IS NULL))
) STRICT;

CREATE INDEX asks_of_run ON asks (run, state);

CREATE INDEX asks_by_state ON asks (state, asked_at_ms);
