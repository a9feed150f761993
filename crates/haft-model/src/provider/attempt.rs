//! Sends a request until there is an answer: retries with pauses while nothing was received, within
//! one total time.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use genai::chat::ChatRequest;
use genai::resolver::{AuthData, Endpoint};
use genai::{Headers, ModelIden, ServiceTarget};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::connection::ProviderTarget;
use super::failure::ProviderErrorReader;
use super::reader::{ProviderStreamReader, StreamFrameFlags, StreamFrameObserver};
use super::wire;
use crate::settings::ModelAnswerBounds;
use crate::{ModelError, ModelEvent, ModelRequest, ModelRetry};

type ModelEventSender = mpsc::Sender<Result<ModelEvent, ModelError>>;

/// Sends the events of an answer to `request`; the last one is its end or an error.
pub(super) async fn answer(
    target: &ProviderTarget,
    request: ModelRequest,
    events: &ModelEventSender,
) {
    let total = target.bounds.total;
    let outcome = tokio::select! {
        biased;
        () = request.cancellation.cancelled() => Err(ModelError::Cancelled),
        outcome = attempts(target, &request, events) => outcome,
        () = tokio::time::sleep(total) => Err(ModelError::Timeout(total)),
    };
    if let Err(err) = outcome {
        // If the receiver is closed, the answer was dropped.
        let _ = events.send(Err(err)).await;
    }
}

async fn attempts(
    target: &ProviderTarget,
    request: &ModelRequest,
    events: &ModelEventSender,
) -> Result<(), ModelError> {
    let chat = wire::request(request);
    let bounds = &target.bounds;
    let started = Instant::now();
    for retry in 0.. {
        let mut attempt = ProviderAttempt { target, request, events, received: false };
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
        let retry_event = ModelRetry { error: err, pause, attempt: retry + 2, attempts_max };
        if events.send(Ok(ModelEvent::Retry(retry_event))).await.is_err() {
            return Ok(());
        }
        tokio::time::sleep(pause).await;
    }
    Ok(())
}

/// Returns the pause before a retry, or `None` if the provider asks for a longer pause than
/// allowed.
fn pause(bounds: &ModelAnswerBounds, retry: u32, requested: Option<Duration>) -> Option<Duration> {
    let doubled = bounds.backoff_first.saturating_mul(2_u32.saturating_pow(retry));
    match requested {
        Some(requested) if requested > bounds.backoff_max => None,
        Some(requested) => Some(requested.max(doubled.min(bounds.backoff_max))),
        None => Some(doubled.min(bounds.backoff_max)),
    }
}

struct ProviderAttempt<'a> {
    target: &'a ProviderTarget,
    request: &'a ModelRequest,
    events: &'a ModelEventSender,
    received: bool,
}

impl ProviderAttempt<'_> {
    async fn run(&mut self, chat: ChatRequest) -> Result<(), ModelError> {
        let ProviderTarget { name, client, bounds, .. } = self.target;
        let failures = ProviderErrorReader { target: self.target };
        let frames = Arc::new(StreamFrameFlags::default());
        let options = wire::options(self.request, wire::adapter(name.wire), bounds.idle)
            .with_raw_frame_sink(StreamFrameObserver(Arc::clone(&frames)));
        // With a URL and headers, the library neither asks for a key nor reads the environment.
        let service = ServiceTarget {
            endpoint: Endpoint::from_owned(name.wire.base_url()),
            auth: AuthData::RequestOverride {
                url: self.target.url.clone(),
                headers: Headers::default(),
            },
            model: ModelIden::new(wire::adapter(name.wire), name.model.clone()),
        };
        let response = client.exec_chat_stream(service, chat, Some(&options)).await;
        let mut stream = response.map_err(|err| failures.read(err, &frames))?.stream;
        let mut reader = ProviderStreamReader::new(name.wire, bounds.answer_bytes_max);
        // Bytes that never form an event also count as silence; the library collects them without a
        // limit.
        let silence = |_| failures.stream_end_error(ModelError::Idle(bounds.idle), &frames);
        while let Some(event) =
            tokio::time::timeout(bounds.idle, stream.next()).await.map_err(silence)?
        {
            let event = event.map_err(|err| failures.read(err, &frames))?;
            for event in
                reader.read(event).map_err(|err| failures.stream_end_error(err, &frames))?
            {
                self.received = true;
                let is_end = matches!(event, ModelEvent::End(_));
                if self.events.send(Ok(event)).await.is_err() || is_end {
                    return Ok(());
                }
            }
        }
        Err(failures.stream_end_error(ModelError::CutOff, &frames))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_bound_and_heed_the_provider() {
        let bounds = ModelAnswerBounds::default();
        let seconds = Duration::from_secs;
        assert_eq!(pause(&bounds, 0, None), Some(Duration::from_millis(500)));
        assert_eq!(pause(&bounds, 2, None), Some(seconds(2)));
        assert_eq!(pause(&bounds, u32::MAX, None), Some(bounds.backoff_max));
        assert_eq!(pause(&bounds, 0, Some(seconds(7))), Some(seconds(7)));
        assert_eq!(pause(&bounds, 0, Some(bounds.backoff_max)), Some(bounds.backoff_max));
        assert_eq!(pause(&bounds, 0, Some(bounds.backoff_max + seconds(1))), None);
    }
}
