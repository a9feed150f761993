//! The resources, prompts and completions that the suite looks for.

use haft_contract::{ContentPart, ResourceBody};
use haft_mcp::{
    McpCompletion, McpPrompt, McpPromptArgument, McpPromptResult, McpResource, McpResourceContents,
    McpResourceProvider,
};
use serde_json::{Map, Value, json};
use tokio::sync::broadcast;

use crate::requests::{entered, form};
use crate::tools::PNG;

/// How many changes are kept for those who read slowly.
const CHANGES_KEPT: usize = 16;

/// The offerings.
pub(crate) struct FixtureResources {
    changes: broadcast::Sender<String>,
}

impl FixtureResources {
    pub(crate) fn new() -> Self {
        Self { changes: broadcast::channel(CHANGES_KEPT).0 }
    }
}

impl McpResourceProvider for FixtureResources {
    fn resources(&self) -> Vec<McpResource> {
        let resource = |uri: &str, mime_type: &str| fixture_resource(uri, mime_type);
        vec![
            resource("test://static-text", "text/plain"),
            resource("test://static-binary", "image/png"),
            resource("test://watched-resource", "text/plain"),
        ]
    }

    fn templates(&self) -> Vec<McpResource> {
        vec![fixture_resource("test://template/{id}/data", "application/json")]
    }

    fn read(&self, uri: &str) -> Option<McpResourceContents> {
        let text = |text: &str| {
            let mime_type = "text/plain".to_owned();
            Some(McpResourceContents { mime_type, body: ResourceBody::Text(text.to_owned()) })
        };
        match uri {
            "test://static-text" => text("This is the content of the static text resource."),
            "test://watched-resource" => text("Nothing has changed yet."),
            "test://static-binary" => {
                let body = ResourceBody::Blob(PNG.to_owned());
                Some(McpResourceContents { mime_type: "image/png".to_owned(), body })
            }
            _ => {
                let id = uri.strip_prefix("test://template/")?.strip_suffix("/data")?;
                let data = format!("Data for ID: {id}");
                let data = json!({ "id": id, "templateTest": true, "data": data });
                let body = ResourceBody::Text(data.to_string());
                Some(McpResourceContents { mime_type: "application/json".to_owned(), body })
            }
        }
    }

    fn changes(&self) -> broadcast::Receiver<String> {
        self.changes.subscribe()
    }

    fn prompts(&self) -> Vec<McpPrompt> {
        vec![
            prompt("test_simple_prompt", &[]),
            prompt("test_prompt_with_arguments", &["arg1", "arg2"]),
            prompt("test_prompt_with_embedded_resource", &["resourceUri"]),
            prompt("test_prompt_with_image", &[]),
            prompt("test_input_required_result_prompt", &[]),
        ]
    }

    fn prompt(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
        answers: &Map<String, Value>,
    ) -> Option<McpPromptResult> {
        let argument = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default();
        let text = |text: String| ContentPart::Text { text };
        let parts = match name {
            "test_simple_prompt" => vec![text("This is a simple prompt for testing.".to_owned())],
            "test_prompt_with_arguments" => {
                let (first, second) = (argument("arg1"), argument("arg2"));
                vec![text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
            }
            "test_prompt_with_embedded_resource" => {
                let body = ResourceBody::Text("Embedded resource content for testing.".to_owned());
                let mime_type = Some("text/plain".to_owned());
                let uri = argument("resourceUri").to_owned();
                let after = "Please process the embedded resource above.".to_owned();
                vec![ContentPart::Resource { uri, mime_type, body }, text(after)]
            }
            "test_prompt_with_image" => {
                let (mime_type, data) = ("image/png".to_owned(), PNG.to_owned());
                let after = "Please analyze the image above.".to_owned();
                vec![ContentPart::Image { mime_type, data }, text(after)]
            }
            "test_input_required_result_prompt" => match answers.get("user_context") {
                None => {
                    let message = "What context should the prompt use?";
                    let kind = json!({ "type": "string" });
                    return Some(McpPromptResult::Requests(vec![form(
                        "user_context",
                        message,
                        "context",
                        kind,
                    )]));
                }
                Some(answer) => vec![text(format!("Context: {}", entered(answer, "context")))],
            },
            _ => return None,
        };
        Some(McpPromptResult::Messages(parts))
    }

    fn complete(&self, completed: McpCompletion<'_>) -> Vec<String> {
        let (known, typed): (&[&str], &str) = match completed {
            McpCompletion::Prompt { argument: "arg1", typed, .. } => {
                (&["testing", "tested", "other"], typed)
            }
            McpCompletion::Template { argument: "id", typed, .. } => (&["123", "456"], typed),
            McpCompletion::Prompt { typed, .. } | McpCompletion::Template { typed, .. } => {
                (&[], typed)
            }
        };
        let fitting = known.iter().filter(|value| value.starts_with(typed));
        fitting.map(|value| (*value).to_owned()).collect()
    }
}

fn fixture_resource(uri: &str, mime_type: &str) -> McpResource {
    McpResource {
        uri: uri.to_owned(),
        name: uri.trim_start_matches("test://").to_owned(),
        description: format!("The fixture at {uri}"),
        mime_type: mime_type.to_owned(),
    }
}

fn prompt(name: &str, arguments: &[&str]) -> McpPrompt {
    let argument = |name: &&str| McpPromptArgument {
        name: (*name).to_owned(),
        description: format!("What {name} is"),
        is_required: true,
    };
    McpPrompt {
        name: name.to_owned(),
        description: format!("The fixture {name}"),
        arguments: arguments.iter().map(argument).collect(),
    }
}
