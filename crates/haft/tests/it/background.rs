//! Programs that outlive calls: what they are told and given, what they can reach, and that nothing of them is left.

mod read_only;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use expect_test::{Expect, expect};
use haft::{
    Ask, AskAnswer, Asker, SnapshotHistory, SystemClock, WorkspaceRoots, WorkspaceSnapshots,
};
use haft_contract::{
    Access, BackgroundProcess, BackgroundProcessRequest, BoxFuture, ChannelRead, Cx, Effect,
    Envelope, ErrorCode, FsRequirement, NetRequirement, ProcessChannel, ProcessEnding,
    ProcessFileAccess, ProcessWriteAccess, RequirementSet, Tool, ToolBuilder, ToolError,
    ToolOutput,
};
use haft_journal::{Journal, MemoryJournal};
use haft_policy::{RuleAction, RuleScope};
use haft_snapshot::RecordOptions;
use serde_json::json;
use tokio::sync::Mutex;

use crate::stage::{Setting, Stage, Text, rule};

/// The longest line that a test waits for, in bytes.
const LINE_BYTES_MAX: usize = 1_000;
/// How often a condition is looked at, and how long apart.
const LOOKS_MAX: u32 = 6_000;
const LOOK_MS: u64 = 5;
/// Set in a copy of this program that is to be killed; its value is the token to sleep for.
const DOOMED: &str = "HAFT_TEST_DOOMED";

/// Waits for a line, and answers with the same.
const ANSWER: &str = "read -r line <&3; echo \"$line\" >&3";

/// A program that knows how to start processes; cargo builds examples beside the tests.
pub(crate) fn helper() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let helper = own.ancestors().nth(2).unwrap().join("examples/background_process");
    assert!(helper.exists(), "build the examples of this crate first: {}", helper.display());
    helper
}

/// Starts a shell with this script.
pub(crate) fn request(script: &str) -> BackgroundProcessRequest {
    let mut request = BackgroundProcessRequest::new("sh");
    request.args = vec!["-c".into(), script.into()];
    request
}

/// Sends a line, and returns the one that comes, or what came in its place.
pub(crate) async fn ask(
    resident: &mut dyn BackgroundProcess,
    line: &str,
) -> Result<String, ToolError> {
    resident.send(format!("{line}\n").as_bytes()).await?;
    receive(resident).await
}

async fn receive(resident: &mut dyn BackgroundProcess) -> Result<String, ToolError> {
    let mut line = Vec::new();
    Ok(match resident.receive(&mut line, LINE_BYTES_MAX).await? {
        ChannelRead::Line => String::from_utf8_lossy(&line).into_owned(),
        ChannelRead::Closed => "(closed)".to_owned(),
        ChannelRead::TooLong => "(too long)".to_owned(),
    })
}

/// A tool that starts its input as a script, sends it `go`, and answers with what that wrote: first the line that came,
/// then what it printed until its end.
fn script(
    writable: ProcessWriteAccess,
    requires: RequirementSet,
    declared: &'static [&'static str],
) -> Tool {
    Tool::new("script")
        .effect(Effect::Once)
        .requires(requires)
        .accesses(move |_: &Text| declared.iter().map(|path| Access::write(*path)).collect())
        .execute_with(move |input: Text, cx: Cx| {
            let writable = writable.clone();
            async move {
                let request = BackgroundProcessRequest { writable, ..request(&input.text) };
                let mut resident = cx.background_processes().start(request).await?;
                let line = ask(&mut *resident, "go").await?;
                let ending = resident.wait_for_exit().await?;
                let printed = resident.take_output().await.head;
                let mut output = ToolOutput::text(format!("{line}\n{printed}{ending:?}"));
                output.confined = Some(resident.take_confinement());
                Ok::<_, ToolError>(output)
            }
        })
}

fn reader() -> Tool {
    script(ProcessWriteAccess::Nothing, RequirementSet::default(), &[])
}

fn writing(patterns: &[&str]) -> RequirementSet {
    let write = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    let fs = FsRequirement { write, ..FsRequirement::default() };
    RequirementSet { fs, ..RequirementSet::default() }
}

/// A tool that may change `out`, and nothing else.
fn writer() -> Tool {
    script(ProcessWriteAccess::Directories(vec!["out".to_owned()]), writing(&["out/**"]), &["out"])
}

async fn stage(tool: Tool) -> Stage {
    Stage::new(setting(tool)).await
}

fn setting(tool: Tool) -> Setting {
    let environment = vec![("PATH".into(), "/usr/bin:/bin".into()), ("TMPDIR".into(), "/x".into())];
    Setting { tools: vec![tool], helper: helper(), environment, ..Setting::default() }
}

impl Stage {
    fn at(&self, path: &str) -> PathBuf {
        self.directory.path().join("root").join(path)
    }

    async fn script(&self, text: &str) -> Envelope {
        self.call("script", json!({ "text": text })).await
    }
}

async fn check(tool: Tool, script: &str, expect: Expect) {
    let stage = stage(tool).await;
    std::fs::write(stage.at("seen"), "contents").unwrap();
    let envelope = stage.script(script).await;
    let root = stage.directory.path().to_string_lossy().into_owned();
    expect.assert_eq(&envelope.text().replace(&root, "…"));
}

/// More than any socket holds, in bytes.
const MUCH_BYTES: usize = 4 * 1024 * 1024;

#[tokio::test]
async fn two_who_say_much_at_once_both_hear_it() {
    let tool = Tool::new("script").execute_with(|input: Text, cx: Cx| async move {
        let mut resident = cx.background_processes().start(request(&input.text)).await?;
        let mut message = vec![b'x'; MUCH_BYTES];
        message.push(b'\n');
        resident.send(&message).await?;
        let mut line = Vec::new();
        resident.receive(&mut line, MUCH_BYTES).await?;
        let heard = receive(&mut *resident).await?;
        Ok::<_, ToolError>(ToolOutput::text(format!("{} {heard}", line.len())))
    });
    let script = format!(
        "head -c {MUCH_BYTES} /dev/zero | tr '\\0' y >&3; echo >&3; head -n 1 <&3 | wc -c >&3"
    );
    let envelope = stage(tool).await.script(&script).await;
    assert_eq!(envelope.text(), format!("{MUCH_BYTES} {}", MUCH_BYTES + 1));
}

#[tokio::test]
async fn a_program_is_spoken_to_and_its_prints_stay_apart() {
    let script = "echo printed; echo complained >&2; read -r line <&3; echo \"$line\"; echo \"answer to $line\" >&3; exit 3";
    let stage = stage(reader()).await;
    let envelope = stage.script(script).await;
    let expected = "answer to go\nprinted\ncomplained\ngo\nExited(3)";
    assert_eq!(envelope.text(), expected);
    let metadata = envelope.metadata();
    assert!(metadata.enforced.unwrap().is_full(), "{metadata:?}");
    assert!(metadata.connections.is_empty() && metadata.undone.is_empty());
}

#[tokio::test]
async fn standard_input_and_output_can_be_the_channel() {
    let tool = Tool::new("script").execute_with(|input: Text, cx: Cx| async move {
        let request =
            BackgroundProcessRequest { channel: ProcessChannel::Stdio, ..request(&input.text) };
        let mut resident = cx.background_processes().start(request).await?;
        let line = ask(&mut *resident, "go").await?;
        resident.wait_for_exit().await?;
        Ok::<_, ToolError>(format!("{line}, {}", resident.take_output().await.head))
    });
    let stage = stage(tool).await;
    let envelope = stage.script("read -r line; echo printed $line; echo complained >&2").await;
    assert_eq!(envelope.text(), "printed go, complained\n");
}

#[tokio::test]
async fn its_environment_is_the_configured_one_and_its_own() {
    let tool = Tool::new("script").execute_with(|input: Text, cx: Cx| async move {
        let env = vec![("OWN".into(), "yes".into())];
        let mut resident = cx
            .background_processes()
            .start(BackgroundProcessRequest { env, ..request(&input.text) })
            .await?;
        resident.wait_for_exit().await?;
        Ok::<_, ToolError>(resident.take_output().await.head)
    });
    let stage = stage(tool).await;
    let text = stage.script("exec env").await.text();
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    // No keys of a call, and no directory for temporary files but the private one. The shell adds where it is.
    assert_eq!(names, ["OWN", "PATH", "PWD"], "{text}");
}

#[tokio::test]
async fn roots_are_read_and_not_changed() {
    let script = format!("{ANSWER}; cat seen; echo; echo new > seen; mkdir made; cat seen; echo");
    check(
        reader(),
        &script,
        expect![[r#"
        go
        contents
        sh: 1: cannot create seen: Read-only file system
        mkdir: cannot create directory 'made': Read-only file system
        contents
        Exited(0)"#]],
    )
    .await;
}

#[tokio::test]
async fn a_program_that_asks_for_no_files_sees_no_root() {
    let tool = Tool::new("script").execute_with(|input: Text, cx: Cx| async move {
        let files = ProcessFileAccess::Nothing;
        let request = BackgroundProcessRequest { files, ..request(&input.text) };
        let mut resident = cx.background_processes().start(request).await?;
        let ending = resident.wait_for_exit().await?;
        Ok::<_, ToolError>(format!("{}{ending:?}", resident.take_output().await.head))
    });
    let stage = stage(tool).await;
    let (root, seen) = (stage.at(""), stage.at("seen"));
    let script = format!("cat {}; ls -A {} | wc -l; cat seen", seen.display(), root.display());
    let text = stage.script(&script).await.text();
    assert!(!text.contains("contents"), "{text}");
    assert_eq!(text.matches("No such file or directory").count(), 3, "{text}");
}

#[tokio::test]
async fn a_directory_that_was_granted_is_changed_and_made_if_it_is_missing() {
    let script = format!(
        "{ANSWER}; mkdir out/deep && echo new > out/deep/file && echo written; echo new > seen; rm -r out"
    );
    let stage = stage(writer()).await;
    std::fs::write(stage.at("seen"), "contents").unwrap();
    let envelope = stage.script(&script).await;
    expect![[r#"
        go
        written
        sh: 1: cannot create seen: Read-only file system
        rm: cannot remove 'out': Read-only file system
        Exited(1)"#]]
    .assert_eq(&envelope.text());
    assert_eq!(std::fs::read_to_string(stage.at("seen")).unwrap(), "contents");
    assert!(stage.at("out").is_dir());
}

#[tokio::test]
async fn roots_can_be_granted() {
    let tool = script(ProcessWriteAccess::Roots, writing(&["**"]), &["."]);
    let script = format!(
        "{ANSWER}; echo new > seen; cat seen; mkdir -p .git/hooks; echo x > .git/hooks/pre-commit"
    );
    let stage = stage(tool).await;
    let envelope = stage.script(&script).await;
    assert_eq!(envelope.text().lines().next(), Some("go"), "{}", envelope.text());
    assert_eq!(std::fs::read_to_string(stage.at("seen")).unwrap(), "new\n");
    assert!(!stage.at(".git/hooks/pre-commit").exists());
    assert_eq!(envelope.metadata().undone.len(), 1, "{:?}", envelope.metadata());
}

#[tokio::test]
async fn protected_names_are_protected_in_a_directory_around_them() {
    let around = ProcessWriteAccess::Directories(vec![".config".to_owned()]);
    let stage = stage(script(around, writing(&[".config/**"]), &[".config"])).await;
    std::fs::create_dir_all(stage.at(".config")).unwrap();
    let script = format!("{ANSWER}; cd .config; echo x > new; mkdir git; echo x > git/config");
    let envelope = stage.script(&script).await;
    assert!(stage.at(".config/new").exists(), "{}", envelope.text());
    assert!(!stage.at(".config/git/config").exists());
    assert_eq!(envelope.metadata().undone.len(), 1, "{:?}", envelope.metadata());
}

#[tokio::test]
async fn what_it_reads_besides_is_not_kept_from_being_changed() {
    let tool = Tool::new("script")
        .effect(Effect::Once)
        .requires(writing(&["out/**"]))
        .accesses(|_: &Text| vec![Access::write("out")])
        .execute_with(|input: Text, cx: Cx| async move {
            let root = cx.root().to_path_buf();
            let outside = root.parent().unwrap().join("outside");
            let request = BackgroundProcessRequest {
                readable: vec![root.join("out/own"), outside],
                writable: ProcessWriteAccess::Directories(vec!["out".to_owned()]),
                ..request(&input.text)
            };
            let mut resident = cx.background_processes().start(request).await?;
            resident.wait_for_exit().await?;
            Ok::<_, ToolError>(resident.take_output().await.head)
        });
    let stage = stage(tool).await;
    std::fs::create_dir_all(stage.at("out/own")).unwrap();
    for (name, text) in [("outside", "seen"), ("neighbour", "not seen")] {
        std::fs::create_dir(stage.directory.path().join(name)).unwrap();
        std::fs::write(stage.directory.path().join(name).join("file"), text).unwrap();
    }
    let script = "echo new > out/own/file; cat out/own/file ../outside/file; echo; ls ..";
    assert_eq!(says(&stage, script).await, "new\nseen\noutside\nroot\n");
}

#[tokio::test]
async fn nothing_is_changed_that_was_not_granted() {
    let refuses = async |setting: Setting, expect: Expect| {
        let stage = Stage::new(setting).await;
        std::fs::create_dir_all(stage.at("out/kept")).unwrap();
        std::fs::write(stage.at("file"), "").unwrap();
        let envelope = stage.script(ANSWER).await;
        let code = envelope.code().map(|code| code.to_string()).unwrap_or_default();
        let root = stage.directory.path().to_string_lossy().into_owned();
        expect.assert_eq(&format!("{code}: {}", envelope.text().replace(&root, "…")));
    };
    let out = || ProcessWriteAccess::Directories(vec!["out".to_owned()]);
    let undeclared = script(out(), writing(&["out/**"]), &[]);
    refuses(setting(undeclared), expect![[r#"CAPABILITY_DENIED: changing all of "out" was not granted: the call did not declare that it changes it"#]]).await;
    let elsewhere = script(out(), writing(&["**"]), &["other"]);
    refuses(setting(elsewhere), expect![[r#"CAPABILITY_DENIED: changing all of "out" was not granted: the call did not declare that it changes it"#]]).await;
    // The requirement covers the directory itself and not what is in it.
    let narrow = script(out(), writing(&["o*"]), &["out"]);
    refuses(
        setting(narrow),
        expect![[r#"CAPABILITY_DENIED: changing all of "out" was not granted: requirements or rules keep it, or some of it, from the call"#]],
    )
    .await;
    let mut denied = setting(writer());
    denied.rules.push(rule(RuleScope::Manifest, "fs.write", "out/kept/**", RuleAction::Deny));
    refuses(
        denied,
        expect![[r#"CAPABILITY_DENIED: changing all of "out" was not granted: script needs approval for fs.write of "out": it reaches all beneath, and the manifest rule `deny fs.write "out/kept/**"` may match something there; while that rule stands, no added rule allows it"#]],
    )
    .await;
    // The rule allows the directory itself and not what is in it.
    let allowed = vec![rule(RuleScope::Manifest, "fs.write", "o*", RuleAction::Allow)];
    refuses(Setting { rules: allowed, ..setting(writer()) }, expect![[r#"CAPABILITY_DENIED: changing all of "out" was not granted: script needs approval for fs.write of "out": no rule matches, and then the answer is ask; the rule `allow script "out"` would allow it"#]]).await;
    let root = script(ProcessWriteAccess::Roots, writing(&["out/**"]), &["out"]);
    refuses(setting(root), expect!["CAPABILITY_DENIED: the program is to change the roots, and the call did not declare that it changes any"]).await;
    let file =
        script(ProcessWriteAccess::Directories(vec!["file".to_owned()]), writing(&["**"]), &["."]);
    refuses(setting(file), expect![[r#"TOOL_PATH_INVALID: "file" is a regular file, not a directory: a program can be confined to whole directories only"#]]).await;
    let outside =
        script(ProcessWriteAccess::Directories(vec!["/etc".to_owned()]), writing(&["**"]), &["."]);
    refuses(
        setting(outside),
        expect![[
            r#"TOOL_PATH_ESCAPE: path "/etc" is outside the workspace: use a path within …/root"#
        ]],
    )
    .await;
    let protected = script(
        ProcessWriteAccess::Directories(vec![".vscode".to_owned()]),
        writing(&["**"]),
        &["."],
    );
    refuses(setting(protected), expect![[r#"CAPABILITY_DENIED: .vscode is protected by ".vscode/**", because others run or obey what it says: leave it, or tell the user what to change"#]]).await;
}

/// Answers every question with yes.
struct Agreeable;

impl Asker for Agreeable {
    fn ask(&self, _: Ask) -> BoxFuture<'_, AskAnswer> {
        Box::pin(async { AskAnswer::AllowOnce })
    }
}

#[tokio::test]
async fn what_somebody_agreed_to_is_granted_with_all_that_is_in_it() {
    let asking = |rules| Setting { rules, asker: Arc::new(Agreeable), ..setting(writer()) };
    let stage = Stage::new(asking(Vec::new())).await;
    let script = format!("{ANSWER}; mkdir -p out/deep && echo made");
    assert_eq!(says(&stage, &script).await, "go\nmade\nExited(0)");
    // A rule protects these paths, and no person was asked about them.
    let denied = vec![rule(RuleScope::Manifest, "fs.write", "out/kept/**", RuleAction::Deny)];
    let stage = Stage::new(asking(denied)).await;
    assert_eq!(stage.script(&script).await.code(), Some(ErrorCode::CapabilityDenied));
}

/// Asks the proxy for a way to a host, and answers with its first line; the host and port come over the channel.
const DIAL: &str = "while read -r host <&3; do exec 9<>/dev/tcp/127.0.0.1/47128; \
    printf 'CONNECT %s HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n' \"$host\" \"$host\" >&9; \
    read -r status <&9; echo \"${status:9:3}\" >&3; exec 9>&-; done";

#[tokio::test]
async fn it_reaches_the_hosts_of_the_call_and_each_call_hears_of_its_own_connections() {
    let place: Arc<Mutex<Option<Box<dyn BackgroundProcess>>>> = Arc::default();
    let net = NetRequirement { hosts: vec!["localhost".to_owned()] };
    let requires = RequirementSet { net, ..RequirementSet::default() };
    let tool = Tool::new("script").requires(requires).execute_with(move |input: Text, cx: Cx| {
        let place = Arc::clone(&place);
        async move {
            let mut place = place.lock().await;
            if place.is_none() {
                let mut request = BackgroundProcessRequest::new("bash");
                request.args = vec!["-c".into(), DIAL.into()];
                *place = Some(cx.background_processes().start(request).await?);
            }
            let resident = place.as_mut().unwrap();
            let mut output = ToolOutput::text(ask(&mut **resident, &input.text).await?);
            output.confined = Some(resident.take_confinement());
            Ok::<_, ToolError>(output)
        }
    });
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = server.local_addr().unwrap().port();
    let stage = stage(tool).await;
    for (host, status, admitted) in [
        (format!("localhost:{port}"), "200", true),
        ("example.org:443".to_owned(), "403", false),
        (format!("localhost:{port}"), "200", true),
    ] {
        let envelope = stage.script(&host).await;
        assert_eq!(envelope.text(), status);
        let connections: Vec<(String, bool)> = envelope
            .metadata()
            .connections
            .iter()
            .map(|made| (format!("{}:{}", made.host, made.port), made.admitted))
            .collect();
        assert_eq!(connections, [(host, admitted)]);
    }
}

/// A tool that keeps what it starts: `start SCRIPT`, `ask LINE`, `wait`, `kill` and `drop` are its inputs.
fn keeper() -> Tool {
    keeping(Tool::new("script"), ProcessWriteAccess::Nothing)
}

fn keeping(tool: ToolBuilder, writable: ProcessWriteAccess) -> Tool {
    let place: Arc<Mutex<Option<Box<dyn BackgroundProcess>>>> = Arc::default();
    tool.execute_with(move |input: Text, cx: Cx| {
        let place = Arc::clone(&place);
        let writable = writable.clone();
        async move {
            let mut place = place.lock().await;
            let (verb, rest) = input.text.split_once(' ').unwrap_or((&input.text, ""));
            let Some(resident) = place.as_mut() else {
                assert_eq!(verb, "start");
                let request = BackgroundProcessRequest { writable, ..request(rest) };
                *place = Some(cx.background_processes().start(request).await?);
                return Ok::<_, ToolError>(String::new());
            };
            match verb {
                "ask" => ask(&mut **resident, rest).await,
                "receive" => receive(&mut **resident).await,
                "output" => {
                    let printed = resident.take_output().await;
                    let tail = printed.tail.map_or(0, |tail| tail.len());
                    Ok(format!("{} of {} and {tail}", printed.head.len(), printed.total_bytes))
                }
                "kill" => {
                    resident.kill();
                    Ok(format!("{:?}", resident.wait_for_exit().await?))
                }
                "wait" => {
                    let ending = resident.wait_for_exit().await?;
                    assert_eq!(resident.wait_for_exit().await?, ending, "it can be asked again");
                    Ok(format!("{ending:?} {:?}", resident.exceeded_limit()))
                }
                _ => {
                    *place = None;
                    Ok(String::new())
                }
            }
        }
    })
}

async fn says(stage: &Stage, text: &str) -> String {
    stage.script(text).await.text()
}

#[tokio::test]
async fn it_outlives_the_call_that_started_it() {
    let stage = stage(keeper()).await;
    says(&stage, "start count=0; while read -r line <&3; do count=$((count+1)); echo \"$count $line\" >&3; done").await;
    assert_eq!(says(&stage, "ask one").await, "1 one");
    assert_eq!(says(&stage, "ask two").await, "2 two");
    assert_eq!(says(&stage, "kill").await, "Signalled(9)");
    assert_eq!(says(&stage, "receive").await, "(closed)");
    assert_eq!(stage.script("ask three").await.code(), Some(ErrorCode::ToolFailed));
}

#[tokio::test]
async fn a_flood_neither_blocks_it_nor_is_kept() {
    let stage = stage(keeper()).await;
    says(
        &stage,
        "start read -r line <&3; head -c 20000000 /dev/zero; echo done >&3; read -r line <&3",
    )
    .await;
    assert_eq!(says(&stage, "ask go").await, "done");
    assert_eq!(says(&stage, "output").await, "65536 of 20000000 and 8192");
    assert_eq!(says(&stage, "output").await, "0 of 0 and 0");
}

#[tokio::test]
async fn what_is_no_line_is_no_answer() {
    let stage = stage(keeper()).await;
    says(&stage, "start read -r line <&3; printf '%2000d' 0 >&3; read -r line <&3").await;
    assert_eq!(says(&stage, "ask go").await, "(too long)");
    says(&stage, "drop").await;
    says(&stage, "start read -r line <&3; printf half >&3; exit 4").await;
    assert_eq!(says(&stage, "ask go").await, "(closed)");
    assert_eq!(says(&stage, "wait").await, "Exited(4) None");
}

#[tokio::test]
async fn receiving_can_be_given_up() {
    let tool = Tool::new("script").execute_with(|input: Text, cx: Cx| async move {
        let mut resident = cx.background_processes().start(request(&input.text)).await?;
        // Half a line has come, and the other half does before the second question.
        assert_eq!(receive(&mut *resident).await?, "ready");
        let mut line = Vec::new();
        let given_up =
            tokio::time::timeout(Duration::from_millis(20), resident.receive(&mut line, 9)).await;
        assert!(given_up.is_err() && line.is_empty());
        ask(&mut *resident, "go").await
    });
    let stage = stage(tool).await;
    let script = "echo ready >&3; printf 'first ' >&3; read -r line <&3; echo second >&3";
    assert_eq!(says(&stage, script).await, "first second");
}

#[tokio::test]
async fn its_memory_is_bounded_and_the_bound_is_named() {
    let tool = Tool::new("script").execute_with(|input: Text, cx: Cx| async move {
        let memory_bytes = Some(64 * 1024 * 1024);
        let mut resident = cx
            .background_processes()
            .start(BackgroundProcessRequest { memory_bytes, ..request(&input.text) })
            .await?;
        let ending = resident.wait_for_exit().await?;
        assert_eq!(ending, ProcessEnding::Signalled(9));
        Ok::<_, ToolError>(resident.exceeded_limit().unwrap_or_default())
    });
    let stage = stage(tool).await;
    // Each of the three stays below the bound, and together they do not.
    let eat = "python3 -c 'b = b\"x\" * 30000000; import time; time.sleep(1000)'";
    let text = says(&stage, &format!("{eat} & {eat} & {eat} & exec sleep 1000")).await;
    expect!["its memory is bounded by 67108864 bytes, which it met; memory_bytes of [sandbox] in haft.toml bounds all programs"].assert_eq(&text);
}

#[tokio::test]
async fn what_it_changes_is_recorded_with_the_call() {
    let directory = Arc::new(tempfile::tempdir().unwrap());
    let root = directory.path().join("root");
    std::fs::create_dir_all(root.join("out")).unwrap();
    std::fs::write(root.join("out/old"), "old").unwrap();
    let roots = WorkspaceRoots::open(&root, &[]).unwrap();
    let stores = directory.path().join("stores");
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let options = RecordOptions::default();
    let (kept, clock) = (Arc::clone(&journal), Arc::new(SystemClock));
    let hook = WorkspaceSnapshots::new(&stores, &roots, kept, clock, &options);
    let stage = Stage::new(Setting {
        journal: Arc::clone(&journal),
        directory: Some(Arc::clone(&directory)),
        snapshots: Some(Arc::new(hook)),
        ..setting(writer())
    })
    .await;
    let script = format!("{ANSWER}; mkdir out/deep; echo new > out/deep/file; rm out/old");
    assert_eq!(stage.script(&script).await.text(), "go\nExited(0)");
    let id = stage.rows().await.last().unwrap().id();
    let history = SnapshotHistory::new(&stores, journal, &options);
    let changes = history.changes(&haft::CallSelection::Call(id)).await.unwrap();
    let undone = changes.into_iter().next().unwrap().undo(haft_snapshot::OverwritePolicy::Refuse);
    undone.unwrap();
    assert_eq!(std::fs::read_to_string(root.join("out/old")).unwrap(), "old");
    assert!(!root.join("out/deep").exists());
}

/// A number of seconds that no other process on the machine sleeps for.
struct Token(String);

impl Token {
    fn new() -> Token {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Token(format!("2000.{}{count:03}", std::process::id()))
    }

    /// How many processes have the token as an argument of their own.
    fn living(&self) -> usize {
        let has_token = |entry: &std::fs::DirEntry| {
            let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            arguments.split(|byte| *byte == 0).any(|argument| argument == self.0.as_bytes())
        };
        std::fs::read_dir("/proc").unwrap().flatten().filter(has_token).count()
    }

    /// A script of three processes, of which one leaves the others.
    fn family(&self) -> String {
        let Token(token) = self;
        format!("start sleep {token} & setsid -f sleep {token}; exec sleep {token}")
    }

    async fn reaches(&self, count: usize) {
        for _ in 0..LOOKS_MAX {
            if self.living() == count {
                return;
            }
            tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
        }
        panic!("waited in vain for {count} processes of {}", self.0);
    }
}

#[tokio::test]
async fn dropping_it_leaves_no_process() {
    let token = Token::new();
    let stage = stage(keeper()).await;
    says(&stage, &token.family()).await;
    token.reaches(3).await;
    says(&stage, "drop").await;
    token.reaches(0).await;
}

#[tokio::test]
async fn dropping_the_runtime_leaves_no_process() {
    let token = Token::new();
    let stage = stage(keeper()).await;
    says(&stage, &token.family()).await;
    token.reaches(3).await;
    drop(stage);
    token.reaches(0).await;
}

#[tokio::test]
async fn shutting_down_waits_until_nothing_of_it_is_left() {
    let token = Token::new();
    let builder =
        Tool::new("script").effect(Effect::Idempotent).requires(writing(&["{workspace}/**"]));
    let builder = builder.accesses(|_: &Text| vec![Access::write(".")]);
    let stage = stage(keeping(builder, ProcessWriteAccess::Roots)).await;
    let Token(seconds) = &token;
    says(&stage, &format!("start echo x > .envrc; setsid -f sleep {seconds}; echo planted >&3; exec sleep {seconds}")).await;
    assert_eq!(says(&stage, "receive").await, "planted");
    token.reaches(2).await;
    stage.runtime.shut_down().await;
    assert_eq!(token.living(), 0);
    assert!(!stage.at(".envrc").exists());
}

/// Has a program until it is killed, where it is to be; alone, it drops the program.
#[tokio::test]
async fn a_program_lives_while_its_holder_does() {
    let doom = std::env::var(DOOMED).ok();
    let token = doom.clone().map_or_else(Token::new, Token);
    let stage = stage(keeper()).await;
    says(&stage, &token.family()).await;
    token.reaches(3).await;
    if doom.is_some() {
        std::future::pending::<()>().await;
    }
    says(&stage, "drop").await;
    token.reaches(0).await;
}

#[tokio::test]
async fn a_killed_holder_leaves_no_process() {
    let token = Token::new();
    let mut doomed = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "background::a_program_lives_while_its_holder_does", "--nocapture"])
        .env(DOOMED, &token.0)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    token.reaches(3).await;
    doomed.kill().unwrap();
    doomed.wait().unwrap();
    token.reaches(0).await;
}
