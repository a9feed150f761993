use super::*;

#[track_caller]
fn check(content_type: Option<&str>, url: &str, bytes: &[u8], expect: (&str, &str)) {
    let page = FetchedPage { bytes, content_type, url };
    let decoded = decode(&page, PageKind::Html);
    assert_eq!((decoded.charset, &*decoded.text), expect);
}

const URL: &str = "https://a.example/";

#[test]
fn a_mark_counts_most() {
    let utf_8 = Some("text/html; charset=windows-1252");
    check(utf_8, URL, b"\xef\xbb\xbf\xc3\xa9", ("UTF-8", "é"));
    check(utf_8, URL, b"\xfe\xff\0a", ("UTF-16BE", "a"));
    check(utf_8, URL, b"\xff\xfea\0", ("UTF-16LE", "a"));
}

#[test]
fn the_server_counts_more_than_the_page() {
    let page = b"<meta charset=koi8-r>\xe9";
    let text = |last: &str| format!("<meta charset=koi8-r>{last}");
    check(Some("text/html; charset=iso-8859-2"), URL, page, ("ISO-8859-2", &text("é")));
    check(Some("text/html;CHARSET = 'iso-8859-5' ; a=b"), URL, page, ("ISO-8859-5", &text("щ")));
    check(Some("text/html; charset=unheard-of"), URL, page, ("KOI8-R", &text("И")));
    check(None, URL, page, ("KOI8-R", &text("И")));
}

#[test]
fn a_page_says_it_in_several_ways() {
    for (page, charset) in [
        ("<META HTTP-EQUIV='Content-Type' CONTENT='text/html; charset=Shift_JIS'>", "Shift_JIS"),
        ("<meta  name=x><meta\ncharset = \"big5\" />", "Big5"),
        ("<?xml version='1.0' encoding='euc-kr'?><html>", "EUC-KR"),
        ("<!-- <meta charset=big5> --><meta charset=gbk>", "GBK"),
        ("<meta charset=utf-16>", "UTF-8"),
        ("<meta charset=>", "UTF-8"),
    ] {
        check(None, URL, page.as_bytes(), (charset, page));
    }
    let late = format!("{}<meta charset=big5>", " ".repeat(DECLARATION_BYTES));
    check(None, URL, late.as_bytes(), ("UTF-8", &late));
}

#[test]
fn a_claim_that_the_bytes_refute_is_passed_over() {
    let german = "Die Fähre fährt über den großen Fluss.";
    check(Some("text/html; charset=iso-8859-1"), URL, german.as_bytes(), ("UTF-8", german));
    let (windows, _, _) = WINDOWS_1252.encode(german);
    check(Some("text/html; charset=utf-8"), URL, &windows, ("windows-1252", german));
}

#[test]
fn one_slip_refutes_nothing() {
    let cut = "abc é".as_bytes();
    check(Some("text/html; charset=utf-8"), URL, &cut[..cut.len() - 1], ("UTF-8", "abc \u{fffd}"));
}

#[test]
fn what_nobody_names_is_guessed() {
    let russian = "Часы на ратуше заводят дважды в неделю, по понедельникам и четвергам.";
    let (bytes, _, _) = encoding_rs::WINDOWS_1251.encode(russian);
    check(None, "https://a.example.ru/", &bytes, ("windows-1251", russian));
    check(None, "https://[::1]/", russian.as_bytes(), ("UTF-8", russian));
    check(None, "https://a.averyveryverylongtopleveldomain/", b"a", ("UTF-8", "a"));
    let wide: Vec<u8> = "<p>hello".encode_utf16().flat_map(u16::to_be_bytes).collect();
    check(None, URL, &wide, ("UTF-16BE", "<p>hello"));
}
