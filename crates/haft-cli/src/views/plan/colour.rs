//! The colours of states. Writing to standard error removes them if it shows none; other drawing code checks first.

use clap::builder::styling::{AnsiColor, Style};
use haft_plan::NodeStatus;

const SUCCEEDED: Style = AnsiColor::Green.on_default();
const FAILED: Style = AnsiColor::Red.on_default();
const IN_DOUBT: Style = AnsiColor::Magenta.on_default();
const LEFT_OUT: Style = AnsiColor::Yellow.on_default();
pub(super) const RUNNING: Style = AnsiColor::Cyan.on_default();
pub(super) const FAILED_FOR_NOW: Style = LEFT_OUT;
pub(super) const WAITING: Style = Style::new().dimmed();

/// Returns the colour of a node's status.
pub(super) fn of_status(status: NodeStatus) -> Style {
    match status {
        NodeStatus::Succeeded => SUCCEEDED,
        NodeStatus::Failed => FAILED,
        NodeStatus::InDoubt => IN_DOUBT,
        NodeStatus::Skipped | NodeStatus::Cancelled | NodeStatus::Pending => LEFT_OUT,
    }
}

/// Returns a text in a colour.
pub(super) fn painted(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}
