//! Questions over MCP from outside, with the preset that asks about everything that changes something. A question reaches
//! the client, and its answer holds for as long as it says. Other tests cover the wording, and answers that do not come.

use expect_test::expect;
use serde_json::{Value, json};

use super::check_journal;
use super::driver::{Place, Server, initialize};

/// A client of one era, and what it is asked and told.
struct Client {
    server: Server,
    era: Era,
}

#[derive(Clone, Copy)]
enum Era {
    Older,
    Newer,
}

const ERAS: [Era; 2] = [Era::Older, Era::Newer];

fn forms() -> Value {
    json!({"elicitation": {}})
}

impl Client {
    fn start(place: &Place, era: Era) -> Self {
        let mut server = Server::start(place, &["--preset", "ask"]);
        match era {
            Era::Older => {
                let mut hello = initialize();
                hello["capabilities"] = forms();
                server.request("initialize", hello);
            }
            Era::Newer => {
                server.request("server/discover", modern(json!({})));
            }
        }
        Self { server, era }
    }

    fn params(&self, path: &str, content: &str) -> Value {
        let params = json!({"name": "write", "arguments": {"path": path, "content": content}});
        match self.era {
            Era::Older => params,
            Era::Newer => modern(params),
        }
    }

    /// Writes, and returns the answer; nothing may be asked.
    fn write_unasked(&mut self, path: &str, content: &str) -> Value {
        let params = self.params(path, content);
        self.server.request("tools/call", params)
    }

    /// Writes, responds to the question like this, and returns the question and the answer.
    fn write(&mut self, path: &str, content: &str, response: Value) -> (Value, Value) {
        let params = self.params(path, content);
        self.respond(params, "decision", response)
    }

    /// Has the agent ask, responds like this, and returns the form and the answer.
    fn question(&mut self, arguments: &Value, response: Value) -> (Value, Value) {
        let params = json!({"name": "question", "arguments": arguments});
        let params = match self.era {
            Era::Older => params,
            Era::Newer => modern(params),
        };
        self.respond(params, "answers", response)
    }

    fn respond(&mut self, mut params: Value, name: &str, response: Value) -> (Value, Value) {
        match self.era {
            Era::Older => {
                let call = self.server.begin("tools/call", params);
                let question = self.server.receive();
                assert_eq!(question["method"], "elicitation/create", "{question}");
                let line = json!({"jsonrpc": "2.0", "id": question["id"], "result": response});
                self.server.send_line(&line.to_string());
                let answer = self.server.receive();
                assert_eq!(answer["id"], call, "{answer}");
                (question["params"].clone(), answer)
            }
            Era::Newer => {
                let asked = self.server.request("tools/call", params.clone());
                assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
                params["requestState"] = asked["result"]["requestState"].clone();
                params["inputResponses"] = json!({name: response});
                let answer = self.server.request("tools/call", params);
                let question = &asked["result"]["inputRequests"][name];
                (question["params"].clone(), answer)
            }
        }
    }
}

fn modern(params: Value) -> Value {
    let mut params = super::modern(params);
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = forms();
    params
}

fn decision(value: &str) -> Value {
    json!({"action": "accept", "content": {"decision": value}})
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[test]
fn the_agent_asks_and_the_user_answers() {
    for era in ERAS {
        let place = Place::new();
        let mut client = Client::start(&place, era);
        let questions = json!({"questions": [
            {"question": "Which?", "options": [{"label": "one"}, {"label": "other"}]}]});
        let content = json!({"q01": "other", "q01_other": "but later"});
        let response = json!({"action": "accept", "content": content});
        let (form, answer) = client.question(&questions, response);
        assert!(form["message"].as_str().unwrap().starts_with("The agent asks."), "{form}");
        let expected = json!({"answers": [["other", "but later"]]});
        assert_eq!(answer["result"]["structuredContent"], expected, "{answer}");
        let (_, answer) = client.question(&questions, json!({"action": "decline"}));
        assert!(text(&answer).starts_with("the user did not answer: "), "{answer}");
        client.server.end();
    }
}

#[test]
fn once_is_for_one_call() {
    for era in ERAS {
        let place = Place::new();
        let mut client = Client::start(&place, era);
        let (_, answer) = client.write("a.txt", "one", decision("once"));
        assert_eq!(text(&answer), "ok");
        let (_, answer) = client.write("a.txt", "two", json!({"action": "decline"}));
        assert_eq!(answer["result"]["_meta"]["haft/code"], "PERMISSION_DENIED");
        assert_eq!(std::fs::read_to_string(place.root().join("a.txt")).unwrap(), "one");
        client.server.end();
        let calls = place.only_run()["calls"].as_array().unwrap().clone();
        let shown = calls.iter().map(|call| format!("{} {}", call["seq"], call["status"]));
        expect![[r#"
            1 "succeeded"
            2 "refused""#]]
        .assert_eq(&shown.collect::<Vec<_>>().join("\n"));
    }
}

#[test]
fn a_question_shows_the_call_and_the_rules_that_always_adds() {
    for era in ERAS {
        let place = Place::new();
        let mut client = Client::start(&place, era);
        let (question, _) = client.write("a.txt", "secret", decision("reject"));
        expect![[r#"
            May write run?

            Input: {"path":"a.txt","content":"secret"}

            It would touch:
            - fs.write of "a.txt"

            You are asked because:
            - write needs approval for fs.write of "a.txt": no rule matches, and then the answer is ask; the rule `allow write "a.txt"` would allow it

            "Always" adds the permission rules:
            - allow write "a.txt""#]]
        .assert_eq(question["message"].as_str().unwrap());
    }
}

#[test]
fn always_for_this_session_ends_with_it() {
    for era in ERAS {
        let place = Place::new();
        let mut client = Client::start(&place, era);
        client.write("a.txt", "one", decision("always_session"));
        assert_eq!(text(&client.write_unasked("a.txt", "two")), "ok");
        client.server.end();
        let mut client = Client::start(&place, era);
        let (_, answer) = client.write("a.txt", "three", decision("reject"));
        assert_eq!(answer["result"]["_meta"]["haft/code"], "PERMISSION_DENIED");
        assert_eq!(std::fs::read_to_string(place.root().join("a.txt")).unwrap(), "two");
    }
}

#[test]
fn always_for_this_project_outlives_the_session() {
    for era in ERAS {
        let place = Place::new();
        let mut client = Client::start(&place, era);
        let (_, answer) = client.write("a.txt", "one", decision("always_project"));
        assert_eq!(text(&answer), "ok");
        assert_eq!(text(&client.write_unasked("a.txt", "two")), "ok");
        client.server.end();
        let mut client = Client::start(&place, era);
        assert_eq!(text(&client.write_unasked("a.txt", "three")), "ok");
    }
}

#[test]
fn a_question_that_is_open_at_the_end_is_a_refusal() {
    for era in ERAS {
        let place = Place::new();
        let mut client = Client::start(&place, era);
        let params = client.params("a.txt", "one");
        client.server.begin("tools/call", params);
        client.server.receive();
        let (_, status) = client.server.end();
        assert_eq!(status.code(), Some(0));
        assert!(!place.root().join("a.txt").exists());
        check_journal(
            &place,
            &expect![[
                r#"{"call":"[run]/main/0/1/1","idempotency_key":"[key]","change":1,"run":"[run]","node":"main","iteration":0,"attempt":1,"seq":1,"tool":"write","effect":"once","status":"refused","started_at_ms":"[ms]","finished_at_ms":"[ms]","first_key":"[key]","call_key":"[key]","driver_call_id":null,"input":{"content":{"bytes":3,"sha256":"7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"},"path":"a.txt"},"accesses":[{"capability":"fs.write","path":"a.txt"}],"epoch":1,"details":null,"envelope":{"type":"error","error_text":"the call was cancelled before it began","metadata":{"duration_ms":"[ms]","refusal":{"code":"PROCESS_ABORTED","decided_by":"caller","because":"the call was cancelled before it began"},"call_id":"[run]/main/0/1/1","code":"PROCESS_ABORTED"}},"verdict":null,"settled_by":null}"#
            ]],
        );
    }
}
