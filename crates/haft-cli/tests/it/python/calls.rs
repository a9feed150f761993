//! Calls of Python tools, from the command line and over MCP.

use expect_test::expect;
use serde_json::{Value, json};

use super::{ENTRY, PRICE, configured, tool, with_tools};
use crate::mcp_wire::driver::{Place, Server, initialize};

#[test]
fn the_answer_is_data_and_what_was_printed_is_not() {
    let world = with_tools(&[("finance_price.py", PRICE)]);
    let call = ["call", "--python", "tools", "finance_price"];
    world.check(
        &[&call[..], &[r#"{"symbol":"X","days":2}"#]].concat(),
        &expect![[r#"
        {"symbol":"X","price":25.0}
        --- stderr
        looking up X
        --- status 0
    "#]],
    );
    let envelope = world.json(&[&call[..], &[r#"{"symbol":"X"}"#, "--json"]].concat());
    assert_eq!(envelope["metadata"]["log"], "looking up X\n");
    assert_eq!(envelope["metadata"]["enforced"]["filesystem"], "kernel");
}

#[test]
fn a_failure_says_what_the_tool_raised_and_where() {
    let world = with_tools(&[
        ("finance_price.py", PRICE),
        ("bytes_of.py", &tool("bytes_of", "", "return b'x'")),
    ]);
    let call = ["call", "--python", "tools"];
    world.check(
        &[&call[..], &["finance_price", r#"{"symbol":"NONE"}"#]].concat(),
        &expect![[r#"
            --- stderr
            looking up NONE
            error: run_finance_price raised KeyError: 'NONE'
              finance_price.py:17 in run_finance_price
                raise KeyError(symbol)
            --- status 1
        "#]],
    );
    world.check(&[&call[..], &["finance_price", r#"{"symbl":"X"}"#]].concat(), &expect![[r#"
        --- stderr
        error: invalid input for finance_price: symbl: no such parameter: the tool has symbol, days; did you mean symbol?; symbol: required, but missing

        hint: haft tools show finance_price
        --- status 2
    "#]]);
    world.check(&[&call[..], &["bytes_of"]].concat(), &expect![[r#"
        --- stderr
        error: run_bytes_of returned a value that is not JSON: result is of type bytes, which is not JSON: decode it, or write it as base64 text
        --- status 1
    "#]]);
}

#[test]
fn a_tool_that_does_not_end_is_killed() {
    let endless = tool("endless", "\"timeout\": 2,", "while True: pass");
    let world = with_tools(&[("endless.py", &endless)]);
    world.check(
        &["call", "--python", "tools", "endless"],
        &expect![[r#"
            --- stderr
            error: run_endless was stopped, and its process killed with everything it started (time for the call: 2000 ms): ask for less at once, or go on without it
            --- status 1
        "#]],
    );
}

#[test]
fn the_key_is_the_same_in_every_attempt() {
    let keyed = "METADATA = {\"name\": \"order\", \"function\": \"run_order\", \"description\": \"Orders.\", \
                 \"side_effect\": True, \"dangerous\": True, \"context\": True,\n  \"parameters\": {\"type\": \
                 \"object\", \"properties\": {}}}\n\n\ndef run_order(context):\n    return context\n";
    let world = configured(&[("order.py", keyed)], ENTRY);
    let attempt = |attempt: &str| {
        let args = [
            "call",
            "order",
            "--allow",
            "order",
            "--run",
            "r1",
            "--node",
            "n",
            "--attempt",
            attempt,
            "--json",
        ];
        let output = world.haft(&args).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let (first, held, second) = (attempt("1"), attempt("2"), attempt("2"));
    assert_eq!(held["metadata"]["held_back"], true, "{held}");
    let (first, second) = (&first["data"], &second["data"]);
    assert!(first["idempotency_key"].as_str().is_some_and(|key| !key.is_empty()), "{first}");
    assert_eq!(first["idempotency_key"], second["idempotency_key"]);
    assert_eq!((&first["attempt"], &second["attempt"]), (&json!(1), &json!(2)));
    assert_eq!((&first["run"], &first["tool"]), (&json!("r1"), &json!("order")));
}

#[test]
fn a_returned_error_fails_the_node_of_a_plan() {
    let smith = "METADATA = {\"name\": \"quote\", \"function\": \"run_quote\", \"description\": \"It answers.\", \
                 \"domain\": \"data\", \"parameters\": {\"type\": \"object\", \"properties\": {}}}\n\n\ndef run_quote():\n    \
                 return {\"status\": \"error\", \"message\": \"the market is closed\"}\n";
    let world = with_tools(&[("quote.py", smith), ("later.py", &tool("later", "", "return 1"))]);
    let plan = r#"{"nodes": [
        {"id": 0, "tool": "quote", "inputs": {}, "depends_on": [], "on_fail": "halt"},
        {"id": 1, "tool": "later", "inputs": {}, "depends_on": [0], "on_fail": "halt"}
    ], "final_output_node": 1}"#;
    world.write("work/plan.json", plan);
    let output = world.haft(&["run", "plan.json", "--python", "tools", "--json"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stdout).unwrap();
    let result: Value = serde_json::from_str(shown.lines().last().unwrap()).unwrap();
    let nodes = result["trace"]["nodes"].as_array().unwrap();
    let statuses: Vec<&Value> = nodes.iter().map(|node| &node["status"]).collect();
    assert_eq!(statuses, ["failed", "skipped"], "{shown}");
    assert!(shown.contains("the market is closed"), "{shown}");
    let call = world.haft(&["call", "--python", "tools", "quote"]).output().unwrap();
    assert_eq!(call.status.code(), Some(1));
}

#[test]
fn where_nothing_confines_it_every_tool_asks() {
    let world = with_tools(&[("finance_price.py", PRICE)]);
    let unsafely = ["--unsafe-no-sandbox", "--python", "tools"];
    let call = ["call", "finance_price", r#"{"symbol":"X"}"#];
    world.check(&[&call[..], &unsafely].concat(), &expect![[r#"
        --- stderr
        warning: commands run without the sandbox (unsafe_no_sandbox) and can do whatever you can
        error: no person can be asked here, so the call is denied: finance_price needs approval for use of "python.unconfined": no rule matches, and then the answer is ask; the rule `allow finance_price "python.unconfined"` would allow it; to allow it, start haft with `--allow finance_price`, which allows all that finance_price does, or put this into haft.toml and run `haft trust`:
        [[permissions]]
        permission = "finance_price"
        pattern = "python.unconfined"
        action = "allow"

        hint: haft call --allow finance_price finance_price '{"symbol":"X"}' --unsafe-no-sandbox --python tools
        --- status 3
    "#]]);
    world.check(
        &[&call[..], &["--allow", "finance_price"], &unsafely].concat(),
        &expect![[r#"
            {"symbol":"X","price":12.5}
            --- stderr
            warning: commands run without the sandbox (unsafe_no_sandbox) and can do whatever you can
            looking up X
            --- status 0
        "#]],
    );
    let shown = world.run(&[&["tools", "show", "finance_price"], &unsafely[..]].concat());
    let marks = "\neffect     idempotent\nkind       execute\ndangerous  yes\n";
    assert!(shown.contains(marks), "{shown}");
}

#[test]
fn hosts_are_asked_about() {
    let fetching =
        tool("fetching", r#""requires": {"net": {"hosts": ["example.org"]}},"#, "return 1");
    let world = with_tools(&[("fetching.py", &fetching)]);
    world.check(&["call", "--python", "tools", "fetching"], &expect![[r#"
        --- stderr
        error: no person can be asked here, so the call is denied: fetching needs approval for net.fetch of "example.org": no rule matches, and then the answer is ask; the rule `allow fetching "example.org"` would allow it; to allow it, start haft with `--allow-host example.org`, or put this into haft.toml and run `haft trust`:
        [[permissions]]
        permission = "fetching"
        pattern = "example.org"
        action = "allow"

        hint: haft call --allow-host example.org --python tools fetching
        --- status 3
    "#]]);
    world.check(
        &["call", "--python", "tools", "--allow", "fetching", "fetching"],
        &expect![[r#"
            1
            --- status 0
        "#]],
    );
}

#[test]
fn an_mcp_client_lists_and_calls_them() {
    let place = Place::new();
    std::fs::create_dir(place.root().join("tools")).unwrap();
    place.write("tools/finance_price.py", PRICE);
    let mut server = Server::start(&place, &["--python", "tools"]);
    server.request("initialize", initialize());
    server.notify("notifications/initialized", json!({}));
    let listed = server.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool = tools.iter().find(|tool| tool["name"] == "finance_price").unwrap();
    assert_eq!(tool["inputSchema"]["required"], json!(["symbol"]));
    assert_eq!(tool["annotations"]["readOnlyHint"], true);
    let call = json!({"name": "finance_price", "arguments": {"symbol": "X"}});
    let mut answer = server.request("tools/call", call);
    place.redact(&mut answer);
    expect![[r#"
        {
          "content": [
            {
              "type": "text",
              "text": "{\"symbol\":\"X\",\"price\":12.5}"
            }
          ],
          "isError": false,
          "_meta": {
            "haft/call": "[run]/main/0/1/1",
            "haft/durationMs": "[ms]",
            "haft/enforced": "[enforced]",
            "haft/log": "looking up X\n"
          }
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&answer["result"]).unwrap());
    let (rest, _) = server.end();
    assert_eq!(rest, Vec::<serde_json::Value>::new());
}
