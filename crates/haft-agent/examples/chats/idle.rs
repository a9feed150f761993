//! Idle sessions. One process begins them. Another one opens all of them, and measures its memory before and after one more turn in
//! each.

use std::path::Path;
use std::sync::Arc;

use haft_agent::{AgentSession, TurnEnd, TurnPrompt};
use haft_journal::{Journal, SessionQuery, SqliteJournal};
use tokio_util::sync::CancellationToken;

use crate::Failure;
use crate::place::{Place, new_chat};
use crate::scripted::{self, GREETED, GREETING};

/// The turns in each session, with two messages each.
const TURNS: u32 = 3;

/// Begins the sessions, and one more that is opened first.
pub(crate) async fn fill(directory: &Path, program: &Path, chats: u32) -> Result<(), Failure> {
    let model = scripted::start(program, directory, &[], 0)?;
    let place = Place::open(directory, journal(directory)?, Arc::clone(&model.model))?;
    for _ in 0..=chats {
        let mut chat = place.host.begin(new_chat()).await?;
        for _ in 0..TURNS {
            greet(&mut chat).await?;
        }
    }
    place.close().await;
    Ok(())
}

/// Prints the memory of this process with one session, and with all of them.
pub(crate) async fn measure(directory: &Path, program: &Path) -> Result<(), Failure> {
    let model = scripted::start(program, directory, &[], 0)?;
    let journal = journal(directory)?;
    let query = SessionQuery { only_top: true, ..SessionQuery::default() };
    let mut rows = journal.sessions(query).await?.into_iter();
    let place = Place::open(directory, journal, Arc::clone(&model.model))?;
    // The first session also loads everything that all sessions share.
    let mut first = place.host.open(&rows.next().ok_or("there are no chats")?.id).await?;
    greet(&mut first).await?;
    println!("with one chat\t{}", resident_bytes()?);
    let mut chats = Vec::new();
    for row in rows {
        chats.push(place.host.open(&row.id).await?);
    }
    println!("opened\t{}", resident_bytes()?);
    for chat in &mut chats {
        greet(chat).await?;
    }
    println!("after one more turn\t{}", resident_bytes()?);
    drop((first, chats));
    place.close().await;
    Ok(())
}

fn journal(directory: &Path) -> Result<Arc<dyn Journal>, Failure> {
    Ok(Arc::new(SqliteJournal::open(directory.join("idle.sqlite"))?))
}

async fn greet(chat: &mut AgentSession) -> Result<(), Failure> {
    match chat.run_turn(TurnPrompt::Message(GREETING.into()), CancellationToken::new()).await? {
        TurnEnd::Done { text } if text == GREETED => Ok(()),
        end => Err(format!("the turn ended otherwise: {end:?}").into()),
    }
}

fn resident_bytes() -> Result<u64, Failure> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kilobytes.ok_or("the kernel does not say how much is resident")?.parse::<u64>()? * 1024)
}
