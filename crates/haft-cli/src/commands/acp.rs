//! The arguments of `haft acp`, which the program haft-agent runs.

use clap::Args;

use crate::model::ModelArgs;

/// Let an editor talk to agents over standard input and output, by the Agent Client Protocol
///
/// An editor that speaks ACP, such as Zed, starts this command. Each of its threads is a session of haft agent in this
/// directory. haft saves sessions as they go, so the editor can reopen them, and haft sessions and haft agent --resume know
/// them too. The editor asks its user about calls. Several sessions may be open at once. When the editor closes the
/// connection, their turns end; the record keeps all work up to then.
///
/// The editor's directory must lie within the root (--root). Files and commands are haft's own: the editor is asked for
/// neither, and MCP servers that the editor is set up with are not started.
#[derive(Args, Clone)]
#[command(after_long_help = "\
Examples:
  haft acp --model openai/gpt-5

In the settings of Zed:
  \"agent_servers\": {
    \"haft\": {
      \"command\": \"haft\",
      \"args\": [\"acp\", \"--root\", \"/path/of/the/project\", \"--model\", \"anthropic/claude-sonnet-4-5\"],
      \"env\": {\"ANTHROPIC_API_KEY\": \"…\"}
    }
  }")]
pub(crate) struct AcpArgs {
    /// Agent that sessions are begun with: build, unless the manifest names another one ([agent] default)
    ///
    /// The editor offers the others as modes of a session.
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}
