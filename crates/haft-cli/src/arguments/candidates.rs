//! The values that a shell offers while a word is typed: runs, sessions, agents and tools. A shell waits for them, so nothing is
//! started, and whatever cannot be read is left out.

use std::future::Future;

use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use haft_agent::find_agents;
use haft_app::compose::agent_paths;
use haft_app::host::AppHost;
use haft_app::records::{LatestWork, Work, WorkFilter, input_summary, short_id};
use haft_app::settings::{self, EffectiveSettings};
use haft_app::{SettingOverrides, compose};

use super::latest::LAST;
use crate::views::outcome::on_one_line;
use crate::views::time::age_in_words;

/// Runs that a shell offers: those that were used last.
const RUNS_OFFERED_MAX: usize = 30;

/// Returns the runs of this workspace by their short ids, the one that was used last first.
pub(crate) fn runs() -> ArgValueCandidates {
    ArgValueCandidates::new(|| offered_work(|_| true))
}

/// Returns the sessions of this workspace as `runs` does.
pub(crate) fn sessions() -> ArgValueCandidates {
    ArgValueCandidates::new(|| offered_work(|work| work.session.is_some()))
}

/// Returns the agents of this workspace.
pub(crate) fn agents() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Some((settings, host)) = open() else { return Vec::new() };
        let found = find_agents(&agent_paths(&settings, &host));
        found.iter().map(|agent| candidate(&agent.name, &agent.description)).collect()
    })
}

/// Returns the tools of the profile, and the commands that the manifest declares.
pub(crate) fn tools() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let Some((settings, _)) = open() else { return Vec::new() };
        let built_in = haft_tools::tools(settings.profile, &haft_tools::ToolOptions::default());
        let built_in = built_in.iter().filter_map(|tool| tool.valid_contract().ok());
        let built_in: Vec<CompletionCandidate> = built_in
            .map(|contract| candidate(contract.id.as_str(), &contract.description))
            .collect();
        let declared = settings
            .commands
            .iter()
            .map(|command| candidate(command.id.as_str(), "command of haft.toml"));
        built_in.into_iter().chain(declared).collect()
    })
}

/// Returns the settings of the working directory. Options of the line that is typed are not looked at.
fn open() -> Option<(EffectiveSettings, AppHost)> {
    let host = AppHost::from_process().ok()?.on_notice(|_| {});
    let settings = settings::resolve(&SettingOverrides::default(), &host).ok()?;
    Some((settings, host))
}

fn offered_work(is_meant: fn(&Work) -> bool) -> Vec<CompletionCandidate> {
    let Some((settings, host)) = open() else { return Vec::new() };
    block_on(async {
        let root = compose::roots(&settings).ok()?.workspace().to_string_lossy().into_owned();
        let journal = settings.durability.journal.open_to_read().await.ok()??;
        let filter = WorkFilter { root: Some(&root), ..WorkFilter::default() };
        let mut latest = LatestWork::new(&*journal, filter);
        let mut offered = Vec::new();
        while let Some(one) = latest.next().await.ok()? {
            if offered.len() == RUNS_OFFERED_MAX {
                break;
            }
            if !is_meant(&one) {
                continue;
            }
            let title = one.session.as_ref().and_then(|session| session.title.clone());
            let about = match title {
                Some(title) => on_one_line(&title),
                None => one.first_call(&*journal).await.ok()?.map_or_else(String::new, |call| {
                    on_one_line(&format!("{} {}", call.tool, input_summary(&call.input)))
                }),
            };
            let age = age_in_words(one.used_at_ms, host.now_ms());
            let short = short_id(&*journal, &one.id).await.ok()?;
            offered.push(candidate(&short, &format!("{age}: {about}")));
        }
        if !offered.is_empty() {
            offered.insert(0, candidate(LAST, "the run that was used last"));
        }
        Some(offered)
    })
    .unwrap_or_default()
}

fn candidate(value: &str, about: &str) -> CompletionCandidate {
    let line = about.lines().next().unwrap_or_default().to_owned();
    CompletionCandidate::new(value).help(Some(line.into()))
}

/// Runs what reads the journal to its end. Returns nothing if that cannot be begun.
fn block_on<T>(work: impl Future<Output = Option<T>>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let found = runtime.block_on(work);
    runtime.shutdown_background();
    found
}
