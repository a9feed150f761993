//! The network of one confined process: a proxy that reaches only the hosts granted to this
//! process.
//!
//! The listening socket is in the process's network namespace, which has only a loopback interface.
//! The launching process serves it from outside: it accepts there and connects from its own
//! network. Each process has its own listener and its own [`EgressPolicy`], so a grant to one
//! process is useless to another.
//!
//! One port serves HTTP CONNECT, plain HTTP and SOCKS5; the first byte determines the protocol. The
//! proxy resolves a name once per connection, and connects to exactly the address that it checked.
//! Tunnels are not inspected, and nothing is cached, authenticated or retried.
//!
//! The modules [`head`], [`body`] and [`socks`] are the parsers; they do no I/O and can be used, tested and fuzzed alone.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use haft_sandbox::proxy::{EgressPolicy, EgressDecision, ProxyLimits, Proxy, SystemHostResolver};
//!
//! /// Grants one host.
//! struct Only(&'static str);
//!
//! impl EgressPolicy for Only {
//!     fn admits(&self, host: &str, _port: u16) -> EgressDecision {
//!         if host == self.0 { EgressDecision::ByName } else { EgressDecision::No }
//!     }
//! }
//!
//! # fn main() -> std::io::Result<()> {
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let admission = Arc::new(Only("example.org"));
//! let proxy = Proxy::serve(listener, admission, Arc::new(SystemHostResolver), ProxyLimits::default())?;
//! let connections = proxy.finish().await;
//! assert!(connections.recorded.is_empty());
//! # Ok(())
//! # })
//! # }
//! ```

mod address;
pub mod body;
mod client;
mod connection;
mod connection_log;
mod destination;
mod egress;
mod forward;
mod gate;
pub mod head;
mod host;
mod limits;
mod own_listener;
mod relay;
pub mod socks;
mod upstream;

pub use address::{is_metadata_address, reserved_range};
pub use connection_log::{ProxyConnection, ProxyConnections, ProxyOutcome, ProxyProtocol};
pub use destination::{ConnectionDenial, admitted_addresses};
pub use egress::{
    EgressDecision, EgressPolicy, HostResolveFuture, HostResolver, SystemHostResolver,
};
pub use host::{Host, HostError};
pub use limits::{
    CONNECTIONS_MAX, DIAL_MS, HANDSHAKE_MS, HEAD_BYTES_MAX, IDLE_MS, ProxyLimits, RECORDED_MAX,
};

pub use own_listener::OwnListener;
pub use upstream::{UpstreamProxy, UpstreamProxyError};

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use connection_log::ConnectionLog;
use gate::ConnectionGate;

/// Pause before accepting again after an error, for example when descriptors run out, in
/// milliseconds.
pub(crate) const ACCEPT_PAUSE_MS: u64 = 50;

/// A running proxy. It stops when it is finished or dropped.
#[derive(Debug)]
pub struct Proxy {
    record: Arc<ConnectionLog>,
    /// Dropping it stops the proxy.
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// Starts to serve a listener.
    ///
    /// # Errors
    ///
    /// If the runtime cannot use the listener.
    ///
    /// # Panics
    ///
    /// If called outside of a Tokio runtime with its I/O and time drivers enabled.
    pub fn serve(
        listener: std::net::TcpListener,
        admission: Arc<dyn EgressPolicy>,
        resolver: Arc<dyn HostResolver>,
        limits: ProxyLimits,
    ) -> io::Result<Proxy> {
        Self::serve_through(listener, admission, resolver, limits, None)
    }

    /// Starts to serve a listener, and makes its connections through a proxy outside, if there is one.
    ///
    /// # Errors
    ///
    /// If the runtime cannot use the listener.
    ///
    /// # Panics
    ///
    /// If called outside of a Tokio runtime with its I/O and time drivers enabled.
    pub fn serve_through(
        listener: std::net::TcpListener,
        admission: Arc<dyn EgressPolicy>,
        resolver: Arc<dyn HostResolver>,
        limits: ProxyLimits,
        upstream: Option<UpstreamProxy>,
    ) -> io::Result<Proxy> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let record = Arc::new(ConnectionLog::new(limits.recorded_max));
        let gate =
            ConnectionGate { admission, resolver, record: Arc::clone(&record), limits, upstream };
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(serve(listener, Arc::new(gate), stopped));
        Ok(Proxy { record, stop, serving })
    }

    /// Returns the connections that were made or refused since the last call; the proxy continues.
    ///
    /// Each is returned once, here or at the end; bytes that it carries afterwards are not counted.
    #[must_use]
    pub fn take_connections(&self) -> ProxyConnections {
        self.record.take_finished()
    }

    /// Ends all connections and returns their outcomes.
    pub async fn finish(self) -> ProxyConnections {
        drop(self.stop);
        // It fails only with its runtime, and then nothing is served any more either.
        let _ = self.serving.await;
        self.record.close()
    }
}

/// Accepts and serves a limited number of connections at a time, until it is stopped.
async fn serve(
    listener: TcpListener,
    gate: Arc<ConnectionGate>,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        let has_room = connections.len() < gate.limits.connections_max;
        tokio::select! {
            // Nothing is sent on the channel: its other end is dropped.
            _ = &mut stopped => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if has_room => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection::serve(stream, Arc::clone(&gate)));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(ACCEPT_PAUSE_MS)).await,
            },
        }
    }
    drop(listener);
    connections.shutdown().await;
}
