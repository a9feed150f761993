//! An agent that tries to reach the inspector by every tool that it has. Even a person's grant of this machine's own addresses
//! leads nowhere, and no file says how to log in.

use std::process::Output;

use serde_json::json;

use super::Inspecting;
use crate::mcp_servers::HOSTILE;
use crate::python;
use crate::world::World;

/// Calls a tool with the addresses of this machine granted to it.
fn call(world: &World, tool: &str, input: &serde_json::Value) -> Output {
    let hosts = ["--allow-host", "127.0.0.1", "--allow-host", "localhost"];
    let mut args = hosts.to_vec();
    let input = input.to_string();
    args.extend(["--allow", tool, "call", tool, &input]);
    world.haft(&args).output().unwrap()
}

fn text(output: &Output) -> String {
    let both =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    both.concat()
}

#[test]
fn no_tool_reaches_the_inspector() {
    let world = World::new();
    let inspecting = Inspecting::start(&world);
    let url = format!("{}/runs", inspecting.address());
    let port = inspecting.address().rsplit_once(':').unwrap().1.to_owned();
    let refusal = format!("haft itself listens on port {port} of");
    for host in ["127.0.0.1", "localhost"] {
        let url = url.replace("127.0.0.1", host);
        let answer = call(&world, "web_fetch", &json!({ "url": url }));
        assert!(text(&answer).contains(&refusal), "{host}: {}", text(&answer));
        assert!(!answer.status.success());
    }
    // Through the proxy of a command, and around it.
    for cmd in [
        format!("curl -sS --noproxy '' --proxy $HTTP_PROXY {url}"),
        format!("curl -sS --noproxy '' --proxytunnel --proxy $HTTP_PROXY {url}"),
        format!("curl -sS --noproxy '' --proxy $ALL_PROXY {url}"),
        format!("curl -sS --noproxy '*' {url}"),
        format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached"),
    ] {
        let answer = text(&call(&world, "bash", &json!({ "cmd": cmd })));
        assert!(
            !answer.contains("not logged in") && !answer.contains("reached\n"),
            "{cmd}: {answer}"
        );
    }
    let tunnelled = format!("curl -sS --noproxy '' --proxytunnel --proxy $HTTP_PROXY {url}");
    let answer = text(&call(&world, "bash", &json!({ "cmd": tunnelled })));
    assert!(answer.contains(&refusal), "{answer}");
}

#[test]
fn no_file_that_a_tool_can_read_logs_in() {
    let world = World::new();
    let inspecting = Inspecting::start(&world);
    let token = inspecting.link.split_once("#token=").unwrap().1;
    let state = world.path("state");
    let cmd = format!("grep -rls {token} {}; ls {}", world.path("").display(), state.display());
    let answer = text(&call(&world, "bash", &json!({ "cmd": cmd })));
    assert!(!answer.contains(token) && !answer.contains("journal"), "{answer}");
    let answer =
        call(&world, "read", &json!({ "path": state.join("inspector").to_string_lossy() }));
    assert!(!answer.status.success(), "{}", text(&answer));
    // The secret is in no argument either, which every process of this machine may see.
    let arguments = std::fs::read(format!("/proc/{}/cmdline", inspecting.child.id())).unwrap();
    assert!(!String::from_utf8_lossy(&arguments).contains(token));
}

#[test]
fn no_program_of_a_tool_reaches_the_inspector() {
    let world = World::with_files();
    let hosts = r#""requires": {"net": {"hosts": ["127.0.0.1"]}},"#;
    let fetching = "import sys, urllib.request\n    \
                    url = open('notes.txt').read().strip()\n    \
                    try:\n        return urllib.request.urlopen(url).read().decode()\n    \
                    except Exception as err:\n        \
                    return getattr(err, 'read', lambda: b'')().decode() or str(err)";
    world.write("work/tools/reaching.py", &python::tool("reaching", hosts, fetching));
    world.write("work/server.py", HOSTILE);
    let server = world.path("work/server.py");
    let manifest = format!(
        "[mcp.odd]\ncommand = [\"/usr/bin/python3\", {server:?}, \"well\"]\nrequires.net.hosts = [\"127.0.0.1\"]\n{}",
        python::ENTRY
    );
    world.write("work/haft.toml", &manifest);
    world.run(&["trust"]);
    let inspecting = Inspecting::start(&world);
    let port = inspecting.address().rsplit_once(':').unwrap().1;
    world.write("work/notes.txt", &format!("{}/runs\n", inspecting.address()));
    let answer = text(&call(&world, "reaching", &json!({})));
    assert!(answer.contains(&format!("haft itself listens on port {port} of")), "{answer}");
    let answer = text(&call(&world, "odd_reach", &json!({ "port": port.parse::<u16>().unwrap() })));
    assert!(answer.contains("Connection refused"), "{answer}");
}
