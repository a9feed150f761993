//! The words about the session of an agent that a run is, for the commands that show the run.

use haft_app::records::RunSession;
use haft_journal::RunRow;

use crate::arguments::hint;
use crate::arguments::setting_args::SettingArgs;
use crate::plan_run;

/// Returns the command that shows the messages of a session.
pub(super) fn show_command(session: &RunSession, settings: &SettingArgs) -> String {
    hint::with_journal_options(&format!("haft sessions show {}", session.session.id), settings)
}

/// Returns the words about resuming a run, if a command does that.
pub(super) fn resume_note(
    run: &RunRow,
    session: Option<&RunSession>,
    settings: &SettingArgs,
) -> Option<String> {
    let (what, command) = match session {
        Some(RunSession { plan: Some(plan), .. }) => ("plan", format!("haft resume {plan}")),
        Some(RunSession { session, ancestors, plan: None }) => {
            // A person resumes the session at the top.
            let root = ancestors.last().unwrap_or(&session.id);
            ("session", format!("haft agent --resume {root}"))
        }
        None if run.front_end == plan_run::FRONT_END => ("plan", format!("haft resume {}", run.id)),
        None => return None,
    };
    let command = hint::with_journal_options(&command, settings);
    // The journal does not keep what a process was allowed.
    let again = match what {
        "plan" => ", and name again what you allowed with --allow or --allow-host",
        _ => "",
    };
    Some(format!("Then go on with the {what}{again}:\n  {command}"))
}
