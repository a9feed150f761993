//! Signals that stop haft. The first signal stops the work, which then reports how it ended. The second ends the process.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::{CommandError, CommandStatus};
use crate::views::output;

/// Returns a token that is cancelled by the first SIGINT, SIGTERM or SIGHUP.
///
/// The second one ends the process at once. Commands that calls had started end with it, and their effects are not
/// recorded any more.
pub(crate) fn stop_token() -> Result<CancellationToken, CommandError> {
    let mut signals = StopSignals::listen()?;
    let token = CancellationToken::new();
    let stop = token.clone();
    tokio::spawn(async move {
        signals.next_signal().await;
        stop.cancel();
        signals.next_signal().await;
        exit_in_doubt("stopped before the call ended: it is not known what it did", "haft log");
    });
    Ok(token)
}

/// The request of one signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopSignal {
    /// Stop the current work: the person pressed Ctrl-C.
    Interrupt,
    /// End the process.
    Terminate,
}

/// The signals that ask a process to stop.
pub(crate) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl StopSignals {
    /// Receives the signals from now on. A signal no longer ends the process by itself.
    pub(crate) fn listen() -> Result<Self, CommandError> {
        let cannot = |err| CommandError::failed(format!("signals cannot be received: {err}"));
        Ok(Self {
            interrupt: signal(SignalKind::interrupt()).map_err(cannot)?,
            terminate: signal(SignalKind::terminate()).map_err(cannot)?,
            hangup: signal(SignalKind::hangup()).map_err(cannot)?,
        })
    }

    /// Waits for the next signal.
    pub(crate) async fn next_signal(&mut self) -> StopSignal {
        tokio::select! {
            _ = self.interrupt.recv() => StopSignal::Interrupt,
            _ = self.terminate.recv() => StopSignal::Terminate,
            _ = self.hangup.recv() => StopSignal::Terminate,
        }
    }
}

/// Ends the process in the middle of work whose outcome is then unknown.
pub(crate) fn exit_in_doubt(message: &str, hint: &str) -> ! {
    exit_with(CommandStatus::InDoubt, message, Some(hint))
}

/// Ends the process, and does not wait for readers of the output.
pub(crate) fn exit_with(status: CommandStatus, message: &str, hint: Option<&str>) -> ! {
    output::print_error_nonblocking(message, hint);
    std::process::exit(status.code());
}
