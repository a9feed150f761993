//! Answers to requests for pages. The server adds the headers that keep other sites out.

use std::convert::Infallible;

use askama::Template;
use bytes::Bytes;
use futures_util::Stream;
use http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName, LOCATION};
use http::{HeaderValue, Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};

use crate::navigation::{Section, Sections};
use crate::page_error::PageError;
use crate::text;

/// The body of an answer.
pub(crate) type PageBody = UnsyncBoxBody<Bytes, Infallible>;
/// An answer.
pub(crate) type PageResponse = Response<PageBody>;

/// The header that leads a page on after a change.
const NEXT_HEADER: HeaderName = HeaderName::from_static("haft-next");

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage {
    sections: Sections,
    title: &'static str,
    message: String,
}

/// Returns a page, or a part of one.
pub(crate) fn html(template: &impl Template) -> Result<PageResponse, PageError> {
    let text = template.render().map_err(PageError::failed)?;
    Ok(of_type(StatusCode::OK, "text/html; charset=utf-8", Bytes::from(text)))
}

/// Returns the page that shows an error. A page that asked for a change gets the message alone.
pub(crate) fn error(err: &PageError, is_change: bool) -> PageResponse {
    let message = text::shown(&err.message);
    if is_change {
        return of_type(err.status, "text/plain; charset=utf-8", Bytes::from(message));
    }
    let title = match err.status {
        StatusCode::NOT_FOUND => "Not found",
        StatusCode::BAD_REQUEST => "This address cannot be used",
        _ => "This page cannot be shown",
    };
    let page = ErrorPage { sections: Sections(Section::None), title, message };
    let text = page.render().unwrap_or_else(|_| err.message.clone());
    of_type(err.status, "text/html; charset=utf-8", Bytes::from(text))
}

/// Answers a change: the page goes on at this path.
pub(crate) fn go_to(path: &str) -> PageResponse {
    let mut response = of_type(StatusCode::NO_CONTENT, "text/plain", Bytes::new());
    if let Ok(value) = HeaderValue::from_str(path) {
        response.headers_mut().insert(NEXT_HEADER, value);
    }
    response
}

/// Leads the browser to another path.
pub(crate) fn redirect(path: &str) -> PageResponse {
    let mut response = of_type(StatusCode::SEE_OTHER, "text/plain", Bytes::new());
    if let Ok(value) = HeaderValue::from_str(path) {
        response.headers_mut().insert(LOCATION, value);
    }
    response
}

/// Returns a file that the browser saves and does not show.
pub(crate) fn download(name: &str, content: PageBody) -> PageResponse {
    let is_safe = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
    let name: String = name.chars().map(|one| if is_safe(one) { one } else { '_' }).collect();
    let mut response = Response::new(content);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    if let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
        headers.insert(CONTENT_DISPOSITION, value);
    }
    response
}

/// Returns a stream of events for a page.
pub(crate) fn event_stream(events: impl Stream<Item = Bytes> + Send + 'static) -> PageResponse {
    let mut response = Response::new(streamed(events));
    let stream = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(CONTENT_TYPE, stream);
    response
}

/// Returns a body that is sent in pieces.
pub(crate) fn streamed(pieces: impl Stream<Item = Bytes> + Send + 'static) -> PageBody {
    use futures_util::StreamExt as _;
    StreamBody::new(pieces.map(|piece| Ok::<_, Infallible>(Frame::data(piece)))).boxed_unsync()
}

/// Returns a body that is sent at once.
pub(crate) fn whole(content: Bytes) -> PageBody {
    Full::new(content).boxed_unsync()
}

fn of_type(status: StatusCode, media_type: &'static str, content: Bytes) -> PageResponse {
    let mut response = Response::new(whole(content));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}
