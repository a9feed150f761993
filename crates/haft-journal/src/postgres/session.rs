//! A connection that is set up, and the next one when it breaks. Before the next one is used the server has ended what it
//! was still doing for the last one, so that nothing that was sent before the break can take effect behind what is
//! looked up after it. The reader and the writer decide how a session is used.

use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_postgres::{AsyncMessage, Client, Statement};

use super::address::Address;
use super::failure::Trouble;
use super::outage::Outage;
use super::{schema, tls};
use crate::limits::{CONNECT_MS_MAX, LOCK_WAIT_MS_MAX, RECONNECT_MS_MAX};

/// The oldest PostgreSQL that has all that is used here.
const SERVER_VERSION_MIN: i32 = 140_000;
/// The first pause between two attempts to connect; each is twice as long as the one before.
const PAUSE_MS_MIN: u64 = 20;
const PAUSE_MS_MAX: u64 = 1_000;

/// Grows with each change of asks that the server tells of.
pub(super) type AskNotices = Arc<watch::Sender<u64>>;

/// Says what a session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Write,
    Read,
}

/// A connection that is set up.
pub(super) struct Session {
    pub(super) client: Client,
    /// The statements that were used before, by their texts.
    statements: HashMap<String, Statement>,
    name: Name,
    /// Moves bytes between the client and the socket, until the session is dropped.
    driver: AbortHandle,
}

/// How the server's other sessions know this one.
#[derive(Clone, Debug)]
struct Name {
    pid: i32,
    /// The name that the session gave itself. A pooler may lend the same process to others, who bear other names.
    application: String,
}

/// The sessions of one role, one at a time.
pub(super) struct Link {
    address: Address,
    role: Role,
    session: Option<Session>,
    /// The session before, until it is known to be over.
    last: Option<Name>,
    /// The outage that callers are told about while there is none.
    pub(super) outage: Arc<Outage>,
    ask_changes: AskNotices,
}

impl Link {
    /// Connects for the first time, which is tried once.
    pub(super) async fn open(
        address: Address,
        role: Role,
        (outage, ask_changes): (Arc<Outage>, AskNotices),
    ) -> Result<Self, Trouble> {
        let session = Session::open(&address, role, &ask_changes).await;
        let session = Some(session.map_err(Trouble::while_connecting)?);
        Ok(Self { address, role, session, last: None, outage, ask_changes })
    }

    /// Returns a session that was not seen to break, connecting again for a bounded time if there is none.
    pub(super) async fn session(&mut self) -> Result<&mut Session, Trouble> {
        if self.session.as_ref().is_some_and(|session| session.client.is_closed()) {
            self.give_up();
        }
        let end = Instant::now() + Duration::from_millis(RECONNECT_MS_MAX);
        let mut pause_ms = PAUSE_MS_MIN;
        while self.session.is_none() {
            let opened = async {
                let session = Session::open(&self.address, self.role, &self.ask_changes).await?;
                if let (Role::Write, Some(last)) = (self.role, &self.last) {
                    session.end(last).await?;
                }
                Ok(session)
            };
            match opened.await {
                Ok(session) => {
                    self.last = None;
                    self.session = Some(session);
                    self.outage.set_reason(None);
                }
                Err(trouble) => {
                    if let Trouble::Lost(reason) = &trouble {
                        self.outage.set_reason(Some(reason.clone()));
                    }
                    let pause = Duration::from_millis(pause_ms);
                    if !matches!(trouble, Trouble::Lost(_)) || Instant::now() + pause >= end {
                        return Err(trouble.while_connecting());
                    }
                    tokio::time::sleep(pause).await;
                    pause_ms = (pause_ms * 2).min(PAUSE_MS_MAX);
                }
            }
        }
        Ok(self.session.as_mut().expect("there is a session now"))
    }

    /// Gives up the session, which broke.
    pub(super) fn give_up(&mut self) {
        if let Some(session) = self.session.take() {
            self.last = Some(session.name.clone());
        }
    }

    /// Returns a name that no other session has: that of the first one.
    pub(super) fn name(&self) -> String {
        self.session.as_ref().map_or_else(String::new, |session| session.name.application.clone())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Session {
    async fn open(
        address: &Address,
        role: Role,
        ask_changes: &AskNotices,
    ) -> Result<Self, Trouble> {
        let bound = Duration::from_millis(CONNECT_MS_MAX);
        // The client's own bound ends with the socket's connection, after which a server may still say nothing.
        let session =
            match tokio::time::timeout(bound, Self::connect(address, role, ask_changes)).await {
                Ok(session) => session?,
                Err(_) => {
                    let silence = format!("the server gave no answer for {CONNECT_MS_MAX} ms");
                    return Err(Trouble::Lost(silence));
                }
            };
        schema::bring_up_to_date(&session.client).await?;
        if role == Role::Read {
            // Some poolers cannot do this. Then changes are looked for.
            let _ = session.client.batch_execute("LISTEN haft_asks").await;
            ask_changes.send_modify(|count| *count += 1);
        }
        Ok(session)
    }

    async fn connect(
        address: &Address,
        role: Role,
        ask_changes: &AskNotices,
    ) -> Result<Self, Trouble> {
        let tls = tls::Connector::new(&address.trust).map_err(Trouble::Unreachable)?;
        let (client, mut connection) = address.config.connect(tls).await?;
        let ask_changes = Arc::clone(ask_changes);
        // A caller that waits for an answer gets the reason why the connection ended.
        let driver = async move {
            while let Some(Ok(message)) = poll_fn(|cx| connection.poll_message(cx)).await {
                if let AsyncMessage::Notification(_) = message {
                    ask_changes.send_modify(|count| *count += 1);
                }
            }
        };
        let driver = tokio::spawn(driver).abort_handle();
        let name = Name { pid: 0, application: String::new() };
        let mut session = Self { client, statements: HashMap::new(), name, driver };
        // A writer that falls silent in the middle of a transaction would keep all others waiting. The statements of a writer
        // are planned while the tables may be empty, and kept while the tables grow. So plans that are right only for
        // small tables are turned off.
        let of_role = match role {
            Role::Write => {
                "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; SET enable_hashjoin = off; \
                 SET enable_mergejoin = off; SET enable_bitmapscan = off"
            }
            Role::Read => "SET default_transaction_read_only = on",
        };
        let settings = format!(
            "SET search_path = pg_catalog; SET lock_timeout = {LOCK_WAIT_MS_MAX}; \
             SET idle_in_transaction_session_timeout = {LOCK_WAIT_MS_MAX}; SET jit = off; {of_role}"
        );
        session.client.batch_execute(&settings).await?;
        let row = session.client.query_typed_one(INTRODUCTION, &[]).await?;
        let version: i32 = row.try_get(2)?;
        if version < SERVER_VERSION_MIN {
            let (found, wanted) = (version / 10_000, SERVER_VERSION_MIN / 10_000);
            let reason = format!("the server is PostgreSQL {found}; expected {wanted} or newer");
            return Err(Trouble::Unreachable(reason));
        }
        let encoding: &str = row.try_get(3)?;
        if encoding != "UTF8" {
            let reason =
                format!("its encoding is {encoding}; expected UTF8, which holds every text");
            return Err(Trouble::NotAJournal(reason));
        }
        session.name = Name { pid: row.try_get(0)?, application: row.try_get(1)? };
        Ok(session)
    }

    /// Prepares the statements that were not used before.
    pub(super) async fn prepare(&mut self, texts: &[String]) -> Result<(), Trouble> {
        for text in texts {
            if !self.statements.contains_key(text) {
                let statement = self.client.prepare(text).await?;
                self.statements.insert(text.clone(), statement);
            }
        }
        Ok(())
    }

    /// Returns a statement that was prepared.
    pub(super) fn statement(&self, text: &str) -> &Statement {
        self.statements.get(text).expect("statements are prepared before they are used")
    }

    /// Ends another session and waits until it is over.
    async fn end(&self, other: &Name) -> Result<(), Trouble> {
        let wait_ms = i64::try_from(LOCK_WAIT_MS_MAX).unwrap_or(i64::MAX);
        let rows =
            self.client.query(SESSION_END, &[&other.pid, &other.application, &wait_ms]).await?;
        for row in rows {
            if !row.try_get::<_, bool>(0)? {
                let pid = other.pid;
                return Err(Trouble::Lost(format!(
                    "the server's process {pid} still works on what it was sent before its connection broke"
                )));
            }
        }
        Ok(())
    }
}

/// The name is one that no other session has; the server makes it up, because nothing here may. A server that loses
/// what it acknowledged unless it is told otherwise is told otherwise.
const INTRODUCTION: &str = "\
SELECT pg_backend_pid(), \
set_config('application_name', left(current_setting('application_name'), 26) || ' ' || gen_random_uuid(), false), \
current_setting('server_version_num')::int, current_setting('server_encoding'), \
CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END";

const SESSION_END: &str = "\
SELECT pg_terminate_backend(pid, $3::bigint) FROM pg_stat_activity WHERE pid = $1::int AND application_name = $2::text";
