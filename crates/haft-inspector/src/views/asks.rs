//! The asks that wait for a person, of all processes on the journal, and their cards. An answer is about exactly what the card
//! showed: the row, its contents, and the present files that it compares with. The journal decides which answer is the first.

use std::path::Path;
use std::sync::Arc;

use askama::Template;
use haft::limits::ANSWER_WORDS_CHARS_MAX;
use haft::{AskKind, ShownAsk};
use haft_app::calendar::rfc3339;
use haft_app::records::{self, AnswerAskError, find_pending_asks};
use haft_contract::limits::QUESTION_ANSWER_CHARS_MAX;
use haft_contract::{UserQuestion, sha256_hex};
use haft_journal::{AskQuery, AskRow, AskState, AskVerdict, Journal, JournalError, NewAskAnswer};

use super::planned_change::PlannedChange;
use super::runs::last_change;
use crate::ansi::{StyledText, styled};
use crate::change::ShownChange;
use crate::limits::{ASKS_SHOWN_MAX, ENDED_ASKS_SHOWN_MAX};
use crate::navigation::{Section, Sections};
use crate::page_error::PageError;
use crate::request::{InspectorRequest, call_url, run_url};
use crate::response::{self, PageResponse};
use crate::source::Source;
use crate::text::{on_one_line, shown, url_part};

/// The front end that the journal names for answers of this page.
const FRONT_END: &str = "inspector";
/// The button that answers questions. The other buttons are named after their verdicts.
const ANSWER_BUTTON: &str = "answer";

#[derive(Template)]
#[template(path = "asks.html")]
struct AsksPage {
    sections: Sections,
    last_change: u64,
    cards: Vec<AskCard>,
    /// How many wait beyond those.
    unlisted: usize,
    /// The latest ones that ended.
    ended: Vec<EndedAsk>,
    /// Whether the page is about one ask.
    is_one: bool,
}

/// An ask as a person sees it.
struct AskCard {
    id: String,
    url: String,
    title: String,
    call: String,
    run: String,
    run_url: String,
    /// The agents that led to the call, the outermost first.
    agents: String,
    front_end: String,
    asker: String,
    root: String,
    asked: String,
    deadline: Option<String>,
    at_deadline: &'static str,
    /// Longest answer in the person's own words.
    answer_chars_max: usize,
    reasons: Vec<String>,
    accesses: Vec<String>,
    change: Option<PlannedChange>,
    input: Vec<StyledText>,
    /// The input as text to be edited.
    input_json: String,
    always_rules: Vec<String>,
    exact_rules: Vec<String>,
    /// The questions, if it asks for more than a permission.
    questions: Vec<CardQuestion>,
    /// Whether the input can be edited.
    is_editable: bool,
    /// Why it cannot be answered here; empty if it can.
    problem: &'static str,
    nonce: String,
}

/// A question as a person sees it.
struct CardQuestion {
    /// The name of its field.
    name: String,
    header: String,
    text: String,
    /// The labels with their descriptions, in the order of the question.
    options: Vec<(String, String)>,
    takes_several: bool,
}

/// An ask that ended, on one line.
struct EndedAsk {
    id: String,
    url: String,
    tool: String,
    call: String,
    call_url: String,
    how: String,
    words: String,
    when: Option<String>,
    style: &'static str,
}

/// An ask that waits, with all that it shows.
struct PendingAsk {
    row: AskRow,
    shown: ShownAsk,
    change: Option<PlannedChange>,
    problem: &'static str,
}

/// Shows the asks.
pub(crate) async fn list(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let mut page = AsksPage {
        sections: Sections(Section::Asks),
        last_change: 0,
        cards: Vec::new(),
        unlisted: 0,
        ended: Vec::new(),
        is_one: false,
    };
    let Some(journal) = source.journal().await? else { return response::html(&page) };
    page.last_change = last_change(&*journal).await?;
    let pending = find_pending_asks(&*journal).await?;
    page.unlisted = pending.len().saturating_sub(ASKS_SHOWN_MAX);
    for row in pending.into_iter().take(ASKS_SHOWN_MAX) {
        // An ask that ends meanwhile is among the ended ones next time.
        if let Some(ask) = PendingAsk::of(row, source, &*journal).await? {
            page.cards.push(ask.card(source, request)?);
        }
    }
    let limit =
        u32::try_from(page.unlisted + ASKS_SHOWN_MAX + ENDED_ASKS_SHOWN_MAX).unwrap_or(u32::MAX);
    let latest = AskQuery { latest_first: true, limit, ..AskQuery::default() };
    let mut ended = journal.asks(latest).await?;
    ended.retain(|row| row.state != AskState::Pending);
    ended.truncate(ENDED_ASKS_SHOWN_MAX);
    page.ended = ended.iter().map(EndedAsk::of).collect();
    response::html(&page)
}

/// Shows one ask.
pub(crate) async fn show(
    source: &Arc<Source>,
    request: &InspectorRequest,
    id: &str,
) -> Result<PageResponse, PageError> {
    let journal = source.present_journal().await?;
    let row = find_ask(&*journal, id).await?;
    let mut page = AsksPage {
        sections: Sections(Section::Asks),
        last_change: last_change(&*journal).await?,
        cards: Vec::new(),
        unlisted: 0,
        ended: Vec::new(),
        is_one: true,
    };
    match PendingAsk::of(row, source, &*journal).await? {
        Some(ask) => page.cards.push(ask.card(source, request)?),
        None => {
            let row = find_ask(&*journal, id).await?;
            if row.state == AskState::Pending {
                return Err(PageError::failed(format!("what ask {id} shows cannot be read")));
            }
            page.ended.push(EndedAsk::of(&row));
        }
    }
    response::html(&page)
}

/// Records the answer of a person.
pub(crate) async fn answer(
    source: &Arc<Source>,
    request: &InspectorRequest,
    id: &str,
) -> Result<PageResponse, PageError> {
    let is_answer = request.form("verdict") == Some(ANSWER_BUTTON);
    let verdict = match is_answer {
        true => Some(AskVerdict::Once),
        false => request.form("verdict").and_then(AskVerdict::parse),
    };
    let verdict =
        verdict.ok_or_else(|| PageError::bad_request("verdict: expected a button of the card"))?;
    let words = request.form("words").map(str::trim).filter(|words| !words.is_empty());
    if words.is_some_and(|words| words.chars().count() > ANSWER_WORDS_CHARS_MAX) {
        let message =
            format!("The words are too long: use at most {ANSWER_WORDS_CHARS_MAX} characters.");
        return Err(PageError::bad_request(message));
    }
    let edited_input = match verdict {
        AskVerdict::Edited => Some(edited_input(request.form("input").unwrap_or_default())?),
        AskVerdict::Once
        | AskVerdict::Session
        | AskVerdict::SessionExact
        | AskVerdict::Always
        | AskVerdict::AlwaysExact
        | AskVerdict::Reject
        | AskVerdict::RejectSession => None,
    };
    let journal = source.present_journal().await?;
    let row = find_ask(&*journal, id).await?;
    let ended = |row: &AskRow| PageError::conflict(format!("{}.", EndedAsk::of(row).how));
    if row.state != AskState::Pending {
        return Err(ended(&row));
    }
    let Some(ask) = PendingAsk::of(row, source, &*journal).await? else {
        return Err(ended(&find_ask(&*journal, id).await?));
    };
    if !ask.problem.is_empty() {
        return Err(PageError::conflict(ask.problem));
    }
    ask.offer().check(source, request)?;
    let answers = is_answer.then(|| form_answers(&ask.shown.questions, request));
    let answers = answers.and_then(|answers| serde_json::to_string(&answers).ok());
    let reply = NewAskAnswer {
        ask: ask.row.id.clone(),
        verdict,
        by: source.person()?,
        through: FRONT_END.to_owned(),
        shown_sha256: ask.row.shown.sha256.clone(),
        words: words.map(str::to_owned),
        edited_input: edited_input.or(answers),
        now_ms: source.host.now_ms(),
    };
    match records::answer_ask(&*journal, &ask.row, reply).await {
        Ok(_) => Ok(response::go_to(&ask_url(id))),
        Err(err @ AnswerAskError::Mismatch { .. }) => Err(PageError::bad_request(err.to_string())),
        Err(AnswerAskError::Journal(JournalError::AskEnded { ask })) => Err(ended(&ask)),
        Err(AnswerAskError::Journal(err @ JournalError::AskDiffers { .. })) => {
            Err(PageError::conflict(err))
        }
        Err(AnswerAskError::Journal(err)) => Err(err.into()),
    }
}

/// Returns the answers of a form: for each question the chosen labels, then the person's own words.
fn form_answers(questions: &[UserQuestion], request: &InspectorRequest) -> Vec<Vec<String>> {
    let answers = questions.iter().enumerate().map(|(place, question)| {
        let (name, own) = (field_name(place), format!("{}-own", field_name(place)));
        let chosen = request.form_values(&name).filter_map(|value| value.parse::<usize>().ok());
        let labels = chosen.filter_map(|place| question.options.get(place));
        let labels = labels.map(|option| option.label.clone());
        let own = request.form(&own).map(|words| words.trim().to_owned());
        labels.chain(own.filter(|words| !words.is_empty())).collect()
    });
    answers.collect()
}

/// Returns the name of the field of a question.
fn field_name(place: usize) -> String {
    format!("question{place}")
}

/// Returns the path of an ask's page.
fn ask_url(id: &str) -> String {
    format!("/asks/{}", url_part(id))
}

/// Returns an input that a person wrote, if it is a JSON object.
fn edited_input(text: &str) -> Result<String, PageError> {
    let wrong = |why: String| PageError::bad_request(format!("The input cannot be used: {why}."));
    match serde_json::from_str(text) {
        Ok(input @ serde_json::Value::Object(_)) => Ok(input.to_string()),
        Ok(_) => Err(wrong("expected a JSON object".to_owned())),
        Err(err) => Err(wrong(format!("it is not JSON: {err}"))),
    }
}

async fn find_ask(journal: &dyn Journal, id: &str) -> Result<AskRow, PageError> {
    let found = journal.asks(AskQuery::of_id(id)).await?.pop();
    found.ok_or_else(|| PageError::not_found(format!("There is no ask {id} in this journal.")))
}

impl PendingAsk {
    /// Returns an ask with what it shows; `None` if it has ended.
    async fn of(
        row: AskRow,
        source: &Source,
        journal: &dyn Journal,
    ) -> Result<Option<Self>, PageError> {
        if row.state != AskState::Pending {
            return Ok(None);
        }
        let Some(text) = journal.shown_of_ask(&row).await? else { return Ok(None) };
        let is_same = sha256_hex(text.as_bytes()) == row.shown.sha256;
        let shown = ShownAsk::parse(&text).filter(|_| is_same);
        let shown = shown.ok_or_else(|| {
            PageError::failed(format!("ask {} does not show what was recorded with it", row.id))
        })?;
        let waits = find_pending_asks(journal).await?;
        let is_over =
            row.deadline_ms.is_some_and(|deadline_ms| deadline_ms <= source.host.now_ms());
        let problem = if !waits.iter().any(|waiting| waiting.id == row.id) {
            "The process that asked is gone. The call did not happen."
        } else if is_over {
            "Its time is over."
        } else {
            ""
        };
        let change = PlannedChange::of(&row.tool, &shown.input, Path::new(&shown.root));
        Ok(Some(Self { row, shown, change, problem }))
    }

    /// Returns the change that an answer is: about this row, what it shows, and the present files that it is compared with.
    fn offer(&self) -> ShownChange {
        let row = serde_json::to_string(&self.row).unwrap_or_default();
        let change = self.change.as_ref().map(|change| format!("{:?}", change.lines));
        let shown = format!("{row}\n{:?}\n{}", self.shown, change.unwrap_or_default());
        ShownChange::new(format!("answer {}", self.row.id), &shown)
    }

    fn card(self, source: &Source, request: &InspectorRequest) -> Result<AskCard, PageError> {
        let nonce = match self.problem {
            "" => self.offer().offer(source, request)?,
            _ => String::new(),
        };
        let Self { row, shown: asked, change, problem } = self;
        let pretty = serde_json::to_string_pretty(&asked.input).unwrap_or_default();
        let lines = |lines: &[String]| lines.iter().map(|line| on_one_line(line)).collect();
        let run = &row.call.scope.run;
        let tool = on_one_line(&row.tool);
        let is_question = asked.kind == AskKind::Question;
        let questions = asked.questions.iter().enumerate().map(|(place, question)| CardQuestion {
            name: field_name(place),
            header: on_one_line(question.header.as_deref().unwrap_or_default()),
            text: shown(&question.question),
            options: question
                .options
                .iter()
                .map(|option| {
                    let about = option.description.as_deref().unwrap_or_default();
                    (on_one_line(&option.label), on_one_line(about))
                })
                .collect(),
            takes_several: question.multi_select,
        });
        Ok(AskCard {
            url: ask_url(&row.id),
            title: match asked.kind {
                AskKind::Call => format!("May {tool} run?"),
                AskKind::Tool => format!("May the plan call {tool}?"),
                AskKind::Question => format!("{tool} asks you"),
            },
            questions: questions.collect(),
            is_editable: asked.kind == AskKind::Call,
            call: on_one_line(&row.call.to_string()),
            run: run.to_string(),
            run_url: run_url(run),
            agents: on_one_line(&row.agents.join(" › ")),
            front_end: on_one_line(&row.front_end),
            asker: on_one_line(&row.asker),
            root: on_one_line(&asked.root),
            asked: rfc3339(row.asked_at_ms),
            deadline: row.deadline_ms.map(rfc3339),
            at_deadline: if is_question { "the question expires" } else { "the call is denied" },
            answer_chars_max: QUESTION_ANSWER_CHARS_MAX,
            reasons: lines(&asked.reasons),
            accesses: lines(&asked.accesses),
            change,
            input: if is_question { Vec::new() } else { styled(&pretty) },
            input_json: shown(&pretty),
            always_rules: lines(&asked.always_rules),
            exact_rules: lines(&asked.exact_rules),
            problem,
            nonce,
            id: row.id,
        })
    }
}

impl EndedAsk {
    fn of(row: &AskRow) -> Self {
        let answer = row.answer.as_ref();
        let kind = ShownAsk::parse(&row.summary).map(|shown| shown.kind).unwrap_or_default();
        let is_question = kind == AskKind::Question;
        let by = answer.map(|answer| {
            let what = match answer.verdict {
                AskVerdict::Once if is_question => "Answered",
                AskVerdict::Once => "Allowed once",
                AskVerdict::Session | AskVerdict::SessionExact => "Allowed for the session",
                AskVerdict::Always | AskVerdict::AlwaysExact => "Allowed for the project",
                AskVerdict::Edited => "Allowed with another input",
                AskVerdict::Reject => "Rejected",
                AskVerdict::RejectSession => "Rejected for the session",
            };
            let got = if answer.received_at_ms.is_some() {
                ""
            } else {
                "; the call has not received it yet"
            };
            format!(
                "{what} by {} through {}{got}",
                on_one_line(&answer.by),
                on_one_line(&answer.through)
            )
        });
        let is_allowed = answer.map(|answer| {
            !matches!(answer.verdict, AskVerdict::Reject | AskVerdict::RejectSession)
        });
        Self {
            id: row.id.clone(),
            url: ask_url(&row.id),
            tool: on_one_line(&row.tool),
            call: on_one_line(&row.call.to_string()),
            call_url: call_url(&row.call),
            how: by.unwrap_or_else(|| match row.state {
                AskState::Expired if is_question => "Not answered in time".to_owned(),
                AskState::Expired => "Denied, because its time was over".to_owned(),
                AskState::Withdrawn | AskState::Pending | AskState::Answered => {
                    "Withdrawn, because its call needs no answer any more".to_owned()
                }
            }),
            words: answer.and_then(|it| it.words.as_deref()).map(shown).unwrap_or_default(),
            when: row.ended_at_ms.map(rfc3339),
            style: match is_allowed {
                Some(true) => "succeeded",
                Some(false) => "refused",
                None => "ended",
            },
        }
    }
}
