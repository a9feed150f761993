//! The promises of every journal, as tests. A store that is written elsewhere runs them with one line:
//!
//! ```ignore
//! haft_journal::conformance_tests!(lines, |directory| Arc::new(open(&directory.join("journal.jsonl"))));
//! ```
//!
//! The line makes a module of that name with a test for each case. The crate that has it needs tokio with its macros and
//! its runtime of several threads. The expression gets a directory that is empty and goes after the test, and returns a
//! journal that was never used.
#![expect(missing_docs, reason = "the name of a case says what it checks")]

pub mod cases;
pub mod fixture;
pub mod session_fixture;

use std::fmt;
use std::panic::Location;

pub use tempfile::tempdir;

/// A journal that several tasks use.
pub type Shared = std::sync::Arc<dyn crate::Journal>;

/// The result of a case. It fails with the first error of the journal that the case does not expect; what the case
/// compares, it asserts.
pub type CaseResult<T = ()> = Result<T, CaseError>;

/// An error that a case does not expect, and the line of the case that it came from.
pub struct CaseError {
    message: String,
    location: &'static Location<'static>,
}

impl<E: std::error::Error> From<E> for CaseError {
    #[track_caller]
    fn from(err: E) -> Self {
        Self { message: err.to_string(), location: Location::caller() }
    }
}

impl fmt::Debug for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.location, self.message)
    }
}

/// Makes a test of each case for one store: see [the module](crate::conformance).
#[macro_export]
macro_rules! conformance_tests {
    ($store:ident, $open:expr) => {
        $crate::conformance_tests!($store, $open; [
            an_effect_is_recorded_in_two_steps,
            a_read_is_one_row_once_it_is_settled,
            a_refusal_is_a_row,
            what_is_never_settled_stays_intended,
            a_run_begins_once,
            a_taken_number_is_a_conflict,
            a_call_needs_its_run,
            only_an_open_intent_is_settled,
            a_call_ends_with_a_status_that_fits,
            what_is_settled_ahead_is_there_before_what_comes_later,
            an_attempt_tells_how_far_it_has_come,
            calls_come_in_the_order_asked_for,
            a_query_answers_what_fits_every_field,
            following_the_changes_misses_nothing,
            runs_come_latest_first_with_their_counts,
            texts_come_back_as_they_went_in,
            an_answer_ends_at_the_bound_of_rows,
            an_answer_ends_at_the_bound_of_bytes,
            a_hundred_tasks_get_their_own_answers,
            one_owner_at_a_time_has_a_run,
            an_owner_gets_its_lease_again,
            a_lease_is_held_for_longer_or_it_is_over,
            a_run_given_back_is_free_and_leaves_doubt,
            a_lease_that_is_closed_can_be_closed_again,
            giving_up_an_owner_leaves_its_open_calls_in_doubt,
            a_holder_that_was_heard_of_is_not_given_up,
            under_a_lease_that_is_over_nothing_changes,
            an_outcome_that_comes_too_late_is_kept,
            a_run_that_gets_no_further_is_given_to_nobody,
            getting_further_starts_the_count_anew,
            a_recalled_call_is_progress,
            what_happened_is_found_out_later,
            only_a_call_in_doubt_is_settled_later,
            an_intent_says_what_is_about_to_change,
            an_attempt_is_told_in_short,
            a_call_is_found_by_its_drivers_name,
            a_repeated_call_counts_once,
            what_was_held_back_is_still_to_be_made,
            calls_are_unacknowledged_until_they_are_executed_again,
            earlier_effects_are_those_that_may_have_happened,
            snapshots_belong_to_calls,
            contents_are_kept_until_they_are_removed,
            contents_go_with_their_run,
            an_ask_is_there_until_it_is_answered,
            the_first_valid_answer_wins,
            an_edited_input_reaches_the_process_that_asked_once,
            runs_are_found_by_the_beginning_of_a_name,
            runs_come_by_the_end_of_their_lease,
            an_ask_ends_at_its_deadline,
            asks_end_with_the_lease_of_their_call,
            asks_are_listed_in_order_and_go_with_their_run,
            a_waiting_process_is_told_of_answers,
            old_runs_go_and_held_ones_stay,
            runs_with_calls_in_doubt_stay_where_they_are_to_be_kept,
            the_quietest_runs_go_until_the_rest_fits,
            a_long_run_goes_whole,
            a_run_that_is_made_again_has_new_fencing_tokens,
            a_sound_journal_has_no_findings,
            a_session_is_kept_as_it_was_recorded,
            what_lies_apart_comes_back,
            what_is_recorded_again_replaces_what_was_there,
            what_does_not_fit_leaves_nothing_behind,
            a_session_says_what_became_of_one_that_it_began,
            under_a_lease_that_is_over_nothing_is_said,
            what_is_rewound_is_set_aside,
            sessions_are_found_by_what_is_asked_for,
            messages_are_asked_for_in_parts,
            an_answer_of_messages_is_bounded,
            what_is_recorded_of_a_session_is_bounded,
            an_answer_ends_at_so_many_sessions_and_messages,
            who_speaks_gets_further,
            who_dies_while_nothing_is_under_way_counts_for_nothing,
            a_session_goes_with_its_run_and_with_those_that_it_began,
            a_session_goes_with_the_run_whose_call_it_works_for,
            calls_of_a_session_are_rows_of_the_journal,
        ]);
    };
    ($store:ident, $open:expr; [$($case:ident,)*]) => {
        mod $store {
            use super::*;

            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() -> $crate::conformance::CaseResult {
                    let directory = $crate::conformance::tempdir()?;
                    let open: fn(&std::path::Path) -> $crate::conformance::Shared = $open;
                    $crate::conformance::cases::$case(open(directory.path())).await
                }
            )*
        }
    };
}
