//! A tunnel: bytes pass unchanged in both directions until both sides have ended, one of them
//! fails, or the tunnel has been idle for too long. The end of one direction is passed on and
//! leaves the other open. The contents are deliberately not inspected: no TLS is opened.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::client::ProxyClient;
use super::gate::AdmittedConnection;

/// Buffer size in one direction of one connection, in bytes.
pub(crate) const RELAY_BYTES: usize = 16_384;

/// Confirms the tunnel to the client, and carries its bytes.
pub(super) async fn relay(
    mut client: ProxyClient,
    mut admitted: AdmittedConnection,
    greeting: &[u8],
    idle: Duration,
) -> io::Result<()> {
    let (mut client_reader, mut client_writer) = client.stream.split();
    let (mut host_reader, mut host_writer) = admitted.upstream.split();
    let traffic = &admitted.traffic;
    let sending = async {
        // Bytes that arrived with the request belong to the tunnel.
        host_writer.write_all(&client.buffer).await?;
        traffic.count_sent(client.buffer.len());
        pump(&mut client_reader, &mut host_writer, |bytes| traffic.count_sent(bytes)).await
    };
    let receiving = async {
        client_writer.write_all(greeting).await?;
        pump(&mut host_reader, &mut client_writer, |bytes| traffic.count_received(bytes)).await
    };
    let has_ended = tokio::select! {
        result = async { tokio::try_join!(sending, receiving) } => result.is_ok(),
        () = traffic.wait_until_idle(idle) => false,
    };
    if !has_ended {
        // A failure on one side must not look like an orderly end on the other.
        client.stream.set_zero_linger()?;
        admitted.upstream.set_zero_linger()?;
    }
    Ok(())
}

async fn pump(
    reader: &mut (impl AsyncRead + Unpin),
    writer: &mut (impl AsyncWrite + Unpin),
    count: impl Fn(usize),
) -> io::Result<()> {
    let mut buffer = vec![0; RELAY_BYTES];
    loop {
        let length = reader.read(&mut buffer).await?;
        if length == 0 {
            return writer.shutdown().await;
        }
        writer.write_all(buffer.get(..length).unwrap_or_default()).await?;
        count(length);
    }
}
