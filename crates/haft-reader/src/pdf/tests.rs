use std::fmt::Write as _;

use expect_test::{Expect, expect};

use super::*;

/// Returns a PDF with these pages, each the operators that draw it, in Helvetica, which no PDF has to hold.
pub(crate) fn pdf(pages: &[&str], info: &str) -> Vec<u8> {
    let mut objects = vec!["<< /Type /Catalog /Pages 2 0 R >>".to_owned()];
    let kids: String = (0..pages.len()).map(|page| format!("{} 0 R ", 5 + page * 2)).collect();
    objects.push(format!("<< /Type /Pages /Kids [{kids}] /Count {} >>", pages.len()));
    objects.push(
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_owned(),
    );
    objects.push(format!("<< {info} >>"));
    for (index, operators) in pages.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F 3 0 R >> >> \
             /Contents {} 0 R >>",
            6 + index * 2
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{operators}\nendstream", operators.len()));
    }
    let mut file = "%PDF-1.7\n".to_owned();
    let mut places = String::new();
    for (index, object) in objects.iter().enumerate() {
        writeln!(places, "{:010} 00000 n ", file.len()).expect("a text takes everything");
        write!(file, "{} 0 obj\n{object}\nendobj\n", index + 1).expect("a text takes everything");
    }
    let table = file.len();
    let count = objects.len() + 1;
    write!(
        file,
        "xref\n0 {count}\n0000000000 65535 f \n{places}trailer\n<< /Size {count} /Root 1 0 R /Info 4 0 R >>\n\
         startxref\n{table}\n%%EOF\n"
    )
    .expect("a text takes everything");
    file.into_bytes()
}

#[track_caller]
fn check(operators: &str, expect: Expect) {
    let read = read_pdf(&pdf(&[operators], "")).expect("it is a PDF");
    assert_eq!(read.note, None);
    expect.assert_eq(&read.text);
}

#[test]
fn lines_and_paragraphs_are_told_by_their_steps() {
    check(
        "BT /F 20 Tf 50 700 Td (The ferry) Tj /F 10 Tf 0 -40 Td (It leaves at six, whatever) Tj 0 -12 Td \
         (the weath-) Tj 0 -12 Td (er may be.) Tj 0 -24 Td (A second paragraph.) Tj ET",
        expect![[r#"
            The ferry

            It leaves at six, whatever
            the weather may be.

            A second paragraph."#]],
    );
}

#[test]
fn words_are_told_by_their_gaps() {
    check(
        "BT /F 10 Tf 50 700 Td [(K)20(erning ) -300 (is no)-278(space, a)10( gap is)] TJ \
         1 0 0 1 300 700 Tm (a column) Tj 1 0 0 1 50 650 Tm (H) Tj 3 Ts /F 6 Tf (2) Tj 0 Ts /F 10 Tf (O) Tj ET",
        expect![[r#"
            Kerning is no space, a gap is  a column

            H2O"#]],
    );
}

#[test]
fn text_that_is_turned_is_read_along_its_line() {
    check(
        "BT /F 10 Tf 0 1 -1 0 100 100 Tm (turned) Tj 0 1 -1 0 112 100 Tm (text) Tj ET",
        expect![[r#"
            turned
            text"#]],
    );
}

#[test]
fn what_is_invisible_lies_over_a_scan_and_what_is_outlined_is_there_once() {
    check(
        "BT /F 10 Tf 50 700 Td 3 Tr (scanned) Tj 0 -12 Td 2 Tr (outlined) Tj ET",
        expect![[r#"
            scanned
            outlined"#]],
    );
}

#[test]
fn pages_follow_each_other_and_have_a_title() {
    let pages =
        ["BT /F 10 Tf 50 50 Td (one \\223quoted\\224) Tj ET", "BT /F 10 Tf 50 700 Td (two) Tj ET"];
    let text = read_pdf(&pdf(&pages, "/Title (F\\344hre)")).expect("it is a PDF");
    assert_eq!((text.title.as_deref(), &*text.text), (Some("Fähre"), "one “quoted”\n\ntwo"));
    let text = read_pdf(&pdf(&pages, "/Title <FEFF0046>")).expect("it is a PDF");
    assert_eq!(text.title.as_deref(), Some("F"));
}

#[test]
fn pages_beyond_the_most_are_left_out() {
    let of = |pages: usize| {
        let operators: Vec<String> =
            (1..=pages).map(|page| format!("BT /F 10 Tf 50 700 Td (page {page}) Tj ET")).collect();
        let operators: Vec<&str> = operators.iter().map(String::as_str).collect();
        let read = read_pdf(&pdf(&operators, "")).expect("it is a PDF");
        (read.text.lines().last().unwrap_or_default().to_owned(), read.note)
    };
    assert_eq!(of(PDF_PAGES_MAX), (format!("page {PDF_PAGES_MAX}"), None));
    let note = format!("only the first {PDF_PAGES_MAX} of {} pages were read", PDF_PAGES_MAX + 1);
    assert_eq!(of(PDF_PAGES_MAX + 1), (format!("page {PDF_PAGES_MAX}"), Some(note)));
}

#[test]
fn a_pdf_without_text_says_so() {
    let text = read_pdf(&pdf(&["0 0 100 100 re f"], "")).expect("it is a PDF");
    assert_eq!(
        (&*text.text, text.note.as_deref()),
        ("", Some("there is no text in the PDF: its pages are probably pictures"))
    );
}

#[test]
fn what_cannot_be_opened_says_why() {
    assert_eq!(read_pdf(b"%PDF-1.7\nnothing").err(), Some(PdfReadError::Damaged));
    assert_eq!(read_pdf(b"").err(), Some(PdfReadError::Damaged));
    let locked = String::from_utf8(pdf(&["BT ET"], "")).expect("it is text").replace(
        "/Info 4 0 R",
        "/ID [<00> <00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -1 /O (0123456789abcdef0123456789abcdef) \
         /U (0123456789abcdef0123456789abcdef) >>",
    );
    assert_eq!(read_pdf(locked.as_bytes()).err(), Some(PdfReadError::Encrypted));
}

#[test]
fn a_table_of_contents_that_is_cut_off_is_made_up_for() {
    let whole = pdf(&["BT /F 10 Tf 50 700 Td (still here) Tj ET"], "");
    let text = String::from_utf8(whole).expect("it is text");
    let cut = text.split_once("xref").map_or(&*text, |(before, _)| before);
    assert_eq!(read_pdf(cut.as_bytes()).map(|text| text.text), Ok("still here".to_owned()));
}
