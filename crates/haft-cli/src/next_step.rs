//! The commands that the steps of errors and notices are on this command line, ready to be pasted; and notices on standard
//! error.

use std::path::Path;

use crate::output;
use haft_app::app_error::NextStep;
use haft_app::host::{Notice, NoticeLevel};
use haft_app::quote;

/// Returns the command that a step is.
pub(crate) fn command_of(step: &NextStep) -> String {
    let path = |path: &Path| quote::shell(&path.to_string_lossy());
    match step {
        NextStep::NameStateDirectory => "export HAFT_STATE_DIR=/path/to/a/directory".to_owned(),
        NextStep::NameWritableStateDirectory => {
            "export HAFT_STATE_DIR=/path/to/a/writable/directory".to_owned()
        }
        NextStep::NameRoot => "haft --root /path/to/a/directory".to_owned(),
        NextStep::NameModel => "export HAFT_MODEL=openai/gpt-5".to_owned(),
        NextStep::MakeManifest => "haft init".to_owned(),
        NextStep::Trust(manifest) => format!("haft trust {}", path(manifest)),
        NextStep::ListTools => "haft tools list".to_owned(),
        NextStep::ListRules => "haft policy list".to_owned(),
        NextStep::ShowRun(run) => format!("haft runs show {run}"),
        NextStep::TestServer(name) => format!("haft mcp test {name}"),
        NextStep::LogIn(name) => format!("haft mcp login {name}"),
        NextStep::CheckSkills => "haft skills check".to_owned(),
        NextStep::CheckAgents => "haft agents check".to_owned(),
        NextStep::RemoveFile(file) => format!("rm {}", path(file)),
        NextStep::InspectFile(file) => format!("ls -l {}", path(file)),
        NextStep::InspectDisk(directory) => format!("df -h {}", path(directory)),
        NextStep::Advice(text) => text.clone(),
    }
}

/// Prints a notice on standard error.
pub(crate) fn print_notice(notice: &Notice) {
    match notice.level {
        NoticeLevel::Warning => {
            let hint = notice.next.as_ref().map(command_of);
            output::print_warning(&notice.message, hint.as_deref());
        }
        NoticeLevel::Aside => match &notice.next {
            Some(step) => {
                output::print_aside(format_args!("{}; see {}", notice.message, command_of(step)));
            }
            None => output::print_aside(&notice.message),
        },
    }
}
