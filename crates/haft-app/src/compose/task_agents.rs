//! Agents for clients that are no agents themselves, such as those of MCP: the tool `task` of such a client starts one. The parts
//! of an agent that take time are put together with the first task, because most connections start none.

use std::sync::Arc;

use haft::{Asker, Connection, Runtime};
use haft_agent::{AgentHost, AgentPromptContext, AgentRegistry, ModelLookup};
use haft_contract::{
    BoxFuture, Cx, ErrorCode, SubagentAnswer, SubagentSummary, SubagentTask, Subagents, ToolError,
};
use haft_mcp::McpTaskHost;
use tokio::sync::OnceCell;

use super::agent;
use crate::app_error::AppError;
use crate::host::AppHost;
use crate::settings::EffectiveSettings;

/// The agents that clients can give tasks to.
pub struct TaskAgents {
    models: Arc<dyn ModelLookup>,
    runtime: Runtime,
    settings: EffectiveSettings,
    host: AppHost,
    agents: Arc<AgentRegistry>,
    /// The surroundings of all agents, once one was needed.
    prompt_context: OnceCell<AgentPromptContext>,
}

impl TaskAgents {
    /// Finds the agents of the workspace, and notifies `host` of those that cannot be used.
    pub fn find(
        models: Arc<dyn ModelLookup>,
        runtime: &Runtime,
        settings: &EffectiveSettings,
        host: &AppHost,
    ) -> Arc<Self> {
        Arc::new(Self {
            models,
            runtime: runtime.clone(),
            settings: settings.clone(),
            host: host.clone(),
            agents: Arc::new(agent::find_agents_with_warnings(settings, host)),
            prompt_context: OnceCell::new(),
        })
    }

    /// Returns the agents that a task can name.
    pub fn subagents(&self) -> Vec<SubagentSummary> {
        self.agents.subagents()
    }

    /// Returns the agents of one connection. They may do at most what the connection may do.
    pub fn of_connection(self: &Arc<Self>, connection: &Connection) -> Arc<ConnectionTaskAgents> {
        let (agents, connection) = (Arc::clone(self), connection.clone());
        Arc::new(ConnectionTaskAgents {
            state: Arc::new(ConnectionTaskState { agents, connection, host: OnceCell::new() }),
        })
    }

    async fn prompt_context(&self) -> Result<&AgentPromptContext, AppError> {
        let look = || async {
            let (settings, host) = (&self.settings, &self.host);
            agent::look_around(&self.runtime, settings, host, &self.agents).await
        };
        self.prompt_context.get_or_try_init(look).await
    }
}

/// The agents of one connection.
pub struct ConnectionTaskAgents {
    state: Arc<ConnectionTaskState>,
}

struct ConnectionTaskState {
    agents: Arc<TaskAgents>,
    connection: Connection,
    /// Runs the sessions, once there is a task.
    host: OnceCell<AgentHost>,
}

impl ConnectionTaskState {
    async fn host(&self) -> Result<&AgentHost, ToolError> {
        let agents = &self.agents;
        let open = || async {
            let prompt_context = agents.prompt_context().await?.clone();
            let models = Arc::clone(&agents.models);
            let of_session = (models, Arc::clone(&agents.agents), prompt_context);
            let (connection, settings) = (self.connection.clone(), &agents.settings);
            let (runtime, host) = (&agents.runtime, &agents.host);
            let parts = agent::host_parts(of_session, connection, runtime, settings, host);
            Ok(AgentHost::new(parts))
        };
        self.host.get_or_try_init(open).await.map_err(|err: AppError| {
            let message = format!("agents cannot be used: {}", err.message);
            ToolError::new(ErrorCode::Unavailable, message).not_begun()
        })
    }
}

impl ConnectionTaskAgents {
    /// Stops the tasks that run, and waits until that is recorded.
    pub async fn close(&self) {
        if let Some(host) = self.state.host.get() {
            host.close().await;
        }
    }
}

impl McpTaskHost for ConnectionTaskAgents {
    fn call_subagents(&self, asker: Option<Arc<dyn Asker>>) -> Arc<dyn Subagents> {
        Arc::new(CallTaskAgents { state: Arc::clone(&self.state), asker })
    }
}

/// The agents of one call.
struct CallTaskAgents {
    state: Arc<ConnectionTaskState>,
    asker: Option<Arc<dyn Asker>>,
}

impl Subagents for CallTaskAgents {
    fn delegate<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<SubagentAnswer, ToolError>> {
        Box::pin(async move {
            let subagents = self.state.host().await?.call_subagents(self.asker.clone());
            subagents.delegate(task, cx).await
        })
    }

    fn resume<'a>(
        &'a self,
        task: SubagentTask,
        cx: &'a Cx,
    ) -> BoxFuture<'a, Result<Option<SubagentAnswer>, ToolError>> {
        Box::pin(async move {
            let subagents = self.state.host().await?.call_subagents(self.asker.clone());
            subagents.resume(task, cx).await
        })
    }
}
