//! Tests the restrictions of a subagent's session through the whole pipeline, on real files, processes and hosts. A
//! subagent can never do more than the sessions above it, and can do less if it is restricted.

mod programs;

use std::sync::{Arc, Mutex};

use expect_test::expect;
use haft::{
    Ask, AskAnswer, Asker, Call, CallLimits, Connection, ConnectionOptions, Restrictions,
    ToolListing,
};
use haft_contract::{
    Access, BoxFuture, ConnectionStore, Cx, Envelope, ErrorCode, FileChange, FsEntryKind,
    FsRequirement, NetRequest, NetRequirement, Precondition, RequirementSet, RunId, SubagentAnswer,
    SubagentSummary, SubagentTask, Subagents, Todo, TodoStatus, Tool, ToolError, ToolOrigin,
};
use haft_policy::{Rule, RuleAction, RuleScope};
use serde_json::json;

use crate::stage::{Counter, Setting, Stage, Text, rule, shown};

fn files(read: &[&str], write: &[&str]) -> RequirementSet {
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect();
    let fs = FsRequirement { read: texts(read), write: texts(write) };
    RequirementSet { fs, ..RequirementSet::default() }
}

/// Reads a file.
fn read() -> Tool {
    Tool::new("read")
        .requires(files(&["**"], &[]))
        .accesses(|input: &Text| vec![Access::read(input.text.as_str())])
        .execute_blocking(|input: Text, cx: &Cx| {
            let (path, _) = cx.fs().resolve(&input.text)?;
            Ok::<_, ToolError>(std::io::read_to_string(cx.fs().open(&path)?.file)?)
        })
}

/// Names all files that a walk comes to and can open, as one that searches does.
fn walk() -> Tool {
    Tool::new("walk")
        .requires(files(&["**"], &[]))
        .accesses(|input: &Text| vec![Access::read(input.text.as_str())])
        .execute_blocking(|input: Text, cx: &Cx| {
            let mut names = Vec::new();
            let mut open = vec![cx.fs().resolve(&input.text)?.0];
            while let Some(directory) = open.pop() {
                for entry in cx.fs().list(&directory)? {
                    let path = directory.join(&entry.name);
                    match entry.kind {
                        FsEntryKind::Directory => open.push(path),
                        _ if cx.fs().open(&path).is_ok() => {
                            names.push(path.relative().to_string_lossy().into_owned());
                        }
                        _ => {}
                    }
                }
            }
            names.sort();
            Ok::<_, ToolError>(names.join(" "))
        })
}

/// Writes a file.
fn write() -> Tool {
    Tool::new("write")
        .requires(files(&["**"], &["**"]))
        .accesses(|input: &Text| vec![Access::write(input.text.as_str())])
        .execute_blocking(|input: Text, cx: &Cx| {
            let (path, _) = cx.fs().resolve(&input.text)?;
            let (contents, precondition) = (b"new".to_vec(), Precondition::Any);
            cx.fs().apply(vec![FileChange::Write { path, contents, mode: None, precondition }])?;
            Ok::<_, ToolError>("written")
        })
}

/// Asks a URL; of two, it declares the host of the first and asks the second, as one that follows a redirect does.
fn fetch() -> Tool {
    let net = NetRequirement {
        hosts: vec!["*".to_owned(), "127.0.0.1".to_owned(), "localhost".to_owned()],
    };
    let host = |url: &str| url.split(['/', ':']).nth(3).unwrap_or_default().to_owned();
    Tool::new("fetch")
        .requires(RequirementSet { net, ..RequirementSet::default() })
        .accesses(move |input: &Text| vec![Access::Net { host: host(&input.text) }])
        .execute_with(|input: Text, cx: Cx| async move {
            let url = input.text.split(' ').next_back().unwrap_or_default();
            let answer = cx.net().send(NetRequest::get(url)).await?;
            Ok::<_, ToolError>(answer.status.to_string())
        })
}

fn settings() -> Setting {
    Setting { tools: vec![read(), walk(), write(), fetch()], ..Setting::default() }
}

/// Makes a workspace with files in three directories.
async fn stage(setting: Setting) -> Stage {
    let stage = Stage::new(setting).await;
    for file in ["docs/a", "docs/secret/key", "src/b", "c"] {
        let path = stage.directory.path().join("root").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, file).unwrap();
    }
    stage
}

fn requirement_restrictions(requires: RequirementSet) -> Restrictions {
    Restrictions { requires: Some(requires), ..Restrictions::default() }
}

fn rule_restrictions(rules: &[(&str, &str, RuleAction)]) -> Restrictions {
    let rule = |(permission, pattern, action): &(&str, &str, RuleAction)| {
        Rule::new(*permission, *pattern, *action)
    };
    Restrictions { permissions: rules.iter().map(rule).collect(), ..Restrictions::default() }
}

fn tool_restrictions(tools: &[&str]) -> Restrictions {
    let tools = tools.iter().map(|&tool| tool.to_owned()).collect();
    Restrictions { tools: Some(tools), ..Restrictions::default() }
}

async fn call(session: &Connection, tool: &str, text: &str) -> Envelope {
    let run = session.run(RunId::parse("child").unwrap());
    run.call(Call::new(tool, json!({ "text": text }))).await.unwrap()
}

/// Returns the answer, or the code of the refusal.
async fn message_of(session: &Connection, tool: &str, text: &str) -> String {
    let envelope = call(session, tool, text).await;
    envelope.code().map_or_else(|| envelope.text(), |code| code.to_string())
}

fn ids(session: &Connection) -> Vec<String> {
    session.listed_tools().iter().map(|contract| contract.id.to_string()).collect()
}

#[tokio::test]
async fn requirements_hold_each_file_and_each_walk_of_a_child_and_its_children() {
    let stage = stage(settings()).await;
    let child = stage
        .session
        .restrict(requirement_restrictions(files(&["docs/**", "c"], &["docs/**"])))
        .unwrap();
    // A grandchild asks for more than its parent has, and does not get it.
    let wide = requirement_restrictions(files(&["{workspace}/**", "/**"], &["{workspace}/**"]));
    let wide = rule_restrictions(&[("*", "*", RuleAction::Allow)]).permissions.into_iter().fold(
        wide,
        |mut all, rule| {
            all.permissions.push(rule);
            all
        },
    );
    for session in [child.restrict(wide).unwrap(), child] {
        assert_eq!(message_of(&session, "read", "docs/a").await, "docs/a");
        assert_eq!(message_of(&session, "read", "src/b").await, "CAPABILITY_DENIED");
        assert_eq!(message_of(&session, "read", "docs/../src/b").await, "CAPABILITY_DENIED");
        assert_eq!(message_of(&session, "walk", "docs").await, "docs/a docs/secret/key");
        assert_eq!(message_of(&session, "walk", ".").await, "CAPABILITY_DENIED");
        assert_eq!(message_of(&session, "write", "src/new").await, "CAPABILITY_DENIED");
        assert_eq!(message_of(&session, "write", "docs/new").await, "written");
        std::fs::remove_file(stage.directory.path().join("root/docs/new")).unwrap();
    }
    // The one above is as it was.
    assert_eq!(message_of(&stage.session, "read", "src/b").await, "src/b");
    assert_eq!(message_of(&stage.session, "walk", ".").await, "c docs/a docs/secret/key src/b");
}

#[tokio::test]
async fn what_an_agents_rules_deny_is_denied_to_its_walks_and_its_children() {
    let stage = stage(settings()).await;
    let deny = rule_restrictions(&[
        ("fs.read", "docs/secret/**", RuleAction::Deny),
        ("write", "*", RuleAction::Deny),
    ]);
    let child = stage.session.restrict(deny).unwrap();
    let allow = rule_restrictions(&[
        ("*", "*", RuleAction::Allow),
        ("fs.read", "docs/secret/key", RuleAction::Allow),
    ]);
    let grandchild = child.restrict(allow).unwrap();
    for session in [&child, &grandchild] {
        assert_eq!(message_of(session, "read", "docs/secret/key").await, "PERMISSION_DENIED");
        assert_eq!(message_of(session, "walk", ".").await, "c docs/a src/b");
        assert_eq!(message_of(session, "write", "docs/a").await, "PERMISSION_DENIED");
    }
    let refused = call(&grandchild, "read", "docs/secret/key").await;
    expect![[r#"
        {
          "type": "error",
          "error_text": "read is denied fs.read of \"docs/secret/key\": the agent rule `deny fs.read \"docs/secret/**\"` decides; what an agent's file denies no answer and no rule elsewhere allows",
          "metadata": {
            "refusal": {
              "code": "PERMISSION_DENIED",
              "decided_by": {
                "rule": {
                  "scope": "agent",
                  "permission": "fs.read",
                  "pattern": "docs/secret/**",
                  "action": "deny"
                }
              },
              "because": "read is denied fs.read of \"docs/secret/key\": the agent rule `deny fs.read \"docs/secret/**\"` decides; what an agent's file denies no answer and no rule elsewhere allows"
            },
            "call_id": "child/main/0/1/7",
            "code": "PERMISSION_DENIED"
          }
        }"#]].assert_eq(&shown(&refused));
    let explained = grandchild.explain("write", json!({"text": "c"})).await.unwrap();
    assert_eq!(
        (explained.outcome, explained.refusal.map(|refusal| refusal.code)),
        (RuleAction::Deny, Some(ErrorCode::PermissionDenied))
    );
}

/// Answers every question alike, and counts them. The mutex is written by the pipeline and read by the test.
struct Answering {
    answer: AskAnswer,
    asked: Counter,
    offered: Mutex<Vec<usize>>,
}

impl Asker for Answering {
    fn ask(&self, ask: Ask) -> BoxFuture<'_, AskAnswer> {
        self.asked.add();
        self.offered.lock().unwrap().push(ask.always_rules.len());
        Box::pin(async { self.answer.clone() })
    }
}

#[tokio::test]
async fn always_holds_for_all_sessions_and_lifts_nothing_of_an_agent() {
    let asker = Arc::new(Answering {
        answer: AskAnswer::AllowForSession,
        asked: Counter::default(),
        offered: Mutex::default(),
    });
    let asked = asker.asked.clone();
    let setting = Setting { rules: Vec::new(), asker: asker.clone(), ..settings() };
    let stage = stage(setting).await;
    let asking = rule_restrictions(&[
        ("fs.write", "docs/**", RuleAction::Ask),
        ("fs.write", "c", RuleAction::Deny),
    ]);
    let child = stage.session.restrict(asking).unwrap();
    let sibling = stage.session.restrict(Restrictions::default()).unwrap();

    // No rule of the session asks about it again, in whichever session it was asked about.
    assert_eq!(message_of(&child, "read", "src/b").await, "src/b");
    assert_eq!(message_of(&sibling, "read", "src/b").await, "src/b");
    assert_eq!(message_of(&stage.session, "read", "src/b").await, "src/b");
    assert_eq!((asked.count(), asker.offered.lock().unwrap().clone()), (1, vec![1]));

    // Asked for good above, the agent's own question is put each time, and nothing is offered that would not help.
    assert_eq!(message_of(&stage.session, "write", "docs/a").await, "written");
    assert_eq!(message_of(&stage.session, "write", "docs/a").await, "written");
    assert_eq!(asked.count(), 2);
    assert_eq!(message_of(&child, "write", "docs/a").await, "written");
    assert_eq!(message_of(&child, "write", "docs/a").await, "written");
    assert_eq!((asked.count(), asker.offered.lock().unwrap().clone()), (4, vec![1, 1, 0, 0]));
    assert_eq!(message_of(&stage.session, "write", "c").await, "written");
    assert_eq!(message_of(&child, "write", "c").await, "PERMISSION_DENIED");
}

#[tokio::test]
async fn a_rule_of_the_session_or_the_project_denies_whatever_an_agent_allows() {
    let rules = vec![
        rule(RuleScope::Manifest, "*", "*", RuleAction::Allow),
        rule(RuleScope::Project, "fs.read", "docs/**", RuleAction::Deny),
        rule(RuleScope::Session, "fs.read", "src/**", RuleAction::Ask),
    ];
    let stage = stage(Setting { rules, ..settings() }).await;
    let allow = [
        ("read", "*", RuleAction::Allow),
        ("fs.read", "docs/a", RuleAction::Allow),
        ("read", "src/b", RuleAction::Allow),
    ];
    let child = stage.session.restrict(rule_restrictions(&allow)).unwrap();
    assert_eq!(message_of(&child, "read", "docs/a").await, "PERMISSION_DENIED");
    assert_eq!(message_of(&child, "read", "src/b").await, "PERMISSION_DENIED");
    assert_eq!(message_of(&child, "walk", ".").await, "c");
    assert_eq!(message_of(&child, "read", "c").await, "c");
}

#[tokio::test]
async fn a_tool_that_is_left_out_is_nowhere() {
    let stage = stage(settings()).await;
    let child = stage.session.restrict(tool_restrictions(&["r*", "fetch"])).unwrap();
    let grandchild = child.restrict(tool_restrictions(&["read", "write", "walk"])).unwrap();
    assert_eq!(
        (ids(&child), ids(&grandchild)),
        (vec!["fetch".to_owned(), "read".to_owned()], vec!["read".to_owned()])
    );
    let refused = call(&grandchild, "walk", ".").await;
    assert_eq!(refused.code(), Some(ErrorCode::ToolNotFound));
    assert_eq!(
        refused.text(),
        "tool walk is not available to this agent: use a listed tool (read)"
    );
    assert_eq!(message_of(&grandchild, "fetch", "http://127.0.0.1/").await, "TOOL_NOT_FOUND");
    // The suggestions do not name the tool either.
    let misspelled = call(&child, "wrte", "c").await.text();
    assert!(!misspelled.contains("write"), "{misspelled}");
}

/// The tool that finds tools, with the shape that it has everywhere.
fn tool_search() -> Tool {
    Tool::new("tool_search").keeps(ConnectionStore::FoundTools).execute_with(
        |input: Text, cx: Cx| async move {
            let matches = cx.tool_index().find(&input.text, 2);
            Ok::<_, ToolError>(json!({ "matches": matches }))
        },
    )
}

fn of_server(number: u32) -> Tool {
    let id = format!("far_number{number}");
    let origin = ToolOrigin::Mcp { server: "far".to_owned(), tool: id.clone() };
    let builder = Tool::new(&id).description("Counts").origin(origin);
    builder.execute(|input: Text| async move { Ok::<_, ToolError>(input.text) })
}

#[tokio::test]
async fn a_search_finds_what_the_agent_has_and_for_it_alone() {
    let tools = (1..30).map(of_server).chain([tool_search(), read()]).collect();
    let limits = CallLimits { listed_tools: 1, ..CallLimits::default() };
    let stage = stage(Setting { tools, limits, ..Setting::default() }).await;
    let options = ConnectionOptions {
        listing: ToolListing::Searched,
        ..ConnectionOptions::headless("s2", "test")
    };
    let session = stage.runtime.open_connection(options).unwrap();
    let found = async |session: &Connection| {
        let envelope = call(session, "tool_search", "count number").await;
        let Envelope::Output { data, .. } = envelope else { panic!("{envelope:?}") };
        data["matches"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    // Those that it does not have take no places.
    let some = session
        .restrict(tool_restrictions(&["tool_search", "far_number1*", "far_number2*"]))
        .unwrap();
    let few =
        some.restrict(tool_restrictions(&["tool_search", "far_number29", "far_number3"])).unwrap();
    assert_eq!(ids(&some), ["far_number1", "tool_search"]);
    assert_eq!(found(&some).await.len(), 2);
    // So few are listed at once.
    assert_eq!(ids(&few), ["far_number29"]);
    assert_eq!(found(&few).await, ["far_number29"]);
    assert_eq!(message_of(&few, "far_number3", "x").await, "TOOL_NOT_FOUND");
    assert_eq!(message_of(&few, "far_number29", "x").await, "x");
    // Found beneath is not found above.
    assert_eq!(ids(&session), ["far_number1", "read", "tool_search"]);
    // Without the tool that finds, all are listed.
    assert_eq!(ids(&session.restrict(tool_restrictions(&["far_*"])).unwrap()).len(), 29);
    // A driver that continues after another session's transcript gets the tools found there, but only tools that its
    // session has.
    let answer = call(&some, "tool_search", "count number").await;
    let listed = ids(&some);
    assert_eq!(listed.len(), 3, "{listed:?}");
    let input = json!({"text": "count number"});
    let next = session
        .restrict(tool_restrictions(&["tool_search", "far_number1*", "far_number2*"]))
        .unwrap();
    next.adopt_call("tool_search", &input, &answer);
    assert_eq!(ids(&next), listed);
    let less = session.restrict(tool_restrictions(&["tool_search", "read"])).unwrap();
    less.adopt_call("tool_search", &input, &answer);
    assert_eq!(ids(&less), ["read"]);
}

#[tokio::test]
async fn hosts_are_those_that_all_leave_also_where_a_call_is_led_on() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            use std::io::{BufRead, Write};
            let mut stream = stream.unwrap();
            let mut lines = std::io::BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| !line.unwrap().is_empty()) {}
            let answer = b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
            stream.write_all(answer).unwrap();
        }
    });
    let stage = stage(settings()).await;
    let (address, name) =
        (format!("http://127.0.0.1:{port}/"), format!("http://localhost:{port}/"));
    let (there, led_on) = (address.clone(), format!("{address} {name}"));
    assert_eq!(message_of(&stage.session, "fetch", &there).await, "204");
    assert_eq!(message_of(&stage.session, "fetch", &led_on).await, "204");

    let hosts = |hosts: &[&str]| {
        let net = NetRequirement { hosts: hosts.iter().map(|&host| host.to_owned()).collect() };
        requirement_restrictions(RequirementSet { net, ..RequirementSet::default() })
    };
    let bound = stage.session.restrict(hosts(&["127.0.0.1"])).unwrap();
    let beneath = bound.restrict(hosts(&["*"])).unwrap();
    let denied = stage
        .session
        .restrict(rule_restrictions(&[("net.fetch", "localhost", RuleAction::Deny)]))
        .unwrap();
    let asked = stage
        .session
        .restrict(rule_restrictions(&[("net.fetch", "localhost", RuleAction::Ask)]))
        .unwrap();
    // Where nothing denies it, no page leads to an address of this machine all the same.
    for (session, refusal, led) in [
        (&bound, "CAPABILITY_DENIED", "CAPABILITY_DENIED"),
        (&beneath, "CAPABILITY_DENIED", "CAPABILITY_DENIED"),
        (&denied, "PERMISSION_DENIED", "PERMISSION_DENIED"),
        (&asked, "PERMISSION_DENIED", "CAPABILITY_DENIED"),
    ] {
        assert_eq!(message_of(session, "fetch", &there).await, "204");
        assert_eq!(message_of(session, "fetch", &name).await, refusal);
        assert_eq!(message_of(session, "fetch", &led_on).await, led);
    }
    let none = beneath.restrict(hosts(&[])).unwrap();
    assert_eq!(message_of(&none, "fetch", &there).await, "CAPABILITY_DENIED");
}

/// Says much, so that it is cut.
fn much() -> Tool {
    Tool::new("much")
        .execute(|input: Text| async move { Ok::<_, ToolError>(input.text.repeat(300_000)) })
}

#[tokio::test]
async fn what_was_cut_out_of_answers_above_is_not_read_beneath() {
    let stage = stage(Setting { tools: vec![read(), walk(), much()], ..Setting::default() }).await;
    let child = stage.session.restrict(requirement_restrictions(files(&["docs/**"], &[]))).unwrap();
    let of_parent = call(&stage.session, "much", "p").await.metadata().output_path.clone().unwrap();
    let of_child = call(&child, "much", "c").await.metadata().output_path.clone().unwrap();
    assert!(message_of(&stage.session, "read", &of_parent).await.starts_with("ppp"));
    assert!(message_of(&child, "read", &of_child).await.starts_with("ccc"));
    let sidecars =
        |path: &str| std::path::Path::new(path).parent().unwrap().to_string_lossy().into_owned();
    for (tool, path) in [
        ("read", of_parent.clone()),
        ("walk", sidecars(&of_parent)),
        (
            "read",
            format!("{}/../s1/{}", sidecars(&of_child), of_parent.rsplit('/').next().unwrap()),
        ),
    ] {
        let refusal = message_of(&child, tool, &path).await;
        assert!(refusal.starts_with("TOOL_PATH_"), "{tool} {path}: {refusal}");
    }
    // They go with the session, and are kept with that of the front end.
    let kept = stage.session.restrict(Restrictions::default()).unwrap();
    let path = call(&kept, "much", "k").await.metadata().output_path.clone().unwrap();
    drop(child);
    assert!(!std::path::Path::new(&of_child).exists());
    stage.session.keep_outputs();
    drop(kept);
    assert!(std::path::Path::new(&path).exists());
}

/// Keeps the todo list that it is given.
fn todo() -> Tool {
    Tool::new("todo").keeps(ConnectionStore::Todos).execute_with(|input: Text, cx: Cx| async move {
        let (content, status) = (input.text, TodoStatus::Pending);
        cx.todos().replace(vec![Todo { content, status, priority: None }]);
        Ok::<_, ToolError>("kept")
    })
}

/// Counts against the session.
fn counted() -> Tool {
    Tool::new("counted").execute_with(|_: Text, cx: Cx| async move {
        Ok::<_, ToolError>(cx.quotas().take("counted", 2).to_string())
    })
}

#[tokio::test]
async fn a_child_has_a_list_of_its_own_and_no_quota_of_its_own() {
    let stage = stage(Setting { tools: vec![todo(), counted()], ..Setting::default() }).await;
    let child = stage.session.restrict(Restrictions::default()).unwrap();
    let list =
        |session: &Connection| session.todos().into_iter().map(|it| it.content).collect::<Vec<_>>();
    call(&stage.session, "todo", "above").await;
    call(&child, "todo", "beneath").await;
    assert_eq!(
        (list(&stage.session), list(&child)),
        (vec!["above".to_owned()], vec!["beneath".to_owned()])
    );
    // A driver that continues after a transcript gets the list that was written last.
    let answer = call(&child, "todo", "beneath").await;
    let input = json!({"todos": [{"content": "read on", "status": "pending"}]});
    let next = stage.session.restrict(Restrictions::default()).unwrap();
    next.adopt_call("todo", &input, &answer);
    next.adopt_call("write", &json!({"todos": []}), &answer);
    assert_eq!(list(&next), ["read on"]);
    // An older list does not replace the list that the session wrote itself.
    call(&next, "todo", "of its own").await;
    next.adopt_call("todo", &input, &answer);
    assert_eq!(list(&next), ["of its own"]);
    for (session, expected) in [(&child, "true"), (&stage.session, "true"), (&child, "false")] {
        assert_eq!(message_of(session, "counted", "x").await, expected);
    }
}

/// Hands its text on as a task of the subagent that it names first.
fn task() -> Tool {
    let builder = Tool::new("task").description("Hand on.").delegates();
    builder.execute_with(|input: Text, cx: Cx| async move {
        let (subagent_type, prompt) = input.text.split_once(' ').unwrap_or_default();
        let task = SubagentTask {
            subagent_type: subagent_type.to_owned(),
            prompt: prompt.to_owned(),
            ..SubagentTask::default()
        };
        match cx.subagents().delegate(task, &cx).await? {
            SubagentAnswer::Done { output, .. } => Ok::<_, ToolError>(output),
            SubagentAnswer::Begun { session_id } => Ok(session_id),
        }
    })
}

/// Does every task by repeating it.
struct Repeating;

impl Subagents for Repeating {
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        _: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        let output = format!("{}: {}", task.subagent_type, task.prompt);
        Box::pin(async { Ok(SubagentAnswer::Done { output, session_id: None, calls: Vec::new() }) })
    }

    fn resume<'a>(
        &'a self,
        _: SubagentTask,
        _: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        Box::pin(async { Ok(None) })
    }
}

#[tokio::test]
async fn tasks_are_given_to_those_who_are_listed_and_nobody_else() {
    let stage = stage(Setting { tools: vec![task()], ..Setting::default() }).await;
    let summary =
        |name: &str| SubagentSummary { name: name.to_owned(), description: "Helps.".to_owned() };
    let listing = |names: &[&str]| Restrictions {
        subagents: names.iter().map(|&name| summary(name)).collect(),
        ..Restrictions::default()
    };
    let delegate = async |session: &Connection, text: &str| {
        let run = session.run(RunId::parse("child").unwrap());
        let call =
            Call { subagents: Arc::new(Repeating), ..Call::new("task", json!({ "text": text })) };
        run.call(call).await.unwrap()
    };
    // The front end's session lists no subagents.
    assert_eq!(ids(&stage.session), Vec::<String>::new());
    assert_eq!(delegate(&stage.session, "explore it").await.code(), Some(ErrorCode::Unavailable));

    let child = stage.session.restrict(listing(&["explore", "general"])).unwrap();
    let [contract] = child.listed_tools().try_into().unwrap();
    assert_eq!(
        contract.description,
        "Hand on.\n\nThe subagents are:\n- explore: Helps.\n- general: Helps."
    );
    assert_eq!(delegate(&child, "explore it").await.text(), "explore: it");
    let unknown = delegate(&child, "explor it").await;
    assert_eq!(unknown.code(), Some(ErrorCode::InvalidInput));
    assert_eq!(
        unknown.text(),
        "no subagent that can be given a task here is called \"explor\": did you mean explore? There are explore, general"
    );
    // A front end's call without an agent loop has no delegate for tasks.
    assert_eq!(message_of(&child, "task", "explore it").await, "UNAVAILABLE");
    let leaf = child.restrict(listing(&[])).unwrap();
    assert_eq!(
        (ids(&leaf), delegate(&leaf, "explore it").await.code()),
        (Vec::new(), Some(ErrorCode::Unavailable))
    );
}

#[tokio::test]
async fn a_tool_that_must_be_named_is_not_that_of_a_subagent_whose_parent_names_it() {
    let handing = Tool::new("hand_over")
        .only_if_named()
        .execute(|input: Text| async move { Ok::<_, ToolError>(input.text) });
    let tools = vec![handing, read()];
    let stage = stage(Setting { tools, ..Setting::default() }).await;
    let parent = stage.session.restrict(tool_restrictions(&["read", "hand_over"])).unwrap();
    assert_eq!(ids(&parent), ["hand_over", "read"]);
    let child = parent.restrict(tool_restrictions(&["*"])).unwrap();
    assert_eq!(ids(&child), ["read"]);
    let named = parent.restrict(tool_restrictions(&["hand_over"])).unwrap();
    assert_eq!(ids(&named), ["hand_over"]);
}
