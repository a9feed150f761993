//! The requests of one connection, each turned into a call of haft and back, and the end of these calls. Over standard
//! streams there is one handler; over HTTP there is one for each session and one for all requests without a session. The SDK
//! speaks the protocol: versions, handshake, framing, cancellation of requests.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use haft::{Call, Connection, Runtime};
use haft_contract::{Contract, Envelope, ErrorCode, LogLevel};
#[expect(deprecated, reason = "clients of the older era still set levels of logs")]
use rmcp::model::SetLevelRequestParams;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CancelTaskParams, CompleteRequestParams,
    CompleteResult, CompletionInfo, ContentBlock, CreateTaskResult, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode as ProtocolCode, GetPromptRequestParams, GetPromptResponse,
    GetTaskParams, GetTaskResult, Implementation, InputResponses, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    Reference, ResourceContents, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, TASKS_EXTENSION_ID, Tool, UnsubscribeRequestParams, UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::ask_channel::{self, AskMethod, AskSupport};
use crate::background_calls::{
    BackgroundCall, BackgroundCalls, take_background, takes_tasks, without_background,
};
use crate::call_limiter::{CallLimiter, CallPermit};
use crate::call_result::call_result;
use crate::client_requests;
use crate::content::resource_contents;
use crate::elicit::elicit;
use crate::in_flight_call::{InFlightCall, InFlightCallEvent};
use crate::instructions::instructions;
use crate::limits::{CACHE_MS, COMPLETIONS_MAX, SETTLE_MS_MAX, SUBSCRIPTIONS_MAX};
use crate::log_levels::parse_level;
use crate::meta::{CallMeta, CallMetaDefaults};
use crate::output_resources::{OutputResources, template};
use crate::panic::catch_panic;
use crate::pending_ask::PendingClientAsk;
use crate::progress::McpProgressListener;
use crate::prompts;
use crate::request_state::{CallBinding, RequestStateSigner};
use crate::resource_provider::{McpCompletion, McpPrompt, McpResource, McpResourceProvider};
use crate::resource_subscriptions::{self, ResourceSubscriptions};
use crate::runs::{ConnectionRuns, run_error};
use crate::server_parts::{
    AskPageFinder, McpServerParts, McpTaskHost, RefusalAdviser, RunErrorExplainer,
};
use crate::skill_prompts::{filled_in, skill_call, skill_prompts};
use crate::suspended_calls::{SuspendedCallOutcome, SuspendedCalls};
use crate::tool::mcp_tool;

/// Methods whose parameters haft takes; the SDK hands them over as unknown when the parameters do not parse.
const KNOWN_METHODS: [&str; 8] = [
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
const HANDSHAKE_METHODS: [&str; 2] = ["initialize", "ping"];

pub(crate) struct McpServerHandler {
    runtime: Runtime,
    connection: Connection,
    runs: ConnectionRuns,
    call_meta_defaults: CallMetaDefaults,
    pub(crate) call_limiter: CallLimiter,
    pub(crate) suspended_calls: SuspendedCalls,
    background_calls: BackgroundCalls,
    pub(crate) stop: CancellationToken,
    outputs: Arc<OutputResources>,
    /// Tells a client of the older era that the tools to list have changed, from the handshake to the end of the connection.
    /// A client of the newer era is told while it listens.
    tool_list_task: OnceLock<AbortOnDropHandle<()>>,
    instructions: String,
    explain: RunErrorExplainer,
    advise: RefusalAdviser,
    resource_provider: Option<Arc<dyn McpResourceProvider>>,
    ask_pages: Option<AskPageFinder>,
    task_host: Option<Arc<dyn McpTaskHost>>,
    subscriptions: ResourceSubscriptions,
    // Written when an older client sets its level, read by each of its calls.
    log_level: Mutex<Option<LogLevel>>,
}

/// The parts of a request for a call that are needed until the call ends.
struct ToolCallRequest {
    tool: String,
    ask_support: AskSupport,
    cx: RequestContext<RoleServer>,
    /// Answers that a newer client sent before it was asked.
    early_responses: InputResponses,
}

impl McpServerHandler {
    pub(crate) fn new(server: McpServerParts) -> Self {
        let McpServerParts {
            runtime,
            connection,
            run,
            address,
            resume,
            clock,
            explain,
            advise,
            state_key,
            resource_provider,
            ask_pages,
            task_host,
        } = server;
        let own = connection.resume(run, resume);
        Self {
            tool_list_task: OnceLock::new(),
            instructions: instructions(&runtime, &connection),
            runs: ConnectionRuns::new(connection.clone(), own, resume),
            call_meta_defaults: CallMetaDefaults { address, resume },
            outputs: Arc::default(),
            explain,
            advise,
            resource_provider,
            ask_pages,
            task_host,
            subscriptions: ResourceSubscriptions::default(),
            log_level: Mutex::default(),
            runtime,
            connection,
            call_limiter: CallLimiter::new(),
            suspended_calls: SuspendedCalls::new(RequestStateSigner::new(state_key), clock),
            background_calls: BackgroundCalls::default(),
            stop: CancellationToken::new(),
        }
    }

    /// Tells all calls to stop and waits until they are recorded, at the latest after [`SETTLE_MS_MAX`].
    pub(crate) async fn end(&self) {
        self.stop.cancel();
        self.suspended_calls.close();
        let all_ended = async {
            self.call_limiter.wait_until_idle().await;
            self.suspended_calls.wait_until_ended().await;
        };
        // A call that does not stop is abandoned: its intent stays open in the journal, which is correct.
        let _ = timeout(Duration::from_millis(SETTLE_MS_MAX), all_ended).await;
    }

    async fn call(
        &self,
        mut request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let mut meta = CallMeta::parse(&cx.meta, &self.call_meta_defaults)?;
        let permit = self.call_limiter.acquire_permit(&cx.ct).await?;
        if let Some(client) = cx.client_info() {
            self.connection.name_client(&client.name);
        }
        let run = self.runs.open(meta.run.take(), meta.resume)?;
        let tool = request.name.clone().into_owned();
        let mut input = Value::Object(request.arguments.take().unwrap_or_default());
        let binding = || CallBinding::new(&tool, &input, run.id().as_str(), &meta);
        let dialog = AskSupport::of(&cx, self.ask_pages.as_ref(), binding);
        let responses = request.input_responses.unwrap_or_default();
        let Some(state) = request.request_state.take() else {
            let registry = self.runtime.registry();
            let contract = registry.contract(&tool).filter(|_| takes_tasks(&cx));
            let is_background = take_background(contract, &mut input);
            let mut call = Call::new(tool.clone(), input);
            (call.task_attempt, call.driver_call_id) = (meta.address, meta.driver_call_id);
            let lines = dialog.open_channel();
            if let Some(host) = &self.task_host {
                call.subagents = host.call_subagents(lines.asker.clone());
            }
            let passing = InFlightCall::new(run, call, lines);
            if is_background {
                return Ok(CallToolResponse::Task(self.begin_in_background(passing, permit, tool)));
            }
            let request =
                ToolCallRequest { tool, ask_support: dialog, cx, early_responses: responses };
            return self.wait_with_client(passing, request, None).await;
        };
        let AskMethod::InputRequired(binding) = &dialog.method else {
            // A client that cannot be asked in rounds was given no state.
            let message = "requestState was not given to this client, which declares no forms for the \
                           2026-07-28 protocol: make the call without it";
            return Err(ErrorData::invalid_params(message, None));
        };
        let ticket = self.suspended_calls.verify_state(&state, binding)?;
        match self.suspended_calls.resume(ticket, state, responses)? {
            SuspendedCallOutcome::StillWaiting(question) => Ok(question.into()),
            SuspendedCallOutcome::Resumed(passing, note) => {
                let early = InputResponses::new();
                self.wait_with_client(
                    passing,
                    ToolCallRequest { tool, ask_support: dialog, cx, early_responses: early },
                    note,
                )
                .await
            }
        }
    }

    /// Lets a call go on as a task of the client.
    fn begin_in_background(
        &self,
        call: InFlightCall,
        permit: CallPermit,
        tool: String,
    ) -> CreateTaskResult {
        let (runtime, outputs, advise) =
            (self.runtime.clone(), Arc::clone(&self.outputs), self.advise);
        let result = move |envelope: &Envelope| {
            let registry = runtime.registry();
            let path = envelope.metadata().output_path.as_deref();
            let link = path.and_then(|path| outputs.add_output(path));
            call_result(envelope, registry.contract(&tool), link, advise)
        };
        self.background_calls.begin(BackgroundCall {
            call,
            permit,
            stop: self.stop.clone(),
            explain: self.explain,
            result: Box::new(result),
        })
    }

    /// Waits with the client of `request` for a call to end, or for its question.
    async fn wait_with_client(
        &self,
        mut passing: InFlightCall,
        request: ToolCallRequest,
        mut note: Option<String>,
    ) -> Result<CallToolResponse, ErrorData> {
        let ToolCallRequest { tool, ask_support: dialog, cx, early_responses: mut early } = request;
        let is_modern = is_modern(&cx);
        let token = cx.meta.get_progress_token();
        let level = if is_modern {
            cx.meta.log_level().map(parse_level)
        } else {
            *self.log_level.lock().unwrap_or_else(PoisonError::into_inner)
        };
        let RequestContext { ct: given_up, peer, .. } = cx;
        let listener = (token.is_some() || level.is_some()).then(|| McpProgressListener {
            peer: peer.clone(),
            token,
            level,
            cancellation: given_up.clone(),
        });
        loop {
            match (passing.next_event(&given_up, listener.as_ref()).await, &dialog.method) {
                (InFlightCallEvent::Ended(envelope), _) => {
                    let envelope = (*envelope).map_err(|err| run_error(err, self.explain))?;
                    if let (true, Some(missing)) = (is_modern, passing.missing_capability())
                        && envelope.code().is_some()
                    {
                        return Err(client_requests::missing_capability_error(missing));
                    }
                    let registry = self.runtime.registry();
                    let contract = registry.contract(&tool);
                    if let (None, Envelope::Error { error_text, .. }) = (contract, &envelope)
                        && envelope.code() == Some(ErrorCode::ToolNotFound)
                    {
                        let advice = envelope.metadata().refusal.as_deref();
                        let advice = advice.and_then(self.advise);
                        let text = match advice {
                            Some(advice) => format!("{error_text}. {advice}"),
                            None => error_text.clone(),
                        };
                        return Err(ErrorData::invalid_params(text, None));
                    }
                    let path = envelope.metadata().output_path.as_deref();
                    let link = path.and_then(|path| self.outputs.add_output(path));
                    let mut result = call_result(&envelope, contract, link, self.advise);
                    result.content.extend(note.map(ContentBlock::text));
                    return Ok(result.into());
                }
                (InFlightCallEvent::Asked(asked), AskMethod::ServerRequest(titles)) => {
                    note = passing.wait_for(elicit(&peer, asked, *titles), &given_up).await;
                }
                // An approval is ignored before the question was asked.
                (
                    InFlightCallEvent::Asked(asked @ PendingClientAsk::Requests(_)),
                    AskMethod::InputRequired(_),
                ) if asked.is_answered_by(&early) => {
                    asked.deliver_responses(std::mem::take(&mut early));
                }
                (InFlightCallEvent::Asked(asked), AskMethod::InputRequired(binding)) => {
                    return self.suspended_calls.suspend(passing, asked, binding).map(Into::into);
                }
                // Dropping the question means that no client can answer.
                (InFlightCallEvent::Asked(_), AskMethod::Unsupported) => {}
            }
        }
    }

    /// Returns whether there can be prompts: those of an embedding program, or skills.
    fn offers_prompts(&self) -> bool {
        self.resource_provider.is_some() || !self.connection.skills().is_empty()
    }

    /// Returns all prompts. Those of an embedding program come before a skill with the same name. May block.
    fn prompts(&self) -> Vec<McpPrompt> {
        let offered = self.resource_provider.iter().flat_map(|offerings| offerings.prompts());
        let mut prompts: Vec<McpPrompt> = offered.collect();
        for skill in skill_prompts(&self.connection) {
            if !prompts.iter().any(|known| known.name == skill.name) {
                prompts.push(skill);
            }
        }
        prompts
    }

    /// Fills in a prompt of an embedding program, or loads a skill.
    async fn fill_in(
        &self,
        request: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let is_named = |prompt: &McpPrompt| prompt.name == request.name;
        if let Some(offerings) = self.resource_provider.as_deref()
            && offerings.prompts().iter().any(is_named)
        {
            return prompts::get(offerings, request, &cx).await;
        }
        if !skill_prompts(&self.connection).iter().any(is_named) {
            return Err(prompts::unknown(&request.name));
        }
        let mut meta = CallMeta::parse(&cx.meta, &self.call_meta_defaults)?;
        let _turn = self.call_limiter.acquire_permit(&cx.ct).await?;
        let run = self.runs.open(meta.run.take(), meta.resume)?;
        let mut call = skill_call(&request.name);
        (call.task_attempt, call.driver_call_id) = (meta.address, meta.driver_call_id);
        call.cancellation = cx.ct.clone();
        let envelope = run.call(call).await.map_err(|err| run_error(err, self.explain))?;
        let arguments = request.arguments.unwrap_or_default();
        filled_in(&request.name, &envelope, &arguments, self.advise).map(Into::into)
    }

    fn require_resource_provider(
        &self,
        method: &'static str,
    ) -> Result<&dyn McpResourceProvider, ErrorData> {
        let none = || ErrorData::new(ProtocolCode::METHOD_NOT_FOUND, method, None);
        self.resource_provider.as_deref().ok_or_else(none)
    }

    async fn read(
        &self,
        uri: String,
        cx: RequestContext<RoleServer>,
    ) -> Result<ResourceContents, ErrorData> {
        let offered = self.resource_provider.as_ref().and_then(|offerings| offerings.read(&uri));
        if let Some(offered) = offered {
            return Ok(resource_contents(uri, Some(offered.mime_type), offered.body));
        }
        let _turn = self.call_limiter.acquire_permit(&cx.ct).await?;
        let (outputs, session) = (Arc::clone(&self.outputs), self.connection.clone());
        let reading = tokio::task::spawn_blocking(move || outputs.read(&uri, &session));
        reading.await.map_err(|err| ErrorData::internal_error(err.to_string(), None))?
    }
}

#[expect(deprecated, reason = "clients of the older era still set levels of logs and subscribe so")]
impl ServerHandler for McpServerHandler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .build();
        capabilities.completions = Some(JsonObject::new());
        if self.offers_prompts() {
            capabilities.prompts = Some(Default::default());
        }
        if self.task_host.is_some() {
            let extensions = capabilities.extensions.get_or_insert_default();
            extensions.insert(TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        }
        if self.resource_provider.is_some() {
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
        self.tool_list_task.get_or_init(|| {
            let mut changes = self.connection.listing_changes();
            AbortOnDropHandle::new(tokio::spawn(async move {
                loop {
                    changes.changed().await;
                    if cx.peer.notify_tool_list_changed().await.is_err() {
                        return;
                    }
                }
            }))
        });
    }

    async fn list_tools(
        &self,
        page: Option<PaginatedRequestParams>,
        cx: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        check_first_page(page)?;
        // Where tools are yet to be found, the next list may be another one.
        let is_whole = self.connection.unlisted_count() == 0;
        let listed = self.connection.tools_listed_for(ask_channel::can_ask(&cx));
        let takes_tasks = takes_tasks(&cx);
        let published = |contract: &Arc<Contract>| {
            let mut tool = mcp_tool(contract);
            if !takes_tasks {
                without_background(contract, &mut tool);
            }
            tool
        };
        let tools: Vec<Tool> = listed.iter().map(published).collect();
        Ok(ListToolsResult::with_all_items(tools)
            .with_ttl_ms(if is_whole { CACHE_MS } else { 0 })
            .with_cache_scope(CacheScope::Private))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        catch_panic(self.call(request, cx)).await
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.background_calls.tasks.get_task(&request.task_id).map(GetTaskResult::new)
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.background_calls.tasks.update_task(&request.task_id, request.input_responses)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.background_calls.tasks.cancel_task(&request.task_id)
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        check_first_page(page)?;
        let offered = self.resource_provider.iter().flat_map(|offerings| offerings.resources());
        let all = offered.map(McpResource::resource).chain(self.outputs.list());
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
        let offered = self.resource_provider.iter().flat_map(|offerings| offerings.templates());
        let all = offered.map(McpResource::template).chain([template()]);
        Ok(ListResourceTemplatesResult::with_all_items(all.collect())
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let contents = catch_panic(self.read(request.uri, cx)).await?;
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
        if !self.offers_prompts() {
            return Err(ErrorData::new(ProtocolCode::METHOD_NOT_FOUND, "prompts/list", None));
        }
        check_first_page(page)?;
        let prompts = self.prompts().into_iter().map(McpPrompt::prompt);
        Ok(ListPromptsResult::with_all_items(prompts.collect())
            .with_ttl_ms(CACHE_MS)
            .with_cache_scope(CacheScope::Private))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if !self.offers_prompts() {
            return Err(ErrorData::new(ProtocolCode::METHOD_NOT_FOUND, "prompts/get", None));
        }
        catch_panic(self.fill_in(request, cx)).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let (argument, typed) = (&*request.argument.name, &*request.argument.value);
        let offerings = self.resource_provider.as_deref();
        let mut values = match (&request.r#ref, offerings) {
            (Reference::Resource(named), _) if named.uri == template().uri_template => {
                self.outputs.complete(typed)
            }
            (Reference::Resource(named), Some(offerings)) => {
                offerings.complete(McpCompletion::Template { uri: &named.uri, argument, typed })
            }
            (Reference::Resource(named), None) => {
                let message =
                    format!("no template is {:?}: see resources/templates/list", named.uri);
                return Err(ErrorData::invalid_params(message, None));
            }
            (Reference::Prompt(named), Some(offerings)) => {
                offerings.complete(McpCompletion::Prompt { name: &named.name, argument, typed })
            }
            // The argument of a skill is free text, which haft does not guess.
            (Reference::Prompt(named), None)
                if self.prompts().iter().any(|prompt| prompt.name == named.name) =>
            {
                Vec::new()
            }
            (Reference::Prompt(named), None) => return Err(prompts::unknown(&named.name)),
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
        self.require_resource_provider("logging/setLevel")?;
        if is_modern(&cx) {
            return Err(ErrorData::new(ProtocolCode::METHOD_NOT_FOUND, "logging/setLevel", None));
        }
        *self.log_level.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(parse_level(request.level));
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        cx: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let changes = self.require_resource_provider("resources/subscribe")?.changes();
        self.subscriptions.add(request.uri, cx.peer, changes)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.require_resource_provider("resources/unsubscribe")?;
        self.subscriptions.remove(&request.uri);
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
        let mut listing = self.connection.listing_changes();
        let mut resources = self.resource_provider.as_ref().map(|offerings| offerings.changes());
        let accepted = subscription.accepted();
        let uris = accepted.resource_subscriptions.clone().unwrap_or_default();
        let hears_of_tools = accepted.tools_list_changed == Some(true);
        loop {
            // The reader of the connection notices that a client is gone.
            tokio::select! {
                () = subscription.cancelled() => return Ok(()),
                () = listing.changed(), if hears_of_tools => {
                    let _ = subscription.sink().notify_tool_list_changed().await;
                }
                uri = resource_subscriptions::next_change_or_pending(&mut resources) => {
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
        let is_gone = is_modern(&cx) && HANDSHAKE_METHODS.contains(&method);
        if KNOWN_METHODS.contains(&method) && !is_gone {
            let arguments = request.params.as_ref().and_then(|params| params.get("arguments"));
            let message = match arguments.filter(|arguments| !arguments.is_object()) {
                Some(found) => format!(
                    "arguments: expected an object such as {{\"path\": \"README.md\"}}, found {}",
                    haft::shown_value(found)
                ),
                None => format!("the params of {} do not have the form it takes", request.method),
            };
            return Err(ErrorData::invalid_params(message, None));
        }
        Err(ErrorData::new(ProtocolCode::METHOD_NOT_FOUND, request.method, None))
    }
}

fn is_modern(cx: &RequestContext<RoleServer>) -> bool {
    cx.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
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
