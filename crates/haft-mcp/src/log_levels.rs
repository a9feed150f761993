//! How much a line of a log matters, as the protocol has it. The newest protocol calls its logs old; clients of all ages
//! still ask for them.
#![expect(deprecated, reason = "the SDK marks what the newest protocol calls old")]

use haft_contract::{LogLevel, LogLine};
use rmcp::model::{LoggingLevel, LoggingMessageNotificationParam};

pub(crate) fn parse_level(wire: LoggingLevel) -> LogLevel {
    match wire {
        LoggingLevel::Debug => LogLevel::Debug,
        LoggingLevel::Info => LogLevel::Info,
        LoggingLevel::Notice => LogLevel::Notice,
        LoggingLevel::Warning => LogLevel::Warning,
        LoggingLevel::Error => LogLevel::Error,
        LoggingLevel::Critical => LogLevel::Critical,
        LoggingLevel::Alert => LogLevel::Alert,
        LoggingLevel::Emergency => LogLevel::Emergency,
    }
}

/// Returns a line as a client is told it.
pub(crate) fn log_notification(line: LogLine) -> LoggingMessageNotificationParam {
    let level = match line.level {
        LogLevel::Debug => LoggingLevel::Debug,
        LogLevel::Info => LoggingLevel::Info,
        LogLevel::Notice => LoggingLevel::Notice,
        LogLevel::Warning => LoggingLevel::Warning,
        LogLevel::Error => LoggingLevel::Error,
        LogLevel::Critical => LoggingLevel::Critical,
        LogLevel::Alert => LoggingLevel::Alert,
        LogLevel::Emergency => LoggingLevel::Emergency,
    };
    LoggingMessageNotificationParam::new(level, line.message.into())
}
