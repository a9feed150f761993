//! The pages of the server, for people with a browser: logging in, the files that need no login, and the headers that
//! keep other sites out of every answer. The content of the pages comes from a service.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::Request;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, SET_COOKIE};
use http::{HeaderValue, Method, StatusCode};
use http_body::Body as HttpBody;
use tower_service::Service;

use crate::body;
use crate::browser_sessions::{BrowserSession, BrowserSessions};
use crate::limits::{PAGE_BODY_BYTES_MAX, SECRET_BODY_BYTES_MAX};
use crate::page_guard::{PageVisitor, cookie_header};
use crate::refusal::HttpRefusal;

/// Where a browser logs in with the secret of a link.
pub const LOGIN_PATH: &str = "/login";
/// Where a page gets the secret of its tab.
pub const TAB_PATH: &str = "/tab";
/// The header of a request for a tab, with the browser's secret.
const BROWSER_HEADER: &str = "haft-browser";

/// A file that browsers get without a login.
#[derive(Clone, Copy, Debug)]
pub struct PublicFile {
    /// Its path, with a slash at the beginning.
    pub path: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// Its content.
    pub content: &'static [u8],
}

/// The pages of a site.
#[derive(Clone, Debug)]
pub struct PageParts {
    /// The browsers that may see them.
    pub sessions: Arc<BrowserSessions>,
    /// The page that a browser gets which is not logged in, whatever it asks for.
    pub welcome: &'static [u8],
    /// The files that need no login.
    pub files: &'static [PublicFile],
}

/// The headers of every answer. Nothing comes from elsewhere, nothing is executed that is not a file of the server, and
/// no other page shows or opens one of these.
const PAGE_HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
         form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'; \
         trusted-types haft",
    ),
    ("x-frame-options", "DENY"),
    ("x-content-type-options", "nosniff"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
];

impl PageParts {
    /// Answers a request that the guard let in.
    pub(crate) async fn answer<S, B>(
        &self,
        visitor: PageVisitor,
        port: u16,
        request: Request,
        service: S,
    ) -> Response
    where
        S: Service<http::Request<Bytes>, Response = http::Response<B>, Error = Infallible>,
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let is_change = request.method() == Method::POST;
        let path = request.uri().path();
        let file = self.files.iter().find(|file| file.path == path && !is_change);
        let answer = match (file, visitor) {
            (Some(file), _) => Ok(of_file(file)),
            (None, _) if is_change && path == LOGIN_PATH => self.log_in(request, port).await,
            (None, PageVisitor::Stranger) if is_change => Err(HttpRefusal::LoginMissing),
            (None, PageVisitor::Stranger) => {
                let html = [(CONTENT_TYPE, "text/html; charset=utf-8")];
                Ok((StatusCode::UNAUTHORIZED, html, self.welcome).into_response())
            }
            (None, PageVisitor::Person(browser)) if is_change && path == TAB_PATH => {
                self.open_tab(&request, browser)
            }
            (None, PageVisitor::Person(browser)) => call(service, request, browser).await,
        };
        let mut answer = answer.unwrap_or_else(IntoResponse::into_response);
        let headers = answer.headers_mut();
        for (name, value) in PAGE_HEADERS {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
        answer
    }

    async fn log_in(&self, request: Request, port: u16) -> Result<Response, HttpRefusal> {
        let link = body::read(request.into_body(), SECRET_BODY_BYTES_MAX).await?;
        let login = self.sessions.log_in(&String::from_utf8_lossy(&link));
        let login = login.map_err(|_| HttpRefusal::NoSecret)?.ok_or(HttpRefusal::LinkUsed)?;
        let cookie = HeaderValue::try_from(cookie_header(&login.cookie, port));
        let cookie = cookie.map_err(|_| HttpRefusal::NoSecret)?;
        Ok(([(SET_COOKIE, cookie)], login.browser_secret).into_response())
    }

    fn open_tab(
        &self,
        request: &Request,
        browser: BrowserSession,
    ) -> Result<Response, HttpRefusal> {
        let given = request.headers().get(BROWSER_HEADER).and_then(|value| value.to_str().ok());
        let tab = self.sessions.open_tab(browser, given.unwrap_or_default());
        let tab = tab.map_err(|_| HttpRefusal::NoSecret)?.ok_or(HttpRefusal::LoginMissing)?;
        Ok(tab.into_response())
    }
}

fn of_file(file: &PublicFile) -> Response {
    ([(CONTENT_TYPE, file.media_type)], file.content).into_response()
}

/// Has the service answer a person's request.
async fn call<S, B>(
    mut service: S,
    request: Request,
    browser: BrowserSession,
) -> Result<Response, HttpRefusal>
where
    S: Service<http::Request<Bytes>, Response = http::Response<B>, Error = Infallible>,
    B: HttpBody<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (mut parts, body) = request.into_parts();
    let body = body::read(body, PAGE_BODY_BYTES_MAX).await?;
    parts.extensions.insert(browser);
    match service.call(http::Request::from_parts(parts, body)).await {
        Ok(response) => Ok(response.map(axum::body::Body::new)),
        Err(never) => match never {},
    }
}
