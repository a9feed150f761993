//! The tool `view` through the real programs: over MCP, and in agents with models that see images and models that do not. How
//! files are decoded is tested in haft-reader.

use haft_scripted_model::{ScriptedReply, WireProtocol};
use serde_json::{Value, json};

use crate::agent::Stage;
use crate::mcp_wire::driver::{Place, Server};
use crate::world::World;

/// A PNG of one pixel.
const PNG: &[u8] = &[
    0x89, 0x50, 0x4e, 0x47, 0xd, 0xa, 0x1a, 0xa, 0, 0, 0, 0xd, 0x49, 0x48, 0x44, 0x52, 0, 0, 0, 1,
    0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 0xd, 0x49, 0x44, 0x41, 0x54, 0x78,
    0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0xf0, 0x1f, 0, 5, 0, 1, 0xff, 0x89, 0x99, 0x3d, 0x1d, 0, 0, 0, 0,
    0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
];
const NOTEBOOK: &str = r##"{"nbformat": 4, "cells": [
    {"cell_type": "markdown", "source": ["# Sales"]},
    {"cell_type": "code", "execution_count": 1, "source": ["1 + 1"], "outputs": [
        {"output_type": "execute_result", "data": {"text/plain": ["2"]}}]}]}"##;

/// Returns a PDF of one page with this text.
fn pdf(text: &str) -> String {
    drawn_pdf(&format!("BT /F 40 Tf 50 400 Td ({text}) Tj ET"))
}

/// Returns a PDF of one page that these operators draw.
fn drawn_pdf(drawn: &str) -> String {
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [4 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Resources << /Font << /F 3 0 R >> >> /Contents 5 0 R >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{drawn}\nendstream", drawn.len()),
    ];
    let mut file = "%PDF-1.7\n".to_owned();
    let mut places = String::new();
    for (index, object) in objects.iter().enumerate() {
        places.push_str(&format!("{:010} 00000 n \n", file.len()));
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", index + 1));
    }
    let table = file.len();
    file + &format!(
        "xref\n0 6\n0000000000 65535 f \n{places}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n"
    )
}

fn content(answer: &Value) -> Vec<(&str, &str)> {
    let parts = answer["result"]["content"].as_array().unwrap().iter();
    let text = |part: &Value, name: &str| part[name].as_str().map(str::len);
    parts
        .map(|part| match text(part, "data") {
            Some(_) => (part["type"].as_str().unwrap(), part["mimeType"].as_str().unwrap()),
            None => (part["type"].as_str().unwrap(), part["text"].as_str().unwrap_or_default()),
        })
        .collect()
}

#[test]
fn files_are_viewed_over_mcp() {
    let place = Place::new();
    std::fs::write(place.root().join("logo.png"), PNG).unwrap();
    place.write("a.pdf", &pdf("Hello"));
    place.write("a.ipynb", NOTEBOOK);
    place.write("a.txt", "text\n");
    let mut server = Server::start_legacy(&place, &[]);
    let mut check = |tool: &str, arguments: Value, expect: &[(&str, &str)]| {
        let answer = server.call(tool, arguments.clone());
        assert_eq!(content(&answer), expect, "{tool} {arguments}");
    };
    let about = "logo.png: PNG image, 1 x 1 pixels, 70 bytes";
    check("view", json!({"path": "logo.png"}), &[("text", about), ("image", "image/png")]);
    check("view", json!({"file_path": "logo.png", "as": "text"}), &[("text", about)]);
    check("view", json!({"path": "a.pdf"}), &[("text", "--- page 1 of 1 ---\nHello")]);
    check(
        "view",
        json!({"path": "a.pdf", "as": "image", "pages": "1"}),
        &[("text", "page 1 of 1"), ("image", "image/png")],
    );
    let cells = "--- cell 1 of 2: markdown ---\n# Sales\n\n--- cell 2 of 2: code [1] ---\n1 + 1\n--- output ---\n2";
    check("view", json!({"path": "a.ipynb"}), &[("text", cells)]);
    check("view", json!({"path": "a.txt"}), &[("text", "\"a.txt\" is a text file: use read")]);
    check(
        "view",
        json!({"path": "a.pdf", "pages": "2"}),
        &[("text", "pages: the file has only 1 page, found \"2\": leave pages out")],
    );
    check(
        "read",
        json!({"path": "logo.png"}),
        &[("text", "file \"logo.png\" is a PNG image, not text: use view")],
    );
    check(
        "read",
        json!({"path": "a.pdf"}),
        &[("text", "file \"a.pdf\" is a PDF document, not text: use view")],
    );
    check(
        "read",
        json!({"path": "a.ipynb"}),
        &[(
            "text",
            "file \"a.ipynb\" is a notebook: use view to see its cells, or give offset and limit to read its JSON",
        )],
    );
    check(
        "read",
        json!({"path": "a.ipynb", "offset": 2, "limit": 1}),
        &[("text", "    {\"cell_type\": \"markdown\", \"source\": [\"# Sales\"]},\n")],
    );
}

#[test]
fn a_long_text_is_cut_and_its_images_stay() {
    let place = Place::new();
    place.write("haft.toml", "[limits]\nshown_chars = 1000\n");
    let image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";
    let figure = json!({"output_type": "display_data", "data": {"image/png": image}});
    let source = "x = 1\n".repeat(1_000);
    let cells = json!([{"cell_type": "code", "source": source, "outputs": [figure]}]);
    place.write("a.ipynb", &json!({"nbformat": 4, "cells": cells}).to_string());
    let mut server = Server::start_legacy(&place, &[]);
    let answer = server.call("view", json!({"path": "a.ipynb"}));
    let parts = content(&answer);
    assert_eq!(parts[1], ("image", "image/png"), "{answer}");
    assert!(parts[0].1.chars().count() <= 1_000 && parts[0].1.contains(" left out; all of it: "));
}

#[test]
fn an_image_is_larger_than_text_may_be() {
    let place = Place::new();
    let mut state = 1_u32;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 16
    };
    let mut drawn = String::new();
    for _ in 0..3_000 {
        let [red, green, blue] = [next() % 10, next() % 10, next() % 10];
        let (x, y) = (next() % 600, next() % 800);
        drawn.push_str(&format!("0.{red} 0.{green} 0.{blue} rg {x} {y} 23 17 re f\n"));
    }
    place.write("a.pdf", &drawn_pdf(&drawn));
    let mut server = Server::start_legacy(&place, &[]);
    let answer = server.call("view", json!({"path": "a.pdf", "as": "image"}));
    let data = answer["result"]["content"][1]["data"].as_str().unwrap_or_default();
    assert!(data.len() > 200_000, "{} bytes: {:?}", data.len(), content(&answer));
}

#[test]
fn an_agent_sends_images_to_a_model_that_sees_them() {
    let image = |wire: WireProtocol, manifest: &str| {
        let world = World::new();
        std::fs::write(world.path("work/logo.png"), PNG).unwrap();
        if !manifest.is_empty() {
            world.write("work/haft.toml", manifest);
            assert!(world.haft(&["trust"]).output().unwrap().status.success());
        }
        let replies = [
            ScriptedReply::new().call("view", json!({"path": "logo.png"})),
            ScriptedReply::new().text("A dot."),
        ];
        let stage = Stage::speaking(wire, world, replies);
        stage.shown(&["agent", "What is it?"]);
        let requests = stage.model.requests();
        let body = requests[1].body.to_string();
        assert!(body.contains("logo.png: PNG image, 1 x 1 pixels"), "{body}");
        body.contains("iVBORw0KGgo")
    };
    for wire in [WireProtocol::OpenAi, WireProtocol::Anthropic] {
        assert!(image(wire, ""), "{wire:?}");
    }
    assert!(!image(WireProtocol::OpenAi, "[model]\nname = \"openai/test\"\nimages = false\n"));
}
