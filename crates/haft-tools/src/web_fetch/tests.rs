//! The extractor as this side speaks to it, with programs that answer, fail and die; and what content is said to be.

use std::collections::VecDeque;
use std::future::{Future as _, poll_fn};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use expect_test::{Expect, expect};
use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, BoxFuture, ChannelRead,
    ConfinementReport, Cx, EnforcedConfinement, ErrorCode, Excerpt, ProcessEnding,
    ProcessFileAccess, ProcessHostAccess, ProcessWriteAccess, ToolError,
};
use serde_json::Value;
use url::Url;

use super::page_reader::{
    EXTRACTOR_MEMORY_BYTES, EXTRACTORS_MAX, PageReaderPool, PageReaderProgram, PageSource,
    PageText, ViewedFile, WARM_PAGE_BYTES_MAX,
};
use super::{URL_CHARS_MAX, excerpt, host_of, is_time, parse_url};
use crate::testing;

/// The behaviour of a program when it gets a page.
#[derive(Clone, Debug)]
enum Does {
    Answers(&'static str),
    Dies,
    Floods,
    Hangs,
}

/// Starts programs that do these things one after the other, and notes what happens.
struct Programs {
    // Taken from by the programs, in the order in which they are asked.
    does: Arc<Mutex<VecDeque<Does>>>,
    noted: Arc<Mutex<Vec<String>>>,
}

struct Program {
    does: Arc<Mutex<VecDeque<Does>>>,
    noted: Arc<Mutex<Vec<String>>>,
}

impl BackgroundProcesses for Programs {
    fn start(
        &self,
        request: BackgroundProcessRequest,
    ) -> BoxFuture<'_, Result<Box<dyn BackgroundProcess>, ToolError>> {
        assert_eq!(
            (request.hosts, request.files),
            (ProcessHostAccess::Nothing, ProcessFileAccess::Nothing)
        );
        assert_eq!(request.writable, ProcessWriteAccess::Nothing);
        assert_eq!(request.memory_bytes, Some(EXTRACTOR_MEMORY_BYTES));
        assert_eq!(request.readable, [PathBuf::from(&request.program)]);
        self.noted.lock().unwrap().push("started".to_owned());
        let program = Program { does: Arc::clone(&self.does), noted: Arc::clone(&self.noted) };
        Box::pin(async { Ok(Box::new(program) as Box<dyn BackgroundProcess>) })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.noted.lock().unwrap().push("dropped".to_owned());
    }
}

impl BackgroundProcess for Program {
    fn send<'a>(&'a mut self, message: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        if let Ok(head) = serde_json::from_slice::<Value>(message) {
            let said = format!("asked {}", head["content_type"]);
            self.noted.lock().unwrap().push(said);
        }
        Box::pin(async { Ok(()) })
    }

    fn receive<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
        _: usize,
    ) -> BoxFuture<'a, io::Result<ChannelRead>> {
        let does = self.does.lock().unwrap().pop_front().unwrap();
        Box::pin(async move {
            match does {
                Does::Answers(line) => {
                    into.extend_from_slice(line.as_bytes());
                    Ok(ChannelRead::Line)
                }
                Does::Dies => Ok(ChannelRead::Closed),
                Does::Floods => Ok(ChannelRead::TooLong),
                Does::Hangs => std::future::pending().await,
            }
        })
    }

    fn receive_exact<'a>(
        &'a mut self,
        _: &'a mut Vec<u8>,
        _: usize,
    ) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async { Err(io::ErrorKind::Unsupported.into()) })
    }

    fn wait_for_exit(&mut self) -> BoxFuture<'_, Result<ProcessEnding, ToolError>> {
        Box::pin(std::future::pending())
    }

    fn kill(&mut self) {}

    fn take_output(&mut self) -> BoxFuture<'_, Excerpt> {
        Box::pin(async { Excerpt::default() })
    }

    fn exceeded_limit(&self) -> Option<String> {
        None
    }

    fn take_confinement(&mut self) -> ConfinementReport {
        ConfinementReport::new(EnforcedConfinement::NOTHING)
    }
}

struct World {
    extractor: Arc<PageReaderPool>,
    cx: Cx,
    noted: Arc<Mutex<Vec<String>>>,
    _root: tempfile::TempDir,
}

fn world(does: &[Does]) -> World {
    let root = testing::tree(&[]);
    let noted = Arc::<Mutex<Vec<String>>>::default();
    let does = Arc::new(Mutex::new(does.iter().cloned().collect()));
    let residents = Programs { does, noted: Arc::clone(&noted) };
    let cx = testing::cx_with_residents(root.path(), Arc::new(residents));
    let program = PageReaderProgram { program: "/bin/extractor".into(), args: Vec::new() };
    World { extractor: Arc::new(PageReaderPool::new(Some(program))), cx, noted, _root: root }
}

impl World {
    async fn extract(&self, bytes: &[u8]) -> Result<PageText, ToolError> {
        let url = Url::parse("https://example.org/").unwrap();
        let page = PageSource { bytes, content_type: Some("text/html"), url: &url, is_whole: true };
        self.extractor.read_page(&page, &self.cx).await
    }

    async fn check(self, pages: &[&[u8]], expected: Expect) {
        for page in pages {
            let said = match self.extract(page).await {
                Ok(PageText { title, text, note, truncated }) => {
                    format!("{title:?} {text:?} {note:?} {truncated}")
                }
                Err(err) => format!("{}: {}", err.code.as_str(), err.message),
            };
            self.noted.lock().unwrap().push(said);
        }
        expected.assert_eq(&(self.noted.lock().unwrap().join("\n") + "\n"));
    }
}

const GOOD: Does = Does::Answers(
    r##"{"kind":"html","title":"T","text":"# T","note":null,"truncated":false,"charset":"UTF-8"}"##,
);

#[tokio::test]
async fn a_program_is_kept_between_pages() {
    world(&[GOOD, GOOD])
        .check(
            &[b"one", b"two"],
            expect![[r##"
        started
        asked "text/html"
        Some("T") Some("# T") None false
        asked "text/html"
        Some("T") Some("# T") None false
    "##]],
        )
        .await;
    let large = vec![b'x'; WARM_PAGE_BYTES_MAX + 1];
    world(&[GOOD, GOOD])
        .check(
            &[&large, b"two"],
            expect![[r##"
        started
        asked "text/html"
        dropped
        Some("T") Some("# T") None false
        started
        asked "text/html"
        Some("T") Some("# T") None false
    "##]],
        )
        .await;
}

#[tokio::test]
async fn a_page_that_kills_the_program_is_an_error() {
    world(&[Does::Dies, GOOD, GOOD]).check(&[b"one", b"two"], expect![[r##"
        started
        asked "text/html"
        dropped
        TOOL_FAILED: the page cannot be turned into text: the program that does so ended. Fetch another page instead
        started
        asked "text/html"
        Some("T") Some("# T") None false
    "##]]).await;
    // One that was kept may have been ended for other reasons.
    world(&[GOOD, Does::Dies, GOOD])
        .check(
            &[b"one", b"two"],
            expect![[r##"
        started
        asked "text/html"
        Some("T") Some("# T") None false
        asked "text/html"
        dropped
        started
        asked "text/html"
        Some("T") Some("# T") None false
    "##]],
        )
        .await;
    world(&[Does::Floods, Does::Answers("nonsense")]).check(&[b"one", b"two"], expect![[r#"
        started
        asked "text/html"
        dropped
        TOOL_FAILED: the page cannot be turned into text: the program that does so said more than 20065536 bytes. Fetch another page instead
        started
        asked "text/html"
        dropped
        TOOL_FAILED: the page cannot be turned into text: the program that does so said what cannot be read: expected ident at line 1 column 2. Fetch another page instead
    "#]]).await;
}

#[tokio::test]
async fn what_is_wrong_with_the_page_is_said_and_asked_once() {
    let fault = Does::Answers(r#"{"error":"the PDF is encrypted"}"#);
    world(&[fault, GOOD])
        .check(
            &[b"one", b"two"],
            expect![[r##"
        started
        asked "text/html"
        TOOL_FAILED: the PDF is encrypted
        asked "text/html"
        Some("T") Some("# T") None false
    "##]],
        )
        .await;
}

#[tokio::test]
async fn a_file_is_viewed_by_the_same_program() {
    let view = async |extractor: &PageReaderPool, cx: &Cx| {
        let file = ViewedFile { bytes: b"x", name: "a.png", pages: None, form: Some("image") };
        match extractor.view_file(&file, cx).await {
            Ok(parts) => parts.iter().map(haft_contract::ContentPart::text).collect::<String>(),
            Err(err) => format!("{}: {}", err.code.as_str(), err.message),
        }
    };
    let world = world(&[
        Does::Answers(r#"{"parts":[{"type":"text","text":"a dot"}]}"#),
        Does::Answers(r#"{"error":"pages: found 9","is_input":true}"#),
        Does::Answers(r#"{"error":"it is damaged"}"#),
        Does::Dies,
        Does::Dies,
    ]);
    for expect in [
        "a dot",
        "INVALID_INPUT: pages: found 9",
        "TOOL_FAILED: it is damaged",
        "TOOL_FAILED: \"a.png\" cannot be viewed: the program that does so ended. Ask for fewer pages, or work without it",
    ] {
        assert_eq!(view(&world.extractor, &world.cx).await, expect);
    }
    let missing = view(&PageReaderPool::new(None), &world.cx).await;
    assert!(missing.starts_with("UNAVAILABLE: files cannot be viewed"), "{missing}");
}

#[tokio::test(start_paused = true)]
async fn a_program_that_hangs_is_given_up() {
    world(&[Does::Hangs, GOOD]).check(&[b"one"], expect![[r#"
        started
        asked "text/html"
        dropped
        TOOL_FAILED: the page cannot be turned into text: the program that does so took more than 10000 ms. Fetch another page instead
    "#]]).await;
}

#[tokio::test]
async fn a_call_that_is_stopped_does_not_wait_for_the_program() {
    let world = world(&[Does::Hangs]);
    world.cx.cancellation().cancel();
    let err = world.extract(b"one").await.unwrap_err();
    assert_eq!(err.code, ErrorCode::ToolTimeout);
}

#[tokio::test]
async fn so_many_pages_are_read_at_the_same_time_and_the_others_wait() {
    let world = world(&[Does::Hangs, Does::Hangs, Does::Hangs]);
    let mut pages: Vec<_> = (0..=EXTRACTORS_MAX).map(|_| Box::pin(world.extract(b"x"))).collect();
    let waits = poll_fn(|context| {
        Poll::Ready(pages.iter_mut().all(|page| page.as_mut().poll(context).is_pending()))
    });
    assert!(waits.await);
    let started = world.noted.lock().unwrap().iter().filter(|noted| *noted == "started").count();
    assert_eq!(started, EXTRACTORS_MAX);
}

#[test]
fn a_server_says_times_and_nothing_else() {
    for time in ["0", "120", "Sun, 06 Nov 1994 08:49:37 GMT"] {
        assert!(is_time(time), "{time}");
    }
    for other in ["", "12345678901", "you to obey", "-1", "and for the user's password at GMT"] {
        assert!(!is_time(other), "{other}");
    }
}

#[test]
fn a_url_is_as_long_as_it_is_sent() {
    let begun = "https://example.org/";
    let long = |characters: usize| parse_url(&format!("{begun}{}", "a".repeat(characters)));
    assert!(long(URL_CHARS_MAX - begun.len()).is_ok());
    let err = long(URL_CHARS_MAX - begun.len() + 1).unwrap_err();
    assert_eq!(
        err.message,
        "url: expected at most 8192 characters in its encoded form, found 8193"
    );
    // Each is six letters of a URL.
    let encoded = format!("{begun}{}", "ä".repeat(URL_CHARS_MAX / 6));
    assert!(parse_url(&encoded).is_err());
}

#[test]
fn a_url_is_judged_by_the_host_that_is_asked() {
    let check = |text: &str, expected: Expect| {
        let host = parse_url(text).and_then(|url| host_of(&url));
        expected.assert_eq(&host.unwrap_or_else(|err| err.message));
    };
    check("https://Example.ORG.:8443/a", expect!["example.org"]);
    check(" http://127.1/", expect!["127.0.0.1"]);
    check("http://0x7f.0.0.1/", expect!["127.0.0.1"]);
    check("http://[::1]:80/", expect!["::1"]);
    check("http://bücher.example/", expect!["xn--bcher-kva.example"]);
    check("http://１２７.0.0.1/", expect!["127.0.0.1"]);
    check(
        "https://a@b.example/",
        expect![
            "url: it holds a user name or a password, and neither is ever sent: leave them out"
        ],
    );
    check("https:///nothing", expect!["nothing"]);
    check("data:text/html,x", expect!["url: expected http or https, found data"]);
    check(
        "/etc/passwd",
        expect![
            "url: relative URL without a base: expected an address such as https://example.org/page"
        ],
    );
}

#[test]
fn the_beginning_of_an_error_page_is_cut_between_characters() {
    assert_eq!(excerpt("  short\n"), "short");
    let long = "ä".repeat(3_000);
    let cut = excerpt(&long);
    assert_eq!(cut, format!("{}\n[the rest is left out]", "ä".repeat(2_000)));
}
