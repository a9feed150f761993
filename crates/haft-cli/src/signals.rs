//! Signals that stop haft. The first signal stops the work, which then reports how it ended. The second ends the process.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::{CommandError, CommandStatus};
use crate::views::output;

/// Returns a token that is cancelled by the first SIGINT, SIGTERM or SIGHUP.
///
/// With the second the process ends at once. Commands that calls had started end with it, but what they did is not
/// recorded any more.
pub(crate) fn stop_token() -> Result<CancellationToken, CommandError> {
    let mut signals = StopSignals::listen()?;
    let token = CancellationToken::new();
    let stop = token.clone();
    tokio::spawn(async move {
        signals.next_signal().await;
        stop.cancel();
        signals.next_signal().await;
        exit_in_doubt("stopped before the call ended: it is not known what it did");
    });
    Ok(token)
}

/// The request of a signal to work that consists of many calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopStep {
    /// To begin nothing more.
    Stop,
    /// To cancel what runs.
    Abort,
}

/// Says what the first SIGINT, SIGTERM or SIGHUP asks for, and the second. With the third the process ends at once.
pub(crate) fn on_stop_steps(tell: impl Fn(StopStep) + Send + 'static) -> Result<(), CommandError> {
    let mut signals = StopSignals::listen()?;
    tokio::spawn(async move {
        signals.next_signal().await;
        tell(StopStep::Stop);
        signals.next_signal().await;
        tell(StopStep::Abort);
        signals.next_signal().await;
        exit_in_doubt("stopped before the calls ended: it is not known what they did");
    });
    Ok(())
}

/// The request of one signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StopSignal {
    /// Stop the current work: the person pressed Ctrl-C.
    Interrupt,
    /// To end.
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

fn exit_in_doubt(message: &str) -> ! {
    exit_now(message, "haft runs list")
}

/// Ends the process in the middle of work whose outcome is then unknown.
pub(crate) fn exit_now(message: &str, hint: &str) -> ! {
    exit_with(CommandStatus::InDoubt, message, Some(hint))
}

/// Ends the process, and does not wait for readers of the output.
pub(crate) fn exit_with(status: CommandStatus, message: &str, hint: Option<&str>) -> ! {
    output::print_error_nonblocking(message, hint);
    std::process::exit(status.code());
}
