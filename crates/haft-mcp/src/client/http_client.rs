//! The HTTP client for remote servers and for their authorization servers. It follows no redirect, so that no secret reaches
//! another address. It uses no proxy of the environment, keeps no cookies, and bounds what it reads.

use std::error::Error as _;
use std::net::SocketAddr;
use std::time::Duration;

use haft::NetworkSettings;
use haft_contract::{clean, cut};
use reqwest::Url;
use url::Host;

use super::limits::{
    OAUTH_ANSWER_BYTES_MAX, OAUTH_MS_MAX, REMOTE_CONNECT_MS_MAX, REMOTE_HEADERS_MAX,
};

/// Longest text of others about a refusal that is shown, in characters.
pub(super) const REASON_CHARS_MAX: usize = 300;

/// Why a body was not read to its end.
#[derive(Debug, thiserror::Error)]
pub(super) enum ResponseBodyError {
    #[error("more than {0} bytes")]
    TooLong(usize),
    #[error("{0}")]
    Broken(String),
}

/// Returns a client for a server at this address.
pub(super) fn http_client(
    networking: &NetworkSettings,
    url: &Url,
) -> Result<reqwest::Client, String> {
    build_client(client_builder(networking, url)?)
}

/// Returns a client for an address, which connects to these addresses of its host and to no others.
pub(super) fn http_client_at(
    networking: &NetworkSettings,
    url: &Url,
    addresses: &[SocketAddr],
) -> Result<reqwest::Client, String> {
    let host = url.host_str().unwrap_or_default();
    build_client(client_builder(networking, url)?.resolve_to_addrs(host, addresses))
}

fn build_client(builder: reqwest::ClientBuilder) -> Result<reqwest::Client, String> {
    builder.build().map_err(|err| error_text(&err))
}

fn client_builder(
    networking: &NetworkSettings,
    url: &Url,
) -> Result<reqwest::ClientBuilder, String> {
    // An unencrypted connection must not fail for a lack of authorities.
    let tls = match url.scheme() {
        "https" => networking.tls()?,
        _ => networking.tls().or_else(|_| networking.tls_without_authorities())?,
    };
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false)
        .no_proxy()
        .http1_only()
        .http1_max_headers(REMOTE_HEADERS_MAX)
        .connect_timeout(Duration::from_millis(REMOTE_CONNECT_MS_MAX)))
}

/// Returns the body of an answer, unless it is longer than that.
pub(super) async fn read_body(
    response: &mut reqwest::Response,
    bytes_max: usize,
) -> Result<Vec<u8>, ResponseBodyError> {
    let mut bytes = Vec::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|err| ResponseBodyError::Broken(error_text(&err)))?
    {
        if bytes.len().saturating_add(chunk.len()) > bytes_max {
            return Err(ResponseBodyError::TooLong(bytes_max));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// Sends a request to an authorization server, and returns the status and the body of the answer.
pub(super) async fn send_oauth_request(
    request: reqwest::RequestBuilder,
) -> Result<(u16, Vec<u8>), String> {
    let request = request.timeout(Duration::from_millis(OAUTH_MS_MAX));
    let mut response = request.send().await.map_err(|err| error_text(&err))?;
    let body =
        read_body(&mut response, OAUTH_ANSWER_BYTES_MAX).await.map_err(|err| err.to_string())?;
    Ok((response.status().as_u16(), body))
}

/// Returns whether secrets may go to an address: it is encrypted, or does not leave this machine.
pub(super) fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || (url.scheme() == "http" && is_loopback(url))
}

pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// Returns an address that a server names, if it may: one that is safe, and none of this machine or its surroundings unless
/// the server itself is there.
pub(super) fn check_named_url(server: &Url, named: &str) -> Result<Url, String> {
    let url = Url::parse(named).map_err(|err| format!("{named:?} is no address: {err}"))?;
    let is_near = match url.host() {
        Some(Host::Ipv4(ip)) => {
            ip.is_loopback() || ip.is_private() || ip.is_link_local() || ip.is_unspecified()
        }
        Some(Host::Ipv6(ip)) => {
            ip.is_loopback()
                || ip.is_unique_local()
                || ip.is_unicast_link_local()
                || ip.is_unspecified()
                || ip.to_ipv4_mapped().is_some()
        }
        Some(Host::Domain(_)) => is_loopback(&url),
        None => return Err(format!("{named:?} has no host")),
    };
    if !is_safe(&url) {
        return Err(format!("{named} is not encrypted: expected one that begins with https://"));
    }
    let is_same_host = url.host() == server.host();
    if is_near && !is_same_host && !is_loopback(server) {
        return Err(format!("{named} is an address of this machine or its network"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("an address with a name and a password in it is not used".to_owned());
    }
    Ok(url)
}

/// Returns a text of others as it is shown: without control characters, and not longer than the bound.
pub(super) fn shown_reason(text: &str) -> String {
    cut(&clean(text), REASON_CHARS_MAX)
}

/// Returns what went wrong, without the address, which may hold secrets.
pub(super) fn error_text(err: &reqwest::Error) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut cause = err.source();
    while let Some(err) = cause {
        let text = err.to_string();
        // Some errors repeat what they were caused by.
        if !words.iter().any(|word| word.contains(&text)) {
            words.push(text);
        }
        cause = err.source();
    }
    match (err.is_timeout(), words.is_empty()) {
        (true, _) => "it did not answer in time".to_owned(),
        (false, true) => "the request failed".to_owned(),
        (false, false) => words.join(": "),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpSocket};

    use super::*;

    /// Asks a server that sends this answer; it never answers if that is empty.
    async fn asked(answer: Vec<u8>) -> Result<(u16, usize), String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
        let serving = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut asked = [0; 1024];
            assert!(stream.read(&mut asked).await.unwrap() > 0);
            if answer.is_empty() {
                std::future::pending::<()>().await;
            }
            // The client may close the connection before the end.
            let _ = stream.write_all(&answer).await;
            let _ = stream.shutdown().await;
            std::future::pending::<()>().await;
        };
        let client = http_client(&NetworkSettings::default(), &url).unwrap();
        tokio::select! {
            found = send_oauth_request(client.get(url)) => found.map(|(status, body)| (status, body.len())),
            () = serving => unreachable!("the server waits until it is not needed"),
        }
    }

    /// Returns an answer with so many header fields and so many bytes of a body.
    fn answer(fields: usize, bytes: usize) -> Vec<u8> {
        let fillers = (2..fields).map(|number| format!("x-filler-{number}: x\r\n"));
        let fillers: String = fillers.collect();
        let head = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {bytes}\r\n{fillers}\r\n"
        );
        [head.into_bytes(), vec![b'x'; bytes]].concat()
    }

    #[tokio::test]
    async fn answers_are_read_up_to_the_bounds() {
        let whole = asked(answer(2, OAUTH_ANSWER_BYTES_MAX)).await;
        assert_eq!(whole, Ok((200, OAUTH_ANSWER_BYTES_MAX)));
        let more = asked(answer(2, OAUTH_ANSWER_BYTES_MAX + 1)).await;
        assert_eq!(more, Err("more than 262144 bytes".to_owned()));
        assert_eq!(asked(answer(REMOTE_HEADERS_MAX, 1)).await, Ok((200, 1)));
        let more = asked(answer(REMOTE_HEADERS_MAX + 1, 1)).await;
        assert!(more.as_ref().is_err_and(|why| why.contains("too large")), "{more:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_is_not_waited_for_for_ever() {
        let found = asked(Vec::new()).await;
        assert_eq!(found, Err("it did not answer in time".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_not_waited_for_for_ever() {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(0).unwrap();
        let address = listener.local_addr().unwrap();
        // No server takes it from the queue, which has room for one.
        let _waiting = std::net::TcpStream::connect(address).unwrap();
        let url = Url::parse(&format!("http://{address}/")).unwrap();
        let began = tokio::time::Instant::now();
        let client = http_client(&NetworkSettings::default(), &url).unwrap();
        let found = client.get(url).send().await;
        assert!(found.as_ref().is_err_and(reqwest::Error::is_connect), "{found:?}");
        let waited = began.elapsed().as_millis();
        assert!((u128::from(REMOTE_CONNECT_MS_MAX)..=10_010).contains(&waited), "{waited}");
    }

    #[test]
    fn addresses_that_servers_name_are_encrypted_and_elsewhere() {
        let check = |server: &str, named: &str, is_good: bool| {
            let found = check_named_url(&Url::parse(server).unwrap(), named);
            assert_eq!(found.is_ok(), is_good, "{server} {named}: {found:?}");
        };
        let elsewhere = "https://mcp.example/mcp";
        check(elsewhere, "https://auth.example/token", true);
        check(elsewhere, "http://auth.example/token", false);
        check(elsewhere, "https://127.0.0.1/token", false);
        check(elsewhere, "https://localhost/token", false);
        check(elsewhere, "https://10.0.0.1/token", false);
        check(elsewhere, "https://[::ffff:10.0.0.1]/token", false);
        check(elsewhere, "https://169.254.169.254/latest", false);
        check(elsewhere, "http://localhost:1/token", false);
        check(elsewhere, "https://user:word@auth.example/", false);
        check(elsewhere, "javascript:alert(1)", false);
        check(elsewhere, "file:///etc/passwd", false);
        check("http://localhost:1/mcp", "http://127.0.0.1:2/token", true);
        check("https://10.0.0.5/mcp", "https://10.0.0.5/token", true);
        check("https://10.0.0.5/mcp", "https://10.0.0.6/token", false);
    }

    #[test]
    fn secrets_stay_encrypted_or_here() {
        for (url, is_good) in [
            ("https://a.example", true),
            ("http://a.example", false),
            ("http://127.0.0.1:8", true),
            ("http://[::1]:8", true),
            ("http://localhost", true),
            ("http://localhost.example", false),
        ] {
            assert_eq!(is_safe(&Url::parse(url).unwrap()), is_good, "{url}");
        }
    }
}
