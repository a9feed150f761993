//! Follows redirects from the requested URL to the one that answers. The runtime judges each request like the first one, and
//! no request takes data from the one before.

use haft_contract::{Cx, ErrorCode, NetRequest, NetResponse, ToolError};
use url::Url;

use super::address::check_url;
use super::status::status_text;

/// Redirects to one page.
///
/// Limit (web): the fetch fails.
pub(crate) const REDIRECTS_MAX: usize = 10;

/// The wanted types, best first.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, \
                      text/plain;q=0.8, application/pdf;q=0.7, */*;q=0.5";

/// The head of an answer that is not a redirect, and its URL.
pub(super) struct FinalResponse {
    pub(super) url: Url,
    pub(super) response: NetResponse,
}

/// Requests a URL and follows its redirects.
pub(super) async fn follow_redirects(first: Url, cx: &Cx) -> Result<FinalResponse, ToolError> {
    let mut way = vec![without_fragment(first)];
    loop {
        let Some(url) = way.last().cloned() else { unreachable!("the way begins somewhere") };
        let mut request = NetRequest::get(url.as_str());
        request.headers = vec![("accept".to_owned(), ACCEPT.to_owned())];
        let response = cx.net().send(request).await.map_err(|mut err| {
            err.message = match way.iter().rev().nth(1) {
                None => format!("{url}: {}", err.message),
                Some(from) => {
                    let why = &err.message;
                    format!("{from} redirects to {url}, which could not be followed: {why}")
                }
            };
            err
        })?;
        if !matches!(response.status, 301 | 302 | 303 | 307 | 308) {
            return Ok(FinalResponse { url, response });
        }
        let Some(location) = response.header("location") else {
            let status = status_text(response.status);
            return Err(fetch_error(format!("{url} answered {status} without saying where to")));
        };
        let refused =
            |why: &str| fetch_error(format!("{url} redirects to where it is not followed: {why}"));
        let next = url.join(location).map_err(|err| refused(&err.to_string()))?;
        check_url(&next).map_err(|why| refused(&why))?;
        if url.scheme() == "https" && next.scheme() == "http" {
            return Err(refused(&format!(
                "{next} is not encrypted, and {url} is: call again with that URL if this is meant"
            )));
        }
        let next = without_fragment(next);
        if way.contains(&next) {
            let circle: Vec<&str> = way.iter().chain([&next]).map(Url::as_str).collect();
            let message = format!("redirects lead in a circle: {}", circle.join(" -> "));
            return Err(fetch_error(message));
        }
        if way.len() > REDIRECTS_MAX {
            let message = format!(
                "{} leads to more than {REDIRECTS_MAX} redirects, lately to {next}: call again with that URL to go on",
                way.first().map_or("", Url::as_str)
            );
            return Err(fetch_error(message));
        }
        way.push(next);
    }
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

fn fetch_error(message: String) -> ToolError {
    ToolError::new(ErrorCode::ToolFailed, message)
}
