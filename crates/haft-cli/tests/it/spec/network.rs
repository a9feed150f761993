//! Commands that use a network, in profile `smithers`: the names that are refused, and the ways to allow the network.

use serde_json::{Value, json};

use super::{call, code, smithers, trust};
use crate::world::World;

const OFF: &str = "TOOL_NETWORK_DISABLED";
const GIT_OFF: &str = "TOOL_GIT_REMOTE_DISABLED";
const STRICT: [&str; 4] = ["--profile", "smithers", "--network-guard", "strict"];

/// Has each command line answered by this code. Words are separated by blanks.
fn check(args: &[&str], lines: &[&str], expect: &str) {
    let world = World::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let input = json!({"cmd": words[0], "args": &words[1..]});
        assert_eq!(code(&call(&world, args, "bash", &input)), expect, "{line}");
    }
}

fn check_standard(lines: &[&str], expect: &str) {
    check(&["--profile", "smithers"], lines, expect);
}

#[test]
fn http_clients_are_refused() {
    check_standard(&["curl example.com", "/usr/bin/curl example.com", "wget example.com"], OFF);
}

#[test]
fn package_managers_are_refused() {
    check_standard(&["npm install", "/opt/bin/npm install", "bun install", "pip install x"], OFF);
}

#[test]
fn words_that_begin_like_a_url_are_refused() {
    check_standard(&["echo http://example.com", "echo https://example.com/a"], OFF);
    check_standard(&["echo xhttp://example.com"], "none");
}

#[test]
fn git_with_a_remote_is_refused() {
    check_standard(
        &["git push", "git -C . pull", "git fetch", "git clone x", "git remote -v"],
        GIT_OFF,
    );
}

#[test]
fn git_without_a_remote_runs() {
    let world = World::with_files();
    let git = |args: &[&str]| smithers(&world, "bash", &json!({"cmd": "git", "args": args}));
    assert_eq!(code(&git(&["init", "--quiet"])), "none");
    for args in [&["status"][..], &["diff"], &["log", "--all"]] {
        let answer = git(args);
        assert_eq!(code(&answer), "none", "{args:?} {answer}");
    }
}

#[test]
fn whole_words_are_refused_and_no_parts_of_words() {
    check_standard(&["echo bundle", "echo npm-like", "echo piper"], "none");
}

#[test]
fn the_kernel_gives_a_command_no_network_whatever_its_name() {
    let world = World::new();
    let script = "import socket\ntry:\n    socket.create_connection(('192.0.2.1', 80), 2)\n    print('reached')\nexcept OSError as err:\n    print('not reached')\n";
    let answer =
        smithers(&world, "bash", &json!({"cmd": "/usr/bin/python3", "args": ["-c", script]}));
    assert_eq!(answer["data"], "not reached\n", "{answer}");
}

/// A server on this machine stands for the network: only an open network reaches it.
fn reaches(world: &World, args: &[&str]) -> Value {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let script = "import socket, sys\nsocket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)\nprint('reached')\n";
    let input = json!({"cmd": "/usr/bin/python3", "args": ["-c", script, port]});
    call(world, args, "bash", &input)
}

#[test]
fn an_option_allows_the_network() {
    let args = ["--profile", "smithers", "--preset", "full"];
    let world = World::new();
    assert_eq!(code(&reaches(&world, &args)), "TOOL_COMMAND_FAILED");
    let open = [&args[..], &["--allow-network"]].concat();
    assert_eq!(reaches(&world, &open)["data"], "reached\n");
    // The names are free, too. Nothing listens at that port.
    let answer =
        call(&world, &open, "bash", &json!({"cmd": "curl", "args": ["http://127.0.0.1:9/"]}));
    assert_eq!(code(&answer), "TOOL_COMMAND_FAILED", "{answer}");
}

#[test]
fn a_manifest_allows_the_network() {
    let world = World::new();
    trust(&world, "profile = \"smithers\"\npreset = \"full\"\nallow_network = true\n");
    assert_eq!(reaches(&world, &[])["data"], "reached\n");
}

#[test]
fn an_open_network_is_the_users_answer() {
    let answer = reaches(&World::new(), &["--allow-network"]);
    assert_eq!(answer["data"]["output"], "reached\n", "{answer}");
}

#[test]
fn strict_refuses_http_clients() {
    check(&STRICT, &["curl x", "wget x"], OFF);
}

#[test]
fn strict_refuses_remote_shells() {
    check(&STRICT, &["ssh x", "scp x y", "sftp x", "ftp x", "telnet x"], OFF);
}

#[test]
fn strict_refuses_network_tools() {
    let lines = [
        "nc x 1",
        "netcat x 1",
        "ping x",
        "traceroute x",
        "dig x",
        "nslookup x",
        "nmap x",
        "openssl version",
    ];
    check(&STRICT, &lines, OFF);
}

#[test]
fn strict_refuses_package_managers() {
    let lines = [
        "npm test",
        "bun test",
        "pip list",
        "pip3 list",
        "pnpm test",
        "yarn test",
        "apt list",
        "apt-get update",
        "brew list",
        "cargo build",
        "go build",
        "gem list",
    ];
    check(&STRICT, &lines, OFF);
}

#[test]
fn strict_refuses_git_with_a_remote() {
    let lines = ["git push", "git pull", "git fetch", "git clone x", "git remote"];
    check(&STRICT, &lines, GIT_OFF);
}

#[test]
fn strict_refuses_other_programs() {
    check(&STRICT, &["hg pull", "svn update", "powershell x", "pwsh x"], OFF);
}

#[test]
fn strict_refuses_parts_of_urls() {
    let lines = [
        "echo a://b",
        "echo www.example.com",
        "echo http://a",
        "echo https://a",
        "echo ws://a",
        "echo wss://a",
        "echo git@a",
        "echo ssh://a",
    ];
    check(&STRICT, &lines, OFF);
}

#[test]
fn strict_refuses_addresses() {
    check(&STRICT, &["echo 192.168.1.1:8080", "echo 10.0.0.1"], OFF);
}

#[test]
fn strict_refuses_proxies() {
    check(&STRICT, &["true --proxy", "env http_proxy=x true", "env https_proxy=x true"], OFF);
}

#[test]
fn strict_lets_local_git_run() {
    let world = World::with_files();
    for args in [&["init", "--quiet"][..], &["status"], &["diff"], &["log", "--all"]] {
        let answer = call(&world, &STRICT, "bash", &json!({"cmd": "git", "args": args}));
        assert_eq!(code(&answer), "none", "{args:?} {answer}");
    }
}
