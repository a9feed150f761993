//! A server of this machine that keeps to its word about nothing. Each connection is one request; what is said to it is
//! decided by its path.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// Writes the answer to a request. Dropping the connection ends the answer.
pub(super) type Answer = dyn Fn(&Request, &mut TcpStream) -> std::io::Result<()> + Send + Sync;

/// A request as it came.
#[derive(Clone, Debug, Default)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) target: String,
    /// Names in lower case.
    pub(super) headers: HashMap<String, String>,
    pub(super) body: String,
}

/// A server that runs until the test ends.
pub(super) struct Zoo {
    pub(super) address: SocketAddr,
    // Written by the connections' threads, read by the test.
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Zoo {
    /// Starts a server.
    pub(super) fn open(answer: Box<Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::<Mutex<Vec<Request>>>::default();
        let seen = Arc::clone(&requests);
        let answer: Arc<Answer> = answer.into();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (seen, answer) = (Arc::clone(&seen), Arc::clone(&answer));
                thread::spawn(move || {
                    let mut stream = stream;
                    if let Some(request) = read(&stream) {
                        seen.lock().unwrap().push(request.clone());
                        // A client that has enough closes the connection.
                        let _ = answer(&request, &mut stream);
                    }
                });
            }
        });
        Self { address, requests }
    }

    /// Returns the URL of a path.
    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the requests that came, in order.
    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }

    /// Returns a text without what differs from run to run.
    pub(super) fn plain(&self, text: &str) -> String {
        text.replace(&self.address.port().to_string(), "[port]")
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let mut request =
        Request { method: words.next()?, target: words.next()?, ..Request::default() };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = request.headers.get("content-length").and_then(|text| text.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    request.body = String::from_utf8(body).ok()?;
    Some(request)
}

/// Writes a whole answer.
pub(super) fn say(
    stream: &mut TcpStream,
    status: &str,
    headers: &str,
    body: &[u8],
) -> std::io::Result<()> {
    let head = format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)
}

/// Writes a redirect.
pub(super) fn lead(stream: &mut TcpStream, status: &str, to: &str) -> std::io::Result<()> {
    say(stream, status, &format!("Location: {to}\r\n"), b"")
}
