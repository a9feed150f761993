//! Texts that may hold the URL of a database, as they may be shown: with the place in it and without the password.

/// What stands where a password was.
const HIDDEN: &str = "***";

/// Returns the text with the passwords of all URLs in it taken out: between `://` and `@`, and as a parameter.
pub(crate) fn without_passwords(text: &str) -> String {
    let mut parts = text.split("://");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        format!("{shown}://{}", without_parameter(&without_authority(part)))
    })
}

/// What of a URL follows its scheme, up to the next one.
fn without_authority(part: &str) -> String {
    let end = part.find(is_end).unwrap_or(part.len());
    let (url, rest) = part.split_at(end);
    // A password that is not spelled as it should be may hold a slash or a question mark.
    match url.rsplit_once('@') {
        Some((user, place)) => {
            let user = user
                .split_once(':')
                .map_or(user.to_owned(), |(user, _)| format!("{user}:{HIDDEN}"));
            format!("{user}@{place}{rest}")
        }
        None => part.to_owned(),
    }
}

fn without_parameter(part: &str) -> String {
    let mut pieces = part.split("password=");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |shown, piece| {
        let end = piece.find(|character| character == '&' || is_end(character));
        format!("{shown}password={HIDDEN}{}", piece.split_at(end.unwrap_or(piece.len())).1)
    })
}

fn is_end(character: char) -> bool {
    character.is_whitespace() || "\"'".contains(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_passwords_are_taken_out() {
        let check = |text: &str, expect: &str| assert_eq!(without_passwords(text), expect);
        check("journal = \"log/j.sqlite\"", "journal = \"log/j.sqlite\"");
        check("postgres://ada@db/haft", "postgres://ada@db/haft");
        check("postgres://ada:s3cret@db:5432/haft?x=1", "postgres://ada:***@db:5432/haft?x=1");
        check("'postgres://ada:s@c/r?t@db' y@z", "'postgres://ada:***@db' y@z");
        check("postgres://db/haft?password=a&user=b", "postgres://db/haft?password=***&user=b");
        check("http://a:b@c postgresql://d:e@f", "http://a:***@c postgresql://d:***@f");
    }
}
