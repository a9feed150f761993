//! A journal with something before it: whatever it is asked passes by there first, and what it answers passes by again. A
//! test says what happens on the way, to all that is asked or to one method, and writes nothing about the others.

use std::ops::Deref;

use haft_contract::{CallId, RunId, Scope};
use haft_journal::{
    Answer, AttemptState, CallQuery, CallRow, ChatFirmness, ChatId, ChatMessage, ChatPart,
    ChatQuery, ChatRecord, ChatSession, Chats, Claim, Due, EarlierEffects, Finding, Holder, Intent,
    Journal, JournalError, LateOutcome, Lease, MessageId, MessageQuery, NewRun, Outcome,
    PlannedCall, Pruned, RecordedCall, Retention, RunQuery, RunRow, Settled, Settlement,
    SnapshotNote,
};

/// A journal with something before it, which it can be asked for as well: it dereferences to that.
#[derive(Debug, Default)]
pub struct Interposed<I>(pub I);

impl<I> Deref for Interposed<I> {
    type Target = I;

    fn deref(&self) -> &I {
        &self.0
    }
}

impl Step {
    /// Returns whether the journal is changed by it, if it succeeds.
    #[must_use]
    pub fn is_change(self) -> bool {
        match self {
            Self::RecordChat
            | Self::RewindChat
            | Self::OpenRun
            | Self::Renew
            | Self::CloseRun
            | Self::Abandon
            | Self::Intend
            | Self::Amend
            | Self::Settle
            | Self::Refuse
            | Self::Resolve
            | Self::Hear
            | Self::NoteSnapshot
            | Self::Prune => true,
            Self::Chat
            | Self::Chats
            | Self::ChatMessages
            | Self::Holders
            | Self::Attempt
            | Self::Recorded
            | Self::ByDriverId
            | Self::EarlierEffects
            | Self::Snapshots
            | Self::LateOutcomes
            | Self::Calls
            | Self::Runs
            | Self::Due
            | Self::Verify => false,
        }
    }
}

/// Answers an error in the place of a journal.
pub fn failing<'a, T: Send + 'a>(err: JournalError) -> Answer<'a, T> {
    Box::pin(std::future::ready(Err(err)))
}

/// Makes all that follows from the methods of a journal, so that they are listed once.
macro_rules! methods {
    (
        Chats {
            $($chat_step:ident $chat_name:ident($($chat_arg:ident: $chat_kind:ty),*) -> $chat_answer:ty;)*
        }
        Journal {
            $($step:ident $name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)*
        }
    ) => {
        /// One thing that a journal is asked for, named like the method.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Step {
            $(#[doc = concat!("[`Chats::", stringify!($chat_name), "`].")] $chat_step,)*
            $(#[doc = concat!("[`Journal::", stringify!($name), "`].")] $step,)*
        }

        /// What stands before a journal.
        pub trait Interpose: Send + Sync + 'static {
            /// The journal that it stands before.
            type Inner: Journal + 'static;

            /// Returns the journal that it stands before.
            fn inner(&self) -> &Self::Inner;

            /// Stands before everything that has no method of its own here. `ask` asks the journal, which is not asked
            /// unless this does it.
            fn around<'a, T: Send + 'a>(
                &'a self,
                _step: Step,
                ask: impl FnOnce(&'a Self::Inner) -> Answer<'a, T>,
            ) -> Answer<'a, T> {
                ask(self.inner())
            }

            $(
                #[doc = concat!("Stands before [`Chats::", stringify!($chat_name), "`].")]
                fn $chat_name(&self, $($chat_arg: $chat_kind),*) -> Answer<'_, $chat_answer> {
                    self.around(Step::$chat_step, |inner| inner.$chat_name($($chat_arg),*))
                }
            )*
            $(
                #[doc = concat!("Stands before [`Journal::", stringify!($name), "`].")]
                fn $name(&self, $($arg: $kind),*) -> Answer<'_, $answer> {
                    self.around(Step::$step, |inner| inner.$name($($arg),*))
                }
            )*

            /// Stands before [`Journal::settle_ahead`], which is no step of its own: the outcome is settled before this
            /// answers.
            fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> Answer<'_, Settled> {
                Box::pin(async move {
                    self.settle(intent, outcome).await?;
                    Ok(Box::pin(std::future::ready(Ok(()))) as Settled)
                })
            }
        }

        impl<I: Interpose> Chats for Interposed<I> {
            $(fn $chat_name(&self, $($chat_arg: $chat_kind),*) -> Answer<'_, $chat_answer> {
                self.0.$chat_name($($chat_arg),*)
            })*
        }

        impl<I: Interpose> Journal for Interposed<I> {
            $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $answer> {
                self.0.$name($($arg),*)
            })*

            fn settle_ahead(&self, intent: Intent, outcome: Outcome) -> Answer<'_, Settled> {
                self.0.settle_ahead(intent, outcome)
            }
        }
    };
}

methods! {
    Chats {
        RecordChat record_chat(lease: &Lease, records: Vec<ChatRecord>, firmness: ChatFirmness) -> ();
        RewindChat rewind_chat(lease: &Lease, from: &MessageId, at_ms: u64) -> u64;
        Chat chat(id: &ChatId) -> Option<ChatSession>;
        Chats chats(query: ChatQuery) -> Vec<ChatSession>;
        ChatMessages chat_messages(chat: &ChatId, query: MessageQuery) -> Vec<(ChatMessage, Vec<ChatPart>)>;
    }
    Journal {
        OpenRun open_run(run: NewRun, claim: Claim) -> Lease;
        Renew renew(lease: Lease, claim: Claim) -> ();
        CloseRun close_run(lease: Lease) -> ();
        Holders holders() -> Vec<Holder>;
        Abandon abandon(holder: Holder) -> Vec<CallId>;
        Attempt attempt(scope: &Scope) -> AttemptState;
        Recorded recorded(scope: &Scope) -> Vec<RecordedCall>;
        ByDriverId by_driver_id(scope: &Scope, driver_call_id: &str) -> Option<CallRow>;
        EarlierEffects earlier_effects(scope: &Scope, calls_max: u32) -> EarlierEffects;
        Intend intend(call: PlannedCall) -> Intent;
        Amend amend(intent: &Intent, details: String) -> ();
        Settle settle(intent: Intent, outcome: Outcome) -> ();
        Refuse refuse(call: PlannedCall, outcome: Outcome) -> ();
        Resolve resolve(settlement: Settlement) -> CallRow;
        Hear hear(call: CallId) -> ();
        NoteSnapshot note_snapshot(note: SnapshotNote) -> ();
        Snapshots snapshots(run: &RunId, call: Option<&CallId>) -> Vec<SnapshotNote>;
        LateOutcomes late_outcomes(run: &RunId) -> Vec<LateOutcome>;
        Calls calls(query: CallQuery) -> Vec<CallRow>;
        Runs runs(query: RunQuery) -> Vec<RunRow>;
        Due due(retention: Retention) -> Due;
        Prune prune(retention: Retention) -> Pruned;
        Verify verify() -> Vec<Finding>;
    }
}
