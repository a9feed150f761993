//! Encrypted connections: which certificates of a provider are trusted. Authority and certificate
//! were created for these tests only; the authority's key was not kept.

use std::path::PathBuf;
use std::sync::Arc;

use haft_model::{ModelAnswerBounds, ModelError, ModelRequest, ModelSettings, ProviderModel};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, crypto};

use crate::server::{Reply, whole};

const ANSWER: &[&str] =
    &[r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#, "[DONE]"];

fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
}

/// Starts a provider with a certificate of the test authority, and returns its base URL.
async fn start() -> String {
    let certificate = CertificateDer::from_pem_file(place("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(place("server.key.pem")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that does not trust the certificate closes the connection.
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut request = [0; 16 * 1024];
            let _ = stream.read(&mut request).await.unwrap();
            stream.write_all(Reply::data(ANSWER).bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        }
    });
    url
}

async fn ask(authorities: Option<PathBuf>) -> Result<String, ModelError> {
    let settings = ModelSettings {
        model: "openai/m".to_owned(),
        base_url: Some(start().await),
        authorities,
        bounds: ModelAnswerBounds { retries_max: 0, ..ModelAnswerBounds::default() },
        ..ModelSettings::default()
    };
    let provider = ProviderModel::open(&settings, &|_| None)?;
    whole(&provider, ModelRequest::from_user_text("hello")).await.map(|answer| answer.text)
}

#[tokio::test]
async fn a_certificate_of_a_named_authority_is_believed() {
    assert_eq!(ask(Some(place("authority.pem"))).await.as_deref(), Ok("ok"));
}

#[tokio::test]
async fn a_certificate_of_nobody_known_is_not() {
    // The server's own certificate is not an authority.
    let err = ask(Some(place("server.pem"))).await.unwrap_err();
    assert!(matches!(&err, ModelError::Network { .. }), "{err:?}");
    assert!(err.to_string().contains("certificate"), "{err}");
}

#[tokio::test]
async fn a_file_without_authorities_is_refused_before_anything_is_sent() {
    let err = ask(Some(place("nothing.pem"))).await.unwrap_err();
    assert!(err.to_string().contains("nothing.pem"), "{err}");
}
