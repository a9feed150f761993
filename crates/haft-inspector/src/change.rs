//! Changes that a page offers. Each offer is bound to the content that the person saw: if that has changed when the person
//! decides, nothing is done.

use haft_contract::sha256_hex;

use crate::page_error::PageError;
use crate::request::InspectorRequest;
use crate::source::Source;

/// A change that a page offers: what it would do, and the content that the person sees.
pub(crate) struct ShownChange {
    /// The action and its object, such as `settle r/main/0/1/1`.
    action: String,
    digest: String,
}

impl ShownChange {
    /// Returns the change of an action about what is shown.
    pub(crate) fn new(action: String, shown: &str) -> Self {
        Self { action, digest: sha256_hex(shown.as_bytes()) }
    }

    /// Returns the number with which this browser may make the change, once.
    pub(crate) fn offer(
        &self,
        source: &Source,
        request: &InspectorRequest,
    ) -> Result<String, PageError> {
        let nonce = source.sessions.issue_nonce(request.browser, &self.action, &self.digest);
        nonce.map_err(|err| PageError::failed(format!("the system gives no random bytes: {err}")))
    }

    /// Checks that the request may make the change now.
    pub(crate) fn check(
        &self,
        source: &Source,
        request: &InspectorRequest,
    ) -> Result<(), PageError> {
        let (tab, nonce) = (&request.tab, &request.nonce);
        source
            .sessions
            .redeem_nonce(request.browser, tab, nonce, (&self.action, &self.digest))
            .map_err(PageError::conflict)
    }
}
