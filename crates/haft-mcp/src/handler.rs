//! The requests of one connection, each turned into what haft does and back. The SDK speaks the protocol: versions,
//! handshake, framing, cancellation of requests. What it leaves to a server is here: which tools and resources there
//! are, how many calls run, how a question of a call reaches its client, and that every request is answered, whatever
//! happens.

use std::sync::{Arc, Mutex, PoisonError};

use haft::{Call, Runtime, Session};
use haft_contract::{Envelope, ErrorCode, LogLevel};
#[expect(deprecated, reason = "clients of the older era still set levels of logs")]
use rmcp::model::SetLevelRequestParams;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
    CompleteResult, CompletionInfo, ContentBlock, CustomRequest, CustomResult, DiscoverResult,
    ErrorCode as ProtocolCode, GetPromptRequestParams, GetPromptResponse, Implementation,
    InputResponses, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Reference,
    ResourceContents, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    Tool, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;

use crate::answer::call_result;
use crate::asking::{Asked, Dialog, Way};
use crate::calls::Calls;
use crate::connection::{Explain, Server};
use crate::content::contents;
use crate::counterpart;
use crate::elicit::elicit;
use crate::instructions::instructions;
use crate::levels::level;
use crate::limits::{CACHE_MS, COMPLETIONS_MAX, SUBSCRIPTIONS_MAX};
use crate::list_changes::ListChanges;
use crate::meta::{CallMeta, Usual};
use crate::offerings::{Completed, Offered, OfferedPrompt, Offerings};
use crate::outputs::{Outputs, template};
use crate::panic::caught;
use crate::passing::{Passing, Step};
use crate::progress::Listener;
use crate::prompts;
use crate::runs::{Runs, run_error};
use crate::seal::Binding;
use crate::subscribed::{self, Subscribed};
use crate::suspended::{Resumed, Suspended};
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

/// Those of them that the newer era does not have.
const HANDSHAKE: [&str; 2] = ["initialize", "ping"];

/// Answers the requests of one connection.
pub(crate) struct Handler {
    runtime: Runtime,
    session: Session,
    runs: Runs,
    usual: Usual,
    calls: Calls,
    suspended: Arc<Suspended>,
    outputs: Arc<Outputs>,
    list_changes: ListChanges,
    instructions: String,
    explain: Explain,
    offerings: Option<Arc<dyn Offerings>>,
    subscribed: Subscribed,
    // Written when an older client says what it wants to hear, read by each of its calls.
    level: Mutex<Option<LogLevel>>,
}

/// A request for a call, as far as it matters while the call goes on.
struct Request {
    tool: String,
    dialog: Dialog,
    cx: RequestContext<RoleServer>,
    /// What a newer client says before it is asked.
    early: InputResponses,
}

impl Handler {
    pub(crate) fn new(server: Server, calls: Calls, suspended: Arc<Suspended>) -> Self {
        let Server { runtime, session, run, place, resume, explain, offerings, .. } = server;
        let own = session.resume(run, resume);
        Self {
            list_changes: ListChanges::default(),
            instructions: instructions(&runtime, &session),
            runs: Runs::new(session.clone(), own, resume),
            usual: Usual { place, resume },
            outputs: Arc::default(),
            explain,
            offerings,
            subscribed: Subscribed::default(),
            level: Mutex::default(),
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
        let responses = request.input_responses.unwrap_or_default();
        let Some(state) = request.request_state.take() else {
            let mut call = Call::new(tool.clone(), input);
            (call.place, call.driver_call_id) = (meta.place, meta.driver_call_id);
            let passing = Passing::new(run, call, dialog.lines());
            let request = Request { tool, dialog, cx, early: responses };
            return self.accompany(passing, request, None).await;
        };
        let Way::Rounds(binding) = &dialog.way else { return Err(unasked()) };
        let ticket = self.suspended.ticket(&state, binding)?;
        match self.suspended.resume(ticket, state, responses)? {
            Resumed::Waits(question) => Ok(question.into()),
            Resumed::Goes(passing, note) => {
                let early = InputResponses::new();
                self.accompany(passing, Request { tool, dialog, cx, early }, note).await
            }
        }
    }

    /// Waits with the client of `request` for a call to end, or for its question.
    async fn accompany(
        &self,
        mut passing: Passing,
        request: Request,
        mut note: Option<String>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Request { tool, dialog, cx, mut early } = request;
        let listener = self.listener(&cx);
        let is_modern = is_modern(&cx);
        let RequestContext { ct: given_up, peer, .. } = cx;
        loop {
            match (passing.step(&given_up, listener.as_ref()).await, &dialog.way) {
                (Step::Ended(envelope), _) => {
                    let envelope = envelope.map_err(|err| run_error(err, self.explain))?;
                    if let (true, Some(missing)) = (is_modern, passing.missing())
                        && envelope.code().is_some()
                    {
                        return Err(counterpart::lacks(missing));
                    }
                    let mut result = self.answer(&tool, &envelope)?;
                    result.content.extend(note.map(ContentBlock::text));
                    return Ok(result.into());
                }
                (Step::Asked(asked), Way::Request(titles)) => {
                    note = passing.wait_for(elicit(&peer, asked, *titles), &given_up).await;
                }
                // What allows a call is not heard before it was asked.
                (Step::Asked(asked @ Asked::Requests(_)), Way::Rounds(_))
                    if asked.is_answered_by(&early) =>
                {
                    asked.settle(std::mem::take(&mut early));
                }
                (Step::Asked(asked), Way::Rounds(binding)) => {
                    return self.suspended.suspend(passing, asked, binding).map(Into::into);
                }
                // Dropping the question says that nobody is there.
                (Step::Asked(_), Way::Nobody) => {}
            }
        }
    }

    /// Returns who hears of what goes on in a call, if anybody wants to.
    fn listener(&self, cx: &RequestContext<RoleServer>) -> Option<Listener> {
        let token = cx.meta.get_progress_token();
        let level = if is_modern(cx) {
            cx.meta.log_level().map(level)
        } else {
            *self.level.lock().unwrap_or_else(PoisonError::into_inner)
        };
        (token.is_some() || level.is_some()).then(|| Listener {
            peer: cx.peer.clone(),
            token,
            level,
            cancellation: cx.ct.clone(),
        })
    }

    fn offerings(&self, method: &'static str) -> Result<&dyn Offerings, ErrorData> {
        let none = || ErrorData::new(ProtocolCode::METHOD_NOT_FOUND, method, None);
        self.offerings.as_deref().ok_or_else(none)
    }

    fn answer(&self, tool: &str, envelope: &Envelope) -> Result<CallToolResult, ErrorData> {
        let registry = self.runtime.registry();
        let contract = registry.contract(tool);
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
        let offered = self.offerings.as_ref().and_then(|offerings| offerings.read(&uri));
        if let Some(offered) = offered {
            return Ok(contents(uri, Some(offered.mime_type), offered.body));
        }
        let _turn = self.calls.turn(&cx.ct).await?;
        let (outputs, session) = (Arc::clone(&self.outputs), self.session.clone());
        let reading = tokio::task::spawn_blocking(move || outputs.read(&uri, &session));
        reading.await.map_err(|err| ErrorData::internal_error(err.to_string(), None))?
    }
}

#[expect(deprecated, reason = "clients of the older era still set levels of logs and subscribe so")]
impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .build();
        if self.offerings.is_some() {
            capabilities.prompts = Some(Default::default());
            capabilities.completions = Some(JsonObject::new());
            capabilities.logging = Some(JsonObject::new());
            if let Some(resources) = &mut capabilities.resources {
                resources.subscribe = Some(true);
            }
        }
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

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        self.list_changes.tell(cx.peer, self.session.listing_changes());
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        check_first_page(page)?;
        // Where tools are yet to be found, the next list may be another one.
        let is_whole = self.session.unlisted() == 0;
        let listed = self.session.listed();
        let tools: Vec<Tool> = listed.iter().map(|contract| mcp_tool(contract)).collect();
        Ok(ListToolsResult::with_all_items(tools)
            .with_ttl_ms(if is_whole { CACHE_MS } else { 0 })
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
        let offered = self.offerings.iter().flat_map(|offerings| offerings.resources());
        let all = offered.map(Offered::resource).chain(self.outputs.list());
        Ok(ListResourcesResult::with_all_items(all.collect())
            .with_ttl_ms(0)
            .with_cache_scope(CacheScope::Private))
    }

    async fn list_resource_templates(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        check_first_page(page)?;
        let offered = self.offerings.iter().flat_map(|offerings| offerings.templates());
        let all = offered.map(Offered::template).chain([template()]);
        Ok(ListResourceTemplatesResult::with_all_items(all.collect())
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

    async fn list_prompts(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let offerings = self.offerings("prompts/list")?;
        check_first_page(page)?;
        let prompts = offerings.prompts().into_iter().map(OfferedPrompt::prompt);
        Ok(ListPromptsResult::with_all_items(prompts.collect())
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        caught(prompts::get(self.offerings("prompts/get")?, request, &cx)).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let offerings = self.offerings("completion/complete")?;
        let (argument, typed) = (&*request.argument.name, &*request.argument.value);
        let mut values = match &request.r#ref {
            Reference::Prompt(prompt) => {
                offerings.complete(Completed::Prompt { name: &prompt.name, argument, typed })
            }
            Reference::Resource(template) => {
                offerings.complete(Completed::Template { uri: &template.uri, argument, typed })
            }
            _ => Vec::new(),
        };
        let total = u32::try_from(values.len()).ok();
        let has_more = values.len() > COMPLETIONS_MAX;
        values.truncate(COMPLETIONS_MAX);
        let completion = CompletionInfo::with_pagination(values, total, has_more);
        Ok(CompleteResult::new(completion.map_err(|what| ErrorData::internal_error(what, None))?))
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.offerings("logging/setLevel")?;
        if is_modern(&cx) {
            return Err(ErrorData::new(ProtocolCode::METHOD_NOT_FOUND, "logging/setLevel", None));
        }
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level(request.level));
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let changes = self.offerings("resources/subscribe")?.changes();
        self.subscribed.add(request.uri, cx.peer, changes)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.offerings("resources/unsubscribe")?;
        self.subscribed.remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // The SDK leaves out what the capabilities do not say, and tells the client what is left.
        let mut accepted = requested.clone();
        if let Some(uris) = &mut accepted.resource_subscriptions {
            uris.truncate(SUBSCRIPTIONS_MAX);
        }
        Some(accepted)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let mut listing = self.session.listing_changes();
        let mut resources = self.offerings.as_ref().map(|offerings| offerings.changes());
        let accepted = subscription.accepted();
        let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
        let hears_of_tools = accepted.tools_list_changed == Some(true);
        loop {
            // A client that is gone is noticed by whoever reads from it.
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                () = listing.changed(), if hears_of_tools => {
                    let _ = subscription.sink().notify_tool_list_changed().await;
                }
                uri = subscribed::next_of(&mut resources) => {
                    if uris.contains(&uri) {
                        let _ = subscription.sink().notify_resource_updated(uri).await;
                    }
                }
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        cx: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let is_gone = is_modern(&cx) && HANDSHAKE.contains(&method);
        if METHODS.contains(&method) && !is_gone {
            let message = format!("the params of {} do not have the form it takes", request.method);
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ProtocolCode::METHOD_NOT_FOUND, request.method, None))
    }
}

fn is_modern(cx: &RequestContext<RoleServer>) -> bool {
    cx.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
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
