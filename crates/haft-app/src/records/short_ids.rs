//! Short names of runs and sessions: the beginning of the short key of an id, just long enough that no other id of the journal
//! begins the same way. A name that a person gave to a run is short enough. The journal looks only at neighbours of an id, so the
//! cost does not grow with the number of runs.

use haft_contract::RunId;
use haft_journal::{Journal, JournalError, is_made_id, short_key};

/// Fewest characters of a short name.
const SHORT_CHARS_MIN: usize = 3;

/// Returns the short name of an id. It is the id itself if a person chose it, or if no beginning of its short key is unique.
///
/// # Errors
///
/// Fails if the journal does.
pub async fn short_id(journal: &dyn Journal, id: &RunId) -> Result<String, JournalError> {
    if !is_made_id(id) {
        return Ok(id.to_string());
    }
    let shared = journal.shared_key_chars(id).await?;
    let chars = shared.map_or(0, |shared| shared + 1).max(SHORT_CHARS_MIN);
    Ok(short_key(id).get(..chars).unwrap_or(id.as_str()).to_owned())
}

#[cfg(test)]
mod tests {
    use haft_journal::{LeaseOwner, LeaseRequest, MemoryJournal, NewRun};

    use super::*;

    async fn begin(journal: &MemoryJournal, id: &str) -> RunId {
        let id = RunId::parse(id).unwrap();
        let run = NewRun {
            id: id.clone(),
            front_end: "cli".to_owned(),
            root: "/w".to_owned(),
            started_at_ms: 1,
            version: "0".to_owned(),
            settings: "{}".to_owned(),
        };
        let owner = LeaseOwner { id: id.to_string(), location: "here".to_owned() };
        journal.open_run(run, LeaseRequest { owner, now_ms: 1, lasts_ms: 1 }).await.unwrap();
        id
    }

    #[tokio::test]
    async fn a_short_name_is_as_long_as_it_takes() {
        let journal = MemoryJournal::new();
        let made = |chance: &str| format!("run_01m84h1h4n{chance:0<16}");
        let one = begin(&journal, &made("k7f")).await;
        let two = begin(&journal, &made("k7fxa")).await;
        let three = begin(&journal, &made("m2p")).await;
        let named = begin(&journal, "nightly").await;
        for (id, expect) in [(&one, "k7f0"), (&two, "k7fx"), (&three, "m2p"), (&named, "nightly")] {
            assert_eq!(short_id(&journal, id).await.unwrap(), expect);
            let found = journal.runs_beginning_with(expect).await.unwrap();
            assert_eq!(found, std::slice::from_ref(id));
        }
        let beginning = async |text: &str| journal.runs_beginning_with(text).await.unwrap();
        assert_eq!(beginning("k7f").await.len(), 2);
        assert_eq!(beginning("night").await, [named]);
        assert_eq!(beginning("run_01m84h1h4nk7fx").await, [two]);
        assert!(beginning("x").await.is_empty() && beginning("").await.is_empty());
    }

    #[tokio::test]
    async fn two_ids_that_begin_alike_for_long_keep_their_whole_chance() {
        let journal = MemoryJournal::new();
        let one = begin(&journal, &format!("run_{}", "0".repeat(26))).await;
        begin(&journal, &format!("ses_{}", "0".repeat(26))).await;
        assert_eq!(short_id(&journal, &one).await.unwrap(), one.as_str());
    }
}
