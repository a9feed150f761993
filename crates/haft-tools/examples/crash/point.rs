//! Places in the life of a call where a worker may be told to die, and a journal that has them around everything that it
//! records. Only this program knows them: haft itself has none.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use haft_faults::{InterceptedJournal, JournalInterceptor, JournalMethod};
use haft_journal::{JournalFuture, SqliteJournal};
use rustix::process::{Signal, getpid, kill_process};

use crate::checkpoints::Checkpoints;
use crate::worker::say;

/// All places, in the order in which a life meets them.
pub(crate) const POINTS: [&str; 30] = [
    "before-abandon",
    "after-abandon",
    "before-open",
    "after-open",
    "before-intend",
    "after-intend",
    "before-amend",
    "after-amend",
    "before-first-snapshot",
    "mid-first-snapshot",
    "after-first-snapshot",
    "before-effect",
    "mid-effect",
    "after-effect",
    "before-second-snapshot",
    "mid-second-snapshot",
    "after-second-snapshot",
    "before-settle",
    "after-settle",
    "before-checkpoint",
    "mid-checkpoint",
    "after-checkpoint",
    "before-refuse",
    "after-refuse",
    "before-resolve",
    "before-hear",
    "after-hear",
    "after-resolve",
    "before-close",
    "after-close",
];

/// Those before and behind what the journal is asked for.
const AROUND_STEPS: [(JournalMethod, &str, &str); 9] = [
    (JournalMethod::AbandonRun, "before-abandon", "after-abandon"),
    (JournalMethod::OpenRun, "before-open", "after-open"),
    (JournalMethod::Intend, "before-intend", "after-intend"),
    (JournalMethod::Amend, "before-amend", "after-amend"),
    (JournalMethod::Settle, "before-settle", "after-settle"),
    (JournalMethod::Refuse, "before-refuse", "after-refuse"),
    (JournalMethod::Resolve, "before-resolve", "after-resolve"),
    (JournalMethod::Acknowledge, "before-hear", "after-hear"),
    (JournalMethod::CloseRun, "before-close", "after-close"),
];

/// Where a worker dies: at one of the places, after it was there so many times.
#[derive(Debug, Default)]
pub(crate) struct Points {
    deadly: String,
    left: AtomicU32,
    /// How long it lives on at a place that it can only be killed somewhere within.
    wait: Duration,
}

impl Points {
    /// Dies if this is the place and its time has come.
    pub(crate) fn pass(&self, point: &str) {
        if self.is_due(point) {
            die();
        }
    }

    /// Does some work, and dies somewhere within it if this is the place and its time has come.
    pub(crate) fn within<T>(&self, point: &str, work: impl FnOnce() -> T) -> T {
        let is_over = self.begin(point);
        let done = work();
        is_over.store(true, Ordering::SeqCst);
        done
    }

    /// As [`within`](Self::within), of work that is waited for.
    pub(crate) async fn within_async<T>(&self, point: &str, work: impl Future<Output = T>) -> T {
        let is_over = self.begin(point);
        let done = work.await;
        is_over.store(true, Ordering::SeqCst);
        done
    }

    /// Returns the flag that says that the work is over. A kill before that is reported to the driver.
    fn begin(&self, point: &str) -> Arc<AtomicBool> {
        let is_over = Arc::new(AtomicBool::new(false));
        if self.is_due(point) {
            let (over, end) = (Arc::clone(&is_over), Instant::now() + self.wait);
            std::thread::spawn(move || {
                while Instant::now() < end {
                    std::hint::spin_loop();
                }
                // Whether it can be said cannot matter: there is nothing else to do.
                let _ = say(format_args!("struck {}", !over.load(Ordering::SeqCst)));
                die();
            });
        }
        is_over
    }

    fn is_due(&self, point: &str) -> bool {
        point == self.deadly && self.left.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

/// Reads `PLACE:TIMES:WAIT_US`.
impl FromStr for Points {
    type Err = crate::Failure;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split(':').collect();
        let [deadly, times, wait_us] = parts.as_slice() else {
            return Err("expected PLACE:TIMES:WAIT_US".into());
        };
        let left = AtomicU32::new(times.parse()?);
        let wait = Duration::from_micros(wait_us.parse()?);
        Ok(Self { deadly: (*deadly).to_owned(), left, wait })
    }
}

/// Ends this process as nothing else does: no destructor runs, no buffer is written.
fn die() -> ! {
    loop {
        // Whether it failed cannot matter: there is nothing else to try.
        let _ = kill_process(getpid(), Signal::KILL);
    }
}

/// A journal with places to die around everything that changes it.
pub(crate) struct PointedJournal {
    inner: SqliteJournal,
    points: Arc<Points>,
    checkpoints: Checkpoints,
}

impl PointedJournal {
    pub(crate) fn new(
        inner: SqliteJournal,
        points: Arc<Points>,
        checkpoints: Checkpoints,
    ) -> InterceptedJournal<Self> {
        InterceptedJournal(Self { inner, points, checkpoints })
    }
}

impl JournalInterceptor for PointedJournal {
    type Inner = SqliteJournal;

    fn inner(&self) -> &SqliteJournal {
        &self.inner
    }

    fn around<'a, T: Send + 'a>(
        &'a self,
        step: JournalMethod,
        ask: impl FnOnce(&'a SqliteJournal) -> JournalFuture<'a, T>,
    ) -> JournalFuture<'a, T> {
        let points = AROUND_STEPS.iter().find(|(around, ..)| *around == step);
        let Some((_, before, after)) = points else { return ask(&self.inner) };
        self.points.pass(before);
        let answer = ask(&self.inner);
        Box::pin(async move {
            let answered = answer.await;
            self.points.pass(after);
            if step == JournalMethod::Settle {
                self.checkpoints.after_outcome();
            }
            answered
        })
    }
}
