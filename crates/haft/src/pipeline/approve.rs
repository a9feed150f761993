//! The one question that is put to a person about a call, and what the answer changes. How it is asked is the front
//! end's business; what is asked for is not reconsidered here.

use std::sync::Arc;

use haft_contract::ErrorCode;
use haft_policy::{Action, Canonical, Question, Rule, RuleScope, RuleSet, decide, lasting_rules};

use super::capable::Capable;
use super::panic::Contained;
use super::permit::{at_most, reasons_to_ask};
use super::refusal::Stop;
use super::watch::{cancelled, unless_cancelled};
use crate::ask::{ASK_INPUT_BYTES_MAX, ASK_LINES_MAX, Answer, Ask, Asker};
use crate::run::RunState;

/// Why a person is asked, and which rules would spare the question the next time.
struct Asked {
    of_rules: Vec<String>,
    of_watchdogs: Vec<String>,
    lasting: Vec<Rule>,
    /// The options of the command line that would, the narrowest that do.
    options: Option<Options>,
}

/// Options of the command line that allow a call.
enum Options {
    /// `--allow-host` for these hosts.
    Hosts(Vec<String>),
    /// `--allow` for the tool, which allows all that it does.
    Tool,
}

/// Asks about a call that rules or watchdogs want asked about.
///
/// The questions of a session are put one after the other, so rules are looked at again once it is this call's turn: an
/// «always» that was said to an earlier question may have answered this one.
pub(super) async fn approve(
    capable: Capable,
    of_watchdogs: Vec<String>,
    run: &RunState,
) -> Result<Capable, Stop> {
    let asker = capable.valid().call().asker.as_ref().unwrap_or(&run.session.asker);
    let asker = Arc::clone(asker);
    // Nobody's tool has begun here, but for those that this call is made for.
    let _pause = capable.valid().call().above.pause();
    // Held until the answer has taken effect.
    let _turn = if asker.can_ask() && asker.asks_in_turn() {
        let Some(turn) = unless_cancelled(&capable, run.session.turn()).await else {
            return Err(cancelled(capable));
        };
        Some(turn)
    } else {
        None
    };
    let rules = run.session.rules();
    let of_rules = match reasons_to_ask(&capable, &rules) {
        Ok(reasons) => reasons,
        Err(denied) => return Err(capable.refuse(ErrorCode::PermissionDenied, denied)),
    };
    if of_rules.is_empty() && of_watchdogs.is_empty() {
        return Ok(capable);
    }
    let asked = Asked {
        of_rules,
        of_watchdogs,
        lasting: lasting(&capable, &rules, run),
        options: options(&capable, &rules, run),
    };
    if !asker.can_ask() {
        return Err(unanswered(capable, &asked));
    }
    let answer = put(&capable, &asked, asker, run).await;
    settle(capable, asked, answer, run).await
}

fn lasting(capable: &Capable, rules: &RuleSet, run: &RunState) -> Vec<Rule> {
    let tool = &capable.valid().contract().id;
    let question = Question { tool, accesses: capable.accesses() };
    lasting_rules(&question, rules, &run.session.shared.parts.variables)
}

fn options(capable: &Capable, rules: &RuleSet, run: &RunState) -> Option<Options> {
    let parts = &run.session.shared.parts;
    let tool = &capable.valid().contract().id;
    let suffices = |allowed: Vec<Rule>| {
        let allowed = allowed.into_iter().map(|rule| (RuleScope::Session, rule));
        let with_them =
            rules.with_added(allowed, &parts.variables, run.session.shared.conditions());
        with_them.is_ok_and(|rules| {
            decide(&Question { tool, accesses: capable.accesses() }, &rules).action == Action::Allow
        })
    };
    let hosts = capable.accesses().iter().filter_map(|access| match access {
        Canonical::Net { host } => Some(host.clone()),
        Canonical::Read { .. }
        | Canonical::Write { .. }
        | Canonical::Shell { .. }
        | Canonical::Named { .. } => None,
    });
    let hosts: Vec<String> = hosts.collect();
    let of_hosts = hosts.iter().map(|host| Rule::new("net.fetch", host, Action::Allow));
    if !hosts.is_empty() && suffices(of_hosts.collect()) {
        return Some(Options::Hosts(hosts));
    }
    suffices(vec![Rule::new(tool.as_str(), "*", Action::Allow)]).then_some(Options::Tool)
}

/// Puts the question; no answer means that the call was cancelled meanwhile.
async fn put(
    capable: &Capable,
    asked: &Asked,
    asker: Arc<dyn Asker>,
    run: &RunState,
) -> Option<Result<Answer, String>> {
    let valid = capable.valid();
    let ask = Ask {
        call_id: valid.entry().id().to_string(),
        driver_call_id: valid.call().driver_call_id.clone(),
        tool: valid.contract().id.clone(),
        // The person sees the call itself; the journal holds bodies as size and hash only.
        input: beginning(&valid.call().input.to_string()),
        accesses: at_most(ASK_LINES_MAX, capable.accesses().iter().map(ToString::to_string)),
        reasons: asked.reasons().map(str::to_owned).collect(),
        always: asked.offered().to_vec(),
        session: run.session.id.clone(),
        root: run.session.shared.parts.roots.workspace().to_path_buf(),
    };
    let answer = Contained(Box::pin(async move { asker.ask(ask).await }));
    unless_cancelled(capable, answer).await
}

async fn settle(
    capable: Capable,
    asked: Asked,
    answer: Option<Result<Answer, String>>,
    run: &RunState,
) -> Result<Capable, Stop> {
    match answer {
        None => Err(cancelled(capable)),
        Some(Ok(Answer::Once)) => Ok(capable),
        Some(Ok(Answer::AlwaysSession)) => {
            add_for_session(asked.offered(), run);
            Ok(capable)
        }
        Some(Ok(Answer::AlwaysProject)) => {
            add_for_project(asked.offered(), run).await;
            Ok(capable)
        }
        Some(Ok(Answer::Reject)) => Err(rejected(capable, &asked)),
        Some(Ok(Answer::RejectSession)) => {
            add_for_session(&denials(asked.offered()), run);
            Err(rejected(capable, &asked))
        }
        Some(Ok(Answer::Nobody)) => Err(unanswered(capable, &asked)),
        Some(Err(panic)) => {
            let message = format!("asking failed, so the call is denied: {panic}");
            Err(capable.refuse(ErrorCode::PermissionDenied, message))
        }
    }
}

fn rejected(capable: Capable, asked: &Asked) -> Stop {
    let message = format!("the user rejected the call ({})", asked.explained());
    capable.refuse(ErrorCode::PermissionDenied, message)
}

/// Returns the rules that deny what these allow.
fn denials(rules: &[Rule]) -> Vec<Rule> {
    rules.iter().map(|rule| Rule::new(&rule.permission, &rule.pattern, Action::Deny)).collect()
}

/// The call was decided whatever becomes of the rules, so a failure costs no more than the same question again.
fn add_for_session(rules: &[Rule], run: &RunState) {
    let shared = &run.session.shared;
    if let Err(err) = run.session.rules.add(rules, shared) {
        tracing::warn!("the answer holds this once, its rules could not be added: {err}");
    }
}

async fn add_for_project(rules: &[Rule], run: &RunState) {
    let shared = &run.session.shared;
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
    shared.project.add(rules);
}

/// Denies a call about which nobody could be asked, and says what would spare the question.
fn unanswered(capable: Capable, asked: &Asked) -> Stop {
    let mut message =
        format!("nobody can be asked here, so the call is denied: {}", asked.explained());
    if asked.of_watchdogs.is_empty() {
        let ways = ways_to_allow(&capable, asked);
        if !ways.is_empty() {
            message.push_str(&format!("; to allow it, {}", ways.join(", or ")));
        }
    } else {
        message.push_str("; what a watchdog asks no rule answers: use a front end that can ask (without the built-in one: \
             reference_watchdog = false)");
    }
    capable.refuse(ErrorCode::PermissionDenied, message)
}

fn ways_to_allow(capable: &Capable, asked: &Asked) -> Vec<String> {
    let tool = &capable.valid().contract().id;
    let mut ways = Vec::new();
    match &asked.options {
        Some(Options::Hosts(hosts)) => {
            let options: Vec<String> =
                hosts.iter().map(|host| format!("--allow-host {host}")).collect();
            ways.push(format!("start haft with `{}`", options.join(" ")));
        }
        Some(Options::Tool) => ways
            .push(format!("start haft with `--allow {tool}`, which allows all that {tool} does")),
        None => {}
    }
    if !asked.lasting.is_empty() {
        let rules: Vec<String> = asked.lasting.iter().map(as_toml).collect();
        ways.push(format!("put this into haft.toml and run `haft trust`:\n{}", rules.join("\n")));
    }
    ways
}

/// Writes a rule as the manifest has it. What JSON escapes in a text, TOML escapes in the same way.
fn as_toml(rule: &Rule) -> String {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let (permission, pattern) = (quoted(&rule.permission), quoted(&rule.pattern));
    let action = rule.action;
    format!(
        "[[permissions]]\npermission = {permission}\npattern = {pattern}\naction = \"{action}\""
    )
}

fn beginning(input: &str) -> String {
    if input.len() <= ASK_INPUT_BYTES_MAX {
        return input.to_owned();
    }
    let end = input.floor_char_boundary(ASK_INPUT_BYTES_MAX);
    format!("{}…", input.get(..end).unwrap_or_default())
}

impl Asked {
    fn reasons(&self) -> impl Iterator<Item = &str> {
        self.of_rules.iter().chain(&self.of_watchdogs).map(String::as_str)
    }

    fn explained(&self) -> String {
        self.reasons().collect::<Vec<_>>().join("; ")
    }

    /// Returns the rules that «always» adds. A watchdog would ask again whatever rules say.
    fn offered(&self) -> &[Rule] {
        if self.of_watchdogs.is_empty() { &self.lasting } else { &[] }
    }
}
