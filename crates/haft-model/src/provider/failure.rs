//! Converts the client library's errors and providers' texts to errors. The key is redacted from
//! texts before anything else.

use std::time::Duration;

use genai::webc::StreamTimeout;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::connection::ProviderTarget;
use super::reader::StreamFrameFlags;
use crate::ModelError;
use crate::limits::{DETAIL_CHARS_MAX, ERROR_BYTES_MAX};

/// Phrases of providers for a request that is too long.
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

/// Phrases of providers for a used-up quota, for which waiting does not help.
const SPENT_MARKS: &[&str] = &[
    "insufficient_quota",
    "billing_hard_limit_reached",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
];

pub(super) struct ProviderErrorReader<'a> {
    pub(super) target: &'a ProviderTarget,
}

impl ProviderErrorReader<'_> {
    /// Converts an error of the library.
    pub(super) fn read(&self, err: genai::Error, frames: &StreamFrameFlags) -> ModelError {
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
                self.bad_answer(&format!("not JSON: {serde_error}"))
            }
            other => self.bad_answer(&other.to_string()),
        }
    }

    /// Returns the error for a stream that ended: without a single frame it never began.
    pub(super) fn stream_end_error(
        &self,
        err: ModelError,
        frames: &StreamFrameFlags,
    ) -> ModelError {
        match err {
            ModelError::CutOff if !frames.any() => self.bad_answer("no events came"),
            err => err,
        }
    }

    fn boxed(&self, err: genai::BoxError, frames: &StreamFrameFlags) -> ModelError {
        let err = match err.downcast::<genai::Error>() {
            // The library wraps the response with an error status exactly once.
            Ok(inner) => match *inner {
                genai::Error::HttpError { status, body, headers, .. } => {
                    return self.status(status, &body, &headers);
                }
                other => return self.bad_answer(&other.to_string()),
            },
            Err(err) => err,
        };
        if err.is::<StreamTimeout>() {
            return ModelError::Idle(self.target.bounds.idle);
        }
        match err.downcast::<reqwest::Error>() {
            Ok(err) if (err.is_body() || err.is_decode()) && frames.any() => ModelError::CutOff,
            Ok(err) => self.network(&err.without_url()),
            Err(err) => self.bad_answer(&err.to_string()),
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

    fn bad_answer(&self, detail: &str) -> ModelError {
        ModelError::BadAnswer { provider: self.provider(), detail: self.clean(detail) }
    }

    fn status(&self, status: StatusCode, body: &str, headers: &HeaderMap) -> ModelError {
        let provider = self.provider();
        let words = self.error_message(body);
        let detail = match words.is_empty() {
            true => format!("HTTP {}", status.as_u16()),
            false => format!("HTTP {}: {words}", status.as_u16()),
        };
        let retry_after = retry_after(headers).or_else(|| retry_delay(body));
        match status.as_u16() {
            401 => self.key_refused(detail),
            402 => ModelError::QuotaSpent { provider, detail },
            400 | 403 | 429 if contains_mark(body, SPENT_MARKS) => {
                ModelError::QuotaSpent { provider, detail }
            }
            403 => self.not_permitted(detail),
            404 => {
                let model = self.target.name.model.clone();
                ModelError::UnknownModel { provider, model, detail }
            }
            429 => ModelError::RateLimited { provider, retry_after, detail },
            400 | 413 | 422 if contains_mark(body, TOO_LONG_MARKS) => {
                ModelError::ContextTooLong { detail }
            }
            413 => ModelError::ContextTooLong { detail },
            300..400 => {
                let detail = format!("{detail}; it redirects, and redirects are not followed");
                ModelError::Rejected { provider, detail }
            }
            408 | 425 | 500..600 => ModelError::Overloaded { provider, retry_after, detail },
            _ => ModelError::Rejected { provider, detail },
        }
    }

    /// Converts an error that arrived as a stream event, without a status.
    fn event(&self, body: &str) -> ModelError {
        let (provider, detail, retry_after) =
            (self.provider(), self.error_message(body), retry_delay(body));
        let has = |marks: &[&str]| marks.iter().any(|mark| body.contains(mark));
        if contains_mark(body, TOO_LONG_MARKS) {
            ModelError::ContextTooLong { detail }
        } else if contains_mark(body, SPENT_MARKS) {
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
            None => ModelError::KeyRequired { provider, detail },
        }
    }

    fn not_permitted(&self, detail: String) -> ModelError {
        let (provider, key) = (self.provider(), self.target.key_place.clone());
        match self.target.secret {
            Some(_) => ModelError::NotPermitted { provider, key, detail },
            None => ModelError::KeyRequired { provider, detail },
        }
    }

    /// Returns the message in an error body, the title of an HTML page, or the body itself.
    fn error_message(&self, body: &str) -> String {
        let value: Option<Value> = serde_json::from_str(body).ok();
        let message = value.as_ref().and_then(|value| {
            ["/error/message", "/0/error/message", "/message", "/error", "/detail"]
                .iter()
                .find_map(|place| value.pointer(place)?.as_str())
        });
        self.clean(message.or_else(|| title(body)).unwrap_or(body))
    }

    /// Redacts the key from a text, and truncates the rest.
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

fn contains_mark(body: &str, marks: &[&str]) -> bool {
    let body = body.get(..body.floor_char_boundary(ERROR_BYTES_MAX)).unwrap_or_default();
    let body = body.to_lowercase();
    marks.iter().any(|mark| body.contains(mark))
}

/// Returns the title of an HTML page, which a gateway in front of a provider may send.
fn title(body: &str) -> Option<&str> {
    let (_, rest) = body.trim_start().strip_prefix('<')?.split_once("<title>")?;
    rest.split_once("</title>").map(|(title, _)| title.trim()).filter(|title| !title.is_empty())
}

/// Parses the requested pause. Dates are not supported, because they would need a clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"));
    seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// Parses the requested pause from the body, as Gemini sends it: `"retryDelay": "34s"`.
fn retry_delay(body: &str) -> Option<Duration> {
    let value: Value = serde_json::from_str(body).ok()?;
    let details = ["/error/details", "/0/error/details"];
    let details = details.iter().find_map(|place| value.pointer(place)?.as_array())?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}
