//! Asks a person at most one question about a call, and applies the answer. The front end decides how to ask. This
//! stage does not reconsider why the question is needed.

use std::sync::Arc;

use haft_contract::{
    AllowingRule, ErrorCode, PatternVariables, RefusalGrounds, RefusalSource, Remedy,
};
use haft_journal::{AskVerdict, JournalError};
use haft_policy::{
    AlwaysWidth, PolicyRequest, Rule, RuleAction, RuleSet, decide, exception_rules, lasting_rules,
};
use serde_json::Value;
use tokio::time::Instant;

use super::call_state::CallState;
use super::capable::Judged;
use super::permit::{
    ReasonReader, allowing_remedies, distinct_lines, is_unnamed_danger, naming_remedies,
    reaches_link, reasons_to_ask,
};
use super::refusal::PipelineStop;
use crate::ask::{ASK_INPUT_BYTES_MAX, ASK_LINES_MAX, Ask, Asker, ShownAsk};
use crate::connection_state::ConnectionState;
use crate::recorded_ask::{
    AskContent, AskOutcome, AskingCall, ReceivedVerdict, permission_question,
};
use crate::wait_log::CallWaitKind;

/// The reasons to ask a person, and the rules that would make the next question unnecessary.
struct ApprovalQuestion {
    /// The reasons of rules, one line for each access.
    rule_reasons: Vec<String>,
    /// The reasons of watchdogs, in their order.
    watchdog_reasons: Vec<String>,
    /// The rules that «always» would add. If a watchdog asks, they are its exceptions: they spell the accesses of this call,
    /// and no others.
    always_rules: Vec<Rule>,
    /// The narrower rules that «always, exactly this» would add; none if they are the same.
    exact_rules: Vec<Rule>,
    /// The changes that would let the caller or the user make this call.
    allowing: Vec<Remedy>,
}

/// A call that a person allowed, or that needs no answer any more.
pub(super) enum ApprovedCall {
    /// The call as it was judged.
    AsIs(Box<CallState>, Box<Judged>),
    /// The call with the input that a person gave it. It is not judged yet.
    Edited(Box<CallState>),
}

/// Asks a person about a call if rules or watchdogs want that.
///
/// The questions of a session come one after the other. When it is this call's turn, the rules are checked again,
/// because an «always» to an earlier question may have answered this one.
pub(super) async fn approve(
    mut state: CallState,
    judged: Judged,
    of_watchdogs: Vec<String>,
    connection: &ConnectionState,
) -> Result<ApprovedCall, PipelineStop> {
    let asker = state.call().asker.as_ref().unwrap_or(&connection.asker);
    let asker = Arc::clone(asker);
    let is_answerable = asker.is_answerable();
    let begun = Instant::now();
    // While a person is asked, the time of the calls that this call is made for stands still.
    let _pause = state.call().parent_time.pause();
    // Held until the answer has taken effect.
    let _turn = if is_answerable && asker.asks_one_at_a_time() {
        let turn = state.unless_cancelled(connection.rules.lock_questions());
        let Some(turn) = state.waits().measure(CallWaitKind::Queue, turn).await else {
            return Err(judged.refuse_cancelled(state));
        };
        Some(turn)
    } else {
        None
    };
    let rules = connection.rules();
    let reader = if is_answerable { ReasonReader::Person } else { ReasonReader::Model };
    let of_rules = match reasons_to_ask(&state, &judged, &rules, connection, reader) {
        Ok(reasons) => reasons,
        Err(denied) => return Err(judged.refuse_as(state, *denied)),
    };
    let is_allowed = of_rules.is_empty() && of_watchdogs.is_empty();
    // Who wrote the input and allowed it was asked. No rule and no watchdog denied it.
    if is_allowed || state.is_input_approved() {
        return Ok(ApprovedCall::AsIs(Box::new(state), Box::new(judged)));
    }
    let watchdogs_ask = !of_watchdogs.is_empty();
    let variables = &connection.shared.parts.variables;
    let (always_rules, exact_rules) =
        offered_rules(&state, &judged, &rules, (watchdogs_ask, variables));
    let asked = ApprovalQuestion {
        rule_reasons: of_rules,
        watchdog_reasons: of_watchdogs,
        exact_rules: if exact_rules == always_rules { Vec::new() } else { exact_rules },
        always_rules,
        allowing: naming_remedies(&judged, &rules)
            .chain(allowing_remedies(&judged, &rules, connection))
            .collect(),
    };
    if !is_answerable {
        return Err(unanswered_refusal(state, judged, asked));
    }
    let ask = asked.to_ask(&state, &judged, connection);
    let denied_rules = ask.denied_rules();
    let asking = ask_about_call(&state, connection, &asker, ask);
    let outcome = state.waits().measure(CallWaitKind::Answer, asking).await;
    state.subtract_asked_time(begun.elapsed());
    let answer = match outcome? {
        AskOutcome::Answered(answer) => answer,
        AskOutcome::Unanswered => return Err(unanswered_refusal(state, judged, asked)),
        AskOutcome::Expired(ms) => return Err(expired_refusal(state, judged, &asked, ms)),
        AskOutcome::Withdrawn => {
            let message = "the question was withdrawn, so the call is denied".to_owned();
            return Err(judged.refuse(state, ErrorCode::PermissionDenied, message));
        }
        AskOutcome::Cancelled => return Err(judged.refuse_cancelled(state)),
        AskOutcome::Failed(why) => {
            let message = format!("asking failed, so the call is denied: {why}");
            return Err(judged.refuse(state, ErrorCode::PermissionDenied, message));
        }
    };
    apply_answer(state, judged, &asked, (answer, &denied_rules), connection).await
}

/// Asks whether a call may execute.
async fn ask_about_call(
    state: &CallState,
    connection: &ConnectionState,
    asker: &Arc<dyn Asker>,
    ask: Ask,
) -> Result<AskOutcome, JournalError> {
    let call = state.call();
    let shown = ShownAsk::new(&ask, call.input.clone());
    // The recorded input is JSON, or the digest of a text that is too long.
    let recorded = serde_json::from_str(state.recorded_input()).unwrap_or_default();
    let summary = ShownAsk { input: recorded, ..shown.clone() };
    let asking = AskingCall {
        shared: Arc::clone(&connection.shared),
        address: state.id().clone(),
        fencing_token: state.fencing_token(),
        front_end: connection.front_end.clone(),
        asker: Arc::clone(asker),
        cancellation: call.cancellation.clone(),
        progress: Arc::clone(&call.progress),
    };
    asking.ask(AskContent { shown, summary }, permission_question(asker, ask)).await
}

/// Applies the answer of a person.
async fn apply_answer(
    mut state: CallState,
    judged: Judged,
    asked: &ApprovalQuestion,
    (answer, denied_rules): (ReceivedVerdict, &[Rule]),
    connection: &ConnectionState,
) -> Result<ApprovedCall, PipelineStop> {
    let ReceivedVerdict { verdict, words, content } = answer;
    match verdict {
        AskVerdict::Once => {}
        AskVerdict::Session => add_for_session(&asked.always_rules, connection),
        AskVerdict::SessionExact => add_for_session(asked.narrowest_rules(), connection),
        AskVerdict::Always => add_for_project(&asked.always_rules, connection).await,
        AskVerdict::AlwaysExact => add_for_project(asked.narrowest_rules(), connection).await,
        AskVerdict::Edited => {
            let edited = content.as_deref().map(serde_json::from_str::<Value>);
            let Some(Ok(input)) = edited else {
                let message = "the edited input cannot be read, so the call is denied".to_owned();
                return Err(judged.refuse(state, ErrorCode::PermissionDenied, message));
            };
            let mut note = format!("the user changed the input of this call to {input}");
            if let Some(words) = words {
                note.push_str(&format!(" and says: {words}"));
            }
            state.set_approval_note(note);
            state.replace_input(input);
            return Ok(ApprovedCall::Edited(Box::new(state)));
        }
        AskVerdict::Reject => return Err(rejected_refusal(state, judged, asked, words.as_deref())),
        AskVerdict::RejectSession => {
            add_for_session(denied_rules, connection);
            return Err(rejected_refusal(state, judged, asked, words.as_deref()));
        }
    }
    if let Some(words) = words {
        state.set_approval_note(format!("the user allowed this call and says: {words}"));
    }
    Ok(ApprovedCall::AsIs(Box::new(state), Box::new(judged)))
}

/// Returns the rules that «always» adds, and the narrower ones that «always, exactly this» adds.
fn offered_rules(
    state: &CallState,
    judged: &Judged,
    rules: &RuleSet,
    (is_of_watchdogs, variables): (bool, &PatternVariables),
) -> (Vec<Rule>, Vec<Rule>) {
    let tool = &judged.contract().id;
    let request = PolicyRequest { tool, accesses: judged.accesses() };
    if reaches_link(judged) {
        return (Vec::new(), Vec::new());
    }
    if is_of_watchdogs {
        return (exception_rules(&request, rules, variables), Vec::new());
    }
    if is_unnamed_danger(state, judged, rules)
        && decide(&request, rules).action == RuleAction::Allow
    {
        // Rules allow every access, but none names the tool.
        return (vec![Rule::new(tool.as_str(), "*", RuleAction::Allow)], Vec::new());
    }
    let lasting = |width| lasting_rules(&request, rules, variables, width);
    (lasting(AlwaysWidth::Wide), lasting(AlwaysWidth::Narrow))
}

/// Refuses a call that the person rejected.
fn rejected_refusal(
    state: CallState,
    judged: Judged,
    asked: &ApprovalQuestion,
    words: Option<&str>,
) -> PipelineStop {
    let mut message = format!("the user rejected the call ({})", asked.explain_reasons());
    if let Some(words) = words {
        message.push_str(&format!(", and says: {words}"));
    }
    let grounds = RefusalGrounds::new(RefusalSource::Person);
    judged.refuse_as(state, grounds.into_refusal(ErrorCode::PermissionDenied, message))
}

/// The answer holds for this call even if adding rules fails. A failure only means that the same question comes again.
fn add_for_session(rules: &[Rule], connection: &ConnectionState) {
    let shared = &connection.shared;
    if let Err(err) = connection.rules.add(rules, shared) {
        tracing::warn!("the answer holds this once, its rules could not be added: {err}");
    }
}

/// Adds rules to the project, and for this runtime at once. If the project cannot store them, only this call is allowed.
async fn add_for_project(rules: &[Rule], connection: &ConnectionState) {
    let shared = &connection.shared;
    if rules.is_empty() {
        return;
    }
    if let Some(keeper) = shared.parts.project_rules.clone() {
        let kept = rules.to_vec();
        let written = tokio::task::spawn_blocking(move || keeper.add(&kept)).await;
        if let Err(err) = written.unwrap_or_else(|err| Err(err.to_string())) {
            tracing::warn!("the call goes on this once, its rules could not be kept: {err}");
            return;
        }
    }
    shared.added_project_rules.add(rules);
}

/// Denies a call whose question no person answered in time.
fn expired_refusal(
    state: CallState,
    judged: Judged,
    asked: &ApprovalQuestion,
    waited_ms: u64,
) -> PipelineStop {
    let because = format!(
        "no person answered within {} seconds, so the call is denied: {}",
        waited_ms / 1_000,
        asked.explain_reasons()
    );
    let grounds = RefusalGrounds::new(RefusalSource::NoAnswer);
    judged.refuse_as(state, grounds.into_refusal(ErrorCode::PermissionDenied, because))
}

/// Denies a call whose question no person could answer.
fn unanswered_refusal(state: CallState, judged: Judged, asked: ApprovalQuestion) -> PipelineStop {
    let because =
        format!("no person can be asked here, so the call is denied: {}", asked.explain_reasons());
    let grounds = if asked.watchdog_reasons.is_empty() {
        RefusalGrounds { decided_by: RefusalSource::NoAnswer, remedies: asked.remedies() }
    } else {
        // Only the exceptions answer a watchdog.
        RefusalGrounds {
            decided_by: RefusalSource::Watchdog,
            remedies: asked.always_rules.into_iter().map(rule_remedy).collect(),
        }
    };
    judged.refuse_as(state, grounds.into_refusal(ErrorCode::PermissionDenied, because))
}

/// Returns the remedy that adds a rule.
fn rule_remedy(rule: Rule) -> Remedy {
    let Rule { permission, pattern, .. } = rule;
    Remedy::AddRule(AllowingRule { permission, pattern })
}

impl ApprovalQuestion {
    /// Returns the question as a front end shows it.
    fn to_ask(&self, state: &CallState, judged: &Judged, connection: &ConnectionState) -> Ask {
        let shared = &connection.shared;
        // The person sees the call itself; the rows of the journal hold bodies as size and hash only.
        let mut input = state.call().input.to_string();
        if input.len() > ASK_INPUT_BYTES_MAX {
            input.truncate(input.floor_char_boundary(ASK_INPUT_BYTES_MAX));
            input.push('…');
        }
        let accesses = judged.accesses().iter().map(ToString::to_string);
        Ask {
            id: shared.new_ask_id(state.id(), state.fencing_token()),
            call_id: state.id().to_string(),
            driver_call_id: state.call().driver_call_id.clone(),
            tool: judged.contract().id.clone(),
            input,
            accesses: distinct_lines(ASK_LINES_MAX, accesses),
            reasons: self.reasons().map(str::to_owned).collect(),
            always_rules: self.always_rules.clone(),
            exact_rules: self.exact_rules.clone(),
            connection: connection.id.clone(),
            root: shared.parts.roots.workspace().to_path_buf(),
        }
    }

    /// Returns the reasons of rules, and then those of watchdogs.
    fn reasons(&self) -> impl Iterator<Item = &str> {
        self.rule_reasons.iter().chain(&self.watchdog_reasons).map(String::as_str)
    }

    /// Returns all reasons in one line.
    fn explain_reasons(&self) -> String {
        self.reasons().collect::<Vec<_>>().join("; ")
    }

    /// Returns the remedies that make the next question unnecessary.
    fn remedies(self) -> Vec<Remedy> {
        self.allowing.into_iter().chain(self.always_rules.into_iter().map(rule_remedy)).collect()
    }

    /// Returns the exact rules, or else the offered ones.
    fn narrowest_rules(&self) -> &[Rule] {
        if self.exact_rules.is_empty() { &self.always_rules } else { &self.exact_rules }
    }
}
