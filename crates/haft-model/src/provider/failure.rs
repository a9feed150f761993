//! What went wrong, from the client library's errors and the provider's words. Words are cleaned of the key before anything
//! else is done with them.

use std::time::Duration;

use genai::webc::StreamTimeout;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::attempt::Target;
use super::reader::Frames;
use crate::ModelError;
use crate::limits::{DETAIL_CHARS_MAX, ERROR_BYTES_MAX};

/// What providers say of a request that is too long.
const TOO_LONG_MARKS: &[&str] = &[
    "context_length_exceeded",
    "context length",
    "context window",
    "prompt is too long",
    "input token count",
    "maximum number of tokens",
    "too many tokens",
    "exceeds the available context",
];

/// What providers say when what was paid for is used up. That is no matter of waiting.
const SPENT_MARKS: &[&str] = &[
    "insufficient_quota",
    "billing_hard_limit_reached",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
];

pub(super) struct Failures<'a> {
    target: &'a Target,
}

impl<'a> Failures<'a> {
    pub(super) fn new(target: &'a Target) -> Self {
        Self { target }
    }

    /// Reads an error of the library.
    pub(super) fn read(&self, err: genai::Error, frames: &Frames) -> ModelError {
        if frames.blocked() {
            return ModelError::Refused { detail: "the request was blocked".to_owned() };
        }
        match err {
            genai::Error::HttpError { status, body, headers, .. } => {
                self.status(status, &body, &headers)
            }
            genai::Error::ChatResponse { body, .. } => self.event(&body.to_string()),
            genai::Error::WebStream { error, .. } => self.boxed(error, frames),
            genai::Error::StreamParse { serde_error, .. } if serde_error.is_eof() => {
                ModelError::CutOff
            }
            genai::Error::StreamParse { serde_error, .. } => {
                self.bad(&format!("not JSON: {serde_error}"))
            }
            other => self.bad(&other.to_string()),
        }
    }

    /// Says what it means that a stream was over: without a single frame it never was one.
    pub(super) fn ended(&self, err: ModelError, frames: &Frames) -> ModelError {
        match err {
            ModelError::CutOff if !frames.any() => self.bad("no events came"),
            err => err,
        }
    }

    fn boxed(&self, err: genai::BoxError, frames: &Frames) -> ModelError {
        let err = match err.downcast::<genai::Error>() {
            // The library wraps an answer with an error status once, and nothing else.
            Ok(inner) => match *inner {
                genai::Error::HttpError { status, body, headers, .. } => {
                    return self.status(status, &body, &headers);
                }
                other => return self.bad(&other.to_string()),
            },
            Err(err) => err,
        };
        if err.is::<StreamTimeout>() {
            return ModelError::Idle(self.target.bounds.idle);
        }
        match err.downcast::<reqwest::Error>() {
            Ok(err) if err.is_body() || err.is_decode() => {
                self.ended_by_network(&err.without_url(), frames)
            }
            Ok(err) => self.network(&err.without_url()),
            Err(err) => self.bad(&err.to_string()),
        }
    }

    fn ended_by_network(&self, err: &reqwest::Error, frames: &Frames) -> ModelError {
        match frames.any() {
            true => ModelError::CutOff,
            false => self.network(err),
        }
    }

    fn network(&self, err: &reqwest::Error) -> ModelError {
        let mut cause: &dyn std::error::Error = err;
        while let Some(source) = cause.source() {
            cause = source;
        }
        let detail = self.clean(&format!("{}: {cause}", self.target.address));
        ModelError::Network { provider: self.provider(), detail }
    }

    fn bad(&self, detail: &str) -> ModelError {
        ModelError::BadAnswer { provider: self.provider(), detail: self.clean(detail) }
    }

    fn status(&self, status: StatusCode, body: &str, headers: &HeaderMap) -> ModelError {
        let provider = self.provider();
        let words = self.words(body);
        let detail = match words.is_empty() {
            true => format!("HTTP {}", status.as_u16()),
            false => format!("HTTP {}: {words}", status.as_u16()),
        };
        let retry_after = retry_after(headers).or_else(|| retry_delay(body));
        match status.as_u16() {
            401 => self.key_refused(detail),
            402 => ModelError::QuotaSpent { provider, detail },
            400 | 403 | 429 if says(body, SPENT_MARKS) => {
                ModelError::QuotaSpent { provider, detail }
            }
            403 => self.not_permitted(detail),
            404 => {
                let model = self.target.name.model.clone();
                ModelError::UnknownModel { provider, model, detail }
            }
            429 => ModelError::RateLimited { provider, retry_after, detail },
            400 | 413 | 422 if says(body, TOO_LONG_MARKS) => ModelError::ContextTooLong { detail },
            413 => ModelError::ContextTooLong { detail },
            300..400 => {
                let detail = format!("{detail}; it redirects, and redirects are not followed");
                ModelError::Rejected { provider, detail }
            }
            408 | 425 | 500..600 => ModelError::Overloaded { provider, retry_after, detail },
            _ => ModelError::Rejected { provider, detail },
        }
    }

    /// Reads an error that came as an event of a stream, without a status.
    fn event(&self, body: &str) -> ModelError {
        let (provider, detail, retry_after) =
            (self.provider(), self.words(body), retry_delay(body));
        let has = |marks: &[&str]| marks.iter().any(|mark| body.contains(mark));
        if says(body, TOO_LONG_MARKS) {
            ModelError::ContextTooLong { detail }
        } else if says(body, SPENT_MARKS) {
            ModelError::QuotaSpent { provider, detail }
        } else if has(&["rate_limit", "RESOURCE_EXHAUSTED"]) {
            ModelError::RateLimited { provider, retry_after, detail }
        } else if has(&["authentication_error", "invalid_api_key"]) {
            self.key_refused(detail)
        } else if has(&["permission_error"]) {
            self.not_permitted(detail)
        } else if has(&["overloaded", "server_error", "api_error", "UNAVAILABLE", "INTERNAL"]) {
            ModelError::Overloaded { provider, retry_after, detail }
        } else {
            ModelError::Rejected { provider, detail }
        }
    }

    fn key_refused(&self, detail: String) -> ModelError {
        let (provider, key) = (self.provider(), self.target.key_place.clone());
        match self.target.secret {
            Some(_) => ModelError::Authentication { provider, key, detail },
            None => ModelError::KeyWanted { provider, detail },
        }
    }

    fn not_permitted(&self, detail: String) -> ModelError {
        let (provider, key) = (self.provider(), self.target.key_place.clone());
        match self.target.secret {
            Some(_) => ModelError::NotPermitted { provider, key, detail },
            None => ModelError::KeyWanted { provider, detail },
        }
    }

    /// Returns the message inside an error body, the title of a page, or the body itself.
    fn words(&self, body: &str) -> String {
        let value: Option<Value> = serde_json::from_str(body).ok();
        let message = value.as_ref().and_then(|value| {
            ["/error/message", "/0/error/message", "/message", "/error", "/detail"]
                .iter()
                .find_map(|place| value.pointer(place)?.as_str())
        });
        self.clean(message.or_else(|| title(body)).unwrap_or(body))
    }

    /// Takes the key out of a text, and cuts what is left of it.
    fn clean(&self, text: &str) -> String {
        let bytes = text.floor_char_boundary(ERROR_BYTES_MAX);
        let text = text.get(..bytes).unwrap_or_default().trim();
        let text = match &self.target.secret {
            Some(secret) => secret.redact(text),
            None => text.to_owned(),
        };
        let plain = |one: char| if one.is_control() { ' ' } else { one };
        let mut short: String = text.chars().take(DETAIL_CHARS_MAX).map(plain).collect();
        if text.chars().nth(DETAIL_CHARS_MAX).is_some() {
            short.push('…');
        }
        short
    }

    fn provider(&self) -> String {
        self.target.name.provider().to_owned()
    }
}

fn says(body: &str, marks: &[&str]) -> bool {
    let body = body.get(..body.floor_char_boundary(ERROR_BYTES_MAX)).unwrap_or_default();
    let body = body.to_lowercase();
    marks.iter().any(|mark| body.contains(mark))
}

/// Returns the title of a page, which is what something says that stands before a provider.
fn title(body: &str) -> Option<&str> {
    let (_, rest) = body.trim_start().strip_prefix('<')?.split_once("<title>")?;
    rest.split_once("</title>").map(|(title, _)| title.trim()).filter(|title| !title.is_empty())
}

/// Reads how long to wait. Dates are not read: they would need a clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"));
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// Reads how long to wait where it is said in the body, as Gemini does: `"retryDelay": "34s"`.
fn retry_delay(body: &str) -> Option<Duration> {
    let value: Value = serde_json::from_str(body).ok()?;
    let details = ["/error/details", "/0/error/details"];
    let details = details.iter().find_map(|place| value.pointer(place)?.as_array())?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
