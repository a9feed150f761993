//! Short names of runs and sessions. haft makes an id of a time and of chance. The short name is the beginning of the part
//! by chance, just long enough that no other id of the journal begins the same way. A name that a person gave to a run is
//! short enough.

use haft_contract::RunId;
use haft_journal::{Journal, JournalError, RunQuery, SessionQuery};

/// Fewest characters of a short name.
const SHORT_CHARS_MIN: usize = 3;
/// Prefixes of the ids that haft makes.
const PREFIXES: [&str; 2] = ["run_", "ses_"];
/// Characters of such an id after its prefix.
const ID_CHARS: usize = 26;
/// Characters of these that tell the time. The rest is chance.
const TIME_CHARS: usize = 10;

/// The ids of all runs and sessions of a journal, and their short names.
#[derive(Clone, Debug, Default)]
pub struct ShortIds {
    /// The part by chance of each id, or the whole name, with the id; sorted.
    ids: Vec<(String, RunId)>,
}

impl ShortIds {
    /// Reads the ids of a journal.
    ///
    /// # Errors
    ///
    /// Fails if the journal does.
    pub async fn read(journal: &dyn Journal) -> Result<Self, JournalError> {
        let mut ids = Vec::new();
        let mut query = RunQuery { without_counts: true, ..RunQuery::default() };
        loop {
            let page = journal.runs(query.clone()).await?;
            let Some(oldest) = page.last() else { break };
            query.before = Some(oldest.id.clone());
            ids.extend(page.into_iter().map(|run| run.id));
        }
        // A session without a call has no run yet.
        let mut query = SessionQuery { with_opaque: true, ..SessionQuery::default() };
        loop {
            let page = journal.sessions(query.clone()).await?;
            let Some(oldest) = page.last() else { break };
            query.before = Some(oldest.id.clone());
            ids.extend(page.into_iter().map(|session| session.id.run()));
        }
        Ok(Self::of(ids))
    }

    /// Returns the short names of these ids.
    fn of(ids: Vec<RunId>) -> Self {
        let mut ids: Vec<(String, RunId)> = ids
            .into_iter()
            .map(|id| (chance_part(&id).unwrap_or(id.as_str()).to_owned(), id))
            .collect();
        ids.sort();
        ids.dedup();
        Self { ids }
    }

    /// Returns the short name of an id. It is the id itself if a person chose it, or if the journal does not have it.
    pub fn short(&self, id: &RunId) -> String {
        let Some(chance) = chance_part(id) else { return id.to_string() };
        let place = self.ids.partition_point(|(known, _)| known.as_str() < chance);
        let before = place.checked_sub(1).and_then(|place| self.ids.get(place));
        let after = self.ids.iter().skip(place).find(|(_, known)| known != id);
        let shared = before.into_iter().chain(after).map(|(known, _)| common_chars(known, chance));
        let chars = shared.max().map_or(0, |shared| shared + 1).max(SHORT_CHARS_MIN);
        chance.get(..chars).unwrap_or(id.as_str()).to_owned()
    }

    /// Returns the ids that a beginning may stand for: of the part by chance, or of the whole id.
    pub fn matching(&self, beginning: &str) -> Vec<RunId> {
        if beginning.is_empty() {
            return Vec::new();
        }
        let is_meant = |(chance, id): &&(String, RunId)| {
            chance.starts_with(beginning) || id.as_str().starts_with(beginning)
        };
        self.ids.iter().filter(is_meant).map(|(_, id)| id.clone()).collect()
    }
}

/// Returns the part of an id that is chance, if haft made the id.
fn chance_part(id: &RunId) -> Option<&str> {
    let digits = PREFIXES.iter().find_map(|prefix| id.as_str().strip_prefix(prefix))?;
    let is_made =
        digits.len() == ID_CHARS && digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
    digits.get(TIME_CHARS..).filter(|_| is_made)
}

fn common_chars(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> RunId {
        RunId::parse(text).unwrap()
    }

    #[test]
    fn a_short_name_is_as_long_as_it_takes() {
        let made = |chance: &str| run(&format!("run_01m84h1h4n{chance:0<16}"));
        let (one, two, three) = (made("k7f"), made("k7fxa"), made("m2p"));
        let ids = ShortIds::of(vec![one.clone(), two.clone(), three.clone(), run("nightly")]);
        for (id, expect) in
            [(&one, "k7f0"), (&two, "k7fx"), (&three, "m2p"), (&run("nightly"), "nightly")]
        {
            assert_eq!(ids.short(id), expect);
            assert_eq!(ids.matching(expect), std::slice::from_ref(id));
        }
        assert_eq!(ids.matching("k7f").len(), 2);
        assert_eq!(ids.matching("night"), [run("nightly")]);
        assert_eq!(ids.matching("run_01m84h1h4nk7fx"), [two]);
        assert!(ids.matching("x").is_empty() && ids.matching("").is_empty());
    }

    #[test]
    fn two_ids_that_begin_alike_for_long_keep_their_whole_chance() {
        let one = run(&format!("run_{}", "0".repeat(26)));
        let two = run(&format!("ses_{}", "0".repeat(26)));
        let ids = ShortIds::of(vec![one.clone(), two]);
        assert_eq!(ids.short(&one), one.as_str());
    }
}
