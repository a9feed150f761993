//! A process that answers asks at random: it allows, rejects, and edits the input. Now and then it answers about something else
//! than is shown, which must not count.

use std::time::Duration;

use haft::ShownAsk;
use haft_contract::sha256_hex;
use haft_faults::SeededRandom;
use haft_journal::{
    AskJournal as _, AskQuery, AskVerdict, JournalError, NewAskAnswer, SqliteJournal,
};
use serde_json::json;

use crate::CrashFailure;
use crate::world::World;

/// Answers the asks of a world until it is killed.
pub(crate) fn run(args: &[String]) -> Result<(), CrashFailure> {
    let [_, directory, life, seed] = args else { return Err("expected a world and a seed".into()) };
    let world = World::at(directory.as_ref());
    let mut random = SeededRandom::new(seed.parse()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(answer_asks(&world, life, &mut random))
}

async fn answer_asks(
    world: &World,
    life: &str,
    random: &mut SeededRandom,
) -> Result<(), CrashFailure> {
    let journal = SqliteJournal::open(world.journal())?;
    let mut changes = journal.ask_changes();
    loop {
        for ask in journal.asks(AskQuery::pending()).await? {
            let Some(shown) = journal.shown_of_ask(&ask).await? else { continue };
            let Some(parsed) = ShownAsk::parse(&shown) else {
                return Err("an ask shows something else than an ask".into());
            };
            tokio::time::sleep(Duration::from_millis(random.below(30))).await;
            let verdict = match random.below(4) {
                0 => AskVerdict::Reject,
                1 => AskVerdict::Edited,
                _ => AskVerdict::Once,
            };
            let is_wrong = random.one_in(5);
            let shown_sha256 =
                if is_wrong { sha256_hex(b"other") } else { sha256_hex(shown.as_bytes()) };
            let edited = json!({"text": format!("edited-{}", parsed.ask)});
            let answer = NewAskAnswer {
                ask: ask.id.clone(),
                verdict,
                by: format!("life {life}"),
                through: "crash".to_owned(),
                shown_sha256,
                words: None,
                edited_input: (verdict == AskVerdict::Edited).then(|| edited.to_string()),
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
