//! Resources, prompts and completions of a program that embeds this front end, beside those of haft. They have no effects, so
//! no rule judges them.

use haft_contract::{ClientRequest, ContentPart, ResourceBody};
use rmcp::model::{Prompt, PromptArgument as WireArgument, Resource, ResourceTemplate};
use serde_json::{Map, Value};
use tokio::sync::broadcast;

/// Offers resources, prompts and completions.
pub trait McpResourceProvider: Send + Sync {
    /// Returns the resources there are.
    fn resources(&self) -> Vec<McpResource>;

    /// Returns the templates of addresses at which there are more.
    fn templates(&self) -> Vec<McpResource>;

    /// Returns what is at an address; `None` if nothing is.
    fn read(&self, uri: &str) -> Option<McpResourceContents>;

    /// Tells the addresses of resources as they change.
    fn changes(&self) -> broadcast::Receiver<String>;

    /// Returns the prompts there are.
    fn prompts(&self) -> Vec<McpPrompt>;

    /// Fills in a prompt; `None` if there is no such prompt. `answers` has what the client answered to the requests that
    /// an earlier attempt returned, each under its name.
    fn prompt(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
        answers: &Map<String, Value>,
    ) -> Option<McpPromptResult>;

    /// Returns how what was typed may go on.
    fn complete(&self, completed: McpCompletion<'_>) -> Vec<String>;
}

/// A resource, or a template of resources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpResource {
    /// Its address; in a template, with names in braces.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its MIME type.
    pub mime_type: String,
}

/// The content of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpResourceContents {
    /// Its MIME type.
    pub mime_type: String,
    /// The content itself.
    pub body: ResourceBody,
}

/// A prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpPrompt {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its arguments.
    pub arguments: Vec<McpPromptArgument>,
}

/// Something that is filled into a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpPromptArgument {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Whether the prompt cannot do without it.
    pub is_required: bool,
}

/// The result of filling in a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum McpPromptResult {
    /// The messages of the user.
    Messages(Vec<ContentPart>),
    /// Requests that the client must answer first.
    Requests(Vec<ClientRequest>),
}

/// The text that a user is typing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpCompletion<'a> {
    /// An argument of a prompt.
    Prompt {
        /// The prompt's name.
        name: &'a str,
        /// The argument's name.
        argument: &'a str,
        /// The text so far.
        typed: &'a str,
    },
    /// A name in the template of an address.
    Template {
        /// The template.
        uri: &'a str,
        /// The name in it.
        argument: &'a str,
        /// The text so far.
        typed: &'a str,
    },
}

impl McpResource {
    pub(crate) fn resource(self) -> Resource {
        Resource::new(self.uri, self.name)
            .with_description(self.description)
            .with_mime_type(self.mime_type)
    }

    pub(crate) fn template(self) -> ResourceTemplate {
        ResourceTemplate::new(self.uri, self.name)
            .with_description(self.description)
            .with_mime_type(self.mime_type)
    }
}

impl McpPrompt {
    pub(crate) fn prompt(self) -> Prompt {
        let arguments = self.arguments.into_iter().map(|argument| {
            WireArgument::new(argument.name)
                .with_description(argument.description)
                .with_required(argument.is_required)
        });
        Prompt::new(self.name, Some(self.description), Some(arguments.collect()))
    }
}
