//! Envelopes as results.

use expect_test::{Expect, expect};
use haft_contract::{ConfinementLevel, EnforcedConfinement, ErrorCode, Tool, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Deserialize, JsonSchema)]
struct Nothing {}

#[derive(Serialize, JsonSchema)]
struct Paths {
    paths: Vec<String>,
}

fn check(envelope: &Envelope, promises: bool, expect: &Expect) {
    let builder = Tool::new("t");
    let builder = if promises { builder.output::<Paths>() } else { builder };
    let tool = builder.execute(|_: Nothing| async { Ok::<_, ToolError>("") });
    let link = envelope.metadata().output_path.as_ref();
    let link = link.map(|path| Resource::new(format!("haft://output{path}"), "output"));
    let result =
        call_result(envelope, Some(tool.valid_contract().unwrap()), link, crate::plain_advice);
    expect.assert_eq(&serde_json::to_string_pretty(&result).unwrap());
}

fn quick() -> EnvelopeMetadata {
    EnvelopeMetadata { duration_ms: 3, ..EnvelopeMetadata::default() }
}

#[test]
fn text_tools_answer_with_text_alone() {
    let envelope = Envelope::Output { data: json!({"paths": ["a", "b"]}), metadata: quick() };
    check(
        &envelope,
        false,
        &expect![[r#"
        {
          "resultType": "complete",
          "content": [
            {
              "type": "text",
              "text": "a\nb"
            }
          ],
          "isError": false,
          "_meta": {
            "haft/durationMs": 3
          }
        }"#]],
    );
}

#[test]
fn a_promised_schema_is_kept_in_both_forms() {
    let envelope = Envelope::Output { data: json!({"paths": ["a", "b"]}), metadata: quick() };
    check(
        &envelope,
        true,
        &expect![[r#"
        {
          "resultType": "complete",
          "content": [
            {
              "type": "text",
              "text": "{\"paths\":[\"a\",\"b\"]}"
            }
          ],
          "structuredContent": {
            "paths": [
              "a",
              "b"
            ]
          },
          "isError": false,
          "_meta": {
            "haft/durationMs": 3
          }
        }"#]],
    );
}

#[test]
fn a_cut_output_has_a_link_and_breaks_no_promise() {
    let metadata =
        EnvelopeMetadata { truncated: true, output_path: Some("/1-t.txt".to_owned()), ..quick() };
    let envelope = Envelope::Output { data: json!({"head": "a\n"}), metadata };
    check(
        &envelope,
        false,
        &expect![[r#"
        {
          "resultType": "complete",
          "content": [
            {
              "type": "text",
              "text": "a\n[output cut here; all of it: /1-t.txt (use read)]"
            },
            {
              "type": "resource_link",
              "uri": "haft://output/1-t.txt",
              "name": "output"
            }
          ],
          "isError": false,
          "_meta": {
            "haft/durationMs": 3,
            "haft/truncated": true
          }
        }"#]],
    );
    check(
        &envelope,
        true,
        &expect![[r#"
        {
          "resultType": "complete",
          "content": [
            {
              "type": "text",
              "text": "the call succeeded, but its answer is too long to be given in the form that the tool's output schema promises\na\n[output cut here; all of it: /1-t.txt (use read)]"
            },
            {
              "type": "resource_link",
              "uri": "haft://output/1-t.txt",
              "name": "output"
            }
          ],
          "isError": true,
          "_meta": {
            "haft/durationMs": 3,
            "haft/truncated": true
          }
        }"#]],
    );
}

#[test]
fn everything_known_of_a_call_is_in_its_meta() {
    let enforced = EnforcedConfinement {
        filesystem: ConfinementLevel::None,
        network: ConfinementLevel::Kernel,
        processes: ConfinementLevel::Cooperative,
        system_calls: ConfinementLevel::None,
        resources: ConfinementLevel::None,
    };
    let metadata = EnvelopeMetadata {
        truncated: true,
        output_lost: Some("no space".to_owned()),
        call_id: Some("r/main/0/1/1".to_owned()),
        replayed: true,
        code: Some(ErrorCode::CommandFailed),
        exit_code: Some(2),
        enforced: Some(enforced),
        retry_warning: Some("it may have happened".to_owned()),
        ..quick()
    };
    check(
        &Envelope::Error { error_text: "failed".to_owned(), metadata },
        true,
        &expect![[r#"
            {
              "resultType": "complete",
              "content": [
                {
                  "type": "text",
                  "text": "[haft: it may have happened]"
                },
                {
                  "type": "text",
                  "text": "failed"
                }
              ],
              "isError": true,
              "_meta": {
                "haft/call": "r/main/0/1/1",
                "haft/code": "TOOL_COMMAND_FAILED",
                "haft/durationMs": 3,
                "haft/enforced": {
                  "filesystem": "none",
                  "network": "kernel",
                  "processes": "cooperative",
                  "system_calls": "none",
                  "resources": "none"
                },
                "haft/exitCode": 2,
                "haft/outputLost": "no space",
                "haft/replayed": true,
                "haft/retryWarning": "it may have happened",
                "haft/truncated": true
              }
            }"#]],
    );
}

#[test]
fn what_is_in_doubt_a_model_leaves_to_the_user() {
    let mut in_doubt = Envelope::in_doubt("r/main/0/1/1".to_owned(), "in doubt".to_owned());
    let (Envelope::Error { metadata, .. } | Envelope::Output { metadata, .. }) = &mut in_doubt;
    metadata.duration_ms = 3;
    let held_back = Envelope::Error {
        error_text: "in doubt".to_owned(),
        metadata: EnvelopeMetadata {
            call_id: Some("r/main/0/1/1".to_owned()),
            code: Some(ErrorCode::InDoubt),
            held_back: true,
            ..quick()
        },
    };
    check(
        &in_doubt,
        false,
        &expect![[r#"
            {
              "resultType": "complete",
              "content": [
                {
                  "type": "text",
                  "text": "in doubt"
                },
                {
                  "type": "text",
                  "text": "Do not make it again. Tell the user: find out whether it happened, then settle call r/main/0/1/1."
                }
              ],
              "isError": true,
              "_meta": {
                "haft/call": "r/main/0/1/1",
                "haft/code": "IN_DOUBT",
                "haft/durationMs": 3,
                "haft/refusal": {
                  "code": "IN_DOUBT",
                  "decided_by": "journal",
                  "because": "in doubt",
                  "remedies": [
                    {
                      "settle": "r/main/0/1/1"
                    }
                  ]
                }
              }
            }"#]],
    );
    // One that is held back is made again by the model itself.
    check(
        &held_back,
        false,
        &expect![[r#"
        {
          "resultType": "complete",
          "content": [
            {
              "type": "text",
              "text": "in doubt"
            }
          ],
          "isError": true,
          "_meta": {
            "haft/call": "r/main/0/1/1",
            "haft/code": "IN_DOUBT",
            "haft/durationMs": 3,
            "haft/heldBack": true
          }
        }"#]],
    );
}

#[test]
fn what_happened_before_comes_first() {
    let warning = Some("an earlier attempt may have happened".to_owned());
    let metadata = EnvelopeMetadata { retry_warning: warning, ..quick() };
    check(
        &Envelope::Output { data: json!("sent"), metadata },
        false,
        &expect![[r#"
        {
          "resultType": "complete",
          "content": [
            {
              "type": "text",
              "text": "[haft: an earlier attempt may have happened]"
            },
            {
              "type": "text",
              "text": "sent"
            }
          ],
          "isError": false,
          "_meta": {
            "haft/durationMs": 3,
            "haft/retryWarning": "an earlier attempt may have happened"
          }
        }"#]],
    );
}
