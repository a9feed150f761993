//! Why there is no answer, as data to act on and as a message that says what to do. No message holds a key: what providers
//! say is cleaned before it gets here.

use std::time::Duration;

/// Why a model gave no answer, or no whole one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The settings cannot work; nothing was sent.
    #[error("{0}")]
    Settings(String),
    /// There is no key; nothing was sent.
    #[error("there is no key for {provider}: set {variable}")]
    NoKey {
        /// Who would be asked.
        provider: String,
        /// The environment variable that is to hold the key.
        variable: String,
    },
    /// The key is not accepted.
    #[error("{provider} did not accept the key: check that {key} is set and valid ({detail})")]
    Authentication {
        /// Who was asked.
        provider: String,
        /// Where the key is looked up.
        key: String,
        /// What the provider said.
        detail: String,
    },
    /// Too much was asked in a short time.
    #[error("{provider} limits how often it is asked{}: wait and try again, or ask less ({detail})", after(*.retry_after))]
    RateLimited {
        /// Who was asked.
        provider: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
        /// What it said.
        detail: String,
    },
    /// The provider cannot answer at the moment.
    #[error("{provider} cannot answer at the moment{}: try again later ({detail})", after(*.retry_after))]
    Overloaded {
        /// Who was asked.
        provider: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
        /// What it said.
        detail: String,
    },
    /// The request is longer than the model can read.
    #[error(
        "the request is longer than the model can read: offer fewer tools, shorten the conversation, or take another model ({detail})"
    )]
    ContextTooLong {
        /// What the provider said.
        detail: String,
    },
    /// The model, or a filter around it, would not answer.
    #[error("the model refused to answer: say it differently, or take another model ({detail})")]
    Refused {
        /// Why.
        detail: String,
    },
    /// The provider would not take the request.
    #[error("{provider} did not take the request: check the model's name and base_url ({detail})")]
    Rejected {
        /// Who was asked.
        provider: String,
        /// What it said.
        detail: String,
    },
    /// What came back is not what this provider's answers are like.
    #[error(
        "{provider} answered something that cannot be read: check that base_url speaks its format ({detail})"
    )]
    BadAnswer {
        /// Who was asked.
        provider: String,
        /// What was wrong.
        detail: String,
    },
    /// The answer is longer than is read.
    #[error("the answer is longer than is read: set max_output_tokens, or ask for less")]
    TooLong,
    /// The answer broke off.
    #[error("the answer broke off before its end: try again")]
    CutOff,
    /// The time for the whole answer was over.
    #[error("no whole answer within {} s: ask for less, or allow more time", .0.as_secs_f32())]
    Timeout(Duration),
    /// Nothing came for too long.
    #[error("nothing came from the model for {} s: try again, or allow a longer silence", .0.as_secs_f32())]
    Idle(Duration),
    /// The provider cannot be reached.
    #[error("cannot reach {provider}: check the network and base_url ({detail})")]
    Network {
        /// Who was asked.
        provider: String,
        /// What failed.
        detail: String,
    },
    /// The caller cancelled it.
    #[error("the answer was not waited for: it was cancelled")]
    Cancelled,
}

impl ModelError {
    /// Returns whether the same request may succeed when it is made again.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Network { .. }
            | Self::CutOff
            | Self::Idle(_) => true,
            Self::Settings(_)
            | Self::NoKey { .. }
            | Self::Authentication { .. }
            | Self::ContextTooLong { .. }
            | Self::Refused { .. }
            | Self::Rejected { .. }
            | Self::BadAnswer { .. }
            | Self::TooLong
            | Self::Timeout(_)
            | Self::Cancelled => false,
        }
    }

    /// Returns how long the provider wants to be left alone, where it said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => {
                *retry_after
            }
            Self::Settings(_)
            | Self::NoKey { .. }
            | Self::Authentication { .. }
            | Self::ContextTooLong { .. }
            | Self::Refused { .. }
            | Self::Rejected { .. }
            | Self::BadAnswer { .. }
            | Self::TooLong
            | Self::CutOff
            | Self::Timeout(_)
            | Self::Idle(_)
            | Self::Network { .. }
            | Self::Cancelled => None,
        }
    }
}

fn after(retry_after: Option<Duration>) -> String {
    retry_after.map(|time| format!(" for {} s", time.as_secs_f32())).unwrap_or_default()
}
