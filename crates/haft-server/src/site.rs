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
use crate::limits::{BODY_BYTES_MAX, HEADER_BYTES_MAX};
use crate::page_guard::{PageVisitor, check_visitor};
use crate::pages::PageParts;
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
    /// The pages at all other paths.
    pages: Option<PageParts>,
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
        Self { guard, router, paths: Vec::new(), pages: None }
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
                match body::read(body, BODY_BYTES_MAX).await {
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

    /// Adds pages for people with a browser, at all paths that have no service. A page needs a login of its browser, and
    /// no token.
    #[must_use]
    pub fn mount_pages<S, B>(mut self, pages: PageParts, service: S) -> Self
    where
        S: Service<http::Request<Bytes>, Response = http::Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send,
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        self.pages = Some(pages.clone());
        let answer = move |request: Request| {
            let (pages, service) = (pages.clone(), service.clone());
            async move {
                let visitor = request.extensions().get::<PageVisitor>().copied();
                let connection = request.extensions().get::<RequestConnection>();
                let port = connection.map_or(0, |connection| connection.local.port());
                // Without a visitor, the guard has not seen the request.
                let visitor = visitor.unwrap_or(PageVisitor::Stranger);
                pages.answer(visitor, port, request, service).await
            }
        };
        self.router = self.router.fallback(answer);
        self
    }

    /// Returns the site as one router.
    pub(crate) fn into_router(self) -> Router {
        let Self { guard, router, paths, pages } = self;
        let places = paths.join(" and ");
        let nowhere = move || std::future::ready(HttpRefusal::PathUnknown(places.clone()));
        let router = if pages.is_some() { router } else { router.fallback(nowhere) };
        let origins = guard.origins.iter().filter_map(|one| HeaderValue::from_str(one).ok());
        let origins: Vec<_> = origins.collect();
        let parts = Arc::new((guard, paths, pages));
        let admit = move |request: Request, next: Next| {
            let of_site = Arc::clone(&parts);
            async move {
                let (guard, paths, pages) = &*of_site;
                let connection = request.extensions().get::<RequestConnection>().cloned();
                let local = connection.as_ref().map(|connection| connection.local.ip());
                let local = local.unwrap_or(IpAddr::from([0, 0, 0, 0]));
                let (mut parts, body) = request.into_parts();
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
                    match pages {
                        Some(pages) if !paths.iter().any(|path| path == parts.uri.path()) => {
                            let port = connection.as_ref().map_or(0, |it| it.local.port());
                            let visitor = check_visitor(&parts, &pages.sessions, port)?;
                            parts.extensions.insert(visitor);
                            if visitor == PageVisitor::Stranger {
                                return Ok(());
                            }
                        }
                        Some(_) | None => guard.check_token(&parts)?,
                    }
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
        let router = router.layer(middleware::from_fn(admit));
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
