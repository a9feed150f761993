//! The trait through which the planner and agents ask a model. It does not say how answers are
//! produced.

use haft_contract::BoxFuture;

use crate::{ModelAnswerStream, ModelError, ModelRequest};

/// Answers requests as streams of events.
///
/// ```
/// use haft_contract::BoxFuture;
/// use haft_model::{ModelAnswerEnd, ModelEvent, ModelMessage, Model, ModelError, ModelRequest, ModelAnswerStream};
///
/// struct Echo;
///
/// impl Model for Echo {
///     fn respond(&self, request: ModelRequest) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>> {
///         let text = match request.messages.last() {
///             Some(ModelMessage::User(message)) => message.text.clone(),
///             _ => String::new(),
///         };
///         let events = [ModelEvent::Text(text), ModelEvent::End(ModelAnswerEnd::default())];
///         Box::pin(async move { Ok(ModelAnswerStream::from_events(events.map(Ok))) })
///     }
///
///     fn takes_images(&self) -> bool {
///         false
///     }
/// }
/// ```
pub trait Model: Send + Sync {
    /// Sends `request` and returns the answer as a stream.
    ///
    /// Fails if nothing was received and no retry is left to make; later failures are items of the
    /// answer. Dropping the future or the answer cancels the request, as does
    /// [`ModelRequest::cancellation`].
    fn respond(
        &self,
        request: ModelRequest,
    ) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>>;

    /// Returns whether the model sees images. If not, the caller sends none.
    fn takes_images(&self) -> bool;
}
