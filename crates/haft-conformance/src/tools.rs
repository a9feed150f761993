//! The tools that the suite calls by name. The suite says what each tool must do.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use haft::{Catalog, Registry};
use haft_contract::{
    CallProgress, ClientRequest, ContentPart, Cx, ErrorCode, LogLevel, OutputBody, ResourceBody,
    Tool, ToolError, ToolOutput,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::requests::{entered, form, roots, sampled, sampling, whole_form};

/// A picture of one pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// A sound without a sample.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
/// The pause that the suite asks for between two steps.
const STEP_MS: u64 = 50;

/// The catalog that a tool changes; it is there once the runtime is.
pub(crate) type SharedCatalog = Arc<OnceLock<Catalog>>;

type FixtureResult = Result<ToolOutput, ToolError>;

/// Returns all tools.
pub(crate) fn all(changing: &SharedCatalog) -> Vec<Tool> {
    let fixed = |name: &str, parts: Vec<ContentPart>| {
        tool(name, move |_, _| {
            let output = ToolOutput::new(OutputBody::Content(parts.clone()));
            async move { Ok(output) }
        })
    };
    let sound = ContentPart::Audio { mime_type: "audio/wav".to_owned(), data: WAV.to_owned() };
    let embedded = "This is an embedded resource content.";
    let mixed = r#"{"test":"data","value":123}"#;
    let required = |names: &[&str]| json!({ "required": names });
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": { "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
        } },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [required(&["phone"]), required(&["email"])] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": required(&["phone"]),
        "else": required(&["email"]),
        "additionalProperties": false,
    });
    let changed = Arc::clone(changing);
    let mut tools = vec![
        fixed("test_simple_text", vec![text("This is a simple text response for testing.")]),
        fixed("test_image_content", vec![image()]),
        fixed("test_audio_content", vec![sound]),
        fixed(
            "test_embedded_resource",
            vec![resource("test://embedded-resource", "text/plain", embedded)],
        ),
        fixed(
            "test_multiple_content_types",
            vec![
                text("Multiple content types test:"),
                image(),
                resource("test://mixed-content-resource", "application/json", mixed),
            ],
        ),
        tool("test_tool_with_logging", logging),
        tool("test_logging_tool", logging),
        tool("test_error_handling", |_, _| async {
            let message = "This tool intentionally returns an error for testing";
            Err::<ToolOutput, _>(ToolError::new(ErrorCode::ToolFailed, message))
        }),
        tool("test_tool_with_progress", |_, cx| async move {
            for done in [0.0, 50.0, 100.0] {
                let message = format!("{done} of 100");
                cx.report(CallProgress { done, total: Some(100.0), message });
                sleep(Duration::from_millis(STEP_MS)).await;
            }
            Ok(ToolOutput::text("reported three times"))
        }),
        Tool::new("json_schema_2020_12_tool")
            .description("Has a schema with much of JSON Schema 2020-12 in it")
            .execute_json(schema, |input, _| async move {
                Ok::<_, ToolError>(ToolOutput::text(input.to_string()))
            }),
        // Offers one tool more, or takes it back.
        tool("test_trigger_tool_change", move |_, _| {
            let changed = Arc::clone(&changed);
            async move {
                let Some(catalog) = changed.get() else {
                    let message = "the server has not begun yet";
                    return Err(ToolError::new(ErrorCode::Unavailable, message));
                };
                let more = catalog.registry().contract(TOGGLED_TOOL).is_none();
                let mut registry = Registry::new(all(&changed))?;
                if more {
                    registry.add(tool(TOGGLED_TOOL, |_, _| async {
                        Ok(ToolOutput::text("still here"))
                    }))?;
                }
                catalog.replace(registry)?;
                Ok(ToolOutput::text("the list has changed"))
            }
        }),
    ];
    tools.extend(asking_tools());
    tools.extend(multi_round_tools());
    tools
}

async fn logging(_: Value, cx: Cx) -> FixtureResult {
    for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        cx.log(LogLevel::Info, line);
        sleep(Duration::from_millis(STEP_MS)).await;
    }
    Ok(ToolOutput::text("said three things"))
}

/// Tools that ask their client once.
fn asking_tools() -> Vec<Tool> {
    let text_field = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    vec![
        Tool::new("test_sampling").description("Asks the client's model").execute_json(
            text_field("prompt"),
            |input, cx| async move {
                let prompt = input.get("prompt").and_then(Value::as_str).unwrap_or_default();
                let answer = ask_one(&cx, sampling("sample", prompt, 100)).await?;
                Ok::<_, ToolError>(ToolOutput::text(format!("LLM response: {}", sampled(&answer))))
            },
        ),
        Tool::new("test_elicitation").description("Shows a form").execute_json(
            text_field("message"),
            |input, cx| async move {
                let message = input.get("message").and_then(Value::as_str).unwrap_or_default();
                let field = |what: &str| json!({ "type": "string", "description": what });
                let fields = json!({ "username": field("User's response"), "email": field("User's email address") });
                let request = whole_form("user", message, fields, json!(["username", "email"]));
                let answer = ask_one(&cx, request).await?;
                Ok::<_, ToolError>(ToolOutput::text(format!("User response: {answer}")))
            },
        ),
        tool("test_elicitation_sep1034_defaults", |_, cx| async move {
            let fields = json!({
                "name": { "type": "string", "default": "John Doe" },
                "age": { "type": "integer", "default": 30 },
                "score": { "type": "number", "default": 95.5 },
                "status": {
                    "type": "string",
                    "enum": ["active", "inactive", "pending"],
                    "default": "active",
                },
                "verified": { "type": "boolean", "default": true },
            });
            run_elicitation(&cx, "Please review your data", fields).await
        }),
        tool("test_elicitation_sep1330_enums", |_, cx| async move {
            let options = json!(["option1", "option2", "option3"]);
            let titled = |what: &str| {
                json!([
                    { "const": "value1", "title": format!("First {what}") },
                    { "const": "value2", "title": format!("Second {what}") },
                    { "const": "value3", "title": format!("Third {what}") },
                ])
            };
            let fields = json!({
                "untitledSingle": { "type": "string", "enum": options },
                "titledSingle": { "type": "string", "oneOf": titled("Option") },
                "legacyEnum": {
                    "type": "string",
                    "enum": ["opt1", "opt2", "opt3"],
                    "enumNames": ["Option One", "Option Two", "Option Three"],
                },
                "untitledMulti": { "type": "array", "items": { "type": "string", "enum": options } },
                "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
            });
            run_elicitation(&cx, "Please choose", fields).await
        }),
        tool("test_missing_capability", |_, cx| async move {
            let answer = ask_one(&cx, sampling("sample", "Are you there?", 10)).await?;
            Ok(ToolOutput::text(sampled(&answer)))
        }),
        tool("test_streaming_elicitation", |_, cx| async move {
            cx.report(CallProgress { done: 0.0, total: None, message: "about to ask".to_owned() });
            let request = form("go_on", "Go on?", "ok", json!({ "type": "boolean" }));
            let answer = ask_one(&cx, request).await?;
            Ok(ToolOutput::text(format!("Answered: {answer}")))
        }),
    ]
}

async fn run_elicitation(cx: &Cx, message: &str, fields: Value) -> FixtureResult {
    let answer = ask_one(cx, whole_form("data", message, fields, json!([]))).await?;
    let action = answer.get("action").cloned().unwrap_or_default();
    let given = answer.get("content").cloned().unwrap_or_default();
    Ok(ToolOutput::text(format!("Elicitation completed: action={action}, content={given}")))
}

/// Tools that the newer era lets ask in rounds.
fn multi_round_tools() -> Vec<Tool> {
    vec![
        tool("test_input_required_result_elicitation", |_, cx| async move {
            let answer = ask_one(&cx, name_form("user_name", "What is your name?")).await?;
            Ok(ToolOutput::text(format!("Hello, {}!", entered(&answer, "name"))))
        }),
        tool("test_input_required_result_sampling", |_, cx| async move {
            let question = sampling("capital_question", "What is the capital of France?", 100);
            Ok(ToolOutput::text(sampled(&ask_one(&cx, question).await?)))
        }),
        tool("test_input_required_result_list_roots", |_, cx| async move {
            let answer = ask_one(&cx, roots("client_roots")).await?;
            Ok(ToolOutput::text(format!("The client works in {answer}")))
        }),
        tool("test_input_required_result_request_state", |_, cx| run_confirmation(cx)),
        tool("test_input_required_result_tampered_state", |_, cx| run_confirmation(cx)),
        tool("test_input_required_result_multiple_inputs", |_, cx| async move {
            let requests = vec![
                name_form("user_name", "What is your name?"),
                sampling("greeting", "Generate a greeting", 50),
                roots("client_roots"),
            ];
            let answers = cx.client().request(requests).await?;
            Ok(ToolOutput::text(format!("heard {} answers", answers.len())))
        }),
        tool("test_input_required_result_multi_round", |_, cx| async move {
            let first = ask_one(&cx, name_form("step1", "Step 1: What is your name?")).await?;
            let question = "Step 2: What is your favorite color?";
            let color = form("step2", question, "color", json!({ "type": "string" }));
            let second = ask_one(&cx, color).await?;
            let (name, color) = (entered(&first, "name"), entered(&second, "color"));
            Ok(ToolOutput::text(format!("{name} likes {color}")))
        }),
        tool("test_input_required_result_capabilities", |_, cx| async move {
            let wanted = [
                name_form("user_name", "What is your name?"),
                sampling("greeting", "Generate a greeting", 50),
            ];
            let takes = |one: &ClientRequest| cx.client().supports(one.method);
            let requests: Vec<_> = wanted.into_iter().filter(takes).collect();
            let answers = cx.client().request(requests).await?;
            Ok(ToolOutput::text(format!("heard {} answers", answers.len())))
        }),
    ]
}

async fn run_confirmation(cx: Cx) -> FixtureResult {
    let request = form("confirm", "Please confirm", "ok", json!({ "type": "boolean" }));
    ask_one(&cx, request).await?;
    Ok(ToolOutput::text("state-ok"))
}

fn name_form(name: &str, message: &str) -> ClientRequest {
    form(name, message, "name", json!({ "type": "string" }))
}

async fn ask_one(cx: &Cx, request: ClientRequest) -> Result<Value, ToolError> {
    let method = request.method;
    let mut answers = cx.client().request(vec![request]).await?;
    answers.pop().ok_or_else(|| {
        let message = format!("the client has no answer to {method:?}");
        ToolError::new(ErrorCode::ToolFailed, message)
    })
}

/// The tool that comes and goes.
const TOGGLED_TOOL: &str = "test_passing";

fn tool<Fut>(name: &str, run: impl Fn(Value, Cx) -> Fut + Send + Sync + 'static) -> Tool
where
    Fut: Future<Output = FixtureResult> + Send + 'static,
{
    let schema = json!({ "type": "object", "properties": {} });
    Tool::new(name).description(format!("The fixture {name}")).execute_json(schema, run)
}

fn text(text: &str) -> ContentPart {
    ContentPart::Text { text: text.to_owned() }
}

fn image() -> ContentPart {
    ContentPart::Image { mime_type: "image/png".to_owned(), data: PNG.to_owned() }
}

fn resource(uri: &str, mime_type: &str, text: &str) -> ContentPart {
    ContentPart::Resource {
        uri: uri.to_owned(),
        mime_type: Some(mime_type.to_owned()),
        body: ResourceBody::Text(text.to_owned()),
    }
}
