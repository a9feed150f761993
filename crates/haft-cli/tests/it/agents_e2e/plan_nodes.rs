//! Agent nodes of plans, through the real programs: `haft run` becomes `haft-agent`, the agent works in the run of the plan, and
//! kill -9 at each step leaves a run that another process finishes. No effect happens twice.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use expect_test::expect;
use haft_scripted_model::{ReplyCondition, ScriptedReply};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::worker::{AGENT, Step, effects, worker};
use crate::agent::Stage;
use crate::world::World;

/// The answer of the agent that works.
const END: &str = "All of it is there.";
/// The longest wait for an effect.
const EFFECT_WAIT: Duration = Duration::from_secs(60);

/// Returns a world with a plan of these nodes, which are numbered here.
fn world(mut nodes: Vec<Value>) -> World {
    for (id, node) in nodes.iter_mut().enumerate() {
        let fields = node.as_object_mut().unwrap();
        fields.insert("id".to_owned(), json!(id));
        fields.entry("depends_on").or_insert(json!([]));
    }
    let last = nodes.len() - 1;
    let plan = json!({"nodes": nodes, "final_output_node": last});
    let world = World::new();
    world.write("work/plan.json", &serde_json::to_string_pretty(&plan).unwrap());
    world
}

/// Returns what the model was told in a request, without the escapes of the request.
fn told(stage: &Stage, request: usize) -> String {
    stage.told(request).replace("\\\"", "\"")
}

fn run(stage: &Stage, args: &[&str]) -> String {
    let output = stage.haft(&[&["run", "plan.json", "--run", "r1"], args].concat()).output();
    stage.masked(&stage.world.shown(&output.unwrap()))
}

/// Resumes the run.
fn run_again(stage: &Stage, args: &[&str]) -> String {
    let output = stage.haft(&[&["resume", "r1"], args].concat()).output();
    stage.masked(&stage.world.shown(&output.unwrap()))
}

#[test]
fn an_answer_that_satisfies_its_schema_is_the_output_of_the_node() {
    let schema = json!({
        "type": "object",
        "properties": {"risks": {"type": "array", "items": {"type": "string"}}},
        "required": ["risks"]
    });
    let world = world(vec![
        json!({"tool": "read", "inputs": {"path": "notes.txt"}}),
        json!({"agent": "explore", "prompt": "Name the risks in: {{STEPS.0}}", "output": schema,
            "tools": ["read"], "max_steps": 5, "depends_on": [0]}),
        json!({"tool": "bash", "inputs": {"cmd": "echo", "args": ["first:", "{{STEPS.1.risks[0]}}"]}, "depends_on": [1]}),
    ]);
    world.write("work/notes.txt", "The cable is loose.\n");
    let replies = [
        ScriptedReply::new().text("I look.").call("read", json!({"path": "notes.txt"})),
        ScriptedReply::new().text("The cable, I would say."),
        ScriptedReply::new().text("{\"risks\": \"cable\"}"),
        ScriptedReply::new().text("```json\n{\"risks\": [\"a loose cable\"]}\n```"),
    ];
    let stage = Stage::new(world, replies);
    expect![[r#"
        first: a loose cable
        --- stderr
        run r1: 3 nodes
        0 read          succeeded in 0 ms
        1 agent explore succeeded in 0 ms
        2 bash          succeeded in 0 ms
        run r1 finished in 0 ms: 3 of 3 nodes succeeded
        --- status 0
    "#]]
    .assert_eq(&run(&stage, &["--allow", "bash", "--parallel", "1"]));
    // The output of the first node and the schema are in the prompt, and each problem of an answer comes back.
    let told: Vec<String> = (0..4).map(|request| told(&stage, request)).collect();
    assert!(told[0].contains("Name the risks in: The cable is loose."), "{}", told[0]);
    assert!(told[0].contains("\"required\":[\"risks\"]"), "{}", told[0]);
    assert!(told[2].contains("it is not one JSON value"), "{}", told[2]);
    assert!(told[3].contains("risks: expected"), "{}", told[3]);
    // The node limits its agent to one tool, and no tool of haft itself is offered.
    let offered = stage.model.requests()[0].body["tools"].clone();
    let offered = offered.as_array().unwrap().iter().map(|tool| tool["function"]["name"].clone());
    assert_eq!(offered.collect::<Vec<_>>(), ["read"]);
    // The calls of the agent belong to its node, and the run names the session.
    let shown = stage.world.json(&["runs", "show", "r1", "--json"]);
    let calls = shown["calls"].as_array().unwrap().iter();
    let calls: Vec<String> = calls
        .map(|call| {
            format!("{} {}", call["call"].as_str().unwrap(), call["tool"].as_str().unwrap())
        })
        .collect();
    assert!(
        calls.iter().any(|call| call.ends_with("read") && call.contains("r1/n1/0/1/")),
        "{calls:?}"
    );
    let session = shown["node_sessions"][0]["session"].as_str().unwrap();
    let kept = stage.world.run(&["sessions", "show", session]);
    assert!(kept.contains("node n1 of r1"), "{kept}");
    let resumed = stage.shown(&["agent", "--resume", session, "Go on"]);
    assert!(resumed.contains("resume that run"), "{resumed}");
    // All of it is recalled, and no model is asked.
    let again = stage.shown(&["resume", "r1"]);
    assert!(again.starts_with("first: a loose cable\n"), "{again}");
    assert_eq!(stage.model.requests().len(), 4);
}

#[test]
fn an_answer_that_stays_wrong_fails_the_node() {
    let node = json!({"agent": "explore", "prompt": "How many?", "output": {"type": "integer"}});
    let stage = Stage::new(world(vec![node]), [ScriptedReply::new().text("Many.").repeated()]);
    let shown = run(&stage, &[]);
    assert!(
        shown.contains("no answer that satisfies the schema, and 3 repairs did not help"),
        "{shown}"
    );
    assert_eq!(stage.model.requests().len(), 4);
}

#[test]
fn a_plan_from_standard_input_reaches_the_program_that_asks_models() {
    let stage = Stage::new(World::new(), [ScriptedReply::new().text("Four.")]);
    let plan = r#"{"nodes": [{"id": 0, "agent": "explore", "prompt": "Two and two?"}], "final_output_node": 0}"#;
    let file = stage.world.path("plan.json");
    std::fs::write(&file, plan).unwrap();
    let output = stage.haft(&["run", "-"]).stdin(std::fs::File::open(file).unwrap()).output();
    let output = output.unwrap();
    let shown = stage.world.shown(&output);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "Four.\n", "{shown}");
}

#[test]
fn an_agent_that_is_tried_again_first_reads_what_may_have_happened() {
    let node = json!({"agent": "build", "prompt": "Add one.", "retry": 1});
    let replies = [
        ScriptedReply::new().call("bash", json!({"cmd": "echo one >> effects.txt"})),
        ScriptedReply::failure(400, "the request cannot be read"),
        ScriptedReply::new().text("It is there already."),
    ];
    let stage = Stage::new(world(vec![node]), replies);
    let shown = run(&stage, &[]);
    assert!(shown.starts_with("It is there already.\n"), "{shown}");
    assert_eq!(effects(&stage.world), ["one"]);
    let told = told(&stage, 2);
    let (before, _) = told.split_once("Add one.").unwrap();
    assert!(before.contains("This is attempt 2 of this task"), "{told}");
    assert!(before.contains("- bash, attempt 1, call 2: succeeded"), "{told}");
}

#[test]
fn a_node_is_repeated_until_its_answer_says_that_it_is_done() {
    let schema = json!({"type": "object", "required": ["done"]});
    let node = json!({"agent": "explore", "prompt": "Look again.", "output": schema,
        "repeat_until": {"path": "done", "equals": true, "max_iterations": 3}});
    let replies = [
        ScriptedReply::new().text(r#"{"done": false, "left": 2}"#),
        ScriptedReply::new().text(r#"{"done": true}"#),
    ];
    let stage = Stage::new(world(vec![node.clone()]), replies);
    let shown = run(&stage, &[]);
    expect![[r#"
        {"done":true}
        --- stderr
        run r1: 1 node
        0 agent explore iteration 1 done in 0 ms
        0 agent explore succeeded in 0 ms
        run r1 finished in 0 ms: 1 of 1 nodes succeeded
        --- status 0
    "#]]
    .assert_eq(&shown);
    assert!(told(&stage, 1).contains("This is iteration 2 of at most 3."), "{}", told(&stage, 1));
    assert!(told(&stage, 1).contains(r#"{"done":false,"left":2}"#), "{}", told(&stage, 1));
    let never = [ScriptedReply::new().text(r#"{"done": false}"#).repeated()];
    let stage = Stage::new(world(vec![node]), never);
    let shown = run(&stage, &[]);
    let why = "node 0 was repeated 3 times, and output.done never was true; the last was false";
    assert!(shown.contains(why), "{shown}");
}

#[test]
fn what_an_agent_may_not_do_it_may_not_do_in_a_plan() {
    let replies = || {
        [
            ScriptedReply::new().call("write", json!({"path": "new.txt", "content": "x"})),
            ScriptedReply::new()
                .call("plan__agent", json!({"agent": "build", "prompt": "Write it."})),
            ScriptedReply::new().text("I may not."),
        ]
    };
    let node = || json!({"agent": "build", "prompt": "Write it."});
    let stage = Stage::new(world(vec![node()]), replies());
    let refused = run(&stage, &["--preset", "ask"]);
    assert!(refused.contains("PERMISSION_DENIED"), "{refused}");
    assert!(stage.model.requests().is_empty());
    let shown = run_again(&stage, &["--preset", "ask", "--allow", "task"]);
    assert!(shown.starts_with("I may not.\n"), "{shown}");
    assert!(!stage.world.path("work/new.txt").exists());
    assert!(told(&stage, 1).contains("needs approval"), "{}", told(&stage, 1));
    assert!(told(&stage, 2).contains("is not available to this agent"), "{}", told(&stage, 2));
    // A rule about subagents is a rule about the agents of plans, also one with a glob.
    for permission in ["task", "ta*"] {
        let stage = Stage::new(world(vec![node()]), replies());
        let rule = format!(
            "[[permissions]]\npermission = \"{permission}\"\npattern = \"*\"\naction = \"deny\"\n"
        );
        stage.world.write("work/haft.toml", &rule);
        let shown = run(&stage, &[]);
        assert!(shown.contains("PERMISSION_DENIED"), "{permission}: {shown}");
        assert!(stage.model.requests().is_empty());
    }
    let stage = Stage::new(world(vec![node()]), replies());
    stage.world.run(&["permissions", "deny", "task"]);
    let shown = run(&stage, &[]);
    assert!(shown.contains("PERMISSION_DENIED"), "{shown}");
}

#[test]
fn without_a_model_a_plan_with_an_agent_does_not_begin() {
    let write = json!({"tool": "write", "inputs": {"path": "new.txt", "content": "x"}});
    let agent = json!({"agent": "explore", "prompt": "Look.", "depends_on": [0]});
    let world = world(vec![write, agent]);
    let args = ["run", "plan.json", "--run", "r1", "--allow", "write"];
    let shown = world.shown(&world.haft(&args).output().unwrap());
    assert!(shown.contains("no model is named"), "{shown}");
    assert!(shown.ends_with("--- status 2\n"), "{shown}");
    assert!(!world.path("work/new.txt").exists());
    let shown = world.shown(&world.haft(&["runs", "show", "r1"]).output().unwrap());
    assert!(shown.contains("no run is called"), "{shown}");
}

#[test]
fn no_tool_of_haft_itself_is_offered_to_an_agent_of_a_plan() {
    let node = json!({"agent": "build", "prompt": "Look."});
    let stage = Stage::new(world(vec![node]), [ScriptedReply::new().text("I look.")]);
    run(&stage, &[]);
    let offered = stage.model.requests()[0].body["tools"].clone();
    let offered = offered.as_array().unwrap().iter();
    let offered: Vec<_> =
        offered.map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect();
    assert!(offered.contains(&"write".to_owned()), "{offered:?}");
    assert!(!offered.iter().any(|name| name.starts_with("plan")), "{offered:?}");
}

#[test]
fn a_question_to_a_person_waits_for_a_person() {
    let world = world(vec![json!({"question": "Ship it?", "options": ["yes", "no"]})]);
    expect![[r#"
        --- stderr
        run r1: 1 node
        0 person failed in 0 ms: PERMISSION_DENIED: the node asks a person, and no person can answer here
        error: run r1 was halted, because node 0 failed; 0 of 1 nodes succeeded, 1 failed
          node 0: plan.person: PERMISSION_DENIED: the node asks a person, and no person can answer here; to answer, run at a terminal, or with asks = "wait" in haft.toml: haft resume r1

        hint: haft resume r1
        --- status 3
    "#]]
    .assert_eq(&world.shown(&world.haft(&["run", "plan.json", "--run", "r1"]).output().unwrap()));
    let shown = world.run(&["run", "plan.json", "--dry-run"]);
    assert!(shown.contains("be asked"), "{shown}");
}

/// A plan whose second node is an agent with three effects, between two nodes with one effect each.
fn plan_with_effects() -> World {
    let add = |word: &str, depends_on: &[usize]| json!({"tool": "bash", "inputs": {"cmd": format!("echo {word} >> effects.txt")}, "depends_on": depends_on});
    world(vec![
        add("zero", &[]),
        json!({"agent": "build", "prompt": "Add them.", "depends_on": [0]}),
        add("four", &[1]),
    ])
}

/// When a process is killed.
#[derive(Clone, Copy, Debug)]
enum KillPoint {
    /// So many requests have reached the model.
    Requests(usize),
    /// So many effects have happened.
    Effects(usize),
}

fn kill_at(stage: &Stage, args: &[&str], point: KillPoint) {
    let mut command = stage.haft(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    match point {
        KillPoint::Requests(count) => stage.model.wait_for_requests(count),
        KillPoint::Effects(count) => wait_for_effects(stage, &mut child, count),
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

fn wait_for_effects(stage: &Stage, child: &mut Child, count: usize) {
    let begun = Instant::now();
    while effects(&stage.world).len() < count {
        assert!(begun.elapsed() < EFFECT_WAIT, "effect {count} does not happen");
        assert!(child.try_wait().unwrap().is_none(), "the plan ended before effect {count}");
        std::thread::yield_now();
    }
}

/// Kills a run at these points, one process after the other, and finishes it. Nothing happens twice.
fn check_kills(points: &[KillPoint]) {
    let steps = [Step::Add("one"), Step::Add("two"), Step::Add("three")];
    let stage = Stage::new(plan_with_effects(), worker(AGENT, &steps, END));
    let run = ["run", "plan.json", "--run", "r1", "--allow", "bash", "--headless"];
    let resume = ["resume", "r1", "--allow", "bash", "--headless"];
    for (life, point) in points.iter().enumerate() {
        kill_at(&stage, if life == 0 { &run } else { &resume }, *point);
    }
    let mut shown = String::new();
    // A command of the plan itself that was killed stays in doubt until a person says what became of it.
    for _ in 0..3 {
        let output = stage.haft(&resume).output().unwrap();
        shown = stage.world.shown(&output);
        if output.status.code() != Some(4) {
            break;
        }
        for word in ["n0", "n2"] {
            let call = format!("r1/{word}/0/1/1");
            let happened = match word {
                "n0" => effects(&stage.world).contains(&"zero".to_owned()),
                _ => effects(&stage.world).contains(&"four".to_owned()),
            };
            let verdict = if happened { "happened" } else { "not-happened" };
            let _ = stage.haft(&["runs", "settle", &call, verdict]).output().unwrap();
        }
    }
    assert!(shown.ends_with("--- status 0\n"), "{points:?}: {shown}");
    assert_eq!(
        effects(&stage.world),
        ["zero", "one", "two", "three", "four"],
        "{points:?}: {shown}"
    );
    stage.world.run(&["runs", "verify"]);
    // One session did all of the work.
    let found = stage.world.json(&["runs", "show", "r1", "--json"]);
    assert_eq!(found["node_sessions"].as_array().unwrap().len(), 1, "{points:?}");
    assert_eq!(found["node_sessions"][0]["status"], "completed", "{points:?}");
}

#[test]
fn a_plan_that_is_killed_at_any_request_to_its_agent_is_finished_once() {
    for request in 1..=4 {
        check_kills(&[KillPoint::Requests(request)]);
    }
    check_kills(&[KillPoint::Requests(1), KillPoint::Requests(3), KillPoint::Requests(5)]);
}

#[test]
fn a_plan_that_is_killed_at_any_effect_is_finished_once() {
    for effect in 1..=5 {
        check_kills(&[KillPoint::Effects(effect)]);
    }
    check_kills(&[KillPoint::Effects(2), KillPoint::Effects(3)]);
}

#[test]
fn a_question_of_the_model_for_a_plan_names_the_agents() {
    let plan = r#"{"nodes": [{"id": 0, "agent": "explore", "prompt": "Find it."}], "final_output_node": 0}"#;
    let replies = [
        ScriptedReply::new().text(plan),
        ScriptedReply::new().text("It is in src.").when(ReplyCondition {
            last: Some("Find it.".to_owned()),
            ..ReplyCondition::default()
        }),
        ScriptedReply::new().text("It is in the directory src."),
    ];
    let stage = Stage::new(World::new(), replies);
    let output = stage.haft(&["do", "Where is it?", "--yes"]).output().unwrap();
    let shown = stage.world.shown(&output);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "It is in the directory src.\n", "{shown}");
    assert!(told(&stage, 0).contains(r#""name":"explore""#), "{}", told(&stage, 0));
}

/// Sends two interrupts, the second after haft said that it stops, and waits for the end.
fn interrupt_twice(stage: &Stage, args: &[&str], held: &str) {
    let mut command = stage.haft(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    stage.model.wait_until_held(held);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("stopping")));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    lines.for_each(drop);
    child.wait().unwrap();
    stage.model.release(held);
}

fn node_sessions(stage: &Stage) -> Vec<String> {
    let shown = stage.world.json(&["runs", "show", "r1", "--json"]);
    let sessions = shown["node_sessions"].as_array().unwrap().iter();
    sessions.map(|session| session["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_agent_that_was_cancelled_goes_on_in_its_session_also_after_a_kill() {
    let replies = [
        ScriptedReply::new().call("bash", json!({"cmd": "echo one >> effects.txt"})),
        ScriptedReply::new().text("Lost.").waiting_for("cancelled"),
        ScriptedReply::new().text("Lost, too.").waiting_for("killed"),
        ScriptedReply::new().text(END),
    ];
    let node = json!({"agent": "build", "prompt": "Add one."});
    let stage = Stage::new(world(vec![node]), replies);
    let resume = ["resume", "r1", "--headless"];
    interrupt_twice(&stage, &["run", "plan.json", "--run", "r1", "--headless"], "cancelled");
    let mut child =
        stage.haft(&resume).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    stage.model.wait_until_held("killed");
    child.kill().unwrap();
    child.wait().unwrap();
    stage.model.release("killed");
    let shown = stage.shown(&resume);
    assert!(shown.starts_with(&format!("{END}\n")), "{shown}");
    assert_eq!(effects(&stage.world), ["one"]);
    assert_eq!(node_sessions(&stage), ["completed"]);
}

#[test]
fn after_a_failure_of_a_continued_session_a_new_one_reads_the_warning() {
    let replies = [
        ScriptedReply::new().call("bash", json!({"cmd": "echo one >> effects.txt"})),
        ScriptedReply::new().text("Lost.").waiting_for("cancelled"),
        ScriptedReply::failure(400, "the request cannot be read"),
        ScriptedReply::new().text(END),
    ];
    let node = json!({"agent": "build", "prompt": "Add one.", "retry": 1});
    let stage = Stage::new(world(vec![node]), replies);
    interrupt_twice(&stage, &["run", "plan.json", "--run", "r1", "--headless"], "cancelled");
    let shown = stage.shown(&["resume", "r1", "--headless"]);
    assert!(shown.starts_with(&format!("{END}\n")), "{shown}");
    assert!(told(&stage, 3).contains("This is attempt 3 of this task"), "{}", told(&stage, 3));
    assert_eq!(node_sessions(&stage).len(), 2);
}

#[test]
fn an_undo_of_a_plan_takes_back_what_subagents_of_its_agents_changed() {
    let task = json!({"subagent_type": "general", "prompt": "Write it."});
    let replies = [
        ScriptedReply::new().call("task", task),
        ScriptedReply::new().call("write", json!({"path": "new.txt", "content": "x"})),
        ScriptedReply::new().text("Written."),
        ScriptedReply::new().text(END),
    ];
    let node = json!({"agent": "build", "prompt": "Have it written."});
    let stage = Stage::new(world(vec![node]), replies);
    let shown = run(&stage, &["--allow", "task"]);
    assert!(shown.starts_with(&format!("{END}\n")), "{shown}");
    assert!(stage.world.path("work/new.txt").exists(), "{shown}");
    let undone = stage.world.run(&["undo", "r1"]);
    assert!(!stage.world.path("work/new.txt").exists(), "{undone}");
}
