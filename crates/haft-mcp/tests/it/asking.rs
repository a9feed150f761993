//! Asking the person behind a client, in both eras: what the client is sent, what each answer does, and what becomes of
//! a call whose client does not answer.

use std::sync::atomic::{AtomicU32, Ordering};

use expect_test::Expect;
use haft_contract::RunId;
use haft_journal::{CallQuery, Journal};
use haft_mcp::limits::{CALLS_SUSPENDED_MAX, QUESTION_MS_MAX};
use tokio::task::yield_now;

use super::*;

/// A shop that asks before each order, and counts the orders.
struct Shop {
    client: Client,
    orders: Arc<AtomicU32>,
}

/// Declares that the client shows forms.
fn forms() -> Value {
    json!({"elicitation": {"form": {}}})
}

/// The client's metadata in a request of the newer era.
fn modern(mut params: Value, capabilities: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "test", "version": "0"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    params
}

fn an_order() -> Value {
    json!({"name": "shop__order", "arguments": {"sku": "x"}})
}

impl Shop {
    async fn older(version: &str, capabilities: Value) -> Self {
        let mut shop = Self::unopened();
        shop.client.initialize(version, capabilities).await;
        shop
    }

    async fn newer() -> Self {
        let mut shop = Self::unopened();
        shop.client.request("server/discover", modern(json!({}), forms())).await;
        shop
    }

    fn unopened() -> Self {
        let orders = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&orders);
        let order = Tool::new("shop.order").effect(Effect::Once).execute_with(
            move |order: Order, _: Cx| {
                counted.fetch_add(1, Ordering::SeqCst);
                async move { Ok::<_, ToolError>(format!("ordered {}", order.sku)) }
            },
        );
        Self { client: Client::open([order], Vec::new()), orders }
    }

    fn orders(&self) -> u32 {
        self.orders.load(Ordering::SeqCst)
    }

    /// Orders and returns the question that this raises, in the older era.
    async fn question(&mut self) -> Value {
        self.client.send("tools/call", an_order()).await;
        let question = self.client.receive().await;
        assert_eq!(question["method"], "elicitation/create", "{question}");
        question
    }

    /// Orders and returns the state that stands for the call, in the newer era.
    async fn state(&mut self) -> Value {
        let answer = self.request(an_order()).await;
        assert_eq!(answer["result"]["resultType"], "input_required", "{answer}");
        answer["result"]["requestState"].clone()
    }

    /// Sends a call in the newer era.
    async fn request(&mut self, params: Value) -> Value {
        self.client.request("tools/call", modern(params, forms())).await
    }

    /// Sends the order again with what a person said.
    async fn answer(&mut self, state: &Value, response: Value) -> Value {
        self.request(answered(an_order(), state, response)).await
    }

    async fn rows(&self) -> Vec<String> {
        rows(self.client.journal()).await
    }
}

fn answered(mut params: Value, state: &Value, response: Value) -> Value {
    params["requestState"] = state.clone();
    params["inputResponses"] = json!({"decision": response});
    params
}

fn decision(value: &str) -> Value {
    json!({"action": "accept", "content": {"decision": value}})
}

/// Returns how far every call has come, as the journal has it.
async fn rows(journal: Arc<dyn Journal>) -> Vec<String> {
    let query = CallQuery::of_run(RunId::parse("own").unwrap());
    let rows = journal.calls(query).await.unwrap();
    let shown = rows.iter().map(|row| {
        let envelope = row.parsed_envelope().unwrap().unwrap();
        let code = envelope.metadata().code.map_or("", |code| code.as_str());
        format!("{} {} {code}", row.seq, row.status.as_str()).trim_end().to_owned()
    });
    shown.collect()
}

/// Returns what a client is told of its call. Why it was refused is the pipeline's to say; what comes after that is not.
fn told(answer: &Value) -> String {
    let result = &answer["result"];
    let texts = result["content"].as_array().unwrap().iter();
    let mut texts: Vec<_> = texts.map(|block| block["text"].as_str().unwrap()).collect();
    if let Some(code) = result["_meta"]["haft/code"].as_str() {
        texts[0] = code;
    }
    texts.join("\n")
}

/// Compares what an older client is asked, and the answer to its call when it responds like this.
async fn check_older(version: &str, response: (&str, Value), expect: &Expect) {
    let mut shop = Shop::older(version, forms()).await;
    let question = shop.question().await;
    let (field, body) = response;
    let line = json!({"jsonrpc": "2.0", "id": question["id"], field: body});
    shop.client.send_text(&format!("{line}\n")).await;
    let answer = shop.client.receive().await;
    let rows = shop.rows().await.join("\n");
    expect.assert_eq(&format!("{}\n{rows}\n{} orders\n", told(&answer), shop.orders()));
}

#[tokio::test]
async fn an_older_client_is_asked_while_its_call_waits() {
    let mut shop = Shop::older("2025-11-25", forms()).await;
    let question = shop.question().await;
    expect![[r#"{"_meta":{"progressToken":0},"mode":"form","message":"May shop.order run?\n\nInput: {\"sku\":\"x\"}\n\nYou are asked because:\n- shop.order needs approval: no rule matches, and then the answer is ask; the rule `allow shop.order \"*\"` would allow it\n\n\"Always\" adds the permission rules:\n- allow shop.order \"*\"","requestedSchema":{"type":"object","properties":{"decision":{"type":"string","oneOf":[{"const":"once","title":"Allow once"},{"const":"always_session","title":"Always for this session"},{"const":"always_project","title":"Always for this project"},{"const":"reject","title":"Reject"}]},"words":{"type":"string","title":"Words for the model","description":"If you reject the call: what the model should do instead. You can leave this empty.","maxLength":4000}},"required":["decision"]}}"#]].assert_eq(&question["params"].to_string());
}

#[tokio::test]
async fn a_still_older_client_is_asked_in_the_form_that_it_knows() {
    let mut shop = Shop::older("2025-06-18", json!({"elicitation": {}})).await;
    let question = shop.question().await;
    expect![[r#"{"type":"object","properties":{"decision":{"type":"string","enum":["once","always_session","always_project","reject"],"enumNames":["Allow once","Always for this session","Always for this project","Reject"]},"words":{"type":"string","title":"Words for the model","description":"If you reject the call: what the model should do instead. You can leave this empty.","maxLength":4000}},"required":["decision"]}"#]].assert_eq(&question["params"]["requestedSchema"].to_string());
}

#[tokio::test]
async fn an_older_client_answers_once() {
    let ordered = expect![[r#"
        ordered x
        1 succeeded
        1 orders
    "#]];
    for version in ["2025-06-18", "2025-11-25"] {
        check_older(version, ("result", decision("once")), &ordered).await;
    }
}

#[tokio::test]
async fn an_older_client_declines() {
    let refused = expect![[r#"
        PERMISSION_DENIED
        Do not try it in another way. Ask the user how to go on.
        1 refused PERMISSION_DENIED
        0 orders
    "#]];
    for answer in [json!({"action": "decline"}), decision("reject")] {
        check_older("2025-11-25", ("result", answer), &refused).await;
    }
}

#[tokio::test]
async fn an_older_client_that_does_not_answer_allows_nothing() {
    check_older(
        "2025-11-25",
        ("result", json!({"action": "cancel"})),
        &expect![[r#"
        PERMISSION_DENIED
        Do not try it in another way. Ask the user how to go on.
        the client closed the question without an answer; that counts as a rejection
        1 refused PERMISSION_DENIED
        0 orders
    "#]],
    )
    .await;
    check_older("2025-11-25", ("result", json!({"action": "accept"})), &expect![[r#"
        PERMISSION_DENIED
        Do not try it in another way. Ask the user how to go on.
        the client gave none of the offered answers (once, always_session, always_project, reject); that counts as a rejection
        1 refused PERMISSION_DENIED
        0 orders
    "#]]).await;
    check_older("2025-11-25", ("result", decision("of course")), &expect![[r#"
        PERMISSION_DENIED
        Do not try it in another way. Ask the user how to go on.
        the client gave none of the offered answers (once, always_session, always_project, reject); that counts as a rejection
        1 refused PERMISSION_DENIED
        0 orders
    "#]]).await;
    check_older(
        "2025-11-25",
        ("result", json!({"yes": true})),
        &expect![[r#"
        PERMISSION_DENIED
        Do not try it in another way. Ask the user how to go on.
        the client answered the question in a form that no answer has; that counts as a rejection
        1 refused PERMISSION_DENIED
        0 orders
    "#]],
    )
    .await;
    let error = json!({"code": -32_603, "message": "no window\nis open"});
    check_older("2025-11-25", ("error", error), &expect![[r#"
        PERMISSION_DENIED
        Do not try it in another way. Ask the user how to go on.
        the client answered the question with an error: no window\u{a}is open; that counts as a rejection
        1 refused PERMISSION_DENIED
        0 orders
    "#]]).await;
}

#[tokio::test]
async fn an_older_client_without_forms_is_told_which_rule_would_help() {
    for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
        let mut shop = Shop::older("2025-11-25", capabilities).await;
        let answer = shop.client.request("tools/call", an_order()).await;
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(r#"allow shop.order "*""#), "{text}");
        assert_eq!(shop.orders(), 0);
    }
}

#[tokio::test]
async fn a_question_goes_with_its_call() {
    let mut shop = Shop::older("2025-11-25", forms()).await;
    let question = shop.question().await;
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 2},
    });
    shop.client.send_text(&format!("{cancel}\n")).await;
    let withdrawn = shop.client.receive().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled", "{withdrawn}");
    assert_eq!(withdrawn["params"]["requestId"], question["id"], "{withdrawn}");
    let journal = shop.client.journal();
    shop.client.end().await.unwrap();
    expect!["1 refused PROCESS_ABORTED"].assert_eq(&rows(journal).await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn an_older_client_has_only_so_much_time() {
    let mut shop = Shop::older("2025-11-25", forms()).await;
    let question = shop.question().await;
    tokio::time::advance(Duration::from_millis(QUESTION_MS_MAX)).await;
    let withdrawn = shop.client.receive().await;
    assert_eq!(withdrawn["params"]["requestId"], question["id"], "{withdrawn}");
    expect![[r#"
        PERMISSION_DENIED
        Go on without it, or tell the user to do it."#]]
    .assert_eq(&told(&shop.client.receive().await));
    assert_eq!(shop.orders(), 0);
}

#[tokio::test]
async fn a_newer_client_is_asked_by_the_answer_and_answers_by_a_request() {
    let mut shop = Shop::newer().await;
    let mut asked = shop.request(an_order()).await;
    let state = asked["result"]["requestState"].take();
    expect![[r#"{"resultType":"input_required","inputRequests":{"decision":{"method":"elicitation/create","params":{"mode":"form","message":"May shop.order run?\n\nInput: {\"sku\":\"x\"}\n\nYou are asked because:\n- shop.order needs approval: no rule matches, and then the answer is ask; the rule `allow shop.order \"*\"` would allow it\n\n\"Always\" adds the permission rules:\n- allow shop.order \"*\"","requestedSchema":{"type":"object","properties":{"decision":{"type":"string","oneOf":[{"const":"once","title":"Allow once"},{"const":"always_session","title":"Always for this session"},{"const":"always_project","title":"Always for this project"},{"const":"reject","title":"Reject"}]},"words":{"type":"string","title":"Words for the model","description":"If you reject the call: what the model should do instead. You can leave this empty.","maxLength":4000}},"required":["decision"]}}}},"requestState":null}"#]].assert_eq(&asked["result"].to_string());
    assert_eq!(shop.rows().await, Vec::<String>::new(), "nothing has happened yet");

    let answer = shop.answer(&state, decision("once")).await;
    expect![[r#"{"resultType":"complete","content":[{"type":"text","text":"ordered x"}],"isError":false,"_meta":{"haft/call":"own/main/0/1/1","haft/durationMs":"[ms]"}}"#]].assert_eq(&redacted(answer)["result"].to_string());
    expect!["1 succeeded"].assert_eq(&shop.rows().await.join("\n"));
    assert_eq!(shop.orders(), 1);
}

/// Compares the answer to a newer client that responds like this.
async fn check_newer(response: Value, expect: &Expect) {
    let mut shop = Shop::newer().await;
    let state = shop.state().await;
    let answer = shop.answer(&state, response).await;
    let rows = shop.rows().await.join("\n");
    expect.assert_eq(&format!("{}\n{rows}\n{} orders\n", told(&answer), shop.orders()));
}

#[tokio::test]
async fn a_newer_client_declines_or_does_not_answer() {
    check_newer(
        json!({"action": "decline"}),
        &expect![[r#"
        PERMISSION_DENIED
        Do not try it in another way. Ask the user how to go on.
        1 refused PERMISSION_DENIED
        0 orders
    "#]],
    )
    .await;
    check_newer(
        decision("reject"),
        &expect![[r#"
        PERMISSION_DENIED
        Do not try it in another way. Ask the user how to go on.
        1 refused PERMISSION_DENIED
        0 orders
    "#]],
    )
    .await;
    check_newer(
        json!({"action": "cancel"}),
        &expect![[r#"
        PERMISSION_DENIED
        Do not try it in another way. Ask the user how to go on.
        the client closed the question without an answer; that counts as a rejection
        1 refused PERMISSION_DENIED
        0 orders
    "#]],
    )
    .await;
    check_newer(decision("of course"), &expect![[r#"
        PERMISSION_DENIED
        Do not try it in another way. Ask the user how to go on.
        the client gave none of the offered answers (once, always_session, always_project, reject); that counts as a rejection
        1 refused PERMISSION_DENIED
        0 orders
    "#]]).await;
    check_newer(json!({"yes": true}), &expect![[r#"
        PERMISSION_DENIED
        Do not try it in another way. Ask the user how to go on.
        the client answered the question in a form that no answer has: missing field `action`; that counts as a rejection
        1 refused PERMISSION_DENIED
        0 orders
    "#]]).await;
}

#[tokio::test]
async fn a_newer_client_without_forms_is_told_which_rule_would_help() {
    let mut shop = Shop::newer().await;
    let answer = shop.client.request("tools/call", modern(an_order(), json!({}))).await;
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains(r#"allow shop.order "*""#), "{text}");
    assert_eq!(shop.orders(), 0);
}

/// Sends a call that must be refused as a request, and compares the words.
async fn check_refused(shop: &mut Shop, params: Value, expect: &Expect) {
    let before = shop.orders();
    let answer = shop.request(params).await;
    expect.assert_eq(&answer["error"].to_string());
    assert_eq!(shop.orders(), before, "nothing may execute");
}

#[tokio::test]
async fn a_state_is_good_once() {
    let mut shop = Shop::newer().await;
    let state = shop.state().await;
    shop.answer(&state, decision("once")).await;
    let again = answered(an_order(), &state, decision("once"));
    check_refused(&mut shop, again, &expect![[r#"{"code":-32602,"message":"no call waits for this requestState any more: it was answered before, or refused because more than 64 calls waited for answers; nothing was executed now"}"#]]).await;
    assert_eq!(shop.rows().await.len(), 1);
}

#[tokio::test]
async fn a_state_is_good_for_its_call_alone() {
    let mut shop = Shop::newer().await;
    let state = shop.state().await;
    let mut altered = state.as_str().unwrap().to_owned();
    let last = altered.pop().unwrap();
    altered.push(if last == 'A' { 'B' } else { 'A' });
    let mut elsewhere = an_order();
    elsewhere["_meta"]["haft/run"] = json!("other");
    let other_input = json!({"name": "shop__order", "arguments": {"sku": "y"}});
    let wrong = [
        answered(an_order(), &json!(altered), decision("once")),
        answered(an_order(), &json!(""), decision("once")),
        answered(elsewhere, &state, decision("once")),
        answered(other_input, &state, decision("once")),
    ];
    let mut refusals = Vec::new();
    for params in wrong {
        refusals.push(shop.request(params).await["error"].to_string());
    }
    assert_eq!(shop.orders(), 0);
    // Which of the reasons it was, is not told.
    refusals.dedup();
    expect![[r#"{"code":-32602,"message":"requestState was not given by this server for this call with these arguments: make the call without it"}"#]].assert_eq(&refusals.join("\n"));
    let answer = shop.answer(&state, decision("once")).await;
    assert_eq!(told(&answer), "ordered x", "the state itself is as good as before");
}

#[tokio::test]
async fn a_state_without_an_answer_asks_again() {
    let mut shop = Shop::newer().await;
    let asked = shop.request(an_order()).await;
    let state = asked["result"]["requestState"].clone();
    let mut params = an_order();
    params["requestState"] = state.clone();
    let again = shop.request(params).await;
    assert_eq!(again["result"], asked["result"]);
    shop.answer(&state, decision("once")).await;
    assert_eq!(shop.orders(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_state_expires() {
    let mut shop = Shop::newer().await;
    let state = shop.state().await;
    tokio::time::advance(Duration::from_millis(QUESTION_MS_MAX - 1)).await;
    let last = shop.state().await;
    tokio::time::advance(Duration::from_millis(1)).await;
    let late = answered(an_order(), &state, decision("once"));
    check_refused(&mut shop, late, &expect![[r#"{"code":-32602,"message":"requestState has expired, 600000 ms after it was given, and its call was refused: make the call again without it"}"#]]).await;
    shop.answer(&last, decision("once")).await;
    assert_eq!(shop.orders(), 1);
    expect![[r#"
        1 refused PERMISSION_DENIED
        2 succeeded"#]]
    .assert_eq(&shop.rows().await.join("\n"));
}

#[tokio::test(start_paused = true)]
async fn a_call_that_nobody_comes_back_to_is_refused_in_time() {
    let mut shop = Shop::newer().await;
    shop.state().await;
    tokio::time::advance(Duration::from_millis(QUESTION_MS_MAX)).await;
    let mut rows = shop.rows().await;
    while rows.is_empty() {
        yield_now().await;
        rows = shop.rows().await;
    }
    expect!["1 refused PERMISSION_DENIED"].assert_eq(&rows.join("\n"));
}

#[tokio::test]
async fn calls_that_wait_are_bounded_and_the_oldest_goes() {
    let mut shop = Shop::newer().await;
    let mut states = Vec::new();
    for _ in 0..=CALLS_SUSPENDED_MAX {
        states.push(shop.state().await);
    }
    let oldest = answered(an_order(), &states[0], decision("once"));
    check_refused(&mut shop, oldest, &expect![[r#"{"code":-32602,"message":"no call waits for this requestState any more: it was answered before, or refused because more than 64 calls waited for answers; nothing was executed now"}"#]]).await;
    for state in &states[1..] {
        shop.answer(state, decision("once")).await;
    }
    assert_eq!(usize::try_from(shop.orders()).unwrap(), CALLS_SUSPENDED_MAX);
    expect!["1 refused PERMISSION_DENIED"].assert_eq(&shop.rows().await[0]);
}

#[tokio::test]
async fn calls_that_wait_are_recorded_as_refused_at_the_end() {
    let mut shop = Shop::newer().await;
    shop.state().await;
    shop.state().await;
    let journal = shop.client.journal();
    shop.client.end().await.unwrap();
    expect![[r#"
        1 refused PROCESS_ABORTED
        2 refused PROCESS_ABORTED"#]]
    .assert_eq(&rows(journal).await.join("\n"));
}

#[tokio::test]
async fn a_shutdown_refuses_calls_that_wait() {
    let mut shop = Shop::newer().await;
    shop.state().await;
    let journal = shop.client.journal();
    shop.client.shut_down().await.unwrap();
    expect!["1 refused PROCESS_ABORTED"].assert_eq(&rows(journal).await.join("\n"));
}

#[tokio::test]
async fn calls_that_wait_keep_no_others_from_running() {
    let mut shop = Shop::newer().await;
    let mut states = Vec::new();
    for _ in 0..CALLS_SUSPENDED_MAX {
        states.push(shop.state().await);
    }
    assert_eq!(CALLS_SUSPENDED_MAX, usize::try_from(CALLS_IN_FLIGHT_MAX).unwrap());
    let answer = shop.answer(&states[3], decision("once")).await;
    assert_eq!(told(&answer), "ordered x");
}

#[tokio::test]
async fn progress_and_cancellation_are_those_of_the_request_that_answers() {
    let (began, mut begins) = mpsc::unbounded_channel();
    let talks = Tool::new("talks").execute_with(move |_: Nothing, cx: Cx| {
        let began = began.clone();
        async move {
            cx.report(CallProgress { done: 1.0, total: None, message: "going".to_owned() });
            let _ = began.send(());
            cx.cancellation().cancelled().await;
            Ok::<_, ToolError>("stopped")
        }
    });
    let mut client = Client::open([talks], Vec::new());
    client.request("server/discover", modern(json!({}), forms())).await;
    let call = |token: u32| {
        let meta = json!({"progressToken": token});
        modern(json!({"name": "talks", "arguments": {}, "_meta": meta}), forms())
    };
    let asked = client.request("tools/call", call(1)).await;
    let cancel = |id: u32| {
        let params = json!({"requestId": id});
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
    };
    // It was answered, so there is nothing left to cancel.
    client.send_text(&format!("{}\n", cancel(2))).await;
    let state = &asked["result"]["requestState"];
    client.send("tools/call", answered(call(2), state, decision("once"))).await;
    begins.recv().await.unwrap();
    let report = client.receive().await;
    assert_eq!(report["params"]["progressToken"], 2, "{report}");
    client.send_text(&format!("{}\n", cancel(3))).await;
    let journal = client.journal();
    client.end().await.unwrap();
    expect!["1 succeeded"].assert_eq(&rows(journal).await.join("\n"));
}
