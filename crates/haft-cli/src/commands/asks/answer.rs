//! `haft asks allow`, `haft asks reject` and `haft asks answer`: the answer of the person at this terminal.

use clap::Args;
use haft::limits::ANSWER_WORDS_CHARS_MAX;
use haft::{AskKind, AskMismatch, Elicitation, ShownAsk};
use haft_app::process_identity;
use haft_app::records::{self, AnswerAskError};
use haft_contract::ToolId;
use haft_journal::{AskRow, AskVerdict, Journal, NewAskAnswer};

use super::find;
use crate::arguments::cli_context::CliContext;
use crate::arguments::input;
use crate::asking::{
    TypedAnswer, ask_confirmation, ask_on_terminal_about, escape_text, indent_untrusted,
};
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::views::output;

/// The front end that answers given here come through.
const THROUGH: &str = "asks";

/// Characters of the name of a person whose answer a program passes on.
const BY_CHARS_MAX: usize = 200;

/// Allow a call that waits for an answer
///
/// Without an option, the answer holds for this call only. --session and --always also add the rules that haft asks show names:
/// the narrow ones, or with --wider the wider ones. haft shows the rules before it writes them, and asks you to confirm.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft asks allow ask_7f3c9a01be42
  haft asks allow ask_7f3c9a01be42 --session
  haft asks allow ask_7f3c9a01be42 --always --wider --yes
  haft asks allow ask_7f3c9a01be42 --edit '{\"cmd\": \"cargo test --offline\"}'")]
pub(super) struct AsksAllowArgs {
    /// The ask, or the beginning of its name, as haft asks list spells it
    pub(super) ask: String,
    /// Allow such calls until the session or connection ends
    #[arg(long, conflicts_with_all = ["always", "edit"])]
    session: bool,
    /// Allow such calls in this project from now on
    #[arg(long, conflicts_with = "edit")]
    always: bool,
    /// With --session or --always, add the wider rules instead of the narrow ones
    #[arg(long)]
    wider: bool,
    /// Allow the call with another input: JSON, @FILE to read it from a file, or - for standard input
    ///
    /// haft validates and judges the new input as it does any call. Rules and watchdogs that deny it still hold.
    #[arg(long, value_name = "JSON")]
    edit: Option<String>,
    /// Words for the model, which it reads with the result
    #[arg(long, value_name = "TEXT")]
    words: Option<String>,
    /// Answer only if this is still what the ask shows: the SHA-256 that haft asks show --json has as shown.sha256
    #[arg(long, value_name = "SHA256")]
    shown: Option<String>,
    /// Who answers, if a program passes the answer on
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
    /// Add rules without asking to confirm them
    #[arg(long)]
    yes: bool,
}

/// Reject a call that waits for an answer
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft asks reject ask_7f3c9a01be42
  haft asks reject ask_7f3c9a01be42 --words 'use cargo nextest instead'
  haft asks reject ask_7f3c9a01be42 --session")]
pub(super) struct AsksRejectArgs {
    /// The ask, or the beginning of its name, as haft asks list spells it
    pub(super) ask: String,
    /// Deny such calls until the session or connection ends
    #[arg(long)]
    session: bool,
    /// Words for the model, which say what to do instead
    #[arg(long, value_name = "TEXT")]
    words: Option<String>,
    /// Answer only if this is still what the ask shows: the SHA-256 that haft asks show --json has as shown.sha256
    #[arg(long, value_name = "SHA256")]
    shown: Option<String>,
    /// Who answers, if a program passes the answer on
    #[arg(long, value_name = "NAME")]
    by: Option<String>,
}

/// Answer the questions of a tool or of a plan
///
/// Give one ANSWER for each question, in their order. An answer is the number of an option, its label, or your own words. If
/// several options may be chosen, separate their numbers with commas. An empty answer skips its question. An answer allows
/// nothing. Without an ANSWER, haft asks the questions on the terminal. haft asks reject leaves them unanswered.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft asks answer ask_51d0c83e9f27
  haft asks answer ask_51d0c83e9f27 yes
  haft asks answer ask_51d0c83e9f27 2 'the staging server' 1,3")]
pub(super) struct AsksAnswerArgs {
    /// The ask, or the beginning of its name, as haft asks list spells it
    pub(super) ask: String,
    /// An answer for each question, in their order
    #[arg(value_name = "ANSWER")]
    answers: Vec<String>,
    /// Answer only if this is still what the ask shows: the SHA-256 that haft asks show --json has as shown.sha256
    #[arg(long, value_name = "SHA256")]
    shown: Option<String>,
}

/// Allows a call.
pub(super) async fn allow(
    args: AsksAllowArgs,
    journal: &dyn Journal,
    cx: &CliContext,
) -> CommandResult {
    let ask = find(&args.ask, Some(journal)).await?;
    if args.wider && !(args.session || args.always) {
        return Err(CommandError::usage("--wider goes with --session or --always"));
    }
    let verdict = match (&args.edit, args.always, args.session, args.wider) {
        (Some(_), ..) => AskVerdict::Edited,
        (None, true, _, true) => AskVerdict::Always,
        (None, true, _, false) => AskVerdict::AlwaysExact,
        (None, false, true, true) => AskVerdict::Session,
        (None, false, true, false) => AskVerdict::SessionExact,
        (None, false, false, _) => AskVerdict::Once,
    };
    let content = match &args.edit {
        Some(given) => Some(input::read_json(given, "input")?.to_string()),
        None => None,
    };
    if args.session || args.always {
        confirm_rules(&args, &ask).await?;
    }
    let reply = reply(&ask, verdict, (args.words, args.shown, args.by), cx)?;
    answer(journal, &ask, NewAskAnswer { edited_input: content, ..reply }, cx).await
}

/// Rejects a call.
pub(super) async fn reject(
    args: AsksRejectArgs,
    journal: &dyn Journal,
    cx: &CliContext,
) -> CommandResult {
    let ask = find(&args.ask, Some(journal)).await?;
    let verdict = if args.session { AskVerdict::RejectSession } else { AskVerdict::Reject };
    let reply = reply(&ask, verdict, (args.words, args.shown, args.by), cx)?;
    answer(journal, &ask, reply, cx).await
}

/// Answers questions.
pub(super) async fn answer_questions(
    args: AsksAnswerArgs,
    journal: &dyn Journal,
    cx: &CliContext,
) -> CommandResult {
    let ask = find(&args.ask, Some(journal)).await?;
    let Some(shown) = records::shown_or_summary(journal, &ask).await? else {
        return Err(CommandError::failed(format!("the questions of {} cannot be read", ask.id)));
    };
    if shown.kind != AskKind::Question {
        let message = format!("{} is about a call, so it is allowed or rejected", ask.id);
        return Err(CommandError::usage(message).hint(format!("haft asks show {}", ask.id)));
    }
    let answers = match args.answers.as_slice() {
        [] => typed_answers(&ask, &shown).await?,
        given => given_answers(&ask, &shown, given)?,
    };
    let reply = reply(&ask, AskVerdict::Once, (None, args.shown, None), cx)?;
    let content = serde_json::to_string(&answers).expect("lists of texts always serialize");
    answer(journal, &ask, NewAskAnswer { edited_input: Some(content), ..reply }, cx).await
}

/// Returns the answers that the person types now.
async fn typed_answers(ask: &AskRow, shown: &ShownAsk) -> Result<Vec<Vec<String>>, CommandError> {
    let tool = ToolId::parse(&ask.tool);
    let tool = tool.map_err(|_| CommandError::failed("the ask names no tool"))?;
    let asked = Elicitation {
        call_id: ask.call.to_string(),
        driver_call_id: None,
        tool,
        questions: shown.questions.clone(),
        connection: shown.connection.clone(),
    };
    ask_on_terminal_about(asked).await.ok_or_else(|| {
        let message = format!("no answer was given, and {} still waits", ask.id);
        CommandError::usage(message).hint(format!("haft asks answer {} ANSWER...", ask.id))
    })
}

/// Returns the answers of the command line.
fn given_answers(
    ask: &AskRow,
    shown: &ShownAsk,
    given: &[String],
) -> Result<Vec<Vec<String>>, CommandError> {
    let show = || format!("haft asks show {}", ask.id);
    let (expected, found) = (shown.questions.len(), given.len());
    if expected != found {
        let message = format!(
            "expected an answer for each of the questions ({expected}), found {found}: quote an answer that has blanks"
        );
        return Err(CommandError::usage(message).hint(show()));
    }
    let answers =
        shown.questions.iter().zip(given).map(|(question, text)| {
            match TypedAnswer::parse(text.trim(), question) {
                TypedAnswer::Answers(answers) => Ok(answers),
                TypedAnswer::Nothing => Ok(Vec::new()),
                TypedAnswer::NoSuchOption(number) => {
                    let message = format!(
                        "there is no option {number}: there are 1 to {} of {:?}",
                        question.options.len(),
                        escape_text(&question.question)
                    );
                    Err(CommandError::usage(message).hint(show()))
                }
            }
        });
    answers.collect()
}

/// Shows the very rules that the answer adds, and has the person confirm them.
async fn confirm_rules(args: &AsksAllowArgs, ask: &AskRow) -> Result<(), CommandError> {
    let shown = ShownAsk::parse(&ask.summary);
    let rules = shown.as_ref().map(|shown| shown.rules(!args.wider)).unwrap_or_default();
    if rules.is_empty() {
        let message = format!(
            "no rule would allow the call of {}: it can only be allowed for this one time",
            ask.id
        );
        return Err(CommandError::usage(message).hint(format!("haft asks allow {}", ask.id)));
    }
    let scope = match args.always {
        true => format!(
            "From now on, for every call in {}",
            haft_contract::escape_controls(
                &shown.as_ref().map_or_else(String::new, |it| it.root.clone())
            )
        ),
        false => "From now on, until the session ends".to_owned(),
    };
    let listed = format!("{scope}:\n{}", indent_untrusted(rules));
    if args.yes {
        output::print_note(listed.trim_end());
        return Ok(());
    }
    match ask_confirmation(&format!("{listed}Add these rules and allow the call?")).await {
        Some(true) => Ok(()),
        Some(false) => Err(CommandError::failed("no answer was given, and the ask still waits")),
        None => {
            let message = format!(
                "adding rules needs your confirmation, and standard input is not a terminal; the rules are:\n{}",
                indent_untrusted(rules)
            );
            Err(CommandError::usage(message.trim_end()))
        }
    }
}

fn reply(
    ask: &AskRow,
    verdict: AskVerdict,
    (words, shown, by): (Option<String>, Option<String>, Option<String>),
    cx: &CliContext,
) -> Result<NewAskAnswer, CommandError> {
    let chars = words.as_deref().map_or(0, |words| words.chars().count());
    if chars > ANSWER_WORDS_CHARS_MAX {
        return Err(CommandError::usage(format!(
            "--words: expected at most {ANSWER_WORDS_CHARS_MAX} characters, found {chars}"
        )));
    }
    let place = process_identity::this_process(cx.host.now_ms())?.location;
    let user = ["USER", "LOGNAME"].iter().find_map(|name| cx.host.variable_text(name));
    let here = match user.filter(|user| !user.is_empty()) {
        Some(user) => format!("{user} ({place})"),
        None => place,
    };
    let by = match by.filter(|by| !by.trim().is_empty()) {
        Some(by) => format!("{}, passed on by {here}", haft_contract::cut(&by, BY_CHARS_MAX)),
        None => here,
    };
    Ok(NewAskAnswer {
        ask: ask.id.clone(),
        verdict,
        by,
        through: THROUGH.to_owned(),
        shown_sha256: shown.unwrap_or_else(|| ask.shown.sha256.clone()),
        words: words.filter(|words| !words.trim().is_empty()),
        edited_input: None,
        now_ms: cx.host.now_ms(),
    })
}

async fn answer(
    journal: &dyn Journal,
    ask: &AskRow,
    reply: NewAskAnswer,
    cx: &CliContext,
) -> CommandResult {
    let answered = match records::answer_ask(journal, ask, reply).await {
        Err(AnswerAskError::Journal(err)) => return Err(err.into()),
        Err(err @ AnswerAskError::Mismatch { mismatch, .. }) => {
            let hint = match mismatch {
                AskMismatch::IsQuestion => format!("haft asks answer {} ANSWER...", ask.id),
                _ => format!("haft asks show {}", ask.id),
            };
            return Err(CommandError::usage(err).hint(hint));
        }
        Ok(answered) => answered,
    };
    cx.print_answer(&answered, || {
        let arrived =
            answered.answer.as_ref().is_some_and(|answer| answer.received_at_ms.is_some());
        let next = match arrived {
            true => "the process that asked received the answer",
            false => "the answer is recorded; the process that asked has not received it yet",
        };
        format!("{} ({}): {next}", answered.id, answered.tool)
    })?;
    Ok(CommandStatus::Done)
}
