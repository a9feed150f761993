//! The services at each path. The guard protects everything except the health check.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method};
use http_body::Body as HttpBody;
use tower_http::cors::{AllowOrigin, CorsLayer};
use tower_service::Service;

use crate::body;
use crate::guard::RequestGuard;
use crate::limits::HEADER_BYTES_MAX;
use crate::refusal::HttpRefusal;

/// The path of the health check, which needs no token.
pub const HEALTH_PATH: &str = "/healthz";

/// The server's address of a request's connection.
#[derive(Clone, Copy)]
pub(crate) struct LocalAddress(pub(crate) SocketAddr);

/// The services of the server.
pub struct HttpSite {
    guard: RequestGuard,
    router: Router,
    paths: Vec<String>,
}

impl HttpSite {
    /// Returns a site with only [`HEALTH_PATH`].
    pub fn new(guard: RequestGuard) -> Self {
        let router = Router::new().route(HEALTH_PATH, any(health));
        Self { guard, router, paths: Vec::new() }
    }

    /// Adds a service for a path. Request bodies are read before it is called.
    #[must_use]
    pub fn mount<S, B>(mut self, path: &str, service: S) -> Self
    where
        S: Service<http::Request<Bytes>, Response = http::Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let answer = move |request: Request| {
            let mut service = service.clone();
            async move {
                let (parts, body) = request.into_parts();
                match body::read(body).await {
                    Err(refusal) => refusal.into_response(),
                    Ok(body) => match service.call(http::Request::from_parts(parts, body)).await {
                        Ok(response) => response.map(axum::body::Body::new),
                        Err(never) => match never {},
                    },
                }
            }
        };
        self.router = self.router.route(path, any(answer));
        self.paths.push(path.to_owned());
        self
    }

    /// Returns the site as one router.
    pub(crate) fn into_router(self) -> Router {
        let Self { guard, router, paths: places } = self;
        let places = places.join(" and ");
        let nowhere = move || std::future::ready(HttpRefusal::PathUnknown(places.clone()));
        let sharing = cross_origin(&guard.origins);
        let router = router.fallback(nowhere);
        let router = router.layer(middleware::from_fn_with_state(Arc::new(guard), admit));
        match sharing {
            Some(layer) => router.layer(layer),
            None => router,
        }
    }
}

async fn admit(State(guard): State<Arc<RequestGuard>>, request: Request, next: Next) -> Response {
    let local = request.extensions().get::<LocalAddress>().map(|local| local.0.ip());
    let (parts, body) = request.into_parts();
    match check(&guard, &parts, local.unwrap_or(IpAddr::from([0, 0, 0, 0]))) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => refusal.into_response(),
    }
}

fn check(guard: &RequestGuard, request: &Parts, local: IpAddr) -> Result<(), HttpRefusal> {
    check_size(&request.headers)?;
    guard.check_site(request, local)?;
    if request.uri.path() == HEALTH_PATH { Ok(()) } else { guard.check_token(request) }
}

/// The HTTP parser limits its buffer, which may be larger than the limit for headers.
fn check_size(headers: &HeaderMap) -> Result<(), HttpRefusal> {
    let bytes: usize =
        headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    if bytes > HEADER_BYTES_MAX { Err(HttpRefusal::HeadersLong(HEADER_BYTES_MAX)) } else { Ok(()) }
}

async fn health(method: Method) -> Response {
    match method {
        Method::GET | Method::HEAD => "ok\n".into_response(),
        _ => HttpRefusal::Method("GET, HEAD").into_response(),
    }
}

/// Returns the layer that lets browsers show answers to pages of these origins. It grants no
/// access: the guard does.
fn cross_origin(origins: &[String]) -> Option<CorsLayer> {
    let origins: Vec<_> =
        origins.iter().filter_map(|one| HeaderValue::from_str(one).ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let name = HeaderName::from_static;
    let layer = CorsLayer::new()
        .allow_origin(AllowOrigin::list(origins))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([
            AUTHORIZATION,
            CONTENT_TYPE,
            name("last-event-id"),
            name("mcp-method"),
            name("mcp-name"),
            name("mcp-protocol-version"),
            name("mcp-session-id"),
        ])
        .expose_headers([name("mcp-session-id")]);
    Some(layer)
}
