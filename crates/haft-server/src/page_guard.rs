//! Decides which requests for pages are a person's. A page that another site or another port opened gets nothing, and no
//! frame shows a page. A browser that is not logged in gets the files that let it log in, and nothing of what haft knows.

use http::header::{COOKIE, HOST, ORIGIN};
use http::request::Parts;
use http::{HeaderMap, Method};

use crate::browser_sessions::{BrowserSession, BrowserSessions};
use crate::refusal::HttpRefusal;

/// The name of the cookie, before the port of the server.
const COOKIE_NAME: &str = "haft_browser_";

/// Who asks for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageVisitor {
    /// A browser that is logged in.
    Person(BrowserSession),
    /// Any other browser.
    Stranger,
}

/// Returns who asks for a page, after the checks of all requests.
pub(crate) fn check_visitor(
    request: &Parts,
    sessions: &BrowserSessions,
    port: u16,
) -> Result<PageVisitor, HttpRefusal> {
    let header = |name: &str| single(&request.headers, name);
    if !matches!(request.method, Method::GET | Method::HEAD | Method::POST) {
        return Err(HttpRefusal::Method("GET, HEAD, POST"));
    }
    let is_change = request.method == Method::POST;
    // Other origins may use the tools, if the user said so. Their pages are still not a person's.
    match header(ORIGIN.as_str()) {
        None if is_change => return Err(HttpRefusal::OriginMissing),
        None => {}
        Some(origin) if is_own_origin(origin, &request.headers) => {}
        Some(origin) => return Err(HttpRefusal::OriginForeign(origin.to_owned())),
    }
    let destination = header("sec-fetch-dest").unwrap_or_default();
    if ["iframe", "frame", "fencedframe", "embed", "object"].contains(&destination) {
        return Err(HttpRefusal::PageFramed);
    }
    match header("sec-fetch-site").unwrap_or("none") {
        "same-origin" | "none" => {}
        // A link on another page. It gets what a stranger gets, so the other page learns and changes nothing.
        _ if !is_change
            && header("sec-fetch-mode") == Some("navigate")
            && destination == "document" =>
        {
            return Ok(PageVisitor::Stranger);
        }
        site => return Err(HttpRefusal::PageForeign(site.to_owned())),
    }
    let name = cookie_name(port);
    let cookies = request.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let mut known = pairs
        .filter(|(key, _)| key.trim() == name)
        .filter_map(|(_, value)| sessions.of_cookie(value.trim()));
    Ok(known.next().map_or(PageVisitor::Stranger, PageVisitor::Person))
}

/// Returns the header that sets the cookie of a browser. Scripts cannot read it, and other sites do not send it.
pub(crate) fn cookie_header(cookie: &str, port: u16) -> String {
    format!("{}={cookie}; Path=/; HttpOnly; SameSite=Strict", cookie_name(port))
}

fn cookie_name(port: u16) -> String {
    format!("{COOKIE_NAME}{port}")
}

fn is_own_origin(origin: &str, headers: &HeaderMap) -> bool {
    let site = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    let host = single(headers, HOST.as_str()).unwrap_or_default();
    site.is_some_and(|site| site.eq_ignore_ascii_case(host))
}

/// Returns the only value of a header; an empty text if it has several, or one that is not text.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    Some(if all.next().is_some() { "" } else { first.to_str().unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    #[test]
    fn only_a_persons_own_page_is_let_in() {
        let sessions = BrowserSessions::new(|| Ok([7; 32]));
        let login = sessions.log_in(&sessions.issue_link().unwrap()).unwrap().unwrap();
        let person = PageVisitor::Person(sessions.of_cookie(&login.cookie).unwrap());
        let cookie = format!("a=b; haft_browser_80={}", login.cookie);
        let check = |method: &str, headers: &[(&str, &str)], expect: Result<PageVisitor, ()>| {
            let request = Request::builder().method(method).header("host", "localhost:80");
            let request = headers
                .iter()
                .fold(request, |request, (name, value)| request.header(*name, *value));
            let parts = request.body(()).unwrap().into_parts().0;
            let found = check_visitor(&parts, &sessions, 80).map_err(|_| ());
            assert_eq!(found, expect, "{method} {headers:?}");
        };
        let of_person = ("cookie", cookie.as_str());
        let own = ("origin", "http://localhost:80");
        check("GET", &[], Ok(PageVisitor::Stranger));
        check("GET", &[("cookie", "haft_browser_80=x")], Ok(PageVisitor::Stranger));
        check("GET", &[of_person], Ok(person));
        check("GET", &[of_person, ("sec-fetch-site", "same-origin")], Ok(person));
        check("POST", &[of_person, own], Ok(person));
        check("POST", &[of_person], Err(()));
        check("POST", &[of_person, own, ("sec-fetch-site", "same-site")], Err(()));
        check("DELETE", &[of_person, own], Err(()));
        // A page of another port sends the cookie along.
        check("GET", &[of_person, ("sec-fetch-site", "same-site")], Err(()));
        check("GET", &[of_person, ("sec-fetch-site", "cross-site")], Err(()));
        check("GET", &[of_person, ("origin", "http://localhost:81")], Err(()));
        let link = ("sec-fetch-mode", "navigate");
        let site = ("sec-fetch-site", "cross-site");
        check("GET", &[of_person, site, link, ("sec-fetch-dest", "document")], {
            Ok(PageVisitor::Stranger)
        });
        for frame in ["iframe", "frame", "embed", "object"] {
            let dest = ("sec-fetch-dest", frame);
            check("GET", &[of_person, ("sec-fetch-site", "same-origin"), link, dest], Err(()));
            check("GET", &[of_person, site, link, dest], Err(()));
        }
        // A cookie of a server on another port is not this server's.
        let other = format!("haft_browser_81={}", login.cookie);
        check("GET", &[("cookie", &other)], Ok(PageVisitor::Stranger));
    }
}
