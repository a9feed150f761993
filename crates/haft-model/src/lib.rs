//! Models: one trait, its request and answer types, and a client for common providers. Other models
//! implement [`Model`]; tests use a [`ScriptedModel`].
//!
//! The crate knows neither plans nor runs nor tools: a tool that is offered to a model is a name, a
//! description and a schema. It reads no environment: the caller supplies a function that looks
//! keys up. The client is there with the feature `providers`; without it, the crate is light.
#![deny(missing_docs)]
#![cfg_attr(
    not(feature = "providers"),
    allow(dead_code, reason = "the client uses more of what names, settings and requests share")
)]

mod answer;
mod endpoint;
mod error;
pub mod limits;
mod model;
mod name;
#[cfg(feature = "providers")]
mod provider;
mod request;
mod scripted;
mod settings;

pub use model::Model;
pub use request::{
    ModelImage, ModelMessage, ModelRequest, ToolCall, ToolCallArguments, ToolOffer, UserMessage,
};

pub use answer::{
    ModelAnswer, ModelAnswerEnd, ModelAnswerStream, ModelEvent, ModelRetry, ModelStopReason,
    ModelUsage,
};
pub use error::ModelError;

#[cfg(feature = "providers")]
pub use provider::ProviderModel;
pub use scripted::ScriptedModel;
pub use settings::{ModelAnswerBounds, ModelSettings};
