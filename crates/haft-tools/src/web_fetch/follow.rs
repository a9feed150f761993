//! The way from the URL that was asked for to the one that answers. Each step is a request of its own, which the runtime
//! judges and checks like the first; nothing is taken along from one to the next.

use haft_contract::{Cx, ErrorCode, NetRequest, NetResponse, ToolError};
use url::Url;

use super::address::check;
use super::status::status_text;

/// Redirects that are followed.
pub(crate) const REDIRECTS_MAX: usize = 10;

/// What is wanted, best first.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, \
                      text/plain;q=0.8, application/pdf;q=0.7, */*;q=0.5";

/// The head of an answer that is no redirect, and where it came from.
pub(super) struct Fetched {
    pub(super) url: Url,
    pub(super) response: NetResponse,
}

/// Asks for a URL, and for what it leads to.
pub(super) async fn follow(first: Url, cx: &Cx) -> Result<Fetched, ToolError> {
    let mut way = vec![without_fragment(first)];
    loop {
        let Some(url) = way.last().cloned() else { unreachable!("the way begins somewhere") };
        let mut request = NetRequest::get(url.as_str());
        request.headers = vec![("accept".to_owned(), ACCEPT.to_owned())];
        let response = cx.net().send(request).await.map_err(|err| not_reached(&way, err))?;
        if !is_redirect(response.status) {
            return Ok(Fetched { url, response });
        }
        let next = next(&url, &response)?;
        if way.contains(&next) {
            let circle: Vec<&str> = way.iter().chain([&next]).map(Url::as_str).collect();
            let message = format!("redirects lead in a circle: {}", circle.join(" -> "));
            return Err(failed(message));
        }
        if way.len() > REDIRECTS_MAX {
            let message = format!(
                "{} leads to more than {REDIRECTS_MAX} redirects, lately to {next}: call again with that URL to go on",
                way.first().map_or("", Url::as_str)
            );
            return Err(failed(message));
        }
        way.push(next);
    }
}

fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Returns where a redirect leads.
fn next(url: &Url, response: &NetResponse) -> Result<Url, ToolError> {
    let Some(location) = response.header("location") else {
        let message =
            format!("{url} answered {} without saying where to", status_text(response.status));
        return Err(failed(message));
    };
    let refused = |why: &str| failed(format!("{url} redirects to where it is not followed: {why}"));
    let next = url.join(location).map_err(|err| refused(&format!("{err}")))?;
    check(&next).map_err(|why| refused(&why))?;
    if url.scheme() == "https" && next.scheme() == "http" {
        return Err(refused(&format!(
            "{next} is not encrypted, and {url} is: call again with that URL if this is meant"
        )));
    }
    Ok(without_fragment(next))
}

/// Says of a redirect that it could not be followed, and what can be done.
fn not_reached(way: &[Url], mut err: ToolError) -> ToolError {
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

fn failed(message: String) -> ToolError {
    ToolError::new(ErrorCode::ToolFailed, message)
}
