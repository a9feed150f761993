//! A tunnel: bytes go both ways as they are until both sides have ended, one of them breaks, or nothing has moved for too
//! long. An end of one direction is passed on and leaves the other open. What is in the tunnel is deliberately not
//! looked at: no TLS is opened.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

use super::client::Client;
use super::gate::Passed;

/// Bytes on their way in one direction of one connection.
pub(crate) const RELAY_BYTES: usize = 16_384;

/// Tells the client that the tunnel stands, and carries what goes through it.
pub(super) async fn relay(
    mut client: Client,
    mut passed: Passed,
    greeting: &[u8],
    idle: Duration,
) -> io::Result<()> {
    let (mut client_reader, mut client_writer) = client.stream.split();
    let (mut host_reader, mut host_writer) = passed.upstream.split();
    let traffic = &passed.traffic;
    let sending = async {
        // What came with the request is the tunnel's.
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
        () = traffic.quiet(idle) => false,
    };
    if !has_ended {
        // What broke off on one side must not look like an orderly end on the other.
        client.stream.set_zero_linger()?;
        passed.upstream.set_zero_linger()?;
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
