//! The proxy that this machine uses for the internet, where it has one: connections to granted hosts are made through it.
//! Which hosts are granted is decided before. Its password is in no message, and never reaches a confined process.

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::SocketAddr;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::host::Host;

/// The port of a proxy whose URL names none.
const PORT_DEFAULT: u16 = 80;
/// Longest answer to a request for a connection, in bytes.
const ANSWER_BYTES_MAX: usize = 16_384;

/// A proxy outside, and the hosts that are reached without it.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamProxy {
    host: String,
    port: u16,
    /// The value of the field `Proxy-Authorization`.
    authorization: Option<String>,
    /// Names and domains that are reached directly. A star stands for all.
    direct: Vec<String>,
}

/// Says why a text is no proxy. The text is not repeated, because it may hold a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the proxy is no URL that can be used: expected http://host:port or http://user:password@host:port"
)]
pub struct UpstreamProxyError;

impl UpstreamProxy {
    /// Parses the URL of a proxy, and a list of hosts with commas between them that are reached directly.
    ///
    /// ```
    /// use haft_sandbox::proxy::UpstreamProxy;
    ///
    /// let proxy = UpstreamProxy::parse("http://you:secret@proxy.example:3128", ".example,localhost").unwrap();
    /// assert_eq!(format!("{proxy:?}"), "UpstreamProxy(proxy.example:3128)");
    /// ```
    ///
    /// # Errors
    ///
    /// If the text is not such a URL.
    pub fn parse(url: &str, direct: &str) -> Result<Self, UpstreamProxyError> {
        let rest = match url.split_once("://") {
            Some(("http", rest)) => rest,
            Some(_) => return Err(UpstreamProxyError),
            None => url,
        };
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (user, place) = match authority.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, authority),
        };
        let is_bracketed = place.starts_with('[') && place.ends_with(']');
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !is_bracketed => {
                (host, port.parse().map_err(|_| UpstreamProxyError)?)
            }
            Some(_) | None => (place, PORT_DEFAULT),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains(|char: char| char.is_whitespace() || char.is_control())
        {
            return Err(UpstreamProxyError);
        }
        let authorization = user.map(|user| {
            let user = if user.contains(':') { user.to_owned() } else { format!("{user}:") };
            format!("Basic {}", BASE64_STANDARD.encode(percent_decoded(&user)))
        });
        let direct = direct.split(',').map(|entry| entry.trim().to_ascii_lowercase());
        let direct = direct.filter(|entry| !entry.is_empty()).collect();
        Ok(Self { host: host.to_owned(), port, authorization, direct })
    }

    /// Returns the host of the proxy.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port of the proxy.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the value of the field `Proxy-Authorization`, which is a secret.
    #[must_use]
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// Returns whether connections to a host are made through the proxy.
    #[must_use]
    pub fn serves(&self, host: &str) -> bool {
        let is_direct = |entry: &String| {
            let domain = entry.trim_start_matches('*').trim_start_matches('.');
            let below = host.strip_suffix(domain);
            entry == "*" || host == domain || below.is_some_and(|rest| rest.ends_with('.'))
        };
        !self.direct.iter().any(is_direct)
    }

    /// Opens a connection to a host through the proxy. The error says why, without any secret.
    pub(super) async fn connect(
        &self,
        host: &Host,
        port: u16,
    ) -> Result<(TcpStream, SocketAddr), String> {
        let unreachable = |err: std::io::Error| {
            format!(
                "the proxy {}:{} of this machine cannot be reached: {err}",
                self.host, self.port
            )
        };
        let stream = TcpStream::connect((self.host.as_str(), self.port)).await;
        let mut stream = stream.map_err(unreachable)?;
        stream.set_nodelay(true).map_err(unreachable)?;
        let address = stream.peer_addr().map_err(unreachable)?;
        let target = format!("{}:{port}", host.bracketed());
        let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n");
        if let Some(authorization) = &self.authorization {
            request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
        }
        request.push_str("\r\n");
        stream.write_all(request.as_bytes()).await.map_err(unreachable)?;
        // The bytes after the answer belong to the tunnel, so nothing beyond it may be read.
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            if answer.len() >= ANSWER_BYTES_MAX {
                return Err("the answer of this machine's proxy is too long".to_owned());
            }
            answer.push(stream.read_u8().await.map_err(unreachable)?);
        }
        let line = answer.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line);
        let status = line.split(' ').nth(1).unwrap_or_default();
        if !line.starts_with("HTTP/1.") || !status.starts_with('2') {
            let status: String = status.chars().filter(char::is_ascii_digit).take(3).collect();
            return Err(format!("the proxy of this machine refused it with status {status:?}"));
        }
        Ok((stream, address))
    }
}

impl fmt::Debug for UpstreamProxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "UpstreamProxy({}:{})", self.host, self.port)
    }
}

fn percent_decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            Some(_) | None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}
