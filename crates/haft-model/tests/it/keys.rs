//! A key is sent, but appears nowhere else: not in errors, not in printed values, not in any log,
//! whatever a provider sends and whatever the log level.

use std::io::Write;
use std::sync::{Arc, Mutex};

use haft_model::{Model, ModelRequest};
use tracing_subscriber::fmt::MakeWriter;

use crate::server::{KEY, Reply, Server};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

fn replies() -> Vec<Reply> {
    let words = format!("Incorrect API key provided: {KEY} (or {})", &KEY[4..20]);
    let quoted = serde_json::json!({"error": {"message": words, "type": "invalid_request_error"}});
    vec![
        Reply::new(401, "application/json", &quoted.to_string()),
        Reply::new(400, "text/plain", &words),
        Reply::with_headers(302, &format!("location: http://127.0.0.1/?key={KEY}\r\n"), b""),
        Reply::data(&[&quoted.to_string()]),
        Reply::data(&[&format!("{{ {words}")]),
        Reply::events(&[("error", &quoted.to_string()), (KEY, KEY)]),
        Reply::new(200, "text/html", &words),
        Reply::data(&[
            r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ]),
    ]
}

/// One thread, so that the subscriber also receives logs of the HTTP client's tasks.
#[tokio::test(flavor = "current_thread")]
async fn keys_are_seen_nowhere() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    tracing::info!("the log is heard");
    let mut seen = String::new();
    for provider in ["openai/m", "anthropic/m", "gemini/m", "ollama/m"] {
        for reply in replies() {
            let server = Server::start([reply]);
            let model = server.provider(provider);
            seen.push_str(&format!("{model:?}\n"));
            let answer = match model.respond(ModelRequest::from_user_text("x")).await {
                Ok(answer) => answer.collect().await,
                Err(err) => Err(err),
            };
            assert!(server.asked()[0].0.contains(KEY), "{provider}: the key is sent");
            if let Err(err) = answer {
                seen.push_str(&format!("{err}\n{err:?}\n"));
            }
        }
    }
    assert!(seen.contains("[key]"), "providers quoted it: {seen}");
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("the log is heard"), "{log}");
    for (name, text) in [("what is printed", &seen), ("the log", &log)] {
        for part in [&KEY[..12], &KEY[8..20], &KEY[22..]] {
            assert!(!text.contains(part), "{name} holds {part}: {text}");
        }
    }
}
