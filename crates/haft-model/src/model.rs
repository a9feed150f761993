//! The one trait that planner and agents ask through. It says nothing about how an answer comes to be.

use haft_contract::BoxFuture;

use crate::{ModelError, Request, Responding};

/// Answers requests, piece by piece.
///
/// ```
/// use haft_contract::BoxFuture;
/// use haft_model::{End, Event, Message, Model, ModelError, Request, Responding};
///
/// struct Echo;
///
/// impl Model for Echo {
///     fn respond(&self, request: Request) -> BoxFuture<'_, Result<Responding, ModelError>> {
///         let text = match request.messages.last() {
///             Some(Message::User(text)) => text.clone(),
///             _ => String::new(),
///         };
///         let events = [Event::Text(text), Event::End(End::default())];
///         Box::pin(async move { Ok(Responding::from_events(events.map(Ok))) })
///     }
/// }
/// ```
pub trait Model: Send + Sync {
    /// Sends `request` and returns the answer as it comes.
    ///
    /// Fails when nothing was received, nor anything tried again; what fails later is an item of the answer. Dropping either the future or the
    /// answer ends the work, as does [`Request::cancellation`].
    fn respond(&self, request: Request) -> BoxFuture<'_, Result<Responding, ModelError>>;
}
