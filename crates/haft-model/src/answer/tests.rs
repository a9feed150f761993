use super::*;

fn collect(events: Vec<ModelEvent>) -> Result<ModelAnswer, ModelError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(ModelAnswerStream::from_events(events.into_iter().map(Ok)).collect())
}

fn call(arguments: ToolCallArguments) -> ToolCall {
    ToolCall { id: "1".into(), name: "read".into(), arguments, signatures: Vec::new() }
}

#[test]
fn pieces_make_a_whole() {
    let usage = ModelUsage { input: 3, output: 2, ..ModelUsage::default() };
    let read = call(ToolCallArguments::parse("{\"path\":\"a\"}"));
    let answer = collect(vec![
        ModelEvent::Reasoning("hm".into()),
        ModelEvent::Text("a".into()),
        ModelEvent::ToolCall(read.clone()),
        ModelEvent::Text("b".into()),
        ModelEvent::End(ModelAnswerEnd { stop: ModelStopReason::ToolCalls, usage }),
    ]);
    let expected = ModelAnswer {
        text: "ab".into(),
        tool_calls: vec![read],
        stop: ModelStopReason::ToolCalls,
        usage,
    };
    assert_eq!(answer, Ok(expected));
}

#[test]
fn an_answer_without_its_end_is_cut_off() {
    assert_eq!(collect(vec![ModelEvent::Text("half".into())]), Err(ModelError::CutOff));
    assert_eq!(collect(vec![]), Err(ModelError::CutOff));
}

#[test]
fn nothing_follows_the_end() {
    let late = vec![ModelEvent::End(ModelAnswerEnd::default()), ModelEvent::Text("late".into())];
    assert_eq!(collect(late), Ok(ModelAnswer::default()));
}

#[test]
fn an_answer_is_at_most_so_long() {
    let end = || ModelEvent::End(ModelAnswerEnd::default());
    let most = collect(vec![ModelEvent::Text("x".repeat(ANSWER_BYTES_MAX)), end()]);
    assert_eq!(most.map(|answer| answer.text.len()), Ok(ANSWER_BYTES_MAX));
    let beyond = vec![
        ModelEvent::Text("x".repeat(ANSWER_BYTES_MAX)),
        ModelEvent::Reasoning("y".into()),
        end(),
    ];
    assert_eq!(collect(beyond), Err(ModelError::TooLong));
    let calls = |count| vec![ModelEvent::ToolCall(call(ToolCallArguments::parse(""))); count];
    let with_end = |count| calls(count).into_iter().chain([end()]).collect();
    assert_eq!(collect(with_end(TOOL_CALLS_MAX)).map(|answer| answer.tool_calls.len()), Ok(128));
    assert_eq!(collect(with_end(TOOL_CALLS_MAX + 1)), Err(ModelError::TooLong));
}

#[test]
fn pieces_of_calls_are_bounded_and_not_counted_twice() {
    let piece = |bytes: usize| {
        let (id, name) = ("1".to_owned(), "read".to_owned());
        ModelEvent::ToolInput { id, name, text: "x".repeat(bytes) }
    };
    let end = || ModelEvent::End(ModelAnswerEnd::default());
    let whole = ModelEvent::ToolCall(call(ToolCallArguments::Malformed {
        text: "x".repeat(ANSWER_BYTES_MAX - "read".len()),
        problem: String::new(),
    }));
    assert!(collect(vec![piece(ANSWER_BYTES_MAX), whole, end()]).is_ok());
    assert_eq!(collect(vec![piece(ANSWER_BYTES_MAX), piece(1), end()]), Err(ModelError::TooLong));
}

#[test]
fn arguments_that_are_no_object_are_told_apart() {
    assert_eq!(ToolCallArguments::parse("  "), ToolCallArguments::Object(serde_json::json!({})));
    assert!(matches!(ToolCallArguments::parse("[1]"), ToolCallArguments::Malformed { .. }));
    let ToolCallArguments::Malformed { text, problem } = ToolCallArguments::parse("{\"path\": ")
    else {
        panic!("half an object is malformed");
    };
    assert_eq!(text, "{\"path\": ");
    assert_eq!(problem, "expected a JSON object: EOF while parsing a value at line 1 column 9");
}
