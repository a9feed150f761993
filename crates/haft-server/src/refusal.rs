//! A request that is not answered by what lies at its path, and why, in words for the person who has to mend it.

use axum::response::{IntoResponse, Response};
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It has no Host header, or several.
    HostMissing,
    /// It is for a host that this server does not go by.
    HostForeign(String),
    /// A page of another site made it.
    OriginForeign(String),
    /// It carries no token.
    TokenMissing,
    /// It carries another token.
    TokenWrong,
    /// Nothing is at its path.
    Nowhere(String),
    /// What is at its path takes other methods.
    Method(&'static str),
    /// Its headers are too long.
    HeadersLong(usize),
    /// Its body is too long.
    BodyLong(usize),
    /// Its body did not arrive in time.
    BodySlow(u64),
    /// Its body broke off.
    BodyBroken,
}

impl Refusal {
    fn status(&self) -> StatusCode {
        match self {
            Self::HostMissing | Self::BodyBroken => StatusCode::BAD_REQUEST,
            Self::HostForeign(_) | Self::OriginForeign(_) => StatusCode::FORBIDDEN,
            Self::TokenMissing | Self::TokenWrong => StatusCode::UNAUTHORIZED,
            Self::Nowhere(_) => StatusCode::NOT_FOUND,
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
            // What is left of the body would be taken for the next request.
            Self::BodyLong(_) | Self::BodySlow(_) | Self::BodyBroken => (CONNECTION, "close"),
            Self::HostMissing
            | Self::HeadersLong(_)
            | Self::HostForeign(_)
            | Self::OriginForeign(_)
            | Self::Nowhere(_) => return None,
        };
        Some((name, HeaderValue::from_static(value)))
    }

    fn text(&self) -> String {
        match self {
            Self::HostMissing => "expected one Host header".to_owned(),
            Self::HostForeign(host) => format!(
                "this server does not go by the host {host:?}: start it with --host and the name that \
                 it is reached by"
            ),
            Self::OriginForeign(origin) => format!(
                "pages of {origin:?} may not use this server: start it with --origin and that \
                 origin if they should"
            ),
            Self::TokenMissing => {
                "expected the header Authorization: Bearer TOKEN, with the token that haft serve printed \
                 or was given"
                    .to_owned()
            }
            Self::TokenWrong => {
                "the bearer token is not the one of this server: take the one that haft serve printed \
                 or was given"
                    .to_owned()
            }
            Self::Nowhere(places) => format!("nothing is at this path: there is {places}"),
            Self::Method(allowed) => format!("this path takes {allowed} alone"),
            Self::HeadersLong(bytes) => format!("the headers have more than {bytes} bytes"),
            Self::BodyLong(bytes) => format!("the body has more than {bytes} bytes"),
            Self::BodySlow(ms) => format!("the body did not arrive within {ms} ms"),
            Self::BodyBroken => "the body broke off or is not well formed".to_owned(),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let plain = [(CONTENT_TYPE, "text/plain; charset=utf-8")];
        let mut response = (self.status(), plain, format!("{}\n", self.text())).into_response();
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, value);
        }
        response
    }
}
