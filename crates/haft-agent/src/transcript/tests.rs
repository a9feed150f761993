use expect_test::{Expect, expect};
use haft_journal::{MessageFinish, MessageId, PartId, PartState, SessionId, TokenCounts};
use proptest::prelude::*;

use super::*;

/// Returns a message of this number with these parts.
pub(crate) fn entry(
    number: u128,
    role: MessageRole,
    kind: MessageKind,
    parts: Vec<MessagePart>,
) -> TranscriptEntry {
    let message = SessionMessage {
        id: MessageId::from_bits(number),
        session_id: SessionId::from_bits(1),
        role,
        kind,
        agent: None,
        model: None,
        finish: (role == MessageRole::Assistant).then_some(MessageFinish::Stop),
        error: None,
        covers_through: None,
        tokens: TokenCounts::default(),
        created_at_ms: 0,
        completed_at_ms: Some(0),
        rewound_at_ms: None,
    };
    TranscriptEntry { message, parts }
}

pub(crate) fn part(kind: PartKind, text: &str) -> MessagePart {
    MessagePart {
        id: PartId::from_bits(1),
        message_id: MessageId::from_bits(1),
        session_id: SessionId::from_bits(1),
        kind,
        text: Some(text.to_owned()),
        tool_call_id: None,
        tool: None,
        state: None,
        input_json: None,
        output_json: None,
        call_id: None,
        signatures_json: None,
        lies_apart: false,
        created_at_ms: 0,
        updated_at_ms: 0,
    }
}

/// Returns a call of `read`.
pub(crate) fn call(id: &str, input_json: Option<&str>, output_json: Option<&str>) -> MessagePart {
    MessagePart {
        text: None,
        tool_call_id: Some(id.to_owned()),
        tool: Some("read".to_owned()),
        state: Some(match (input_json, output_json) {
            (None, None) => PartState::InputStreaming,
            (Some(_), None) => PartState::InputAvailable,
            (_, Some(output)) if output.contains("error_text") => PartState::OutputError,
            (_, Some(_)) => PartState::OutputAvailable,
        }),
        input_json: input_json.map(str::to_owned),
        output_json: output_json.map(str::to_owned),
        ..part(PartKind::Tool, "")
    }
}

pub(crate) fn said(number: u128, text: &str) -> TranscriptEntry {
    entry(number, MessageRole::User, MessageKind::Said, vec![part(PartKind::Text, text)])
}

pub(crate) fn answered(number: u128, parts: Vec<MessagePart>) -> TranscriptEntry {
    entry(number, MessageRole::Assistant, MessageKind::Said, parts)
}

fn with_images(images: Vec<ModelImage>) -> String {
    let images: Vec<String> = images.into_iter().map(|image| image.data).collect();
    if images.is_empty() { String::new() } else { format!(" with {images:?}") }
}

fn check(entries: &[TranscriptEntry], expect: Expect) {
    let mut shown = String::new();
    for message in model_messages(&visible_entries(entries), "m") {
        shown.push_str(&match message {
            ModelMessage::User(UserMessage { text, images }) => {
                format!("user: {text:?}{}\n", with_images(images))
            }
            ModelMessage::Assistant { text, tool_calls } => {
                let calls: Vec<String> = tool_calls
                    .iter()
                    .map(|call| format!("{} {} {:?}", call.id, call.name, call.arguments))
                    .collect();
                format!("assistant: {text:?} {calls:?}\n")
            }
            ModelMessage::ToolResult { call_id, name, text, images } => {
                format!("result of {call_id} {name}: {text:?}{}\n", with_images(images))
            }
        });
    }
    expect.assert_eq(&shown);
}

#[test]
fn images_of_a_prompt_go_with_it() {
    let mut prompt = said(1, "what is this?");
    let image = ModelImage { mime_type: "image/png".to_owned(), data: "QUJD".to_owned() };
    let part = MessagePart { id: PartId::from_bits(2), ..prompt.parts[0].clone() };
    prompt.parts.push(image_part(part, &image));
    check(
        &[prompt.clone()],
        expect![[r#"
            user: "what is this?\n[image, image/png, 3 bytes]" with ["QUJD"]
        "#]],
    );
    let mut messages = model_messages(&[&prompt], "m");
    limit_images(&mut messages, false);
    let text = "what is this?\n[image, image/png, 3 bytes]";
    assert_eq!(messages, [ModelMessage::User(text.into())], "the model sees no images");
    assert!(estimate_tokens(&[&prompt]) > crate::limits::IMAGE_TOKENS);
}

#[test]
fn images_of_results_go_to_models_that_see_them() {
    let viewed = r#"{"type":"output","data":{"content":[{"type":"text","text":"a.png"},{"type":"image","mime_type":"image/png","data":"QUJD"}]},"metadata":{"duration_ms":1,"content":true}}"#;
    let entries = [said(1, "look"), answered(2, vec![call("c1", Some("{}"), Some(viewed))])];
    check(
        &entries,
        expect![[r#"
            user: "look"
            assistant: "" ["c1 read Object(Object {})"]
            result of c1 read: "a.png\n[image, image/png, 3 bytes]" with ["QUJD"]
        "#]],
    );
    let images_of = |messages: &[ModelMessage]| -> Vec<usize> {
        let counts = messages.iter().filter_map(|message| match message {
            ModelMessage::ToolResult { images, .. } => Some(images.len()),
            ModelMessage::User(_) | ModelMessage::Assistant { .. } => None,
        });
        counts.collect()
    };
    let mut entries = vec![said(1, "look")];
    let calls = |count: usize| {
        (0..count).map(|id| call(&format!("c{id}"), Some("{}"), Some(viewed))).collect()
    };
    entries.push(answered(2, calls(crate::limits::IMAGES_SENT_MAX + 1)));
    let mut messages = model_messages(&visible_entries(&entries), "m");
    limit_images(&mut messages, true);
    let counts = images_of(&messages);
    assert_eq!((counts[0], counts.iter().sum()), (0, crate::limits::IMAGES_SENT_MAX));
    limit_images(&mut messages, false);
    assert_eq!(images_of(&messages).iter().sum::<usize>(), 0);
}

#[test]
fn rows_become_messages_that_take_turns() {
    let output = r#"{"type":"output","data":"text of a","metadata":{"duration_ms":1}}"#;
    let error = r#"{"type":"error","error_text":"there is no b","metadata":{"duration_ms":1,"retry_warning":"look first"}}"#;
    let empty = r#"{"type":"output","data":"","metadata":{"duration_ms":1}}"#;
    let entries = [
        said(1, "look"),
        entry(
            2,
            MessageRole::User,
            MessageKind::Notice,
            vec![part(PartKind::Text, "a task is done")],
        ),
        answered(
            3,
            vec![
                part(PartKind::Reasoning, "hm"),
                part(PartKind::Text, "I look."),
                call("c1", Some(r#"{"path":"a"}"#), Some(output)),
                call("c2", Some(r#"{"path":"b"}"#), Some(error)),
                call("c3", Some("\"{half\""), Some(empty)),
                call("c4", Some("{}"), None),
                call("c5", None, Some(error)),
                call("c6", Some("{}"), Some("what is this")),
            ],
        ),
        answered(4, Vec::new()),
        said(5, "and now?"),
    ];
    check(
        &entries,
        expect![[r#"
            user: "look\n\n<notice>\na task is done\n</notice>"
            assistant: "I look." ["c1 read Object(Object {\"path\": String(\"a\")})", "c2 read Object(Object {\"path\": String(\"b\")})", "c3 read Malformed { text: \"{half\", problem: \"expected a JSON object: key must be a string at line 1 column 2\" }", "c4 read Object(Object {})", "c6 read Object(Object {})"]
            result of c1 read: "text of a"
            result of c2 read: "[haft: look first]\n\nthere is no b"
            result of c3 read: "(no output)"
            result of c4 read: "[haft: this call has no answer yet]"
            result of c6 read: "[haft: the answer of this call is recorded and cannot be read]"
            user: "and now?"
        "#]],
    );
}

#[test]
fn a_summary_stands_for_what_it_covers() {
    let mut summary =
        entry(5, MessageRole::User, MessageKind::Summary, vec![part(PartKind::Text, "so far")]);
    summary.message.covers_through = Some(MessageId::from_bits(2));
    let text = |text| vec![part(PartKind::Text, text)];
    let mut entries = vec![
        said(1, "one"),
        answered(2, text("first")),
        said(3, "two"),
        answered(4, text("second")),
        summary,
        answered(6, text("third")),
    ];
    let after_first = expect![[r#"
        user: "so far\n\ntwo"
        assistant: "second" []
        assistant: "third" []
    "#]];
    check(&entries, after_first);
    let mut later =
        entry(7, MessageRole::User, MessageKind::Summary, vec![part(PartKind::Text, "all")]);
    later.message.covers_through = Some(MessageId::from_bits(6));
    entries.push(later);
    check(
        &entries,
        expect![[r#"
        user: "all"
    "#]],
    );
    // Rewound messages are not among the rows, so the earlier summary applies again.
    entries.truncate(4);
    assert_eq!(visible_entries(&entries).len(), 4);
}

#[test]
fn names_that_no_provider_takes_back_are_made_plain() {
    let check = |name: &str, expect: &str| {
        let part = MessagePart { tool: Some(name.to_owned()), ..call("c1", Some("{}"), None) };
        assert_eq!(tool_call(&part).unwrap().name, expect, "for {name:?}");
    };
    check("read", "read");
    check("web__search-2", "web__search-2");
    check("read file (é)", "read_file____");
    check("", "_");
    check(&"x".repeat(NAME_CHARS_MAX + 1), &"x".repeat(NAME_CHARS_MAX));
}

#[test]
fn arguments_survive_being_kept() {
    for text in ["{\"a\":1}", "", "[1]", "{\"a\":", "null", "\"{}\""] {
        let arguments = ToolCallArguments::parse(text);
        assert_eq!(super::parse_arguments(&input_json(&arguments)), arguments, "for {text:?}");
    }
}

/// Returns arbitrary rows: any kind of message, with any parts.
fn any_entries() -> impl Strategy<Value = Vec<TranscriptEntry>> {
    let any_part = (0..7_usize, "[a-c]{0,2}").prop_map(|(what, id)| {
        let output = r#"{"type":"output","data":"x","metadata":{"duration_ms":1}}"#;
        match what {
            0 => part(PartKind::Text, &id),
            1 => part(PartKind::Reasoning, &id),
            2 => call(&id, None, None),
            3 => call(&id, Some("{}"), None),
            4 => call(&id, Some("no JSON"), Some(output)),
            5 => call(&id, Some("{}"), Some("no envelope")),
            _ => MessagePart { tool: None, ..call(&id, Some("{}"), Some(output)) },
        }
    });
    let any_entry = (0..4_usize, prop::collection::vec(any_part, 0..4), 0..8_u128);
    prop::collection::vec(any_entry, 0..8).prop_map(|entries| {
        let of_place =
            |(place, (what, parts, covered)): (usize, (usize, Vec<MessagePart>, u128))| {
                let (role, kind) = match what {
                    0 => (MessageRole::User, MessageKind::Said),
                    1 => (MessageRole::User, MessageKind::Notice),
                    2 => (MessageRole::User, MessageKind::Summary),
                    _ => (MessageRole::Assistant, MessageKind::Said),
                };
                let mut entry = entry(u128::try_from(place).unwrap(), role, kind, parts);
                entry.message.covers_through = Some(MessageId::from_bits(covered));
                entry
            };
        entries.into_iter().enumerate().map(of_place).collect()
    })
}

proptest! {
    #[test]
    fn each_call_has_its_result_behind_it_and_sides_take_turns(entries in any_entries()) {
        let messages = model_messages(&visible_entries(&entries), "m");
        let mut wanted: Vec<String> = Vec::new();
        let mut was_user = false;
        for message in messages {
            match message {
                ModelMessage::User(_) => {
                    prop_assert!(wanted.is_empty() && !was_user);
                    was_user = true;
                }
                ModelMessage::Assistant { text, tool_calls } => {
                    prop_assert!(wanted.is_empty());
                    prop_assert!(!text.is_empty() || !tool_calls.is_empty());
                    wanted = tool_calls.into_iter().rev().map(|call| call.id).collect();
                    was_user = false;
                }
                ModelMessage::ToolResult { call_id, .. } => prop_assert_eq!(wanted.pop(), Some(call_id)),
            }
        }
        prop_assert!(wanted.is_empty());
    }
}
