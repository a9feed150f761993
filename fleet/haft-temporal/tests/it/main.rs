//! Runs on a real Temporal server and a real PostgreSQL server: what starts, joins and ends a run, and what deaths lead to.
//! `cargo xtask fleet` builds and installs what the tests need.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

mod fleet;
mod servers;

use std::time::Duration;

use rustix::process::Signal;

use fleet::Fleet;

/// Kills in the test of killed workers. `cargo xtask soak` sets more.
const KILLS_DEFAULT: usize = 12;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_run_ends_with_its_output_and_a_second_start_joins_it() {
    let mut fleet = Fleet::new();
    fleet.add_worker(&[]);
    let first = fleet.start_run("joined", 3, "0", &[]);
    assert_eq!(
        (text(&first.stdout), first.status.code()),
        ("joined-2 done\n".to_owned(), Some(0)),
        "{}",
        text(&first.stderr)
    );
    let second = fleet.start_run("joined", 3, "0", &["--json"]);
    let line: serde_json::Value = serde_json::from_slice(&second.stdout).unwrap();
    assert_eq!(line["answer"]["nodes_succeeded"], 3);
    fleet.check_ledger(&["joined".to_owned()], 3);
    let other = fleet.start_run("joined", 4, "0", &[]);
    assert_eq!(other.status.code(), Some(2));
    assert!(text(&other.stderr).contains("another plan"), "{}", text(&other.stderr));
    // The record is in the shared journal.
    let shown = fleet.haft_command(&["runs", "show", "joined", "--json"]);
    assert!(text(&shown.stdout).contains("ledger.append"), "{}", text(&shown.stderr));
    // A resume begins another workflow, and recalls.
    let resumed = fleet.temporal_command(&["resume", "joined", "--allow=ledger.append"]);
    assert_eq!(text(&resumed.stdout), "joined-2 done\n", "{}", text(&resumed.stderr));
    fleet.check_ledger(&["joined".to_owned()], 3);
}

#[test]
fn failures_and_bad_requests_have_the_status_of_haft() {
    let mut fleet = Fleet::new();
    fleet.add_worker(&[]);
    let check = |plan: &str, run: &str, status: i32, words: &str| {
        let file = fleet.path(&format!("{run}.json"));
        std::fs::write(&file, plan).unwrap();
        let output = fleet.temporal_command(&["run", "--run", run, file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(status), "{}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    };
    check("{", "no-json", 2, "not JSON");
    check(
        r#"{"nodes":[{"id":0,"tool":"no.such","inputs":{}}],"final_output_node":0}"#,
        "no-tool",
        2,
        "no.such",
    );
    let bash = r#"{"nodes":[{"id":0,"tool":"bash","inputs":{"cmd":"true"},"metadata":{"purpose":"x"}}],"final_output_node":0}"#;
    check(bash, "refused", 3, "bash");
    let unknown = fleet.temporal_command(&["status", "unknown"]);
    assert_eq!(unknown.status.code(), Some(2));
}

#[test]
fn a_cancelled_run_stops_and_can_be_resumed() {
    let mut fleet = Fleet::new();
    fleet.add_worker(&[]);
    assert!(fleet.start_run("cancelled", 6, "0.5", &["--detach"]).status.success());
    wait_until(|| !fleet.ledger("work").is_empty());
    assert!(fleet.temporal_command(&["cancel", "cancelled"]).status.success());
    let status = fleet.wait_for_run("cancelled");
    assert_eq!(status["status"]["phase"], "cancelled", "{status}");
    assert!(fleet.ledger("work").len() < 6);
    let resumed =
        fleet.temporal_command(&["resume", "cancelled", "--allow=ledger.append", "--detach"]);
    assert!(resumed.status.success(), "{}", text(&resumed.stderr));
    fleet.settle_to_the_end("cancelled");
    fleet.check_ledger(&["cancelled".to_owned()], 6);
}

#[test]
fn a_drained_worker_hands_its_run_over() {
    let mut fleet = Fleet::new();
    let drained = fleet.add_worker(&["--drain-seconds", "0"]);
    assert!(fleet.start_run("drained", 6, "0.3", &["--detach"]).status.success());
    wait_until(|| !fleet.ledger("work").is_empty());
    fleet.signal_worker(drained, Signal::TERM);
    let log = fleet.wait_for_worker(drained);
    assert!(log.contains("hands over"), "{log}");
    assert!(fleet.ledger("work").len() < 6);
    fleet.add_worker(&[]);
    // A handover between two calls leaves nothing in doubt.
    assert_eq!(fleet.settle_to_the_end("drained"), 0);
    fleet.check_ledger(&["drained".to_owned()], 6);
}

#[test]
fn a_worker_takes_only_the_runs_of_its_workspace_and_labels() {
    let mut fleet = Fleet::new();
    let other = fleet.add_workspace("other");
    let root = format!("named={}", other.display());
    fleet.add_worker(&["--root", &root, "--label", "repo=web", "--label", "arch=x"]);
    assert!(fleet.start_run("here", 1, "0", &["--detach"]).status.success());
    let labelled =
        fleet.start_run("labelled", 1, "0", &["--label", "arch=x", "--label", "repo=web"]);
    assert_eq!(text(&labelled.stdout), "labelled-0 done\n", "{}", text(&labelled.stderr));
    let named = fleet.start_run("named", 1, "0", &["--workspace", "named"]);
    assert_eq!(named.status.code(), Some(0), "{}", text(&named.stderr));
    assert_eq!(fleet.ledger("other").len(), 2);
    // The worker has no root for this one, so it still waits.
    assert_eq!(fleet.status("here")["status"]["phase"], "running");
    assert!(fleet.ledger("work").is_empty());
    fleet.add_worker(&[]);
    assert_eq!(fleet.settle_to_the_end("here"), 0);
}

#[test]
fn killed_workers_and_servers_lose_and_repeat_nothing() {
    let kills = std::env::var("HAFT_FLEET_KILLS").ok().and_then(|kills| kills.parse().ok());
    let kills: usize = kills.unwrap_or(KILLS_DEFAULT);
    let (runs, nodes) = (kills / 2, 8);
    let mut fleet = Fleet::new();
    for _ in 0..3 {
        fleet.add_worker(&["--runs", "2"]);
    }
    let runs: Vec<String> = (0..runs).map(|run| format!("killed{run}")).collect();
    for run in &runs {
        let output = fleet.start_run(run, nodes, "0.05", &["--detach"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
    }
    for kill in 0..kills {
        let worker = kill % 3;
        match kill % 6 {
            2 => fleet.temporal.crash(),
            5 => fleet.postgres.crash(),
            _ => {
                fleet.kill_worker(worker, kill % 2 == 0);
                fleet.restart_worker(worker);
            }
        }
        std::thread::sleep(Duration::from_millis(400 + 137 * (kill as u64 % 7)));
    }
    let doubts: usize = runs.iter().map(|run| fleet.settle_to_the_end(run)).sum();
    fleet.check_ledger(&runs, nodes);
    println!(
        "{kills} kills, {} runs, {} effects, {doubts} settlements",
        runs.len(),
        runs.len() * nodes
    );
}

#[test]
fn a_machine_that_stood_still_past_its_lease_repeats_nothing() {
    let mut fleet = Fleet::new();
    let frozen = fleet.add_worker(&[]);
    assert!(fleet.start_run("frozen", 6, "0.5", &["--detach"]).status.success());
    wait_until(|| !fleet.ledger("work").is_empty());
    fleet.signal_machine(frozen, Signal::STOP);
    fleet.add_worker(&[]);
    // The lease runs out, the other worker takes over, and the call that ran is in doubt, or its record was there.
    let settled = fleet.settle_to_the_end("frozen");
    assert!(settled <= 1, "{settled}");
    fleet.signal_machine(frozen, Signal::CONT);
    std::thread::sleep(Duration::from_secs(3));
    let repeated = fleet.ledger("work").into_iter().filter(|(_, count)| *count != 1).count();
    // The effect of the call that was in doubt may still happen when its machine goes on. No other does.
    assert!(repeated <= settled, "{:?}", fleet.ledger("work"));
    assert_eq!(fleet.ledger("work").len(), 6);
}

#[test]
fn an_ask_is_a_query_and_the_first_answer_counts() {
    let mut fleet = Fleet::new();
    fleet.let_calls_wait();
    // The slot of the worker is taken by the run that waits.
    let worker = fleet.add_worker(&["--runs", "1"]);
    let id = |ask: &serde_json::Value| ask["ask"].as_str().unwrap().to_owned();

    let ask = fleet.start_asking_run("allowed");
    assert_eq!((&ask["call"], &ask["tool"]), (&"allowed/n0/0/1/1".into(), &"ledger.append".into()));
    let status = text(&fleet.temporal_command(&["status", "allowed"]).stdout);
    assert!(status.contains("ledger.append waits for an answer"), "{status}");
    assert!(fleet.ledger("work").is_empty());
    let answer = ["answer", "allowed", &id(&ask), "allow"];
    let output = fleet.temporal_command(&answer);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(fleet.wait_for_run("allowed")["status"]["phase"], "finished");
    let late = fleet.temporal_command(&answer);
    assert!(text(&late.stderr).contains("has no ask"), "{}", text(&late.stderr));

    let ask = fleet.start_asking_run("rejected");
    let reject = ["answer", "rejected", &id(&ask), "reject", "--words", "not today"];
    assert!(fleet.temporal_command(&reject).status.success());
    let status = fleet.wait_for_run("rejected");
    assert_eq!(status["status"]["phase"], "failed", "{status}");
    let shown = text(&fleet.haft_command(&["runs", "show", "rejected", "--json"]).stdout);
    assert!(shown.contains("not today"), "{shown}");

    let ask = fleet.start_asking_run("elsewhere");
    let answered = fleet.haft_command(&["asks", "allow", &id(&ask), "--json"]);
    assert!(text(&answered.stdout).contains("once"), "{}", text(&answered.stderr));
    let status = fleet.wait_for_run("elsewhere");
    assert_eq!(
        (&status["status"]["phase"], &status["status"]["asks"]),
        (&"finished".into(), &serde_json::json!([]))
    );

    // The ask of a worker that died is withdrawn, and the resumed run asks anew.
    let ask = fleet.start_asking_run("killed");
    fleet.kill_worker(worker, false);
    fleet.restart_worker(worker);
    let renewed = || fleet.pending_ask("killed").map(|ask| id(&ask)).filter(|new| *new != id(&ask));
    wait_until(|| renewed().is_some());
    let output = fleet.temporal_command(&["answer", "killed", &renewed().unwrap(), "allow"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(fleet.wait_for_run("killed")["status"]["phase"], "finished");
    fleet.check_ledger(&["allowed", "elsewhere", "killed"].map(str::to_owned), 1);
}

fn wait_until(condition: impl Fn() -> bool) {
    for _ in 0..600 {
        if condition() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("nothing happened for 30 s");
}
