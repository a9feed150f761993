//! Requests and notifications of a server to haft. A server may ask for the directories that it was granted. It gets no model,
//! and it gets forms filled in only if the embedding program does that. Its progress and changes of its tools are passed on.

#![expect(
    deprecated,
    reason = "the current protocol has no roots and no sampling any more, and servers of the other era ask for both"
)]

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{CallProgress, Cx};
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorData, FormElicitationCapability,
    Implementation, ListRootsResult, ProgressNotificationParam, ProgressToken, ProtocolVersion,
    Root, RootsCapabilities,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::Notify;

use super::forms::{FormFiller, fill_form};
use super::limits::SERVER_PROGRESS_CHARS_MAX;
use haft_contract::{clean, cut};

pub(super) struct McpClientHandler {
    pub(super) roots: Vec<PathBuf>,
    /// Who fills in its forms, if anybody does.
    pub(super) form_filler: Option<Arc<dyn FormFiller>>,
    pub(super) listeners: Arc<ProgressListeners>,
    pub(super) tools_changed: Arc<Notify>,
}

/// The calls that are told their progress. The caller adds its call and removes it when it ends; the handler only looks it
/// up.
#[derive(Default)]
pub(super) struct ProgressListeners {
    calls: Mutex<HashMap<ProgressToken, Cx>>,
}

/// A call that hears of its steps for as long as this lives.
pub(super) struct ProgressRegistration<'a> {
    listeners: &'a ProgressListeners,
    token: ProgressToken,
}

impl ProgressListeners {
    pub(super) fn register(&self, token: ProgressToken, cx: Cx) -> ProgressRegistration<'_> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.insert(token.clone(), cx);
        ProgressRegistration { listeners: self, token }
    }
}

impl Drop for ProgressRegistration<'_> {
    fn drop(&mut self) {
        let mut calls = self.listeners.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.remove(&self.token);
    }
}

impl ClientHandler for McpClientHandler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        capabilities.roots = (!self.roots.is_empty()).then(RootsCapabilities::default);
        let form = || ElicitationCapability::new().with_form(FormElicitationCapability::default());
        capabilities.elicitation = self.form_filler.is_some().then(form);
        let haft = Implementation::new("haft", env!("CARGO_PKG_VERSION")).with_title("haft");
        ClientConfig::new(capabilities, haft)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let roots = self.roots.iter().map(|path| Root::new(file_uri(path)));
        Ok(ListRootsResult::new(roots.collect()))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Err(refused("haft lends its model to no server"))
    }

    async fn create_elicitation(
        &self,
        asked: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let forms = self.form_filler.as_deref();
        let forms = forms.ok_or_else(|| refused("haft asks no person in the name of a server"))?;
        let asked = serde_json::to_value(asked).unwrap_or_default();
        serde_json::from_value(fill_form(forms, &asked).await)
            .map_err(|err| ErrorData::internal_error(err.to_string(), None))
    }

    async fn on_progress(
        &self,
        step: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let calls = self.listeners.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cx) = calls.get(&step.progress_token) {
            let message = step.message.unwrap_or_default();
            cx.report(CallProgress {
                done: step.progress,
                total: step.total,
                message: cut(&clean(&message), SERVER_PROGRESS_CHARS_MAX),
            });
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.tools_changed.notify_one();
    }
}

fn refused(why: &'static str) -> ErrorData {
    ErrorData::new(rmcp::model::ErrorCode::METHOD_NOT_FOUND, why, None)
}

fn file_uri(path: &std::path::Path) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                uri.push(char::from(byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_uris() {
        assert_eq!(file_uri("/srv/a b/ä".as_ref()), "file:///srv/a%20b/%C3%A4");
    }
}
