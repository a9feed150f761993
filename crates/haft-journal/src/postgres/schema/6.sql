-- The content store: texts that rows name by their size and SHA-256. They go when their run has ended, or with it.
CREATE TABLE haft.contents (
    run text COLLATE "C" NOT NULL,
    sha256 text COLLATE "C" NOT NULL,
    bytes bigint NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (run, sha256)
);
