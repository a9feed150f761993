//! Refused requests, with messages for the person who can fix the client or the configuration.

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HttpRefusal {
    /// It has no Host header, or several.
    HostMissing,
    /// It is for a host that is not a name of this server.
    HostForeign(String),
    /// A page of another site sent it.
    OriginForeign(String),
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

impl HttpRefusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::HostMissing | Self::BodyBroken => StatusCode::BAD_REQUEST,
            Self::HostForeign(_) | Self::OriginForeign(_) => StatusCode::FORBIDDEN,
            Self::TokenMissing | Self::TokenWrong => StatusCode::UNAUTHORIZED,
            Self::PathUnknown(_) => StatusCode::NOT_FOUND,
            Self::Method(_) => StatusCode::METHOD_NOT_ALLOWED,
            Self::HeadersLong(_) => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::BodyLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodySlow(_) => StatusCode::REQUEST_TIMEOUT,
        }
    }

    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        let (name, value) = match self {
            Self::TokenMissing => (WWW_AUTHENTICATE, r#"Bearer realm="haft""#),
            Self::TokenWrong => (WWW_AUTHENTICATE, r#"Bearer realm="haft", error="invalid_token""#),
            Self::Method(allowed) => (ALLOW, *allowed),
            // The rest of the body would be parsed as the next request.
            Self::BodyLong(_) | Self::BodySlow(_) | Self::BodyBroken => (CONNECTION, "close"),
            Self::HostMissing
            | Self::HeadersLong(_)
            | Self::HostForeign(_)
            | Self::OriginForeign(_)
            | Self::PathUnknown(_) => return None,
        };
        Some((name, HeaderValue::from_static(value)))
    }

    fn text(&self) -> String {
        match self {
            Self::HostMissing => "expected one Host header".to_owned(),
            Self::HostForeign(host) => format!(
                "this server does not go by the host {host:?}: start it with the name that \
                 it is reached by"
            ),
            Self::OriginForeign(origin) => format!(
                "pages of {origin:?} may not use this server: start it with that \
                 origin allowed if they should"
            ),
            Self::TokenMissing => {
                "expected the header Authorization: Bearer TOKEN, with the token that this server printed \
                 or was given"
                    .to_owned()
            }
            Self::TokenWrong => {
                "the bearer token is not the one of this server: take the one that it printed \
                 or was given"
                    .to_owned()
            }
            Self::PathUnknown(places) => format!("nothing is at this path: there is {places}"),
            Self::Method(allowed) => format!("this path takes {allowed} alone"),
            Self::HeadersLong(bytes) => format!("the headers have more than {bytes} bytes"),
            Self::BodyLong(bytes) => format!("the body has more than {bytes} bytes"),
            Self::BodySlow(ms) => format!("the body did not arrive within {ms} ms"),
            Self::BodyBroken => "the body broke off or is not well formed".to_owned(),
        }
    }
}

impl IntoResponse for HttpRefusal {
    fn into_response(self) -> Response {
        let plain = [(CONTENT_TYPE, "text/plain; charset=utf-8")];
        let mut response = (self.status(), plain, format!("{}\n", self.text())).into_response();
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
