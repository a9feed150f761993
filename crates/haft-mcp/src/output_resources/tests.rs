//! Cut outputs as resources.

use expect_test::expect;

use super::*;

fn text(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

#[test]
fn a_link_has_an_address_and_the_size_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("7-bash.txt");
    std::fs::write(&path, "twelve bytes").unwrap();
    let outputs = OutputResources::default();
    let link = outputs.add_output(path.to_str().unwrap()).unwrap();
    expect![[r#"{"uri":"haft://output/7-bash.txt","name":"7-bash.txt","mimeType":"text/plain","size":12}"#]].assert_eq(&serde_json::to_string(&link).unwrap());
    assert_eq!(outputs.list(), std::slice::from_ref(&link));
    assert_eq!(outputs.path(&link.uri), Some(path));
    for stranger in
        ["haft://output/8-bash.txt", "haft://output/../7-bash.txt", "file:///7-bash.txt"]
    {
        assert_eq!(outputs.path(stranger), None, "{stranger}");
    }
}

#[test]
fn the_oldest_goes_when_there_are_too_many() {
    let outputs = OutputResources::default();
    for number in 0..=RESOURCES_MAX {
        outputs.add_output(&format!("/gone/{number}-grep.txt")).unwrap();
    }
    let names: Vec<_> = outputs.list().into_iter().map(|resource| resource.name).collect();
    assert_eq!(names.len(), RESOURCES_MAX);
    assert_eq!(names.first().map(String::as_str), Some("1-grep.txt"));
    outputs.add_output("/gone/1-grep.txt").unwrap();
    assert_eq!(outputs.list().len(), RESOURCES_MAX);
}

#[test]
fn contents_are_text_where_they_can_be() {
    let check = |bytes: &[u8], expect: expect_test::Expect| {
        let answer = contents("haft://output/a", bytes.to_vec(), Path::new("/a"));
        expect.assert_eq(&serde_json::to_string(&answer.unwrap()).unwrap());
    };
    check(
        "grün".as_bytes(),
        expect![[r#"{"uri":"haft://output/a","mimeType":"text/plain","text":"grün"}"#]],
    );
    check(
        b"\xff\xfe\x00",
        expect![[
            r#"{"uri":"haft://output/a","mimeType":"application/octet-stream","blob":"//4A"}"#
        ]],
    );
}

#[test]
fn the_largest_is_whole_and_one_byte_more_is_refused() {
    let read = |count| contents("haft://output/a", vec![b'a'; count], Path::new("/a"));
    assert!(read(RESOURCE_BYTES_MAX).is_ok());
    let err = read(RESOURCE_BYTES_MAX + 1).unwrap_err();
    expect![[r#"ErrorData { code: ErrorCode(-32602), message: "the output has 10485761 bytes, more than the 10485760 that are answered whole: get parts of it with the tool read, path \"/a\", byte_offset and byte_limit", data: Some(Object {"uri": String("haft://output/a")}) }"#]].assert_eq(&text(&err));
}
