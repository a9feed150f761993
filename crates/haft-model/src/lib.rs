//! Models: one trait, the request and the answer that pass through it, and one client for the providers that people
//! use. Whoever brings another model implements [`Model`]; tests bring a [`ScriptedModel`].
//!
//! Knows neither plans nor runs nor tools: a tool that is offered to a model is a name, a description and a schema. Reads no
//! environment: keys are looked up by a function that the caller hands in.
#![deny(missing_docs)]

mod answer;
mod error;
pub mod limits;
mod model;
mod provider;
mod request;
mod scripted;

pub use model::Model;
pub use request::{Arguments, Message, Request, ToolCall, ToolOffer};

pub use answer::{Answer, End, Event, Responding, Retry, Stop, Usage};
pub use error::ModelError;

pub use provider::{Bounds, Provider, Settings};
pub use scripted::ScriptedModel;
