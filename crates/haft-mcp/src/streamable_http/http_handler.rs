//! The handler that the SDK makes for each session and for each request without one. It leads to what the session is
//! connected to, or to what all requests without one share, and lets calls be stopped from there as well.

use std::sync::{Arc, OnceLock};

#[expect(deprecated, reason = "clients of the older era still set levels of logs")]
use rmcp::model::SetLevelRequestParams;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, DiscoverResult, GetPromptRequestParams, GetPromptResponse,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};

use super::http_sessions::InitializedInstance;
use crate::in_flight_call::cancel_if_given_up;
use crate::server_instance::McpServerInstance;

type HttpRequestContext = RequestContext<RoleServer>;
type PageParams = Option<PaginatedRequestParams>;
type HandlerResult<T> = Result<T, ErrorData>;

/// Leads to a conversation.
pub(crate) struct HttpRequestHandler {
    stateless_instance: Arc<McpServerInstance>,
    /// Set by the request that begins a session, before any other request of it.
    session_instance: OnceLock<Arc<McpServerInstance>>,
}

impl HttpRequestHandler {
    pub(crate) fn new(stateless: Arc<McpServerInstance>) -> Self {
        Self { stateless_instance: stateless, session_instance: OnceLock::new() }
    }

    /// Returns another one for the same server.
    pub(crate) fn for_next_session(&self) -> Self {
        Self::new(Arc::clone(&self.stateless_instance))
    }

    fn instance(&self) -> &McpServerInstance {
        self.session_instance.get().unwrap_or(&self.stateless_instance)
    }

    /// Does what may take long: it is stopped when the request is given up, and when the conversation ends.
    async fn run_stoppable<T>(
        &self,
        mut cx: HttpRequestContext,
        work: impl AsyncFnOnce(HttpRequestContext) -> T,
    ) -> T {
        let stop = self.instance().stop.child_token();
        let given_up = std::mem::replace(&mut cx.ct, stop.clone());
        cancel_if_given_up(&stop, &given_up, work(cx)).await
    }
}

#[expect(deprecated, reason = "clients of the older era still set levels of logs and subscribe so")]
impl ServerHandler for HttpRequestHandler {
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<InitializeResult> {
        if let Some(InitializedInstance(conversation)) = cx.extensions.get::<InitializedInstance>()
        {
            let _ = self.session_instance.set(Arc::clone(conversation));
        }
        self.instance().handler.initialize(request, cx).await
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        self.instance().handler.on_initialized(cx).await;
    }

    fn get_info(&self) -> ServerConfig {
        self.instance().handler.get_info()
    }

    async fn discover(&self, cx: HttpRequestContext) -> HandlerResult<DiscoverResult> {
        self.instance().handler.discover(cx).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<CallToolResponse> {
        let handler = &self.instance().handler;
        self.run_stoppable(cx, async |cx| handler.call_tool(request, cx).await).await
    }

    async fn list_tools(
        &self,
        page: PageParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<ListToolsResult> {
        self.instance().handler.list_tools(page, cx).await
    }

    async fn list_resources(
        &self,
        page: PageParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<ListResourcesResult> {
        self.instance().handler.list_resources(page, cx).await
    }

    async fn list_resource_templates(
        &self,
        page: PageParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<ListResourceTemplatesResult> {
        self.instance().handler.list_resource_templates(page, cx).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<ReadResourceResponse> {
        let handler = &self.instance().handler;
        self.run_stoppable(cx, async |cx| handler.read_resource(request, cx).await).await
    }

    async fn list_prompts(
        &self,
        page: PageParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<ListPromptsResult> {
        self.instance().handler.list_prompts(page, cx).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<GetPromptResponse> {
        let handler = &self.instance().handler;
        self.run_stoppable(cx, async |cx| handler.get_prompt(request, cx).await).await
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<CompleteResult> {
        self.instance().handler.complete(request, cx).await
    }

    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<()> {
        self.instance().handler.set_level(request, cx).await
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<()> {
        self.instance().handler.subscribe(request, cx).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<()> {
        self.instance().handler.unsubscribe(request, cx).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.instance().handler.accepted_subscription_filter(requested)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> HandlerResult<()> {
        let conversation = self.instance();
        tokio::select! {
            listened = conversation.handler.listen(subscription) => listened,
            () = conversation.stop.cancelled() => Ok(()),
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        cx: HttpRequestContext,
    ) -> HandlerResult<CustomResult> {
        self.instance().handler.on_custom_request(request, cx).await
    }
}
