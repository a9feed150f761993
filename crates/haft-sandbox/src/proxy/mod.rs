//! The network of one confined process: a proxy that reaches the hosts granted to this process and nothing else.
//!
//! The listening socket lives where the process is, in a network namespace that has nothing but a loopback interface, and
//! is served from outside: the launching process accepts there and connects from its own network. So each process has a
//! listener and an [`Admission`] of its own, and what one may reach is out of reach for another.
//!
//! CONNECT of HTTP, plain HTTP and SOCKS5 are spoken on the same port and told apart by the first byte. Names are resolved
//! here, once for each connection, and the checked address is what is connected to. Tunnels are not looked into, and
//! nothing is cached, authenticated or retried.
//!
//! The modules [`head`], [`body`] and [`socks`] are the parsers; they do no I/O and can be used, tested and fuzzed alone.
//!
//! # Example
//!
//! ```
//! use std::sync::Arc;
//!
//! use haft_sandbox::proxy::{Admission, Admitted, Limits, Proxy, SystemResolver};
//!
//! /// Grants one host.
//! struct Only(&'static str);
//!
//! impl Admission for Only {
//!     fn admits(&self, host: &str, _port: u16) -> Admitted {
//!         if host == self.0 { Admitted::ByName } else { Admitted::No }
//!     }
//! }
//!
//! # fn main() -> std::io::Result<()> {
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
//! let admission = Arc::new(Only("example.org"));
//! let proxy = Proxy::serve(listener, admission, Arc::new(SystemResolver), Limits::default())?;
//! let connections = proxy.finish().await;
//! assert!(connections.recorded.is_empty());
//! # Ok(())
//! # })
//! # }
//! ```

mod address;
mod admission;
pub mod body;
mod client;
mod connection;
mod destination;
mod forward;
mod gate;
pub mod head;
mod host;
mod limits;
mod record;
mod relay;
pub mod socks;

pub(crate) use client::{LINGER_BYTES_MAX, LINGER_MS};
pub(crate) use forward::INTERIM_MAX;
pub(crate) use gate::ADDRESSES_MAX;
pub(crate) use host::{LABEL_CHARS_MAX, NAME_CHARS_MAX};
pub(crate) use record::TEXT_CHARS_MAX;
pub(crate) use relay::RELAY_BYTES;

pub use address::reserved_range;
pub use admission::{Admission, Admitted, Resolver, Resolving, SystemResolver};
pub use destination::{Denial, admitted_addresses};
pub use host::{Host, HostError};
pub use limits::{
    CONNECTIONS_MAX, DIAL_MS, HANDSHAKE_MS, HEAD_BYTES_MAX, IDLE_MS, Limits, RECORDED_MAX,
};
pub use record::{Connection, Connections, Outcome, Protocol};

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use gate::Gate;
use record::Record;

/// Milliseconds before connections are accepted again after that failed, as it does when descriptors run out.
pub(crate) const ACCEPT_PAUSE_MS: u64 = 50;

/// A proxy that is running, until it is finished or dropped.
#[derive(Debug)]
pub struct Proxy {
    record: Arc<Record>,
    /// Dropping it ends everything.
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Proxy {
    /// Starts to serve a listener.
    ///
    /// # Errors
    ///
    /// When the listener cannot be used by the runtime.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime with its I/O and time drivers enabled.
    pub fn serve(
        listener: std::net::TcpListener,
        admission: Arc<dyn Admission>,
        resolver: Arc<dyn Resolver>,
        limits: Limits,
    ) -> io::Result<Proxy> {
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let record = Arc::new(Record::new(limits.recorded_max));
        let gate = Gate { admission, resolver, record: Arc::clone(&record), limits };
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(serve(listener, Arc::new(gate), stopped));
        Ok(Proxy { record, stop, serving })
    }

    /// Returns what became of the connections that were made or refused since this was last asked, and goes on.
    ///
    /// Each is returned once, here or at the end; what it carries afterwards is not counted.
    #[must_use]
    pub fn take_connections(&self) -> Connections {
        self.record.take_settled()
    }

    /// Ends all connections and returns what became of each.
    pub async fn finish(self) -> Connections {
        drop(self.stop);
        // It fails only with its runtime, and then nothing is served any more either.
        let _ = self.serving.await;
        self.record.close()
    }
}

/// Accepts and serves connections, so many at a time, until it is told to stop.
async fn serve(listener: TcpListener, gate: Arc<Gate>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        let has_room = connections.len() < gate.limits.connections_max;
        tokio::select! {
            // Nobody sends: the channel's other end is dropped.
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
