//! The environment of the proxy's tests: configurable grants and names, servers on loopback, and a
//! client that sends bytes. Real clients are in the tests themselves.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft_sandbox::proxy::{
    EgressDecision, EgressPolicy, HostResolveFuture, HostResolver, Proxy, ProxyConnections,
    ProxyLimits,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Grants hosts by their names.
pub(crate) struct Grants(HashMap<String, EgressDecision>);

impl Grants {
    pub(crate) fn new(grants: &[(&str, EgressDecision)]) -> Arc<Grants> {
        let grants = grants.iter().map(|(host, admitted)| ((*host).to_owned(), *admitted));
        Arc::new(Grants(grants.collect()))
    }
}

impl EgressPolicy for Grants {
    fn admits(&self, host: &str, _port: u16) -> EgressDecision {
        self.0.get(host).copied().unwrap_or(EgressDecision::No)
    }
}

/// Returns the listed addresses, one list per lookup; the last one repeats.
pub(crate) struct Names {
    answers: Mutex<VecDeque<Vec<IpAddr>>>,
    asked: AtomicUsize,
}

impl Names {
    pub(crate) fn new(answers: &[&[IpAddr]]) -> Arc<Names> {
        let answers = Mutex::new(answers.iter().map(|answer| answer.to_vec()).collect());
        Arc::new(Names { answers, asked: AtomicUsize::new(0) })
    }

    /// Resolves every name to loopback.
    pub(crate) fn loopback() -> Arc<Names> {
        Names::new(&[&[LOOPBACK]])
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl HostResolver for Names {
    fn resolve<'a>(&'a self, _name: &'a str) -> HostResolveFuture<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        let missing = || io::Error::other("no such name");
        Box::pin(std::future::ready(answer.ok_or_else(missing)))
    }
}

/// Never answers.
pub(crate) struct Silence;

impl HostResolver for Silence {
    fn resolve<'a>(&'a self, _name: &'a str) -> HostResolveFuture<'a> {
        Box::pin(std::future::pending())
    }
}

/// A proxy and its address.
pub(crate) struct World {
    pub(crate) proxy: Proxy,
    pub(crate) address: SocketAddr,
}

impl World {
    /// Creates a proxy for which every name is on loopback.
    pub(crate) fn new(grants: &[(&str, EgressDecision)]) -> World {
        World::with(Grants::new(grants), Names::loopback(), ProxyLimits::default())
    }

    pub(crate) fn with(
        admission: Arc<dyn EgressPolicy>,
        resolver: Arc<dyn HostResolver>,
        limits: ProxyLimits,
    ) -> World {
        let listener = std::net::TcpListener::bind((LOOPBACK, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let proxy = Proxy::serve(listener, admission, resolver, limits).unwrap();
        World { proxy, address }
    }

    pub(crate) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes and returns the whole answer.
    pub(crate) async fn ask(&self, request: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(request).await.unwrap();
        String::from_utf8(read_all(&mut stream).await).unwrap()
    }

    /// Opens a tunnel with CONNECT.
    pub(crate) async fn tunnel(&self, authority: &str) -> TcpStream {
        let mut stream = self.connect().await;
        let request = format!("CONNECT {authority} HTTP/1.1\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        assert_eq!(read_head(&mut stream).await, "HTTP/1.1 200 Connection established\r\n\r\n");
        stream
    }

    pub(crate) async fn finish(self) -> ProxyConnections {
        self.proxy.finish().await
    }
}

/// Starts a server that echoes its input, and ends after the client does.
pub(crate) async fn echo() -> SocketAddr {
    serve(|mut stream| async move {
        let (mut reader, mut writer) = stream.split();
        // A connection that the test cuts off is not a server error.
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
        let _ = writer.shutdown().await;
    })
    .await
}

/// Starts a server that answers each connection's first request with fixed bytes, and closes.
///
/// A `{}` in the answer is replaced by the request.
pub(crate) async fn answering(answer: &'static str) -> SocketAddr {
    serve(move |mut stream| async move {
        let head = read_head(&mut stream).await;
        let _ = stream.write_all(answer.replace("{}", &head).as_bytes()).await;
        let _ = stream.shutdown().await;
        let _ = stream.read_to_end(&mut Vec::new()).await;
    })
    .await
}

/// Starts a server that runs a function for each connection.
pub(crate) async fn serve<Serving>(
    serving: impl Fn(TcpStream) -> Serving + Send + 'static,
) -> SocketAddr
where
    Serving: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serving(stream));
        }
    });
    address
}

/// Returns a socket that reserves a port without listening on it.
pub(crate) fn closed() -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((LOOPBACK, 0).into()).unwrap();
    socket
}

/// Reads up to an empty line, and not beyond.
pub(crate) async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => break,
        }
    }
    String::from_utf8(head).unwrap()
}

/// Reads to the end, or to where the connection was cut off.
pub(crate) async fn read_all(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes).await;
    bytes
}
