//! Servers of the machine that no call may reach: on both loopback addresses, by TCP and UDP, and on unix sockets with and
//! without a path. Each counts its clients, and tells each client the secret and the count. So a later connection shows
//! whether another client came before.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::thread;

pub(super) struct Canaries {
    values: Vec<(&'static str, String)>,
    servers: Vec<Canary>,
}

struct Canary {
    name: &'static str,
    /// Comes to the server and returns what it tells.
    ask: Box<dyn Fn() -> String + Send>,
    visits: u64,
}

impl Canaries {
    pub(super) fn start(directory: &Path, secret: &str, number: &str) -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp6 = TcpListener::bind("[::1]:0").expect("the loopback interface has IPv6");
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let path = directory.join("canary");
        let named = UnixListener::bind(&path).unwrap();
        let in_root = directory.with_file_name("root").join("canary");
        let shared = UnixListener::bind(&in_root).unwrap();
        let abstract_name = format!("haft-escape-{number}");
        let unnamed = UnixListener::bind_addr(&abstract_address(&abstract_name)).unwrap();
        let ports = [&tcp, &tcp6].map(|listener| listener.local_addr().unwrap().port());
        let [port, port6] = ports;
        let port_udp = udp.local_addr().unwrap().port();
        let values = vec![
            ("{tcp}", port.to_string()),
            ("{tcp6}", port6.to_string()),
            ("{udp}", port_udp.to_string()),
            ("{socket}", path.to_str().unwrap().to_owned()),
            ("{shared}", in_root.to_str().unwrap().to_owned()),
            ("{abstract}", abstract_name.clone()),
        ];
        for tcp in [tcp, tcp6] {
            greet(secret, move || Ok(tcp.accept()?.0));
        }
        for unix in [named, shared, unnamed] {
            greet(secret, move || Ok(unix.accept()?.0));
        }
        answer(secret, udp);
        let servers = vec![
            Canary::new("the loopback", move || all(TcpStream::connect(("127.0.0.1", port)))),
            Canary::new("the loopback by IPv6", move || all(TcpStream::connect(("::1", port6)))),
            Canary::new("the loopback by UDP", move || datagram(port_udp)),
            Canary::new("a unix socket outside", move || all(UnixStream::connect(&path))),
            Canary::new("a unix socket in the root", move || all(UnixStream::connect(&in_root))),
            Canary::new("an abstract unix socket", move || {
                all(UnixStream::connect_addr(&abstract_address(&abstract_name)))
            }),
        ];
        Self { values, servers }
    }

    /// Returns how the servers are found.
    pub(super) fn values(&self) -> impl Iterator<Item = (&'static str, String)> + '_ {
        self.values.iter().cloned()
    }

    /// Returns the servers that got a client since the last time.
    pub(super) fn reached(&mut self) -> impl Iterator<Item = &'static str> + '_ {
        self.servers.iter_mut().filter_map(|server| server.was_reached().then_some(server.name))
    }
}

impl Canary {
    fn new(name: &'static str, ask: impl Fn() -> String + Send + 'static) -> Self {
        Self { name, ask: Box::new(ask), visits: 0 }
    }

    /// Servers take clients in turn, so each earlier client was counted before.
    fn was_reached(&mut self) -> bool {
        let told = (self.ask)();
        let visits = told.trim().rsplit(' ').next().and_then(|count| count.parse().ok());
        let visits: u64 = visits.unwrap_or_else(|| panic!("{} says {told:?}", self.name));
        let expected = std::mem::replace(&mut self.visits, visits) + 1;
        visits != expected
    }
}

fn greet<Stream: Write>(
    secret: &str,
    accept: impl Fn() -> std::io::Result<Stream> + Send + 'static,
) {
    let secret = secret.to_owned();
    thread::spawn(move || {
        for visits in 1_u64.. {
            let Ok(mut visitor) = accept() else { return };
            let _ = visitor.write_all(format!("{secret} {visits}\n").as_bytes());
        }
    });
}

fn answer(secret: &str, socket: UdpSocket) {
    let secret = secret.to_owned();
    thread::spawn(move || {
        for visits in 1_u64.. {
            let Ok((_, visitor)) = socket.recv_from(&mut [0; 64]) else { return };
            let _ = socket.send_to(format!("{secret} {visits}\n").as_bytes(), visitor);
        }
    });
}

fn all(connected: std::io::Result<impl Read>) -> String {
    let mut told = Vec::new();
    connected.unwrap().read_to_end(&mut told).unwrap();
    String::from_utf8(told).unwrap()
}

fn datagram(port: u16) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.send_to(b"?", ("127.0.0.1", port)).unwrap();
    let mut told = [0; 256];
    let length = socket.recv(&mut told).unwrap();
    String::from_utf8_lossy(&told[..length]).into_owned()
}

fn abstract_address(name: &str) -> SocketAddr {
    SocketAddr::from_abstract_name(name).unwrap()
}
