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

use crate::handler::McpServerHandler;
use crate::in_flight_call::cancel_if_given_up;

type HttpRequestContext = RequestContext<RoleServer>;
type PageParams = Option<PaginatedRequestParams>;
type HandlerResult<T> = Result<T, ErrorData>;

/// Leads to the handler of a session.
pub(crate) struct HttpRequestHandler {
    stateless_handler: Arc<McpServerHandler>,
    /// Set by the request that begins a session, before any other request of it.
    session_handler: OnceLock<Arc<McpServerHandler>>,
}

impl HttpRequestHandler {
    pub(crate) fn new(stateless: Arc<McpServerHandler>) -> Self {
        Self { stateless_handler: stateless, session_handler: OnceLock::new() }
    }

    fn handler(&self) -> &McpServerHandler {
        self.session_handler.get().unwrap_or(&self.stateless_handler)
    }
}

/// Forwards requests to the handler of the session.
macro_rules! forward {
    ($($method:ident($params:ty) -> $result:ty;)*) => {$(
        async fn $method(&self, params: $params, cx: HttpRequestContext) -> HandlerResult<$result> {
            self.handler().$method(params, cx).await
        }
    )*};
}

/// Forwards requests that may take long. They are stopped when the request is cancelled, and when the session ends.
macro_rules! forward_stoppable {
    ($($method:ident($params:ty) -> $result:ty;)*) => {$(
        async fn $method(
            &self,
            params: $params,
            mut cx: HttpRequestContext,
        ) -> HandlerResult<$result> {
            let handler = self.handler();
            let stop = handler.stop.child_token();
            let given_up = std::mem::replace(&mut cx.ct, stop.clone());
            cancel_if_given_up(&stop, &given_up, handler.$method(params, cx)).await
        }
    )*};
}

#[expect(deprecated, reason = "clients of the older era still set levels of logs and subscribe so")]
impl ServerHandler for HttpRequestHandler {
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        cx: HttpRequestContext,
    ) -> HandlerResult<InitializeResult> {
        if let Some(handler) = cx.extensions.get::<Arc<McpServerHandler>>() {
            let _ = self.session_handler.set(Arc::clone(handler));
        }
        self.handler().initialize(request, cx).await
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        self.handler().on_initialized(cx).await;
    }

    fn get_info(&self) -> ServerConfig {
        self.handler().get_info()
    }

    async fn discover(&self, cx: HttpRequestContext) -> HandlerResult<DiscoverResult> {
        self.handler().discover(cx).await
    }

    forward! {
        list_tools(PageParams) -> ListToolsResult;
        list_resources(PageParams) -> ListResourcesResult;
        list_resource_templates(PageParams) -> ListResourceTemplatesResult;
        list_prompts(PageParams) -> ListPromptsResult;
        complete(CompleteRequestParams) -> CompleteResult;
        set_level(SetLevelRequestParams) -> ();
        subscribe(SubscribeRequestParams) -> ();
        unsubscribe(UnsubscribeRequestParams) -> ();
        on_custom_request(CustomRequest) -> CustomResult;
    }

    forward_stoppable! {
        call_tool(CallToolRequestParams) -> CallToolResponse;
        read_resource(ReadResourceRequestParams) -> ReadResourceResponse;
        get_prompt(GetPromptRequestParams) -> GetPromptResponse;
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.handler().accepted_subscription_filter(requested)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> HandlerResult<()> {
        let handler = self.handler();
        tokio::select! {
            listened = handler.listen(subscription) => listened,
            () = handler.stop.cancelled() => Ok(()),
        }
    }
}
