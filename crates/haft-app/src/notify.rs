//! Notifications: what a runtime reports becomes a message, and the message goes to the programs and webhooks that the user named.
//! A delivery happens beside the calls, so it neither delays nor changes one. If no inspector of the journal runs, the message
//! has no link and says what to do instead, in the words of the front end.

mod message;
mod target;

use std::sync::Arc;

use haft::{AskOpened, RuntimeEvent, RuntimeEventObserver, RuntimeParts};
use haft_agent::caller_run_of;
use haft_contract::{BoxFuture, CallAddress};
use haft_journal::{CallQuery, Journal, RunRow};

use self::message::NotifyMessage;
use self::target::NotifyTarget;
use crate::host::AppHost;
use crate::journal_location::JournalLocation;
use crate::operator_programs::OperatorPrograms;
use crate::records::{self, AGENT_FRONT_END};
use crate::settings::EffectiveSettings;

/// Calls in doubt that one notification names.
const DOUBTS_NAMED_MAX: usize = 20;
/// Front ends of single calls. The person waits for the end, and needs no notification of it.
const SINGLE_CALL_FRONT_ENDS: [&str; 2] = ["cli", "inspector"];

/// Notifies the programs and webhooks of the user.
struct EventNotifier {
    targets: Vec<Arc<NotifyTarget>>,
    journal: Arc<dyn Journal>,
    location: JournalLocation,
    host: AppHost,
}

/// Returns what notifies the programs and webhooks of the settings; nothing if they name none. A program or a webhook that
/// cannot be used is left out with a warning: a notification must not keep calls from being made.
pub(crate) fn observer(
    parts: &RuntimeParts,
    settings: &EffectiveSettings,
    host: &AppHost,
) -> Option<Arc<dyn RuntimeEventObserver>> {
    if settings.notify.is_empty() {
        return None;
    }
    let roots = parts.roots.paths();
    let programs = OperatorPrograms::new("notify program", &roots, host);
    let programs = programs.inspect_err(|err| host.warn(&err.message)).ok()?;
    let targets = settings.notify.iter().filter_map(|entry| {
        let target = NotifyTarget::new(entry, &programs, settings.proxy.as_ref(), host);
        target.map(Arc::new).inspect_err(|problem| host.warn(problem)).ok()
    });
    let targets: Vec<_> = targets.collect();
    if targets.is_empty() {
        return None;
    }
    let (journal, location) = (Arc::clone(&parts.journal), settings.durability.journal.clone());
    Some(Arc::new(EventNotifier { targets, journal, location, host: host.clone() }))
}

impl RuntimeEventObserver for EventNotifier {
    fn on_event(&self, event: RuntimeEvent) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            match event {
                RuntimeEvent::Ask(opened) => self.notify_of_ask(*opened),
                RuntimeEvent::RunEnded(run) => self.notify_of_end(&run).await,
                RuntimeEvent::InDoubt(calls) => self.notify_of_doubts(calls).await,
            }
        })
    }
}

impl EventNotifier {
    fn notify_of_ask(&self, opened: AskOpened) {
        let AskOpened { row, summary, ended } = opened;
        let message = NotifyMessage::of_ask(&row, &summary);
        self.send(&message, move || {
            let ended = ended.clone();
            Box::pin(async move { ended.cancelled().await })
        });
    }

    async fn notify_of_end(&self, run: &RunRow) {
        if SINGLE_CALL_FRONT_ENDS.contains(&run.front_end.as_str()) || !self.is_work(run).await {
            return;
        }
        self.send_always(&NotifyMessage::of_end(run));
    }

    /// Returns whether people count a run as a piece of work. The session of a subagent belongs to the work of its parent, and
    /// haft itself begins runs to look things up.
    async fn is_work(&self, run: &RunRow) -> bool {
        match records::find_run_session(&*self.journal, &run.id).await {
            Ok(Some(found)) => {
                found.ancestors.is_empty()
                    && found.plan.is_none()
                    && caller_run_of(&found.session).is_none()
            }
            Ok(None) => run.front_end != AGENT_FRONT_END,
            Err(_) => false,
        }
    }

    async fn notify_of_doubts(&self, calls: Vec<CallAddress>) {
        let mut doubts = Vec::new();
        for call in calls {
            if doubts.len() == DOUBTS_NAMED_MAX {
                break;
            }
            let found = self.journal.calls(CallQuery::of_call(call)).await.unwrap_or_default();
            doubts.extend(found.into_iter().find(|row| records::is_in_doubt(row, false)));
        }
        if let Some(message) = NotifyMessage::of_doubts(&doubts) {
            self.send_always(&message);
        }
    }

    fn send_always(&self, message: &NotifyMessage) {
        self.send(message, || Box::pin(std::future::pending()));
    }

    /// Begins a delivery to each target that wants the message. A delivery is given up once the message is of no use.
    fn send(&self, message: &NotifyMessage, useless: impl Fn() -> BoxFuture<'static, ()>) {
        for target in self.targets.iter().filter(|target| target.wants(message.event)) {
            let (target, message, useless) = (Arc::clone(target), message.clone(), useless());
            let (host, location) = (self.host.clone(), self.location.clone());
            let failing = Arc::clone(&target);
            let delivery = async move {
                tokio::select! {
                    () = useless => {}
                    () = target.deliver(message, &location, &host) => {}
                }
            };
            if !self.host.deliveries().begin(Box::pin(delivery)) {
                failing.report_failure("too many notifications wait", &self.host);
            }
        }
    }
}
