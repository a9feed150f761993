//! The way from the URL that was asked for to the one that answers. Each step is a request of its own, which the runtime
//! judges and checks like the first; nothing is taken along from one to the next.

use haft_contract::{Cx, ErrorCode, NetRequest, NetResponse, ToolError};
use url::Url;

use super::address::check_url;
use super::status::status_text;

/// Redirects to one page.
///
/// Limit (web): the fetch fails.
pub(crate) const REDIRECTS_MAX: usize = 10;

/// What is wanted, best first.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, \
                      text/plain;q=0.8, application/pdf;q=0.7, */*;q=0.5";

/// The head of an answer that is no redirect, and where it came from.
pub(super) struct FinalResponse {
    pub(super) url: Url,
    pub(super) response: NetResponse,
}

/// Asks for a URL, and for what it leads to.
pub(super) async fn follow_redirects(first: Url, cx: &Cx) -> Result<FinalResponse, ToolError> {
    let mut way = vec![without_fragment(first)];
    loop {
        let Some(url) = way.last().cloned() else { unreachable!("the way begins somewhere") };
        let mut request = NetRequest::get(url.as_str());
        request.headers = vec![("accept".to_owned(), ACCEPT.to_owned())];
        let response =
            cx.net().send(request).await.map_err(|err| add_redirects_to_error(&way, err))?;
        if !is_redirect(response.status) {
            return Ok(FinalResponse { url, response });
        }
        let next = redirect_target(&url, &response)?;
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

fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Returns where a redirect leads.
fn redirect_target(url: &Url, response: &NetResponse) -> Result<Url, ToolError> {
    let Some(location) = response.header("location") else {
        let message =
            format!("{url} answered {} without saying where to", status_text(response.status));
        return Err(fetch_error(message));
    };
    let refused =
        |why: &str| fetch_error(format!("{url} redirects to where it is not followed: {why}"));
    let next = url.join(location).map_err(|err| refused(&format!("{err}")))?;
    check_url(&next).map_err(|why| refused(&why))?;
    if url.scheme() == "https" && next.scheme() == "http" {
        return Err(refused(&format!(
            "{next} is not encrypted, and {url} is: call again with that URL if this is meant"
        )));
    }
    Ok(without_fragment(next))
}

/// Says of a redirect that it could not be followed, and what can be done.
fn add_redirects_to_error(way: &[Url], mut err: ToolError) -> ToolError {
    let Some((url, before)) = way.split_last() else { return err };
    let Some(from) = before.last() else {
        err.message = format!("{url}: {}", err.message);
        return err;
    };
    err.message =
        format!("{from} redirects to {url}, which could not be followed: {}", err.message);
    err
}

fn without_fragment(mut url: Url) -> Url {
    url.set_fragment(None);
    url
}

fn fetch_error(message: String) -> ToolError {
    ToolError::new(ErrorCode::ToolFailed, message)
}
