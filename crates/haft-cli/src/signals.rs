//! Being told to stop. The first signal stops the work, which then says how it ended; the second ends the process.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::error::{CommandError, Status};
use crate::output;

/// Returns a token that is cancelled by the first SIGINT, SIGTERM or SIGHUP.
///
/// With the second the process ends at once. Commands that calls had started end with it, but what they did is not
/// recorded any more.
pub(crate) fn stop_token() -> Result<CancellationToken, CommandError> {
    let cannot = |err| CommandError::failed(format!("signals cannot be received: {err}"));
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(cannot)?;
    let token = CancellationToken::new();
    let stop = token.clone();
    tokio::spawn(async move {
        any_of(&mut interrupt, &mut terminate, &mut hangup).await;
        stop.cancel();
        any_of(&mut interrupt, &mut terminate, &mut hangup).await;
        output::error(
            "stopped before the call ended: it is not known what it did",
            Some("haft runs list"),
        );
        std::process::exit(Status::InDoubt.code());
    });
    Ok(token)
}

async fn any_of(interrupt: &mut Signal, terminate: &mut Signal, hangup: &mut Signal) {
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}
