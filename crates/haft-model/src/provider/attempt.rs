//! Asks until there is an answer: attempts with pauses while nothing was received, all of them within one time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use genai::chat::ChatRequest;
use genai::resolver::{AuthData, Endpoint};
use genai::{Headers, ModelIden, ServiceTarget};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::Bounds;
use super::failure::Failures;
use super::name::ModelName;
use super::reader::{Frames, Reader, Watch};
use super::secret::Secret;
use super::wire;
use crate::{Event, ModelError, Request, Retry};

/// What is asked, and how.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) name: ModelName,
    pub(super) url: String,
    /// Host and port, as they are named when nobody is there.
    pub(super) address: String,
    pub(super) client: genai::Client,
    pub(super) secret: Option<Secret>,
    /// The environment variable that the key came from, or the setting that would name one.
    pub(super) key_place: String,
    pub(super) bounds: Bounds,
}

type Events = mpsc::Sender<Result<Event, ModelError>>;

/// Sends the events of an answer to `request`, the last one being its end or an error.
pub(super) async fn answer(target: &Target, request: Request, events: &Events) {
    let total = target.bounds.total;
    let outcome = tokio::select! {
        biased;
        () = request.cancellation.cancelled() => Err(ModelError::Cancelled),
        outcome = attempts(target, &request, events) => outcome,
        () = tokio::time::sleep(total) => Err(ModelError::Timeout(total)),
    };
    if let Err(err) = outcome {
        // Whoever does not listen any more has dropped the answer.
        let _ = events.send(Err(err)).await;
    }
}

async fn attempts(target: &Target, request: &Request, events: &Events) -> Result<(), ModelError> {
    let chat = wire::request(request);
    let bounds = &target.bounds;
    let started = Instant::now();
    for retry in 0.. {
        let mut attempt = Attempt { target, request, events, received: false };
        let Err(err) = attempt.run(chat.clone()).await else {
            return Ok(());
        };
        let pause = pause(bounds, retry, err.retry_after());
        let is_last = attempt.received || !err.is_passing() || retry >= bounds.retries_max;
        let Some(pause) =
            pause.filter(|pause| !is_last && started.elapsed() + *pause < bounds.total)
        else {
            return Err(err);
        };
        let attempts_max = bounds.retries_max.saturating_add(1);
        let told = Retry { error: err, pause, attempt: retry + 2, attempts_max };
        if events.send(Ok(Event::Retry(told))).await.is_err() {
            return Ok(());
        }
        tokio::time::sleep(pause).await;
    }
    Ok(())
}

/// Returns how long to wait, or nothing if the provider wants to be left alone for longer than that is done.
fn pause(bounds: &Bounds, retry: u32, asked: Option<Duration>) -> Option<Duration> {
    let doubled = bounds.backoff_first.saturating_mul(2_u32.saturating_pow(retry));
    match asked {
        Some(asked) if asked > bounds.backoff_max => None,
        Some(asked) => Some(asked.max(doubled.min(bounds.backoff_max))),
        None => Some(doubled.min(bounds.backoff_max)),
    }
}

struct Attempt<'a> {
    target: &'a Target,
    request: &'a Request,
    events: &'a Events,
    received: bool,
}

impl Attempt<'_> {
    async fn run(&mut self, chat: ChatRequest) -> Result<(), ModelError> {
        let Target { name, client, bounds, .. } = self.target;
        let failures = Failures::new(self.target);
        let frames = Arc::new(Frames::default());
        let options = wire::options(self.request, name.wire.adapter(), bounds.idle)
            .with_raw_frame_sink(Watch(Arc::clone(&frames)));
        let response = client.exec_chat_stream(service(self.target), chat, Some(&options)).await;
        let mut stream = response.map_err(|err| failures.read(err, &frames))?.stream;
        let mut reader = Reader::new(name.wire, bounds.answer_bytes_max);
        // Bytes that never become an event are silence, too; the library gathers them without a bound.
        let silence = |_| failures.ended(ModelError::Idle(bounds.idle), &frames);
        while let Some(event) =
            tokio::time::timeout(bounds.idle, stream.next()).await.map_err(silence)?
        {
            let event = event.map_err(|err| failures.read(err, &frames))?;
            for event in reader.read(event).map_err(|err| failures.ended(err, &frames))? {
                self.received = true;
                let is_end = matches!(event, Event::End(_));
                if self.events.send(Ok(event)).await.is_err() || is_end {
                    return Ok(());
                }
            }
        }
        Err(failures.ended(ModelError::CutOff, &frames))
    }
}

/// URL and headers are ours, so that the library neither asks for a key nor reads an environment.
fn service(target: &Target) -> ServiceTarget {
    ServiceTarget {
        endpoint: Endpoint::from_owned(target.name.wire.base_url()),
        auth: AuthData::RequestOverride { url: target.url.clone(), headers: Headers::default() },
        model: ModelIden::new(target.name.wire.adapter(), target.name.model.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_heed_the_provider() {
        let bounds = Bounds::default();
        let seconds = Duration::from_secs;
        assert_eq!(pause(&bounds, 0, None), Some(Duration::from_millis(500)));
        assert_eq!(pause(&bounds, 2, None), Some(seconds(2)));
        assert_eq!(pause(&bounds, u32::MAX, None), Some(bounds.backoff_max));
        assert_eq!(pause(&bounds, 0, Some(seconds(7))), Some(seconds(7)));
        assert_eq!(pause(&bounds, 0, Some(bounds.backoff_max)), Some(bounds.backoff_max));
        assert_eq!(pause(&bounds, 0, Some(bounds.backoff_max + seconds(1))), None);
    }
}
