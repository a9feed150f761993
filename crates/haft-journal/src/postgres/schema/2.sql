-- Whether the driver was told what was found out about a call in doubt.
ALTER TABLE haft.calls ADD COLUMN heard boolean NOT NULL DEFAULT false;
