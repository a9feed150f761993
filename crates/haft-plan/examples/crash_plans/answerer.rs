//! A process that answers what the plan asks: its questions, and whether it may call its dangerous tool. It kills itself at a
//! random moment, and it ends when the worker that started it is gone. Now and then it answers about something else than is shown,
//! which must not count.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use haft::{AskKind, ShownAsk};
use haft_contract::sha256_hex;
use haft_faults::SeededRandom;
use haft_faults::crash::CrashTestError;
use haft_journal::{
    AskJournal as _, AskQuery, AskVerdict, JournalError, NewAskAnswer, SqliteJournal,
};
use serde_json::json;

use crate::script::{World, spoken_answer};

/// The first argument of such a process.
pub(crate) const ROLE: &str = "answer";
/// Longest life of such a process, in milliseconds.
const LIFE_MS_MAX: u64 = 600;
/// Longest time that a person takes to answer, in milliseconds.
const THINKING_MS_MAX: u64 = 20;

/// Answers the asks of a world until it is killed.
pub(crate) fn run(world: &str, seed: &str) -> Result<(), CrashTestError> {
    let world = World::at(Path::new(world));
    let mut random = SeededRandom::new(seed.parse()?);
    let life = Duration::from_millis(random.below(LIFE_MS_MAX));
    std::thread::spawn(move || {
        std::thread::sleep(life);
        std::process::exit(0);
    });
    std::thread::spawn(|| {
        // The pipe ends with the worker.
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(answer_asks(&world, &mut random))
}

async fn answer_asks(world: &World, random: &mut SeededRandom) -> Result<(), CrashTestError> {
    let journal = SqliteJournal::open(world.journal())?;
    let mut changes = journal.ask_changes();
    loop {
        for ask in journal.asks(AskQuery::pending()).await? {
            let Some(shown) = journal.shown_of_ask(&ask).await? else { continue };
            let parsed =
                ShownAsk::parse(&shown).ok_or("an ask shows something else than an ask")?;
            let content = match parsed.kind {
                AskKind::Question => {
                    let answers = parsed.questions.iter().map(|it| [spoken_answer(&it.question)]);
                    Some(json!(answers.collect::<Vec<_>>()).to_string())
                }
                AskKind::Tool => None,
                AskKind::Call => return Err("the rules allow all calls".into()),
            };
            parsed.check_answer(AskVerdict::Once, content.as_deref())?;
            tokio::time::sleep(Duration::from_millis(random.below(THINKING_MS_MAX))).await;
            let is_wrong = random.one_in(5);
            let shown_sha256 =
                if is_wrong { sha256_hex(b"other") } else { sha256_hex(shown.as_bytes()) };
            let answer = NewAskAnswer {
                ask: ask.id.clone(),
                verdict: AskVerdict::Once,
                by: "a person".to_owned(),
                through: "crash".to_owned(),
                shown_sha256,
                words: None,
                edited_input: content,
                now_ms: 1,
            };
            match journal.answer_ask(answer).await {
                Ok(_) if is_wrong => return Err("an answer about something else counted".into()),
                Ok(_) | Err(JournalError::AskEnded { .. }) => {}
                Err(JournalError::AskDiffers { .. }) if is_wrong => {}
                Err(err) => return Err(err.into()),
            }
        }
        changes.changed().await;
    }
}
