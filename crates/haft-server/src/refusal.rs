//! Refused requests, with messages for the person who can fix the client or the configuration.

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HttpRefusal {
    /// It has no Host header, or several.
    HostMissing,
    /// It is for a host that is not a name of this server.
    HostForeign(String),
    /// A page of another site sent it.
    OriginForeign(String),
    /// It would change something, and does not say which page sent it.
    OriginMissing,
    /// It is for a page, and a page of another site or another port sent it.
    PageForeign(String),
    /// It is for a page inside another one.
    PageFramed,
    /// Its browser is not logged in.
    LoginMissing,
    /// The link that it logs in with was used before, or is none.
    LinkUsed,
    /// The system gives no random bytes for a secret.
    NoSecret,
    /// It has no token.
    TokenMissing,
    /// It has a wrong token.
    TokenWrong,
    /// Nothing is at its path.
    PathUnknown(String),
    /// Its path does not support the method.
    Method(&'static str),
    /// Its headers are too long.
    HeadersLong(usize),
    /// Its body is too long.
    BodyLong(usize),
    /// Its body did not arrive in time.
    BodySlow(u64),
    /// Its body is incomplete.
    BodyBroken,
}

impl IntoResponse for HttpRefusal {
    fn into_response(self) -> Response {
        let (status, text) = match &self {
            Self::HostMissing => (StatusCode::BAD_REQUEST, "expected one Host header".to_owned()),
            Self::HostForeign(host) => (
                StatusCode::FORBIDDEN,
                format!(
                    "this server does not go by the host {host:?}: start it with the name that \
                     it is reached by"
                ),
            ),
            Self::OriginForeign(origin) => (
                StatusCode::FORBIDDEN,
                format!(
                    "pages of {origin:?} may not use this server: start it with that \
                     origin allowed if they should"
                ),
            ),
            Self::OriginMissing => (
                StatusCode::FORBIDDEN,
                "a change needs the Origin header of the page that asks for it".to_owned(),
            ),
            Self::PageForeign(site) => (
                StatusCode::FORBIDDEN,
                format!("expected a request of this server's own page, found Sec-Fetch-Site {site:?}"),
            ),
            Self::PageFramed => {
                (StatusCode::FORBIDDEN, "no other page may show this one in a frame".to_owned())
            }
            Self::LoginMissing => (
                StatusCode::UNAUTHORIZED,
                "this browser is not logged in: open the link that haft printed".to_owned(),
            ),
            Self::LinkUsed => (
                StatusCode::UNAUTHORIZED,
                "this link was used before, or is not one of this server: start haft again for a new one"
                    .to_owned(),
            ),
            Self::NoSecret => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "the system gives no random bytes".to_owned(),
            ),
            Self::TokenMissing => (
                StatusCode::UNAUTHORIZED,
                "expected the header Authorization: Bearer TOKEN, with the token that this server printed \
                 or was given"
                    .to_owned(),
            ),
            Self::TokenWrong => (
                StatusCode::UNAUTHORIZED,
                "the bearer token is not the one of this server: take the one that it printed \
                 or was given"
                    .to_owned(),
            ),
            Self::PathUnknown(places) => {
                (StatusCode::NOT_FOUND, format!("nothing is at this path: there is {places}"))
            }
            Self::Method(allowed) => {
                (StatusCode::METHOD_NOT_ALLOWED, format!("this path takes {allowed} alone"))
            }
            Self::HeadersLong(bytes) => (
                StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
                format!("the headers have more than {bytes} bytes"),
            ),
            Self::BodyLong(bytes) => {
                (StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {bytes} bytes"))
            }
            Self::BodySlow(ms) => (
                StatusCode::REQUEST_TIMEOUT,
                format!("the body did not arrive within {ms} ms"),
            ),
            Self::BodyBroken => {
                (StatusCode::BAD_REQUEST, "the body broke off or is not well formed".to_owned())
            }
        };
        let header = match self {
            Self::TokenMissing => Some((WWW_AUTHENTICATE, r#"Bearer realm="haft""#)),
            Self::TokenWrong => {
                Some((WWW_AUTHENTICATE, r#"Bearer realm="haft", error="invalid_token""#))
            }
            Self::Method(allowed) => Some((ALLOW, allowed)),
            // The rest of the body would be parsed as the next request.
            Self::BodyLong(_) | Self::BodySlow(_) | Self::BodyBroken => Some((CONNECTION, "close")),
            Self::HostMissing
            | Self::OriginMissing
            | Self::PageForeign(_)
            | Self::PageFramed
            | Self::LoginMissing
            | Self::LinkUsed
            | Self::NoSecret
            | Self::HeadersLong(_)
            | Self::HostForeign(_)
            | Self::OriginForeign(_)
            | Self::PathUnknown(_) => None,
        };
        let plain = [(CONTENT_TYPE, "text/plain; charset=utf-8")];
        let mut response = (status, plain, format!("{text}\n")).into_response();
        if let Some((name, value)) = header {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    }
}
