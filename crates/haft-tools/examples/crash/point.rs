//! Places in the life of a call where a worker may be told to die, and a journal that has them around everything that it
//! records. Only this program knows them: haft itself has none.

use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use haft_contract::{CallId, RunId, Scope};
use haft_journal::{
    Answer, AttemptState, CallQuery, CallRow, ChatFirmness, ChatId, ChatMessage, ChatPart,
    ChatQuery, ChatRecord, ChatSession, Chats, Claim, Due, EarlierEffects, Finding, Holder, Intent,
    Journal, LateOutcome, Lease, MessageId, MessageQuery, NewRun, Outcome, PlannedCall, Pruned,
    RecordedCall, Retention, RunQuery, RunRow, Settlement, SnapshotNote, SqliteJournal,
};
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

    /// Returns where to say that the work is over, which whoever kills meanwhile tells the driver.
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
    pub(crate) fn new(inner: SqliteJournal, points: Arc<Points>, checkpoints: Checkpoints) -> Self {
        Self { inner, points, checkpoints }
    }

    fn between<'a, T: 'a>(
        &'a self,
        (before, after): (&'static str, &'static str),
        record: impl FnOnce(&'a SqliteJournal) -> Answer<'a, T>,
    ) -> Answer<'a, T> {
        self.points.pass(before);
        let answer = record(&self.inner);
        Box::pin(async move {
            let answered = answer.await;
            self.points.pass(after);
            answered
        })
    }
}

impl Chats for PointedJournal {
    fn record_chat(
        &self,
        lease: &Lease,
        records: Vec<ChatRecord>,
        firmness: ChatFirmness,
    ) -> Answer<'_, ()> {
        self.inner.record_chat(lease, records, firmness)
    }

    fn rewind_chat(&self, lease: &Lease, from: &MessageId, at_ms: u64) -> Answer<'_, u64> {
        self.inner.rewind_chat(lease, from, at_ms)
    }

    fn chat(&self, id: &ChatId) -> Answer<'_, Option<ChatSession>> {
        self.inner.chat(id)
    }

    fn chats(&self, query: ChatQuery) -> Answer<'_, Vec<ChatSession>> {
        self.inner.chats(query)
    }

    fn chat_messages(
        &self,
        chat: &ChatId,
        query: MessageQuery,
    ) -> Answer<'_, Vec<(ChatMessage, Vec<ChatPart>)>> {
        self.inner.chat_messages(chat, query)
    }
}

impl Journal for PointedJournal {
    fn open_run(&self, run: NewRun, claim: Claim) -> Answer<'_, Lease> {
        self.between(("before-open", "after-open"), |inner| inner.open_run(run, claim))
    }

    fn renew(&self, lease: Lease, claim: Claim) -> Answer<'_, ()> {
        self.inner.renew(lease, claim)
    }

    fn close_run(&self, lease: Lease) -> Answer<'_, ()> {
        self.between(("before-close", "after-close"), |inner| inner.close_run(lease))
    }

    fn holders(&self) -> Answer<'_, Vec<Holder>> {
        self.inner.holders()
    }

    fn abandon(&self, holder: Holder) -> Answer<'_, Vec<CallId>> {
        self.between(("before-abandon", "after-abandon"), |inner| inner.abandon(holder))
    }

    fn attempt(&self, scope: &Scope) -> Answer<'_, AttemptState> {
        self.inner.attempt(scope)
    }

    fn recorded(&self, scope: &Scope) -> Answer<'_, Vec<RecordedCall>> {
        self.inner.recorded(scope)
    }

    fn by_driver_id(&self, scope: &Scope, driver_call_id: &str) -> Answer<'_, Option<CallRow>> {
        self.inner.by_driver_id(scope, driver_call_id)
    }

    fn earlier_effects(&self, scope: &Scope, calls_max: u32) -> Answer<'_, EarlierEffects> {
        self.inner.earlier_effects(scope, calls_max)
    }

    fn intend(&self, call: PlannedCall) -> Answer<'_, Intent> {
        self.between(("before-intend", "after-intend"), |inner| inner.intend(call))
    }

    fn amend(&self, intent: &Intent, details: String) -> Answer<'_, ()> {
        self.between(("before-amend", "after-amend"), |inner| inner.amend(intent, details))
    }

    fn settle(&self, intent: Intent, outcome: Outcome) -> Answer<'_, ()> {
        let settled =
            self.between(("before-settle", "after-settle"), |inner| inner.settle(intent, outcome));
        Box::pin(async move {
            let settled = settled.await;
            self.checkpoints.after_outcome();
            settled
        })
    }

    fn refuse(&self, call: PlannedCall, outcome: Outcome) -> Answer<'_, ()> {
        self.between(("before-refuse", "after-refuse"), |inner| inner.refuse(call, outcome))
    }

    fn resolve(&self, settlement: Settlement) -> Answer<'_, CallRow> {
        self.between(("before-resolve", "after-resolve"), |inner| inner.resolve(settlement))
    }

    fn hear(&self, call: CallId) -> Answer<'_, ()> {
        self.between(("before-hear", "after-hear"), |inner| inner.hear(call))
    }

    fn note_snapshot(&self, note: SnapshotNote) -> Answer<'_, ()> {
        self.inner.note_snapshot(note)
    }

    fn snapshots(&self, run: &RunId, call: Option<&CallId>) -> Answer<'_, Vec<SnapshotNote>> {
        self.inner.snapshots(run, call)
    }

    fn late_outcomes(&self, run: &RunId) -> Answer<'_, Vec<LateOutcome>> {
        self.inner.late_outcomes(run)
    }

    fn calls(&self, query: CallQuery) -> Answer<'_, Vec<CallRow>> {
        self.inner.calls(query)
    }

    fn runs(&self, query: RunQuery) -> Answer<'_, Vec<RunRow>> {
        self.inner.runs(query)
    }

    fn prune(&self, retention: Retention) -> Answer<'_, Pruned> {
        self.inner.prune(retention)
    }

    fn due(&self, retention: Retention) -> Answer<'_, Due> {
        self.inner.due(retention)
    }

    fn verify(&self) -> Answer<'_, Vec<Finding>> {
        self.inner.verify()
    }
}
