//! Checkpoints: what is in the log beside the journal is copied into the journal while calls go on. SQLite does so by itself
//! when the log is a thousand pages long, which it never becomes in lives as short as these; so they are asked for.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use haft_faults::SeededRandom;
use rusqlite::Connection;

use crate::point::Points;
use crate::world::World;

/// Outcomes after which there is one, on average.
const OUTCOMES_EACH: u64 = 3;
/// How long one may wait for who is writing, in milliseconds.
const WAIT_MS_MAX: u64 = 5_000;
/// The checkpoint that SQLite makes by itself, the one that restarts the log, and the one when it closes the journal.
const KINDS: [&str; 3] = ["PASSIVE", "RESTART", "TRUNCATE"];

/// Decides when there is a checkpoint, and makes it.
pub(crate) struct Checkpoints {
    world: World,
    seed: u64,
    points: Arc<Points>,
    outcomes: AtomicU64,
}

impl Checkpoints {
    /// Returns those of one life.
    pub(crate) fn of_life(world: &World, seed: u64, life: u64, points: &Arc<Points>) -> Self {
        let seed = SeededRandom::from_seeds(seed, life).number();
        Self { world: world.clone(), seed, points: Arc::clone(points), outcomes: AtomicU64::new(0) }
    }

    /// Begins a checkpoint after some of the outcomes. No thread waits for it.
    pub(crate) fn after_outcome(&self) {
        let mut random =
            SeededRandom::from_seeds(self.seed, self.outcomes.fetch_add(1, Ordering::Relaxed));
        if !random.one_in(OUTCOMES_EACH) {
            return;
        }
        let (journal, points) = (self.world.journal(), Arc::clone(&self.points));
        let kind = random.choose(&KINDS);
        tokio::task::spawn_blocking(move || {
            points.pass("before-checkpoint");
            points.within("mid-checkpoint", || {
                if let Err(err) = make(&journal, kind) {
                    // The driver sees both.
                    eprintln!("a {kind} checkpoint failed: {err}");
                    std::process::exit(1);
                }
            });
            points.pass("after-checkpoint");
        });
    }
}

fn make(journal: &Path, kind: &str) -> rusqlite::Result<()> {
    let db = Connection::open(journal)?;
    db.busy_timeout(Duration::from_millis(WAIT_MS_MAX))?;
    // It does not matter whether the checkpoint is complete or stops before a page that is still read.
    db.query_row(&format!("PRAGMA wal_checkpoint({kind})"), [], |_| Ok(()))
}
