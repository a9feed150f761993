//! The requests of one connection, each turned into what haft does and back. The SDK speaks the protocol: versions,
//! handshake, framing, cancellation of requests. What it leaves to a server is here: which tools and resources there
//! are, how many calls run, how a question of a call reaches its client, and that every request is answered, whatever
//! happens.

use std::sync::Arc;

use haft::{Call, Runtime, Session};
use haft_contract::{Envelope, ErrorCode};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock,
    CustomRequest, CustomResult, DiscoverResult, ErrorCode as ProtocolCode, Implementation,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ResourceContents,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use crate::answer::call_result;
use crate::asking::Dialog;
use crate::calls::Calls;
use crate::connection::{Explain, Server};
use crate::elicit::elicit;
use crate::instructions::instructions;
use crate::limits::CACHE_MS;
use crate::meta::{CallMeta, Usual};
use crate::outputs::{Outputs, template};
use crate::panic::caught;
use crate::passing::{Passing, Step};
use crate::progress::Listener;
use crate::question::DECISION;
use crate::runs::{Runs, run_error};
use crate::seal::Binding;
use crate::suspended::Suspended;
use crate::tool::mcp_tool;

/// Methods whose parameters haft takes; the SDK hands them over as unknown when the parameters do not parse.
const METHODS: [&str; 8] = [
    "initialize",
    "ping",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "tools/call",
    "tools/list",
];

/// Answers the requests of one connection.
pub(crate) struct Handler {
    runtime: Runtime,
    session: Session,
    runs: Runs,
    usual: Usual,
    calls: Calls,
    suspended: Arc<Suspended>,
    outputs: Arc<Outputs>,
    tools: Vec<Tool>,
    instructions: String,
    explain: Explain,
}

/// A request for a call, as far as it matters while the call goes on.
struct Request {
    tool: String,
    dialog: Dialog,
    cx: RequestContext<RoleServer>,
}

impl Handler {
    pub(crate) fn new(server: Server, calls: Calls, suspended: Arc<Suspended>) -> Self {
        let Server { runtime, session, run, place, resume, explain, .. } = server;
        let own = session.resume(run, resume);
        Self {
            tools: runtime.registry().contracts().map(mcp_tool).collect(),
            instructions: instructions(&runtime),
            runs: Runs::new(session.clone(), own, resume),
            usual: Usual { place, resume },
            outputs: Arc::default(),
            explain,
            runtime,
            session,
            calls,
            suspended,
        }
    }

    async fn call(
        &self,
        mut request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut meta = CallMeta::parse(&cx.meta, &self.usual)?;
        let _turn = self.calls.turn(&cx.ct).await?;
        let run = self.runs.open(meta.run.take(), meta.resume)?;
        let tool = request.name.clone().into_owned();
        let input = Value::Object(request.arguments.take().unwrap_or_default());
        let dialog = Dialog::of(&cx, || Binding::new(&tool, &input, run.id().as_str(), &meta));
        let Some(state) = request.request_state.take() else {
            let mut call = Call::new(tool.clone(), input);
            (call.place, call.driver_call_id) = (meta.place, meta.driver_call_id);
            let (asker, asks) = dialog.asker();
            call.asker = asker;
            return self
                .accompany(Passing::new(run, call, asks), Request { tool, dialog, cx }, None)
                .await;
        };
        let Dialog::Rounds(binding) = &dialog else { return Err(unasked()) };
        let ticket = self.suspended.ticket(&state, binding)?;
        let response = request.input_responses.and_then(|mut all| all.remove(DECISION));
        let Some(response) = response else {
            return self.suspended.repeat(ticket, state).map(Into::into);
        };
        let (passing, note) = self.suspended.resume(ticket, response)?;
        self.accompany(passing, Request { tool, dialog, cx }, note).await
    }

    /// Waits with the client of `request` for a call to end, or for its question.
    async fn accompany(
        &self,
        mut passing: Passing,
        request: Request,
        mut note: Option<String>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Request { tool, dialog, cx } = request;
        let RequestContext { ct: given_up, peer, meta, .. } = cx;
        let listener = meta.get_progress_token().map(|token| Listener {
            peer: peer.clone(),
            token,
            cancellation: given_up.clone(),
        });
        loop {
            match (passing.step(&given_up, listener.as_ref()).await, &dialog) {
                (Step::Ended(envelope), _) => {
                    let envelope = envelope.map_err(|err| run_error(err, self.explain))?;
                    let mut result = self.answer(&tool, &envelope)?;
                    result.content.extend(note.map(ContentBlock::text));
                    return Ok(result.into());
                }
                (Step::Asked(asked), Dialog::Request(titles)) => {
                    note = passing.wait_for(elicit(&peer, asked, *titles), &given_up).await;
                }
                (Step::Asked(asked), Dialog::Rounds(binding)) => {
                    return self.suspended.suspend(passing, asked, binding).map(Into::into);
                }
                // Dropping the question says that nobody is there.
                (Step::Asked(_), Dialog::Nobody) => {}
            }
        }
    }

    fn answer(&self, tool: &str, envelope: &Envelope) -> Result<CallToolResult, ErrorData> {
        let contract = self.runtime.registry().contract(tool);
        if let (None, Envelope::Error { error_text, metadata }) = (contract, envelope)
            && metadata.code == Some(ErrorCode::ToolNotFound)
        {
            return Err(ErrorData::invalid_params(error_text.clone(), None));
        }
        let metadata = envelope.metadata();
        let link = metadata.output_path.as_deref().and_then(|path| self.outputs.keep(path));
        Ok(call_result(envelope, contract, link))
    }

    async fn read(
        &self,
        uri: String,
        cx: RequestContext<RoleServer>,
    ) -> Result<ResourceContents, ErrorData> {
        let _turn = self.calls.turn(&cx.ct).await?;
        let (outputs, session) = (Arc::clone(&self.outputs), self.session.clone());
        let reading = tokio::task::spawn_blocking(move || outputs.read(&uri, &session));
        reading.await.map_err(|err| ErrorData::internal_error(err.to_string(), None))?
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(
                Implementation::new("haft", env!("CARGO_PKG_VERSION")).with_title("haft"),
            )
            .with_instructions(self.instructions.clone())
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info())
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        check_first_page(page)?;
        Ok(ListToolsResult::with_all_items(self.tools.clone())
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        caught(self.call(request, cx)).await
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        check_first_page(page)?;
        Ok(ListResourcesResult::with_all_items(self.outputs.list())
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        check_first_page(page)?;
        Ok(ListResourceTemplatesResult::with_all_items(vec![template()])
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = caught(self.read(request.uri, cx)).await?;
        Ok(ReadResourceResult::new(vec![contents])
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Private)
            .into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if METHODS.contains(&request.method.as_str()) {
            let message = format!("the params of {} do not have the form it takes", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ProtocolCode::METHOD_NOT_FOUND, request.method, None))
    }
}

/// A client that cannot be asked in rounds was given no state.
fn unasked() -> ErrorData {
    let message = "requestState was not given to this client, which declares no forms for the \
                   2026-07-28 protocol: make the call without it";
    ErrorData::invalid_params(message, None)
}

/// Everything fits one page, so there is no cursor that haft could have given out.
fn check_first_page(page: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match page.and_then(|page| page.cursor) {
        None => Ok(()),
        Some(_) => {
            Err(ErrorData::invalid_params("unknown cursor: everything is on the first page", None))
        }
    }
}
