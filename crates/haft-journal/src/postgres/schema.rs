//! The versions of the schema, and how a database gets from one to the next. A version is never skipped and never taken
//! back. A process waits while another one brings the database up to date.

use tokio_postgres::Client;

use super::failure::Trouble;

/// The steps from each version to the next; the version of a database is how many of them it has taken.
const STEPS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
    include_str!("schema/8.sql"),
];

/// The lock of those who change the schema: the letters of haft. Such locks are apart for each database.
const LOCK: i64 = 0x6861_6674;

/// How far a database has come, and how many things are in its schema `haft`.
const STATE: &str = "\
SELECT to_regclass('haft.schema_version') IS NOT NULL, \
EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('haft')::oid)";

/// Brings the database up to date, or says why it is not one that can be.
pub(super) async fn bring_up_to_date(client: &Client) -> Result<(), Trouble> {
    // Looked up without the lock first: most often there is nothing to do, and a user who may not create anything
    // may use what is there.
    if missing_steps(client).await?.is_empty() {
        return Ok(());
    }
    client
        .batch_execute(&format!("BEGIN READ WRITE; SELECT pg_advisory_xact_lock({LOCK})"))
        .await?;
    let result = async {
        // Counted under the lock: another process may have come first.
        let missing = missing_steps(client).await?;
        if missing.len() == STEPS.len() {
            client
                .batch_execute(
                    "CREATE SCHEMA IF NOT EXISTS haft; \
                     CREATE TABLE haft.schema_version (id bigint PRIMARY KEY CHECK (id = 1), version bigint NOT NULL); \
                     INSERT INTO haft.schema_version (id, version) VALUES (1, 0)",
                )
                .await?;
        }
        for step in missing {
            client.batch_execute(step).await?;
        }
        let version = format!("UPDATE haft.schema_version SET version = {}", STEPS.len());
        Ok(client.batch_execute(&version).await?)
    };
    let result: Result<(), Trouble> = result.await;
    let end = if result.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = client.batch_execute(end).await;
    result?;
    Ok(ended?)
}

/// Returns the steps that the database has not taken yet.
async fn missing_steps(client: &Client) -> Result<&'static [&'static str], Trouble> {
    let row = client.query_typed_one(STATE, &[]).await?;
    let (is_ours, is_used): (bool, bool) = (row.try_get(0)?, row.try_get(1)?);
    if !is_ours && is_used {
        let reason = "its schema `haft` belongs to another program".to_owned();
        return Err(Trouble::NotAJournal(reason));
    }
    if !is_ours {
        return Ok(STEPS);
    }
    let row = client.query_typed_one("SELECT version FROM haft.schema_version", &[]).await?;
    let version: i64 = row.try_get(0)?;
    let steps = usize::try_from(version).ok().and_then(|taken| STEPS.get(taken..));
    steps.ok_or_else(|| Trouble::Newer {
        found: version,
        supported: i64::try_from(STEPS.len()).unwrap_or(i64::MAX),
    })
}
