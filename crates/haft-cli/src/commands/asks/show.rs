//! `haft asks show`: all that a person has to know to answer.

use std::fmt::Write as _;

use clap::Args;
use haft::{AskKind, ShownAsk};
use haft_app::calendar::rfc3339;
use haft_journal::{AskRow, AskState, Journal};
use serde_json::{Value, json};

use super::{find, is_question, state_in_words};
use crate::arguments::cli_context::CliContext;
use crate::asking::{escape_text, indent_untrusted, option_lines};
use crate::error::{CommandResult, CommandStatus};

/// Show an ask: the whole input, the accesses, the reasons, and the rules that an answer would add; or the questions
///
/// The input and the contents of an ask are shown while it waits. After that, bodies are shown as size and SHA-256.
#[derive(Args)]
pub(super) struct AsksShowArgs {
    /// The ask, or the beginning of its name, as haft asks list spells it
    ask: String,
}

/// Shows an ask of a journal, `None` if there is none yet.
pub(super) async fn run(
    args: &AsksShowArgs,
    journal: Option<&dyn Journal>,
    cx: &CliContext,
) -> CommandResult {
    let ask = find(&args.ask, journal).await?;
    let shown = match journal {
        Some(journal) => journal.shown_of_ask(&ask).await?,
        None => None,
    };
    let content = shown.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let mut answer = serde_json::to_value(&ask).unwrap_or_default();
    if let Some(fields) = answer.as_object_mut() {
        fields.insert("content".to_owned(), content.unwrap_or(Value::Null));
    }
    let shown = shown.as_deref().and_then(ShownAsk::parse);
    cx.print_answer(&answer, || text(&ask, shown.or_else(|| ShownAsk::parse(&ask.summary))))?;
    Ok(CommandStatus::Done)
}

/// Returns an ask as a person reads it. A model may have written what is in it, so its lines are indented.
pub(super) fn text(ask: &AskRow, shown: Option<ShownAsk>) -> String {
    let mut text = format!("{}: {}\n", ask.id, state_in_words(ask));
    let by = match ask.agents.as_slice() {
        [] => String::new(),
        agents => format!(", agent {}", agents.join(" > ")),
    };
    let _ = writeln!(text, "call {} of {} ({}{by})", ask.call, ask.tool, ask.front_end);
    let _ = writeln!(text, "asked {} by {}", rfc3339(ask.asked_at_ms), ask.asker);
    match ask.deadline_ms {
        Some(deadline_ms) if ask.state == AskState::Pending => {
            let end = if is_question(ask) { "expires" } else { "denied" };
            let _ = writeln!(text, "{end} at {} unless it is answered", rfc3339(deadline_ms));
        }
        Some(_) | None => {}
    }
    let Some(shown) = shown else { return text };
    let input = match shown.kind {
        AskKind::Question => String::new(),
        AskKind::Call | AskKind::Tool => {
            serde_json::to_string_pretty(&shown.input).unwrap_or_else(|_| json!({}).to_string())
        }
    };
    let input: Vec<String> = input.lines().map(str::to_owned).collect();
    for (place, question) in shown.questions.iter().enumerate() {
        let number = format!("Question {}", place + 1);
        let title = question.header.as_deref().map(escape_text).filter(|title| !title.is_empty());
        let title = title.map_or(number.clone(), |title| format!("{number}, {title}"));
        let several = if question.multi_select { " (several may be chosen)" } else { "" };
        let lines: Vec<String> =
            question.question.lines().map(str::to_owned).chain(option_lines(question)).collect();
        let _ = write!(text, "\n{title}{several}:\n{}", indent_untrusted(&lines));
    }
    let root = [shown.root];
    let sections = [
        ("It wants", shown.accesses.as_slice()),
        ("Input", input.as_slice()),
        ("Why you are asked", shown.reasons.as_slice()),
        (
            "Rules that --always or --session adds",
            match shown.exact_rules.as_slice() {
                [] => shown.always_rules.as_slice(),
                exact => exact,
            },
        ),
        (
            "Rules that --wider adds instead",
            match shown.exact_rules.is_empty() {
                true => &[][..],
                false => shown.always_rules.as_slice(),
            },
        ),
        ("Root", root.as_slice()),
    ];
    for (heading, lines) in sections.into_iter().filter(|(_, lines)| !lines.is_empty()) {
        let _ = write!(text, "\n{heading}:\n{}", indent_untrusted(lines));
    }
    if let Some(words) = ask.answer.as_ref().and_then(|answer| answer.words.as_deref()) {
        let _ = write!(text, "\nWords for the model:\n{}", indent_untrusted(&[words.to_owned()]));
    }
    text
}
