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

use super::sessions::Begun;
use crate::conversation::Conversation;
use crate::passing::cancelling;

type Cx = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;
type Answer<T> = Result<T, ErrorData>;

/// Leads to a conversation.
pub(crate) struct Front {
    stateless: Arc<Conversation>,
    /// Set by the request that begins a session, before any other request of it.
    own: OnceLock<Arc<Conversation>>,
}

impl Front {
    pub(crate) fn new(stateless: Arc<Conversation>) -> Self {
        Self { stateless, own: OnceLock::new() }
    }

    /// Returns another one for the same server.
    pub(crate) fn fresh(&self) -> Self {
        Self::new(Arc::clone(&self.stateless))
    }

    fn conversation(&self) -> &Conversation {
        self.own.get().unwrap_or(&self.stateless)
    }

    /// Does what may take long: it is stopped when the request is given up, and when the conversation ends.
    async fn stoppable<T>(&self, mut cx: Cx, work: impl AsyncFnOnce(Cx) -> T) -> T {
        let stop = self.conversation().stop.child_token();
        let given_up = std::mem::replace(&mut cx.ct, stop.clone());
        cancelling(&stop, &given_up, work(cx)).await
    }
}

#[expect(deprecated, reason = "clients of the older era still set levels of logs and subscribe so")]
impl ServerHandler for Front {
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        cx: Cx,
    ) -> Answer<InitializeResult> {
        if let Some(Begun(conversation)) = cx.extensions.get::<Begun>() {
            let _ = self.own.set(Arc::clone(conversation));
        }
        self.conversation().handler.initialize(request, cx).await
    }

    async fn on_initialized(&self, cx: NotificationContext<RoleServer>) {
        self.conversation().handler.on_initialized(cx).await;
    }

    fn get_info(&self) -> ServerConfig {
        self.conversation().handler.get_info()
    }

    async fn discover(&self, cx: Cx) -> Answer<DiscoverResult> {
        self.conversation().handler.discover(cx).await
    }

    async fn call_tool(&self, request: CallToolRequestParams, cx: Cx) -> Answer<CallToolResponse> {
        let handler = &self.conversation().handler;
        self.stoppable(cx, async |cx| handler.call_tool(request, cx).await).await
    }

    async fn list_tools(&self, page: Page, cx: Cx) -> Answer<ListToolsResult> {
        self.conversation().handler.list_tools(page, cx).await
    }

    async fn list_resources(&self, page: Page, cx: Cx) -> Answer<ListResourcesResult> {
        self.conversation().handler.list_resources(page, cx).await
    }

    async fn list_resource_templates(
        &self,
        page: Page,
        cx: Cx,
    ) -> Answer<ListResourceTemplatesResult> {
        self.conversation().handler.list_resource_templates(page, cx).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        cx: Cx,
    ) -> Answer<ReadResourceResponse> {
        let handler = &self.conversation().handler;
        self.stoppable(cx, async |cx| handler.read_resource(request, cx).await).await
    }

    async fn list_prompts(&self, page: Page, cx: Cx) -> Answer<ListPromptsResult> {
        self.conversation().handler.list_prompts(page, cx).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        cx: Cx,
    ) -> Answer<GetPromptResponse> {
        let handler = &self.conversation().handler;
        self.stoppable(cx, async |cx| handler.get_prompt(request, cx).await).await
    }

    async fn complete(&self, request: CompleteRequestParams, cx: Cx) -> Answer<CompleteResult> {
        self.conversation().handler.complete(request, cx).await
    }

    async fn set_level(&self, request: SetLevelRequestParams, cx: Cx) -> Answer<()> {
        self.conversation().handler.set_level(request, cx).await
    }

    async fn subscribe(&self, request: SubscribeRequestParams, cx: Cx) -> Answer<()> {
        self.conversation().handler.subscribe(request, cx).await
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, cx: Cx) -> Answer<()> {
        self.conversation().handler.unsubscribe(request, cx).await
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        self.conversation().handler.accepted_subscription_filter(requested)
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Answer<()> {
        let conversation = self.conversation();
        tokio::select! {
            listened = conversation.handler.listen(subscription) => listened,
            () = conversation.stop.cancelled() => Ok(()),
        }
    }

    async fn on_custom_request(&self, request: CustomRequest, cx: Cx) -> Answer<CustomResult> {
        self.conversation().handler.on_custom_request(request, cx).await
    }
}
