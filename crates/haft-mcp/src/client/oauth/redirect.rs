//! Where a browser is sent at the end of a login: a port of this machine that listens for one address and nothing else.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::login::Login;
use crate::client::limits::{REDIRECT_HEAD_BYTES_MAX, REDIRECT_READ_MS_MAX};

const PATH: &str = "/callback";

/// Listens for the end of a login.
pub struct RedirectListener {
    listener: TcpListener,
    port: u16,
}

impl RedirectListener {
    /// Listens on a port of this machine, any that is free if it is 0.
    pub async fn open(port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let port = listener.local_addr()?.port();
        Ok(Self { listener, port })
    }

    /// Returns where browsers are to be sent.
    pub fn uri(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits until a browser is sent here with an answer to a login, and returns the address. Whatever else comes is told
    /// that there is nothing.
    pub async fn answer(&self, login: &Login) -> io::Result<String> {
        loop {
            let (mut stream, _) = self.listener.accept().await?;
            let Some(target) = heard(&mut stream).await else { continue };
            let redirected = format!("http://127.0.0.1:{}{target}", self.port);
            let is_here = target.starts_with(PATH) && login.is_answer(&redirected);
            // Whether the browser still hears it is of no matter.
            let (status, text) = match is_here {
                true => ("200 OK", "haft has the answer. You can close this page."),
                false => ("404 Not Found", "There is nothing here."),
            };
            let length = text.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\n\
                 cache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{text}"
            );
            let writing = async {
                stream.write_all(answer.as_bytes()).await?;
                stream.shutdown().await
            };
            let _ = timeout(Duration::from_millis(REDIRECT_READ_MS_MAX), writing).await;
            if is_here {
                return Ok(redirected);
            }
        }
    }
}

/// Returns the target of a browser's request; `None` if it is not sent in time.
async fn heard(stream: &mut (impl AsyncRead + Unpin)) -> Option<String> {
    let reading = async {
        let mut head = Vec::new();
        let mut reading = stream.take(REDIRECT_HEAD_BYTES_MAX);
        let mut chunk = [0; 1024];
        while !head.windows(4).any(|end| end == b"\r\n\r\n") {
            match reading.read(&mut chunk).await {
                Ok(0) | Err(_) => return None,
                Ok(read) => head.extend_from_slice(chunk.get(..read).unwrap_or_default()),
            }
        }
        let head = String::from_utf8_lossy(&head);
        let mut words = head.lines().next().unwrap_or_default().split(' ');
        match (words.next(), words.next()) {
            (Some("GET"), Some(target)) => Some(target.to_owned()),
            _ => None,
        }
    };
    timeout(Duration::from_millis(REDIRECT_READ_MS_MAX), reading).await.ok()?
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;

    /// Returns what is heard of a browser whose words have so many bytes.
    async fn heard_of(bytes: u64) -> Option<String> {
        let head = "GET /callback?code=x HTTP/1.1\r\nx-filler: ";
        let end = "\r\n\r\n";
        let filler = usize::try_from(bytes).unwrap() - head.len() - end.len();
        heard(&mut format!("{head}{}{end}", "x".repeat(filler)).as_bytes()).await
    }

    #[tokio::test]
    async fn a_browser_says_so_much() {
        let target = heard_of(REDIRECT_HEAD_BYTES_MAX).await;
        assert_eq!(target.as_deref(), Some("/callback?code=x"));
        assert_eq!(heard_of(REDIRECT_HEAD_BYTES_MAX + 1).await, None);
        assert_eq!(heard(&mut b"POST /callback HTTP/1.1\r\n\r\n".as_slice()).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_browser_has_its_time() {
        for (after_ms, is_heard) in
            [(REDIRECT_READ_MS_MAX - 1, true), (REDIRECT_READ_MS_MAX + 1, false)]
        {
            let (mut browser, mut here) = tokio::io::duplex(1024);
            let saying = async {
                sleep(Duration::from_millis(after_ms)).await;
                browser.write_all(b"GET /callback HTTP/1.1\r\n\r\n").await
            };
            let (said, heard) = tokio::join!(saying, heard(&mut here));
            assert_eq!((said.is_ok(), heard.is_some()), (true, is_heard), "{after_ms}");
        }
    }
}
