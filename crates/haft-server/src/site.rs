//! The services at each path. The guard protects everything except the health check.

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::response::IntoResponse;
use axum::routing::any;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use http::{HeaderValue, Method};
use http_body::Body as HttpBody;
use tower_http::cors::{AllowOrigin, CorsLayer};
use tower_service::Service;

use crate::body;
use crate::guard::RequestGuard;
use crate::limits::HEADER_BYTES_MAX;
use crate::places::ClientConnection;
use crate::refusal::HttpRefusal;

/// The path of the health check, which needs no token.
pub const HEALTH_PATH: &str = "/healthz";

/// The connection of a request.
#[derive(Clone)]
pub(crate) struct RequestConnection {
    /// The server's address of the connection.
    pub(crate) local: SocketAddr,
    /// Its place among the others.
    pub(crate) client: Arc<ClientConnection>,
}

/// The services of the server.
pub struct HttpSite {
    guard: RequestGuard,
    router: Router,
    paths: Vec<String>,
}

impl HttpSite {
    /// Returns a site with only [`HEALTH_PATH`].
    pub fn new(guard: RequestGuard) -> Self {
        let health = |method: Method| async move {
            match method {
                Method::GET | Method::HEAD => "ok\n".into_response(),
                _ => HttpRefusal::Method("GET, HEAD").into_response(),
            }
        };
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
        let origins = guard.origins.iter().filter_map(|one| HeaderValue::from_str(one).ok());
        let origins: Vec<_> = origins.collect();
        let guard = Arc::new(guard);
        let admit = move |request: Request, next: Next| {
            let guard = Arc::clone(&guard);
            async move {
                let connection = request.extensions().get::<RequestConnection>().cloned();
                let local = connection.as_ref().map(|connection| connection.local.ip());
                let local = local.unwrap_or(IpAddr::from([0, 0, 0, 0]));
                let (parts, body) = request.into_parts();
                // The HTTP parser limits its buffer, which may be larger than the limit for headers.
                let headers = parts.headers.iter();
                let bytes: usize =
                    headers.map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
                if bytes > HEADER_BYTES_MAX {
                    return HttpRefusal::HeadersLong(HEADER_BYTES_MAX).into_response();
                }
                let admitted = guard.check_site(&parts, local).and_then(|()| {
                    if parts.uri.path() == HEALTH_PATH {
                        return Ok(());
                    }
                    guard.check_token(&parts)?;
                    if let Some(connection) = &connection {
                        connection.client.set_proven();
                    }
                    Ok(())
                });
                match admitted {
                    Ok(()) => next.run(Request::from_parts(parts, body)).await,
                    Err(refusal) => refusal.into_response(),
                }
            }
        };
        let router = router.fallback(nowhere).layer(middleware::from_fn(admit));
        if origins.is_empty() {
            return router;
        }
        // Lets browsers show answers to pages of these origins. It grants no access: the guard does.
        let name = HeaderName::from_static;
        router.layer(
            CorsLayer::new()
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
                .expose_headers([name("mcp-session-id")]),
        )
    }
}
