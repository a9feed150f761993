//! A journal with an interceptor: every call and every answer pass through it. A test overrides
//! what happens, for all methods or for a single one, and need not implement the others.

use std::ops::Deref;

use haft_contract::{AttemptAddress, CallAddress, ContentDigest, RunId};
use haft_journal::{
    AskChanges, AskEnd, AskJournal, AskQuery, AskRow, AttemptState, CallQuery, CallRow,
    CommitFuture, DueRuns, EarlierEffects, Intent, Journal, JournalError, JournalFinding,
    JournalFuture, LateOutcome, Lease, LeaseHolder, LeaseRequest, MessageId, MessagePart,
    MessageQuery, NewAsk, NewAskAnswer, NewRun, Outcome, PlannedCall, PrunedRuns, RecordedCall,
    Retention, RunQuery, RunRow, SessionDurability, SessionId, SessionJournal, SessionMessage,
    SessionQuery, SessionRecord, SessionRow, Settlement, SnapshotNote,
};

/// A journal with an interceptor; it dereferences to the interceptor.
#[derive(Debug, Default)]
pub struct InterceptedJournal<I>(pub I);

impl<I> Deref for InterceptedJournal<I> {
    type Target = I;

    fn deref(&self) -> &I {
        &self.0
    }
}

impl JournalMethod {
    /// Returns whether the method changes the journal if it succeeds.
    #[must_use]
    pub fn is_change(self) -> bool {
        match self {
            Self::OpenAsk
            | Self::AnswerAsk
            | Self::EndAsk
            | Self::ReceiveAnswer
            | Self::RecordSession
            | Self::RewindSession
            | Self::OpenRun
            | Self::RenewLease
            | Self::CountProgress
            | Self::CloseRun
            | Self::AbandonRun
            | Self::Intend
            | Self::Amend
            | Self::Settle
            | Self::Refuse
            | Self::Resolve
            | Self::Acknowledge
            | Self::KeepContent
            | Self::RemoveContents
            | Self::NoteSnapshot
            | Self::Prune => true,
            Self::Asks
            | Self::ShownOfAsk
            | Self::Session
            | Self::Sessions
            | Self::SessionMessages
            | Self::Compact
            | Self::LeaseHolders
            | Self::AttemptState
            | Self::RecordedCalls
            | Self::ByDriverId
            | Self::EarlierEffects
            | Self::Content
            | Self::Snapshots
            | Self::LateOutcomes
            | Self::Calls
            | Self::Runs
            | Self::RunsBeginningWith
            | Self::SharedKeyChars
            | Self::DueRuns
            | Self::Verify => false,
        }
    }
}

/// Returns an error in place of a journal's answer.
pub fn failing_answer<'a, T: Send + 'a>(err: JournalError) -> JournalFuture<'a, T> {
    Box::pin(std::future::ready(Err(err)))
}

/// Generates all code that depends on the methods of a journal, so that they are listed once.
macro_rules! methods {
    (
        AskJournal {
            $($ask_step:ident $ask_name:ident($($ask_arg:ident: $ask_kind:ty),*) -> $ask_answer:ty;)*
        }
        SessionJournal {
            $($chat_step:ident $chat_name:ident($($chat_arg:ident: $chat_kind:ty),*) -> $chat_answer:ty;)*
        }
        Journal {
            $($step:ident $name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)*
        }
    ) => {
        /// A method of a journal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum JournalMethod {
            $(#[doc = concat!("[`AskJournal::", stringify!($ask_name), "`].")] $ask_step,)*
            $(#[doc = concat!("[`SessionJournal::", stringify!($chat_name), "`].")] $chat_step,)*
            $(#[doc = concat!("[`Journal::", stringify!($name), "`].")] $step,)*
        }

        /// Intercepts the calls of a journal.
        pub trait JournalInterceptor: Send + Sync + 'static {
            /// The type of the inner journal.
            type Inner: Journal + 'static;

            /// Returns the inner journal.
            fn inner(&self) -> &Self::Inner;

            /// Intercepts every method without its own interceptor method. `ask` calls the journal;
            /// without it, the journal is not called.
            fn around<'a, T: Send + 'a>(
                &'a self,
                _step: JournalMethod,
                ask: impl FnOnce(&'a Self::Inner) -> JournalFuture<'a, T>,
            ) -> JournalFuture<'a, T> {
                ask(self.inner())
            }

            $(
                #[doc = concat!("Stands before [`AskJournal::", stringify!($ask_name), "`].")]
                fn $ask_name(&self, $($ask_arg: $ask_kind),*) -> JournalFuture<'_, $ask_answer> {
                    self.around(JournalMethod::$ask_step, |inner| inner.$ask_name($($ask_arg),*))
                }
            )*
            $(
                #[doc = concat!("Stands before [`SessionJournal::", stringify!($chat_name), "`].")]
                fn $chat_name(&self, $($chat_arg: $chat_kind),*) -> JournalFuture<'_, $chat_answer> {
                    self.around(JournalMethod::$chat_step, |inner| inner.$chat_name($($chat_arg),*))
                }
            )*
            $(
                #[doc = concat!("Stands before [`Journal::", stringify!($name), "`].")]
                fn $name(&self, $($arg: $kind),*) -> JournalFuture<'_, $answer> {
                    self.around(JournalMethod::$step, |inner| inner.$name($($arg),*))
                }
            )*

            /// Intercepts [`Journal::settle_ahead`]. By default the outcome is settled before this
            /// returns.
            fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> JournalFuture<'_, CommitFuture> {
                Box::pin(async move {
                    self.settle(intent, outcome).await?;
                    Ok(Box::pin(std::future::ready(Ok(()))) as CommitFuture)
                })
            }
        }

        impl<I: JournalInterceptor> AskJournal for InterceptedJournal<I> {
            $(fn $ask_name(&self, $($ask_arg: $ask_kind),*) -> JournalFuture<'_, $ask_answer> {
                self.0.$ask_name($($ask_arg),*)
            })*

            fn ask_changes(&self) -> AskChanges {
                self.0.inner().ask_changes()
            }
        }

        impl<I: JournalInterceptor> SessionJournal for InterceptedJournal<I> {
            $(fn $chat_name(&self, $($chat_arg: $chat_kind),*) -> JournalFuture<'_, $chat_answer> {
                self.0.$chat_name($($chat_arg),*)
            })*
        }

        impl<I: JournalInterceptor> Journal for InterceptedJournal<I> {
            $(fn $name(&self, $($arg: $kind),*) -> JournalFuture<'_, $answer> {
                self.0.$name($($arg),*)
            })*

            fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> JournalFuture<'_, CommitFuture> {
                self.0.settle_ahead(intent, outcome)
            }
        }
    };
}

methods! {
    AskJournal {
        OpenAsk open_ask(ask: NewAsk) -> AskRow;
        AnswerAsk answer_ask(answer: NewAskAnswer) -> AskRow;
        EndAsk end_ask(ask: &str, end: AskEnd, now_ms: u64) -> AskRow;
        ReceiveAnswer receive_answer(ask: &str, now_ms: u64) -> (AskRow, Option<String>);
        Asks asks(query: AskQuery) -> Vec<AskRow>;
        ShownOfAsk shown_of_ask(ask: &AskRow) -> Option<String>;
    }
    SessionJournal {
        RecordSession record_session(lease: &Lease, records: Vec<SessionRecord>, firmness: SessionDurability) -> ();
        RewindSession rewind_session(lease: &Lease, from: &MessageId, at_ms: u64) -> u64;
        Session session(id: &SessionId) -> Option<SessionRow>;
        Sessions sessions(query: SessionQuery) -> Vec<SessionRow>;
        SessionMessages session_messages(session: &SessionId, query: MessageQuery) -> Vec<(SessionMessage, Vec<MessagePart>)>;
    }
    Journal {
        OpenRun open_run(run: NewRun, claim: LeaseRequest) -> Lease;
        RenewLease renew_lease(lease: Lease, claim: LeaseRequest) -> ();
        CloseRun close_run(lease: Lease) -> ();
        CountProgress count_progress(run: &RunId) -> ();
        LeaseHolders lease_holders() -> Vec<LeaseHolder>;
        AbandonRun abandon_run(holder: LeaseHolder) -> Vec<CallAddress>;
        AttemptState attempt_state(scope: &AttemptAddress) -> AttemptState;
        RecordedCalls recorded_calls(scope: &AttemptAddress) -> Vec<RecordedCall>;
        ByDriverId by_driver_id(scope: &AttemptAddress, driver_call_id: &str) -> Option<CallRow>;
        EarlierEffects earlier_effects(scope: &AttemptAddress, calls_max: u32) -> EarlierEffects;
        Intend intend(call: PlannedCall) -> Intent;
        Amend amend(intent: &Intent, details: String) -> ();
        Settle settle(intent: Intent, outcome: Outcome) -> ();
        Refuse refuse(call: PlannedCall, outcome: Outcome) -> ();
        Resolve resolve(settlement: Settlement) -> CallRow;
        Acknowledge acknowledge(call: CallAddress) -> ();
        KeepContent keep_content(lease: &Lease, text: String) -> ContentDigest;
        Content content(run: &RunId, digest: &ContentDigest) -> Option<String>;
        RemoveContents remove_contents(lease: &Lease) -> ();
        NoteSnapshot note_snapshot(note: SnapshotNote) -> ();
        Snapshots snapshots(run: &RunId, call: Option<&CallAddress>) -> Vec<SnapshotNote>;
        LateOutcomes late_outcomes(run: &RunId) -> Vec<LateOutcome>;
        Calls calls(query: CallQuery) -> Vec<CallRow>;
        Runs runs(query: RunQuery) -> Vec<RunRow>;
        RunsBeginningWith runs_beginning_with(beginning: &str) -> Vec<RunId>;
        SharedKeyChars shared_key_chars(run: &RunId) -> Option<usize>;
        DueRuns due_runs(retention: Retention) -> DueRuns;
        Prune prune(retention: Retention) -> PrunedRuns;
        Compact compact() -> ();
        Verify verify() -> Vec<JournalFinding>;
    }
}
