//! Keeps models from answering faster than a view can show.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::stream;
use haft_agent::ModelLookup;
use haft_contract::BoxFuture;
use haft_model::{Model, ModelAnswerStream, ModelError, ModelRequest};

use crate::views::backlog::{EVENTS_WAITING_MAX, EventBacklog};

/// Models whose answers are read only while there is room for events.
pub(super) struct PacedModels {
    pub(super) models: Arc<dyn ModelLookup>,
    pub(super) backlog: Arc<EventBacklog>,
}

impl ModelLookup for PacedModels {
    fn model(&self, name: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError> {
        let (name, model) = self.models.model(name)?;
        Ok((name, Arc::new(PacedModel { model, backlog: Arc::clone(&self.backlog) })))
    }
}

struct PacedModel {
    model: Arc<dyn Model>,
    backlog: Arc<EventBacklog>,
}

impl Model for PacedModel {
    fn respond(
        &self,
        request: ModelRequest,
    ) -> BoxFuture<'_, Result<ModelAnswerStream, ModelError>> {
        Box::pin(async move {
            let responding = self.model.respond(request).await?;
            let answer = (responding, Arc::clone(&self.backlog));
            let events = stream::unfold(answer, |(mut responding, backlog)| async move {
                loop {
                    // Comes first, so that no notification between the check and the wait is lost.
                    let has_room = backlog.has_room.notified();
                    let is_full = backlog.waiting.load(Ordering::SeqCst) >= EVENTS_WAITING_MAX;
                    if !is_full || backlog.is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    has_room.await;
                }
                let event = responding.next().await?;
                Some((event, (responding, backlog)))
            });
            Ok(ModelAnswerStream::new(events))
        })
    }

    fn takes_images(&self) -> bool {
        self.model.takes_images()
    }
}

#[cfg(test)]
mod tests {
    use haft_model::ScriptedModel;

    use super::*;

    struct One(Arc<dyn Model>);

    impl ModelLookup for One {
        fn model(&self, _: Option<&str>) -> Result<(String, Arc<dyn Model>), ModelError> {
            Ok(("test".to_owned(), Arc::clone(&self.0)))
        }
    }

    /// Polls an answer once, and returns whether a piece of it came.
    async fn comes(answer: &mut ModelAnswerStream) -> bool {
        tokio::select! {
            biased;
            event = answer.next() => event.is_some(),
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn an_answer_is_read_while_there_is_room_for_it() {
        let backlog = Arc::new(EventBacklog::default());
        let model = Arc::new(ScriptedModel::new().reply("four").reply("five"));
        let models = PacedModels { models: Arc::new(One(model)), backlog: Arc::clone(&backlog) };
        let (_, model) = models.model(None).unwrap();
        for _ in 1..EVENTS_WAITING_MAX {
            backlog.add_event();
        }
        let mut answer = model.respond(ModelRequest::from_user_text("2 + 2?")).await.unwrap();
        assert!(comes(&mut answer).await);
        backlog.add_event();
        assert!(!comes(&mut answer).await);
        backlog.remove_event();
        assert!(comes(&mut answer).await);
        backlog.add_event();
        let mut answer = model.respond(ModelRequest::from_user_text("2 + 3?")).await.unwrap();
        assert!(!comes(&mut answer).await);
        backlog.close();
        assert!(comes(&mut answer).await);
    }

    #[tokio::test]
    async fn room_ends_the_wait_for_it() {
        let backlog = Arc::new(EventBacklog::default());
        for _ in 0..EVENTS_WAITING_MAX {
            backlog.add_event();
        }
        let model = Arc::new(ScriptedModel::new().reply("four"));
        let models = PacedModels { models: Arc::new(One(model)), backlog: Arc::clone(&backlog) };
        let (_, model) = models.model(None).unwrap();
        let mut answer = model.respond(ModelRequest::from_user_text("2 + 2?")).await.unwrap();
        let (event, ()) = tokio::join!(answer.next(), async { backlog.remove_event() });
        assert!(event.is_some());
    }
}
