use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(html: &str, expect: &str) {
    assert_eq!(strip_tags(html).text, expect, "{html}");
}

#[test]
fn text_is_kept_and_tags_are_not() {
    check("<h1>A</h1>\n<p>b <b>c</b>d\n e<br>f<p>g", "A\n\nb cd e\nf\n\ng");
    check("<ul><li>a<li>b<ul><li>c</ul></ul>d", "- a\n- b\n\n- c\n\nd");
    check("<table><tr><td>a<td>b<tr><td>c</table>", "a b\nc");
    check("<pre>a\n  b</pre> c", "a\n  b\n\nc");
    check("a<!-- b > c -->d<!doctype e><?f?>g", "adg");
    check(
        "1 < 2 &lt; 3 & 4 &amp;amp; &#x41;&#66;&unknown; &#0;&#xd800;",
        "1 < 2 < 3 & 4 &amp; AB&unknown; \u{fffd}\u{fffd}",
    );
    check("<a title='x > y' href=z>b</a>", "b");
    check("<p>a</p \n>b<//>c", "a\n\nb<//>c");
    check("a <b", "a");
    check("a <!-- b", "a");
}

#[test]
fn a_title_is_taken_once() {
    let stripped = strip_tags("<title> A &amp; <b> </title><p>x<title>y</title>");
    assert_eq!(stripped.title.as_deref(), Some("A & <b>"));
    assert_eq!(stripped.text, "x\n\ny");
    assert_eq!(strip_tags("<title></title>").title, None);
}

#[test]
fn what_is_not_read_is_left_out() {
    check("a<script>if (b < c) { '</p>' }</script>d", "ad");
    check("a<style>b{}</STYLE >c", "ac");
    check("a<svg><text>b</text><path/></svg>c<svg/>d", "acd");
    check("a<div hidden>b<div>c</div>d</div>e", "a\n\ne".replace("\n\n", "").as_str());
    check("a<p style='DISPLAY : none'>b<p>c", "a\n\nc");
    check("<span class='x sr-only'>a</span>b<i aria-hidden=\"true\">c</i>d", "bd");
    check("<div class=hidden>a</div>", "a");
    check("a<script>b", "a");
    check("a\u{200b}b\u{e0041}\u{202e}c\0", "abc");
}

#[test]
fn depth_is_what_a_tree_would_have() {
    assert_eq!(depth("<div><p>a<p>b<p>c<br><img></div><div></div>"), 1);
    assert_eq!(depth(&"<div>".repeat(5_000)), 5_000);
    assert_eq!(depth(&"<div></x>".repeat(5_000)), 5_000);
    assert_eq!(depth(&"<div/>".repeat(5_000)), 5_000);
    assert_eq!(depth(&"<path/>".repeat(5_000)), 0);
    assert_eq!(depth(&"<b></b>".repeat(5_000)), 1);
    assert_eq!(depth(&"<ul><li>".repeat(10)), 10);
}

#[test]
fn slips_that_repeat_take_no_longer_than_their_length() {
    // Each would take minutes, were the rest of the page looked through again for each tag.
    for slip in [
        "<a b=\"",
        "<a b='>",
        "<title>",
        "<script>",
        "<!--",
        "<!",
        "</",
        "<textarea>",
        "&",
        "&#",
        "<div hidden>",
    ] {
        strip_tags(&slip.repeat(400_000));
    }
}

proptest! {
    #[test]
    fn anything_can_be_stripped(html in r#"([<>/!a-z "'=&;#-]|<p>|</p>|<script>|</script>|<!--|-->|<pre>|é|<li>){0,60}"#) {
        let stripped = strip_tags(&html);
        prop_assert!(stripped.text.chars().all(|character| !is_unseen(character)));
        prop_assert!(stripped.text.len() <= html.len() * 3);
        depth(&html);
    }
}
