//! The authorization server of a server: the metadata of the server, and the metadata of the authorization server that it
//! names. Each is believed only about itself.

use reqwest::Url;
use serde::Deserialize;

use super::challenge::Challenge;
use super::login_requests::LoginRequests;

#[derive(Deserialize)]
struct ResourceMetadata {
    resource: String,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

#[derive(Deserialize)]
pub(super) struct IssuerMetadata {
    pub(super) issuer: String,
    pub(super) authorization_endpoint: String,
    pub(super) token_endpoint: String,
    pub(super) registration_endpoint: Option<String>,
    #[serde(default)]
    pub(super) scopes_supported: Vec<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    pub(super) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(super) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(super) authorization_response_iss_parameter_supported: bool,
}

pub(super) struct Discovered {
    pub(super) issuer: IssuerMetadata,
    pub(super) resource: String,
    /// The scopes that tokens of the server can have.
    pub(super) scopes: Vec<String>,
}

/// Finds the authorization server of a server.
pub(super) async fn discover(
    asker: &LoginRequests,
    challenge: &Challenge,
) -> Result<Discovered, String> {
    let server = &asker.server;
    let named = challenge.resource_metadata.as_deref();
    let places = match named.map(|named| asker.named(named)).transpose()? {
        Some(place) => vec![place],
        None => {
            let mut places = vec![
                well_known(server, "oauth-protected-resource", server.path()),
                well_known(server, "oauth-protected-resource", ""),
            ];
            places.dedup();
            places
        }
    };
    let mut about = None;
    for place in places {
        about = asker.document::<ResourceMetadata>(&place).await?;
        if about.is_some() {
            break;
        }
    }
    let Some(about) = about else {
        // Servers of an older protocol are their own authorization servers.
        let issuer = server.origin().ascii_serialization();
        let mut resource = server.clone();
        resource.set_fragment(None);
        let resource = resource.to_string();
        let issuer = about_issuer(asker, &issuer).await.map_err(|why| {
            format!("it offers no login: it does not say who vouches for its users, and {why}")
        })?;
        return Ok(Discovered { issuer, resource, scopes: Vec::new() });
    };
    if !describes(&about.resource, server) {
        return Err(format!(
            "its description is of {:?}, and not of {server}: a token for that is not asked for",
            about.resource
        ));
    }
    let mut first_problem = None;
    for named in &about.authorization_servers {
        match about_issuer(asker, named).await {
            Ok(issuer) => {
                let (resource, scopes) = (about.resource, about.scopes_supported);
                return Ok(Discovered { issuer, resource, scopes });
            }
            Err(why) => first_problem = first_problem.or(Some(why)),
        }
    }
    Err(first_problem.unwrap_or_else(|| "it names no authorization server".to_owned()))
}

async fn about_issuer(asker: &LoginRequests, named: &str) -> Result<IssuerMetadata, String> {
    let url = asker.named(named)?;
    let path = url.path().trim_end_matches('/');
    let mut places = vec![
        well_known(&url, "oauth-authorization-server", path),
        well_known(&url, "openid-configuration", path),
    ];
    if !path.is_empty() {
        let mut appended = url.clone();
        appended.set_path(&format!("{path}/.well-known/openid-configuration"));
        appended.set_query(None);
        appended.set_fragment(None);
        places.push(appended);
    }
    for place in places {
        let Some(found) = asker.document::<IssuerMetadata>(&place).await? else { continue };
        // A slash at the end of an address without a path makes no other address.
        let is_same = found.issuer == named
            || matches!((Url::parse(&found.issuer), Url::parse(named)),
                (Ok(one), Ok(other)) if one == other && one.path() == "/");
        if !is_same {
            return Err(format!("the document of {named} is that of {:?}", found.issuer));
        }
        asker.named(&found.authorization_endpoint)?;
        asker.named(&found.token_endpoint)?;
        if !found.code_challenge_methods_supported.iter().any(|method| method == "S256") {
            return Err(format!(
                "{named} does not protect codes by S256, without which no token is asked for"
            ));
        }
        return Ok(found);
    }
    Err(format!("{named} vouches for its users, and does not say how (no document below {named})"))
}

/// Returns the address of a document that every host keeps at the same place.
fn well_known(url: &Url, name: &str, path: &str) -> Url {
    let mut place = url.clone();
    place.set_path(&format!("/.well-known/{name}{}", path.trim_end_matches('/')));
    place.set_query(None);
    place.set_fragment(None);
    place
}

/// Returns whether a description is of a server: of its address, or of one that it lies below.
fn describes(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else { return false };
    let path = resource.path().trim_end_matches('/');
    let is_below = server
        .path()
        .strip_prefix(path)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    resource.origin() == server.origin() && resource.fragment().is_none() && is_below
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_of_one_server() {
        let check = |resource: &str, server: &str, expect: bool| {
            let found = describes(resource, &Url::parse(server).unwrap());
            assert_eq!(found, expect, "{resource} {server}");
        };
        check("https://a.example/mcp", "https://a.example/mcp", true);
        check("https://a.example", "https://a.example/mcp", true);
        check("https://a.example/", "https://a.example/mcp", true);
        check("https://a.example/mc", "https://a.example/mcp", false);
        check("https://a.example/mcp/x", "https://a.example/mcp", false);
        check("https://b.example/mcp", "https://a.example/mcp", false);
        check("http://a.example/mcp", "https://a.example/mcp", false);
        check("https://a.example:8/mcp", "https://a.example/mcp", false);
        check("a.example", "https://a.example/mcp", false);
    }

    #[test]
    fn documents_have_their_place() {
        let url = Url::parse("https://a.example/one/two?x#y").unwrap();
        assert_eq!(
            well_known(&url, "z", url.path()).as_str(),
            "https://a.example/.well-known/z/one/two"
        );
        assert_eq!(well_known(&url, "z", "").as_str(), "https://a.example/.well-known/z");
    }
}
