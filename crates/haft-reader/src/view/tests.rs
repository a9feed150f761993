use std::io::Cursor;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use expect_test::{Expect, expect};
use image::{DynamicImage, ImageFormat, Rgb, RgbImage, Rgba, RgbaImage};
use serde_json::json;

use super::*;
use crate::limits::{EDGE_PIXELS_MAX, IMAGE_BYTES_MAX, IMAGES_MAX};
use crate::pdf::tests::pdf;

fn view(bytes: &[u8], name: &str, pages: Option<&str>, form: Option<ViewForm>) -> Vec<String> {
    let request = ViewRequest { name: name.to_owned(), pages: pages.map(str::to_owned), form };
    match view_file(bytes, &request) {
        Ok(parts) => parts.iter().map(shown).collect(),
        Err(err) => vec![format!("{err:?}")],
    }
}

/// Returns a part as tests compare it: an image is decoded again and named by its size.
fn shown(part: &ContentPart) -> String {
    match part {
        ContentPart::Text { text } => text.clone(),
        ContentPart::Image { mime_type, data } => {
            let bytes = BASE64_STANDARD.decode(data).expect("images are base64");
            assert!(bytes.len() <= IMAGE_BYTES_MAX, "{} bytes", bytes.len());
            let image = image::load_from_memory(&bytes).expect("a shown image can be decoded");
            format!("[{mime_type} {}x{}]", image.width(), image.height())
        }
        other => format!("{other:?}"),
    }
}

fn encoded(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, format).expect("the format takes the image");
    bytes.into_inner()
}

fn stripes(width: u32, height: u32) -> RgbImage {
    RgbImage::from_fn(width, height, |x, y| {
        Rgb([if x / 8 % 2 == 0 { 200 } else { 20 }, 40, u8::try_from(y % 256).unwrap_or(0)])
    })
}

#[track_caller]
fn check(bytes: &[u8], pages: Option<&str>, form: Option<ViewForm>, expect: Expect) {
    expect.assert_eq(&view(bytes, "a", pages, form).join("\n"));
}

#[test]
fn images_are_shown_in_the_size_that_models_take() {
    let small = encoded(stripes(64, 32), ImageFormat::Png);
    let [about, part] = &view(&small, "a.png", None, None)[..] else { panic!("two parts") };
    assert_eq!(about, &format!("a.png: PNG image, 64 x 32 pixels, {} bytes", small.len()));
    assert_eq!(part, "[image/png 64x32]");
    for (format, mime_type, name) in [
        (ImageFormat::Png, "image/png", "PNG image"),
        (ImageFormat::Jpeg, "image/jpeg", "JPEG image"),
        (ImageFormat::WebP, "image/png", "WebP image"),
    ] {
        let large = encoded(stripes(EDGE_PIXELS_MAX * 2, 1_000), format);
        let [about, part] = &view(&large, "a", None, None)[..] else { panic!("two parts") };
        assert!(about.starts_with(&format!("a: {name}, 3136 x 1000 pixels, ")), "{about}");
        assert!(about.ends_with(" bytes, shown at 1568 x 500"), "{about}");
        assert_eq!(part, &format!("[{mime_type} 1568x500]"), "{name}");
    }
    let gif = encoded(RgbaImage::from_pixel(10, 20, Rgba([1, 2, 3, 255])), ImageFormat::Gif);
    let parts = view(&gif, "a.gif", None, None);
    assert!(parts[0].contains("GIF image, 10 x 20 pixels") && parts[0].ends_with("first frame"));
    assert_eq!(parts[1], "[image/png 10x20]");
    // The text of an image is what a model without images gets.
    assert_eq!(view(&small, "a.png", None, Some(ViewForm::Text)).len(), 1);
}

#[test]
fn an_image_of_many_colours_is_made_small_enough() {
    let mut state = 1_u32;
    let noise = RgbaImage::from_fn(1_400, 1_400, |_, _| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [a, b, c, d] = state.to_be_bytes();
        Rgba([a, b, c, d])
    });
    let bytes = encoded(noise, ImageFormat::Png);
    assert!(bytes.len() > IMAGE_BYTES_MAX);
    let request = ViewRequest { name: "a".to_owned(), pages: None, form: None };
    let parts = view_file(&bytes, &request).expect("it is an image");
    let ContentPart::Image { mime_type, .. } = &parts[1] else { panic!("an image") };
    assert_eq!(mime_type, "image/jpeg");
}

#[test]
fn a_broken_image_is_refused_before_a_model_gets_it() {
    let whole = encoded(stripes(64, 32), ImageFormat::Png);
    let [text] = &view(&whole[..whole.len() / 2], "a.png", None, None)[..] else { panic!() };
    assert!(text.starts_with("File(\"the image \\\"a.png\\\" is damaged ("), "{text}");
    assert!(text.ends_with("use another copy\")"), "{text}");
    // A header that promises more pixels than are taken.
    let mut huge = whole;
    huge[16..24].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
    let [text] = &view(&huge, "a.png", None, None)[..] else { panic!("one part") };
    assert!(text.contains("at most 50 megapixels") || text.contains("damaged"), "{text}");
    check(
        &encoded(stripes(8, 8), ImageFormat::Png),
        Some("2"),
        None,
        expect![[r#"Input("\"a\" is one image and has no pages: leave \"pages\" out")"#]],
    );
}

#[test]
fn pages_of_a_pdf_are_text_and_if_asked_for_images() {
    let page = |text: &str| format!("BT /F 20 Tf 50 700 Td ({text}) Tj ET");
    let file = pdf(&[&page("The first page"), "", &page("The last page")], "");
    check(
        &file,
        None,
        None,
        expect![[r#"
        --- page 1 of 3 ---
        The first page

        --- page 2 of 3 ---
        (no text on this page: view it with "as": "image")

        --- page 3 of 3 ---
        The last page"#]],
    );
    check(
        &file,
        Some("3"),
        Some(ViewForm::Text),
        expect![[r#"
        --- page 3 of 3 ---
        The last page"#]],
    );
    check(
        &file,
        Some("1-2"),
        Some(ViewForm::Image),
        expect![[r#"
        page 1 of 3
        [image/png 1176x1568]
        page 2 of 3
        [image/png 1176x1568]"#]],
    );
    check(
        &file,
        Some("4"),
        None,
        expect![[r#"Input("pages: the file has 3 pages, found \"4\": give numbers from 1 to 3")"#]],
    );
    check(
        b"%PDF-1.7\nnothing",
        None,
        None,
        expect![[
            r#"File("the PDF \"a\" is damaged: look at it with a command, or use another copy")"#
        ]],
    );
    let texts: Vec<String> = (0..IMAGES_MAX + 2).map(|number| page(&number.to_string())).collect();
    let pages: Vec<&str> = texts.iter().map(String::as_str).collect();
    let parts = view(&pdf(&pages, ""), "a", None, Some(ViewForm::Image));
    assert_eq!(parts.len(), 2 * IMAGES_MAX + 1);
    assert_eq!(parts[2 * IMAGES_MAX], "(at most 5 pages at once; continue with pages=6-7)");
}

#[test]
fn a_drawn_page_is_not_blank() {
    let file = pdf(&["BT /F 60 Tf 50 400 Td (Black) Tj ET", ""], "");
    let request = |pages: &str| ViewRequest {
        name: "a".to_owned(),
        pages: Some(pages.to_owned()),
        form: Some(ViewForm::Image),
    };
    let dark_pixels = |pages: &str| {
        let parts = view_file(&file, &request(pages)).expect("it is a PDF");
        let ContentPart::Image { data, .. } = &parts[1] else { panic!("an image") };
        let image = image::load_from_memory(&BASE64_STANDARD.decode(data).expect("base64"));
        let pixels = image.expect("an image").to_luma8();
        pixels.pixels().filter(|pixel| pixel.0[0] < 128).count()
    };
    assert!(dark_pixels("1") > 1_000);
    assert_eq!(dark_pixels("2"), 0);
}

#[test]
fn a_notebook_is_its_cells_with_outputs() {
    let figure = BASE64_STANDARD.encode(encoded(stripes(20, 10), ImageFormat::Png));
    let notebook = json!({
        "nbformat": 4,
        "cells": [
            {"cell_type": "markdown", "source": ["# Sales\n", "of the year"]},
            {"cell_type": "code", "execution_count": 2, "source": "print(1)\nplot()", "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"image/png": figure, "text/plain": ["<Figure>"]}},
                {"output_type": "execute_result", "data": {"text/html": "<b>x</b>"}},
            ]},
            {"cell_type": "code", "execution_count": null, "source": [], "outputs": [
                {"output_type": "error", "ename": "KeyError", "evalue": "'a'", "traceback": ["\u{1b}[0;31mKeyError\u{1b}[0m: 'a'"]},
                {"output_type": "stream", "text": "y".repeat(5_000)},
            ]},
        ],
    });
    let bytes = notebook.to_string().into_bytes();
    let parts = view(&bytes, "a.ipynb", None, None);
    assert_eq!(parts.len(), 2);
    assert_eq!(parts[1], "[image/png 20x10]");
    let text = parts[0].replace(&"y".repeat(100), "Y");
    expect![[r#"
        --- cell 1 of 3: markdown ---
        # Sales
        of the year

        --- cell 2 of 3: code [2] ---
        print(1)
        plot()
        --- output ---
        1
        (image 1: PNG image, 20 x 10 pixels, 175 bytes)
        (text/html is not shown)

        --- cell 3 of 3: code ---

        --- output ---
        KeyError: 'a'
        KeyError: 'a'
        YYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYYyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy
        (1029 more characters are not shown: find what you need in the file with grep)"#]].assert_eq(&text);
    check(
        &bytes,
        Some("1"),
        None,
        expect![[r#"
        --- cell 1 of 3: markdown ---
        # Sales
        of the year"#]],
    );
    check(
        &bytes,
        Some("7"),
        None,
        expect![[r#"Input("pages: the file has 3 cells, found \"7\": give numbers from 1 to 3")"#]],
    );
    check(br#"{"nbformat": 4, "cells": []}"#, None, None, expect!["(the notebook has no cells)"]);
}

#[test]
fn other_files_are_refused_with_the_way_to_read_them() {
    check(b"text", None, None, expect![[r#"File("\"a\" is a text file: use read")"#]]);
    check(b"{\"cells\": []}", None, None, expect![[r#"File("\"a\" is a text file: use read")"#]]);
    check(
        b"PK\x03\x04....",
        None,
        None,
        expect![[
            r#"File("\"a\" is of a kind that view does not show (ZIP archive, or a document packed as one): it shows PNG, JPEG, GIF and WebP images, PDFs and notebooks. Look at this file with a command")"#
        ]],
    );
    check(
        b"\x01\x02\0",
        None,
        None,
        expect![[
            r#"File("\"a\" is of a kind that view does not show (binary): it shows PNG, JPEG, GIF and WebP images, PDFs and notebooks. Look at this file with a command")"#
        ]],
    );
}
