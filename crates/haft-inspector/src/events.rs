//! The events that open pages get: which runs changed, the last change number of the journal, and how many asks wait. A page
//! then asks for what it shows. A stream looks at the journal itself, so nothing runs while no page is open.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream;
use haft_app::records::find_pending_asks;
use haft_contract::RunId;
use haft_journal::{CallOrder, CallQuery, Journal};
use serde_json::json;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep};

use crate::limits::{ALIVE_MS, FOLLOW_MS, FOLLOWED_CALLS_MAX};
use crate::page_error::PageError;
use crate::request::{InspectorRequest, parse_run};
use crate::response::{self, PageResponse};
use crate::source::Source;

/// A page that follows the journal.
struct JournalFollower {
    source: Arc<Source>,
    /// Only this run.
    run: Option<RunId>,
    /// Whether the page is told of asks only.
    only_asks: bool,
    /// The asks that waited at the last look.
    asks: Option<Vec<String>>,
    last_change: u64,
    /// The owners of runs when they were looked at last. The end of a run changes no call.
    holders: Option<BTreeMap<RunId, u64>>,
    told_at: Instant,
    is_begun: bool,
    _place: OwnedSemaphorePermit,
}

/// Returns the stream of events.
pub(crate) async fn follow(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let run = request.query("run").map(parse_run).transpose()?;
    let place = Arc::clone(&source.streams).try_acquire_owned();
    let place = place.map_err(|_| {
        PageError::conflict("too many pages are followed at the same time: close one of them")
    })?;
    let follower = JournalFollower {
        source: Arc::clone(source),
        run,
        only_asks: request.query("only") == Some("asks"),
        asks: None,
        last_change: request.number("after")?.unwrap_or(0),
        holders: None,
        told_at: Instant::now(),
        is_begun: false,
        _place: place,
    };
    Ok(response::event_stream(events(follower)))
}

fn events(follower: JournalFollower) -> impl Stream<Item = Bytes> + Send {
    stream::unfold(follower, |mut follower| async move {
        let event = follower.next_event().await;
        event.map(|event| (event, follower))
    })
}

impl JournalFollower {
    /// Waits for the next event. `None` ends the stream; the page then asks again.
    async fn next_event(&mut self) -> Option<Bytes> {
        if !self.is_begun {
            self.is_begun = true;
            return Some(Bytes::from_static(b"retry: 1000\n: haft\n\n"));
        }
        loop {
            sleep(Duration::from_millis(FOLLOW_MS)).await;
            let journal = match self.source.journal().await {
                Ok(Some(journal)) => journal,
                Ok(None) => continue,
                Err(_) => return None,
            };
            let Ok(asks) = find_pending_asks(&*journal).await else {
                self.source.forget_journal().await;
                return None;
            };
            let asks: Vec<String> = asks.into_iter().map(|ask| ask.id).collect();
            if self.asks.as_ref() != Some(&asks) {
                let data = json!({"pending": asks.len()});
                self.asks = Some(asks);
                self.told_at = Instant::now();
                return Some(Bytes::from(format!("event: asks\ndata: {data}\n\n")));
            }
            let changed = match self.only_asks {
                true => Ok(BTreeSet::new()),
                false => self.changed_runs(&*journal).await,
            };
            let Ok(changed) = changed else {
                self.source.forget_journal().await;
                return None;
            };
            if !changed.is_empty() {
                self.told_at = Instant::now();
                let runs: Vec<&str> = changed.iter().map(RunId::as_str).collect();
                let data = json!({"runs": runs, "last": self.last_change});
                return Some(Bytes::from(format!("event: change\ndata: {data}\n\n")));
            }
            if self.told_at.elapsed() >= Duration::from_millis(ALIVE_MS) {
                self.told_at = Instant::now();
                return Some(Bytes::from_static(b"event: alive\ndata: 1\n\n"));
            }
        }
    }

    /// Returns the runs that changed since the last look.
    async fn changed_runs(&mut self, journal: &dyn Journal) -> Result<BTreeSet<RunId>, PageError> {
        let query = CallQuery {
            run: self.run.clone(),
            after_change: Some(self.last_change),
            order: CallOrder::Change,
            limit: FOLLOWED_CALLS_MAX,
            ..CallQuery::default()
        };
        let calls = journal.calls(query).await?;
        self.last_change = calls.last().map_or(self.last_change, |last| last.change);
        let mut changed: BTreeSet<RunId> = calls.into_iter().map(|call| call.scope.run).collect();
        let holders = journal.lease_holders().await?.into_iter();
        let of_run = |run: &RunId| self.run.as_ref().is_none_or(|only| only == run);
        let holders: BTreeMap<RunId, u64> = holders
            .filter(|holder| of_run(&holder.run))
            .map(|holder| (holder.run, holder.fencing_token))
            .collect();
        if let Some(before) = &self.holders {
            let differs = |(run, token): &(&RunId, &u64), other: &BTreeMap<RunId, u64>| {
                other.get(*run) != Some(*token)
            };
            let begun = holders.iter().filter(|entry| differs(entry, before));
            let ended = before.iter().filter(|entry| differs(entry, &holders));
            changed.extend(begun.chain(ended).map(|(run, _)| run.clone()));
        }
        self.holders = Some(holders);
        Ok(changed)
    }
}
