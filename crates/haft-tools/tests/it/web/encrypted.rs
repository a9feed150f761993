//! `web_fetch` from servers with TLS: which certificates it accepts, and that it never falls back to plain text.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use expect_test::expect;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned, crypto};

use super::stage::{Names, Setting, Stage, allow};

/// Where the certificates of the tests lie; the server's is that of `localhost`.
fn fixture(name: &str) -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    crates.join("haft-journal/tests/fixtures/postgres-tls").join(name)
}

/// Starts a server that answers every request with a redirect to where a query says, or with a text.
fn server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let chain = CertificateDer::pem_file_iter(fixture("server.pem")).unwrap();
    let chain = chain.collect::<Result<Vec<_>, _>>().unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            let mut request = [0; 8_192];
            // A client that does not believe the server says so and goes.
            let Ok(count) = stream.read(&mut request) else { continue };
            let request = String::from_utf8_lossy(&request[..count]).into_owned();
            let target = request.split(' ').nth(1).unwrap_or_default();
            let answer = match target.split_once('?') {
                Some((_, to)) => {
                    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
                }
                None => {
                    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nsecret"
                        .to_owned()
                }
            };
            let _ = stream.write_all(answer.as_bytes());
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
    });
    address
}

fn stage(authorities: &str) -> Stage {
    let names = ["localhost", "other.localhost"].map(|name| (name, ["127.0.0.1"]));
    let names = names.each_ref().map(|(name, addresses)| (*name, addresses.as_slice()));
    Stage::with(Setting {
        rules: vec![allow("localhost"), allow("other.localhost"), allow("127.0.0.1")],
        names: Names::of(&names),
        authorities: Some(fixture(authorities)),
        ..Setting::default()
    })
}

#[tokio::test]
async fn servers_are_believed_that_an_authority_vouches_for_by_name() {
    let address = server();
    let port = address.port();
    let (known, unknown) = (stage("authority.pem"), stage("another-authority.pem"));
    let missing = stage("no-such-authority.pem");
    let mut all = String::new();
    for (stage, url) in [
        (&known, format!("https://localhost:{port}/")),
        (&known, format!("https://other.localhost:{port}/")),
        (&known, format!("https://127.0.0.1:{port}/")),
        (&unknown, format!("https://localhost:{port}/")),
        (&missing, format!("https://localhost:{port}/")),
        (&known, format!("https://localhost:{port}/?https://localhost:{port}/next")),
        (&known, format!("https://localhost:{port}/?http://localhost:{port}/")),
    ] {
        let text = stage.text(&url).await.replace(&port.to_string(), "[port]");
        let text = text.replace(&fixture("").to_string_lossy().into_owned(), "[fixtures]/");
        all.push_str(&format!("== {}\n{text}\n", url.replace(&port.to_string(), "[port]")));
    }
    expect![[r#"
        == https://localhost:[port]/
        url: https://localhost:[port]/

        secret
        == https://other.localhost:[port]/
        UNAVAILABLE: https://other.localhost:[port]/: cannot connect to other.localhost port [port]: invalid peer certificate: certificate not valid for name "other.localhost"; certificate is only valid for DnsName("localhost")
        == https://127.0.0.1:[port]/
        UNAVAILABLE: https://127.0.0.1:[port]/: cannot connect to 127.0.0.1 port [port]: invalid peer certificate: certificate not valid for name "127.0.0.1"; certificate is only valid for DnsName("localhost")
        == https://localhost:[port]/
        UNAVAILABLE: https://localhost:[port]/: cannot connect to localhost port [port]: invalid peer certificate: UnknownIssuer
        == https://localhost:[port]/
        UNAVAILABLE: https://localhost:[port]/: the network cannot be used: the authorities in [fixtures]/no-such-authority.pem cannot be read: I/O error: No such file or directory (os error 2)
        == https://localhost:[port]/?https://localhost:[port]/next
        url: https://localhost:[port]/next

        secret
        == https://localhost:[port]/?http://localhost:[port]/
        TOOL_FAILED: https://localhost:[port]/?http://localhost:[port]/ redirects to where it is not followed: http://localhost:[port]/ is not encrypted, and https://localhost:[port]/?http://localhost:[port]/ is: call again with that URL if this is meant
    "#]].assert_eq(&all);
}
