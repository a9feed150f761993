//! A turn of many steps, one call in each: the whole loop with its journal on disk and in memory, and the client that asks for the
//! same answers in the same order and does nothing with them. The entrants take turns.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use haft_agent::{TurnEnd, TurnPrompt};
use haft_contract::{BoxFuture, Effect};
use haft_journal::{Journal, MemoryJournal, SqliteJournal};
use haft_model::{Model, ModelAnswerStream, ModelError, ModelRequest};
use tokio_util::sync::CancellationToken;

use crate::Failure;
use crate::place::{Place, TOOLS, new_chat};
use crate::scripted::{self, ALL_DONE, prompt};

/// Keeps what it is asked, and passes it on.
struct Noting {
    model: Arc<dyn Model>,
    // The turn writes it, and the measurement reads it afterwards.
    requests: Mutex<Vec<ModelRequest>>,
}

impl Model for Noting {
    fn respond(
        &self,
        request: ModelRequest,
    ) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>> {
        // The turn's own is cancelled when the turn is over.
        let noted = ModelRequest { cancellation: CancellationToken::new(), ..request.clone() };
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(noted);
        self.model.respond(request)
    }

    fn takes_images(&self) -> bool {
        false
    }
}

/// The turns that are measured.
struct Turns {
    tool: &'static str,
    /// The requests of one of them.
    requests: Vec<ModelRequest>,
    model: Arc<dyn Model>,
    disk: Place,
    memory: Place,
}

pub(crate) async fn measure(
    directory: &Path,
    program: &Path,
    rounds: u32,
    calls: u32,
) -> Result<(), Failure> {
    let model = scripted::start(program, directory, &TOOLS.map(|(name, _)| name), calls)?;
    for (tool, effect) in TOOLS {
        let turns = Turns::begin(directory, tool, &model.model).await?;
        if turns.requests.len() != usize::try_from(calls)? + 1 {
            return Err(format!("{} requests were made", turns.requests.len()).into());
        }
        let what = if effect == Effect::Once { "once" } else { "read" };
        for round in 0..rounds {
            turns.round(round, &format!("a step with a {what} call")).await?;
        }
        turns.disk.close().await;
        turns.memory.close().await;
    }
    Ok(())
}

impl Turns {
    /// Makes ready, and has one turn of each entrant that does not count.
    async fn begin(
        directory: &Path,
        tool: &'static str,
        model: &Arc<dyn Model>,
    ) -> Result<Self, Failure> {
        let noting = Arc::new(Noting { model: Arc::clone(model), requests: Mutex::default() });
        let noted: Arc<dyn Model> = noting.clone();
        let first = Place::open(directory, Arc::new(MemoryJournal::new()), noted)?;
        turn(&first, tool).await?;
        first.close().await;
        let journal = SqliteJournal::open(directory.join(format!("{tool}.sqlite")))?;
        let place = |journal: Arc<dyn Journal>| Place::open(directory, journal, Arc::clone(model));
        let (disk, memory) = (place(Arc::new(journal))?, place(Arc::new(MemoryJournal::new()))?);
        let requests =
            std::mem::take(&mut *noting.requests.lock().unwrap_or_else(PoisonError::into_inner));
        let turns = Self { tool, requests, model: Arc::clone(model), disk, memory };
        for entrant in 0..3 {
            turns.one(entrant).await?;
        }
        Ok(turns)
    }

    async fn round(&self, round: u32, case: &str) -> Result<(), Failure> {
        for place in 0..3 {
            let (entrant, took) = self.one((round + place) % 3).await?;
            let step = took / u32::try_from(self.requests.len())?;
            println!("{case}\t{entrant}\t{}", step.as_nanos());
        }
        Ok(())
    }

    async fn one(&self, entrant: u32) -> Result<(&'static str, Duration), Failure> {
        Ok(match entrant {
            0 => ("haft", turn(&self.disk, self.tool).await?),
            1 => ("haft, journal in memory", turn(&self.memory, self.tool).await?),
            _ => ("the client alone", self.alone().await?),
        })
    }

    async fn alone(&self) -> Result<Duration, Failure> {
        let requests = self.requests.clone();
        let mut last = String::new();
        let begun = Instant::now();
        for request in requests {
            last = self.model.respond(request).await?.collect().await?.text;
        }
        let took = begun.elapsed();
        if last == ALL_DONE { Ok(took) } else { Err(last.into()) }
    }
}

async fn turn(place: &Place, tool: &str) -> Result<Duration, Failure> {
    let mut chat = place.host.begin(new_chat()).await?;
    let begun = Instant::now();
    let end =
        chat.run_turn(TurnPrompt::Message(prompt(tool).into()), CancellationToken::new()).await?;
    let took = begun.elapsed();
    match end {
        TurnEnd::Done { text } if text == ALL_DONE => Ok(took),
        end => Err(format!("the turn ended otherwise: {end:?}").into()),
    }
}
