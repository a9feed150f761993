//! A request in the client library's types.

use std::time::Duration;

use genai::adapter::AdapterKind;
use genai::chat::{
    Binary, ChatMessage, ChatOptions, ChatRequest, ContentPart, MessageContent, ReasoningEffort,
    Tool, ToolCall as WireCall, ToolResponse,
};
use serde_json::json;

use crate::name::ProviderProtocol;
use crate::{ModelImage, ModelMessage, ModelRequest, ToolCallArguments, UserMessage};

pub(super) fn adapter(wire: ProviderProtocol) -> AdapterKind {
    match wire {
        ProviderProtocol::OpenAi => AdapterKind::OpenAI,
        ProviderProtocol::Anthropic => AdapterKind::Anthropic,
        ProviderProtocol::Gemini => AdapterKind::Gemini,
        ProviderProtocol::Ollama => AdapterKind::Ollama,
    }
}

pub(super) fn request(request: &ModelRequest) -> ChatRequest {
    let mut messages = Vec::with_capacity(request.messages.len());
    let mut images = Vec::new();
    for one in &request.messages {
        // All results of an answer follow it directly.
        if !matches!(one, ModelMessage::ToolResult { .. }) {
            messages.extend(images_message(std::mem::take(&mut images)));
        }
        messages.push(message(one));
        if let ModelMessage::ToolResult { call_id, name, images: of_result, .. } = one {
            images.extend(of_result.iter().map(|image| (call_id, name, image)));
        }
    }
    messages.extend(images_message(images));
    let mut chat = ChatRequest::new(messages);
    chat.system.clone_from(&request.system);
    if !request.tools.is_empty() {
        let offers = request.tools.iter().map(|offer| {
            Tool::new(offer.name.clone())
                .with_description(offer.description.clone())
                .with_schema(offer.parameters.clone())
        });
        chat = chat.with_tools(offers);
    }
    chat
}

/// The library is asked to collect usage, but nothing else. To collect tool calls, it would
/// allocate by an index from the provider, however large.
pub(super) fn options(request: &ModelRequest, adapter: AdapterKind, idle: Duration) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_stream_header_timeout(idle)
        .with_stream_read_timeout(idle)
        .with_stop_sequences(request.stop.clone());
    options.max_tokens = request.max_output_tokens;
    options.temperature = request.temperature;
    if adapter == AdapterKind::OpenAI {
        // Without an effort, the library removes one from the end of names such as `my-model-high`.
        // A budget has no equivalent in this protocol and is not sent.
        options = options.with_reasoning_effort(ReasoningEffort::Budget(0));
    }
    options
}

/// Returns the images of results as a message from the user: not every protocol takes images in a result.
fn images_message(images: Vec<(&String, &String, &ModelImage)>) -> Option<ChatMessage> {
    if images.is_empty() {
        return None;
    }
    let parts = images.into_iter().flat_map(|(call_id, name, image)| {
        let text = format!("[haft: image in the result of {name}, call {call_id}]");
        [ContentPart::Text(text), image_part(image)]
    });
    Some(ChatMessage::user(MessageContent::from_parts(parts.collect::<Vec<_>>())))
}

fn image_part(image: &ModelImage) -> ContentPart {
    let ModelImage { mime_type, data } = image;
    ContentPart::Binary(Binary::from_base64(mime_type.clone(), data.as_str(), None))
}

fn message(message: &ModelMessage) -> ChatMessage {
    match message {
        ModelMessage::User(UserMessage { text, images }) if images.is_empty() => {
            ChatMessage::user(text.clone())
        }
        ModelMessage::User(UserMessage { text, images }) => {
            let text = (!text.is_empty()).then(|| ContentPart::Text(text.clone()));
            let images = images.iter().map(image_part);
            let parts: Vec<ContentPart> = text.into_iter().chain(images).collect();
            ChatMessage::user(MessageContent::from_parts(parts))
        }
        ModelMessage::Assistant { text, tool_calls } => {
            let text = (!text.is_empty()).then(|| ContentPart::Text(text.clone()));
            let calls = tool_calls.iter().map(|call| {
                ContentPart::ToolCall(WireCall {
                    call_id: call.id.clone(),
                    fn_name: call.name.clone(),
                    fn_arguments: match &call.arguments {
                        ToolCallArguments::Object(value) => value.clone(),
                        // The protocols accept only objects.
                        ToolCallArguments::Malformed { text, .. } => json!({ "malformed": text }),
                    },
                    thought_signatures: (!call.signatures.is_empty())
                        .then(|| call.signatures.clone()),
                })
            });
            ChatMessage::assistant(MessageContent::from_parts(
                text.into_iter().chain(calls).collect::<Vec<_>>(),
            ))
        }
        ModelMessage::ToolResult { call_id, name, text, images: _ } => {
            let response = ToolResponse::new(call_id.clone(), text.clone());
            ChatMessage::tool(MessageContent::from(response.with_fn_name(name.clone())))
        }
    }
}
