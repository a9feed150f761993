use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::parse;

/// A plan of these nodes: tool, purpose, and what it waits for.
fn graph(nodes: &[(&str, &str, &[usize])]) -> PlanGraph {
    let node = |(id, (tool, purpose, depends_on)): (usize, &(&str, &str, &[usize]))| {
        let mut node = json!({"id": id, "tool": tool, "depends_on": depends_on});
        if !purpose.is_empty() {
            node["metadata"] = json!({"purpose": purpose});
        }
        node
    };
    let plan = json!({
        "nodes": nodes.iter().enumerate().map(node).collect::<Vec<_>>(),
        "final_output_node": nodes.len().saturating_sub(1)
    });
    PlanGraph::new(&parse(&plan.to_string()).unwrap())
}

fn report() -> PlanGraph {
    graph(&[
        ("repo_overview", "See what is there", &[]),
        ("count_languages", "Which languages, and how much of each", &[0]),
        ("largest_files", "", &[0]),
        ("churn", "What changes most", &[]),
        ("render_report", "One page", &[0, 1, 2, 3]),
    ])
}

fn check(graph: &PlanGraph, columns: usize, charset: DrawingCharset, expect: Expect) {
    let text = graph.terminal(columns, charset);
    for line in text.lines() {
        assert!(line.chars().count() <= columns, "too long: {line}");
    }
    expect.assert_eq(&text);
}

#[test]
fn boxes_and_lines() {
    check(
        &report(),
        80,
        DrawingCharset::Unicode,
        expect![[r#"
                           ┌─────────────────┐    ┌─────────┐
                           │ 0 repo_overview │    │ 3 churn │
                           └────────┬────────┘    └────┬────┘
                  ┌─────────────────┼───────────────┐  │
        ┌─────────▼─────────┐  ┌────▼────────────┐  │  │
        │ 1 count_languages │  │ 2 largest_files │  │  │
        └─────────┬─────────┘  └────────┬────────┘  │  │
                  └───────────────┐     │       ┌───┘  │
                                  │     │       │ ┌────┘
                                 ╔▼═════▼═══════▼═▼╗
                                 ║ 4 render_report ║
                                 ╚═════════════════╝
        ╔═╗ the final output
    "#]],
    );
    check(
        &report(),
        80,
        DrawingCharset::Ascii,
        expect![[r#"
                           +-----------------+    +---------+
                           | 0 repo_overview |    | 3 churn |
                           +--------+--------+    +----+----+
                  +-----------------+---------------+  |
        +---------v---------+  +----v------------+  |  |
        | 1 count_languages |  | 2 largest_files |  |  |
        +---------+---------+  +--------+--------+  |  |
                  +---------------+     |       +---+  |
                                  |     |       | +----+
                                 #v=====v=======v=v#
                                 # 4 render_report #
                                 #=================#
        #=# the final output
    "#]],
    );
    check(
        &graph(&[("read", "", &[]), ("edit", "", &[0]), ("bash", "", &[1])]),
        80,
        DrawingCharset::Unicode,
        expect![[r#"
            ┌─────────┐
            │ 0 read  │
            └────┬────┘
                 │
            ┌────▼────┐
            │ 1 edit  │
            └────┬────┘
                 │
            ╔════▼════╗
            ║ 2 bash  ║
            ╚═════════╝
            ╔═╗ the final output
        "#]],
    );
    check(&graph(&[]), 80, DrawingCharset::Unicode, expect![""]);
}

#[test]
fn lines_that_cross_do_not_touch() {
    let graph = graph(&[
        ("a", "", &[]),
        ("b", "", &[]),
        ("c", "", &[]),
        ("d", "", &[0, 1, 2]),
        ("e", "", &[0, 1, 2]),
        ("f", "", &[0, 3]),
        ("g", "", &[1, 4, 5]),
    ]);
    check(
        &graph,
        80,
        DrawingCharset::Unicode,
        expect![[r#"
          ┌─────┐  ┌─────┐  ┌─────┐
          │ 0 a │  │ 2 c │  │ 1 b │
          └──┬──┘  └──┬──┘  └──┬──┘
        ┌────┼────────│──┐     │
        │    │    ┌───┴──│─┐   │
        │    │    │ ┌────│─│───┼─────┐
        │  ┌─▼────▼─▼┐  ┌▼─▼───▼──┐  │
        │  │   3 d   │  │   4 e   │  │
        │  └────┬────┘  └────┬────┘  │
        └────┐  │         ┌──┘       │
             │  │         │   ┌──────┘
            ┌▼──▼───┐     │   │
            │  5 f  │     │   │
            └───┬───┘     │   │
                └───┐     │ ┌─┘
                   ╔▼═════▼═▼╗
                   ║   6 g   ║
                   ╚═════════╝
        ╔═╗ the final output
    "#]],
    );
}

#[test]
fn labels_shrink_before_boxes_are_given_up() {
    let wide = |tool: &str| {
        let layer = std::iter::repeat_n((tool, "", [0].as_slice()), 4);
        let nodes: Vec<_> = std::iter::once(("start", "", [].as_slice())).chain(layer).collect();
        graph(&nodes)
    };
    check(
        &wide("fetch_many_pages"),
        70,
        DrawingCharset::Unicode,
        expect![[r#"
                                   ┌─────────┐
                                   │ 0 start │
                                   └────┬────┘
                  ┌──────────────┬──────┴───────┬──────────────┐
            ┌─────▼─────┐  ┌─────▼─────┐  ┌─────▼─────┐  ╔═════▼═════╗
            │ 1 fe…ges  │  │ 2 fe…ges  │  │ 3 fe…ges  │  ║ 4 fe…ges  ║
            └───────────┘  └───────────┘  └───────────┘  ╚═══════════╝
            ╔═╗ the final output
        "#]],
    );
    check(
        &wide("fetch_many_pages"),
        40,
        DrawingCharset::Unicode,
        expect![[r#"
        stage 1: 1 node
          0 start
        stage 2: 4 nodes
          1 fetch_many_pages <- 0
          2 fetch_many_pages <- 0
          3 fetch_many_pages <- 0
        * 4 fetch_many_pages <- 0
        * the final output
    "#]],
    );
}

#[test]
fn large_plans_become_a_list() {
    let nodes = |count: usize| {
        let nodes: Vec<_> = (0..count).map(|_| ("read", "", [].as_slice())).collect();
        graph(&nodes)
    };
    let chain: Vec<Vec<usize>> =
        (0..BOXES_MAX).map(|place| place.checked_sub(1).into_iter().collect()).collect();
    let chain: Vec<_> = chain.iter().map(|edges| ("read", "", edges.as_slice())).collect();
    assert!(graph(&chain).terminal(80, DrawingCharset::Ascii).contains("----v----"));
    assert!(
        nodes(BOXES_MAX + 1)
            .terminal(10_000, DrawingCharset::Ascii)
            .starts_with("stage 1: 61 nodes\n")
    );
}

#[test]
fn the_list_names_what_each_node_waits_for() {
    check(
        &report(),
        48,
        DrawingCharset::Unicode,
        expect![[r#"
                         ┌───────────┐  ┌─────────┐
                         │ 0 re…iew  │  │ 3 churn │
                         └─────┬─────┘  └────┬────┘
                  ┌────────────┼──────────┐  │
            ┌─────▼─────┐  ┌───▼───────┐  │  │
            │ 1 co…ges  │  │ 2 la…les  │  │  │
            └─────┬─────┘  └─────┬─────┘  │  │
                  └───────────┐  │    ┌───┘  │
                              │  │    │ ┌────┘
                             ╔▼══▼════▼═▼╗
                             ║ 4 re…ort  ║
                             ╚═══════════╝
            ╔═╗ the final output
        "#]],
    );
    check(
        &report(),
        30,
        DrawingCharset::Ascii,
        expect![[r#"
        stage 1: 2 nodes
          0 repo_overview    See wh...
          3 churn            What c...
        stage 2: 2 nodes
          1 count_languages <- 0  W...
          2 largest_files   <- 0
        stage 3: 1 node
        * 4 render_report   <- 0, 1...
        * the final output
    "#]],
    );
    let all: Vec<usize> = (0..20).collect();
    let mut nodes: Vec<_> = (0..20).map(|_| ("read", "", [].as_slice())).collect();
    nodes.push(("join", "数据汇总", all.as_slice()));
    let text = graph(&nodes).terminal(60, DrawingCharset::Unicode);
    expect![[r#"
        stage 2: 1 node
        * 20 join <- 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 8 m...
        * the final output"#]]
    .assert_eq(text.lines().skip(21).collect::<Vec<_>>().join("\n").as_str());
}

#[test]
fn other_programs_get_the_same_graph() {
    expect![[r#"
        digraph plan {
          node [shape=box, fontname="monospace"];
          n0 [label="0 repo_overview", tooltip="See what is there"];
          n1 [label="1 count_languages", tooltip="Which languages, and how much of each"];
          n2 [label="2 largest_files"];
          n3 [label="3 churn", tooltip="What changes most"];
          n4 [label="4 render_report", tooltip="One page", peripheries=2];
          n0 -> n1;
          n0 -> n2;
          n0 -> n4;
          n1 -> n4;
          n2 -> n4;
          n3 -> n4;
        }
    "#]]
    .assert_eq(&report().dot());
    expect![[r#"
        flowchart TD
          n0["0 repo_overview"]
          n1["1 count_languages"]
          n2["2 largest_files"]
          n3["3 churn"]
          n4[["4 render_report"]]
          n0 --> n1
          n0 --> n2
          n0 --> n4
          n1 --> n4
          n2 --> n4
          n3 --> n4
    "#]]
    .assert_eq(&report().mermaid());
    expect![[r##"
        <svg xmlns="http://www.w3.org/2000/svg" width="469" height="224" viewBox="0 0 469 224" font-family="monospace" font-size="13" text-anchor="middle">
        <defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#667"/></marker></defs>
        <rect width="100%" height="100%" fill="#fff"/>
        <path d="M256 48C256 72 384 72 384 96" fill="none" stroke="#667"/>
        <path d="M384 96V128" stroke="#667"/>
        <path d="M256 48C256 72 100 72 100 96" fill="none" stroke="#667" marker-end="url(#arrow)"/>
        <path d="M256 48C256 72 284 72 284 96" fill="none" stroke="#667" marker-end="url(#arrow)"/>
        <path d="M100 128C100 152 295 152 295 176" fill="none" stroke="#667" marker-end="url(#arrow)"/>
        <path d="M284 128C284 152 295 152 295 176" fill="none" stroke="#667" marker-end="url(#arrow)"/>
        <path d="M409 48C409 72 409 72 409 96" fill="none" stroke="#667"/>
        <path d="M409 96V128" stroke="#667"/>
        <path d="M384 128C384 152 295 152 295 176" fill="none" stroke="#667" marker-end="url(#arrow)"/>
        <path d="M409 128C409 152 295 152 295 176" fill="none" stroke="#667" marker-end="url(#arrow)"/>
        <g><title>repo_overview: See what is there</title><rect x="180" y="16" width="152" height="32" rx="5" fill="#f4f6fa" stroke="#667"/><text x="256" y="37">0 repo_overview</text></g>
        <g><title>count_languages: Which languages, and how much of each</title><rect x="16" y="96" width="168" height="32" rx="5" fill="#f4f6fa" stroke="#667"/><text x="100" y="117">1 count_languages</text></g>
        <g><title>largest_files</title><rect x="208" y="96" width="152" height="32" rx="5" fill="#f4f6fa" stroke="#667"/><text x="284" y="117">2 largest_files</text></g>
        <g><title>churn: What changes most</title><rect x="365" y="16" width="88" height="32" rx="5" fill="#f4f6fa" stroke="#667"/><text x="409" y="37">3 churn</text></g>
        <g><title>render_report: One page</title><rect x="219" y="176" width="152" height="32" rx="5" fill="#f4f6fa" stroke="#223" stroke-width="3"/><text x="295" y="197">4 render_report</text></g>
        </svg>
    "##]].assert_eq(&report().svg());
}

#[test]
fn text_of_a_plan_is_text_only() {
    let hostile = graph(&[
        (
            "a\u{1b}[31m\"]\nclick n0 \"javascript:1\"",
            "\u{202e}<script>&'\"\\</script>\u{7}\n",
            &[],
        ),
        ("`b`#quot;\\", "x\\\" -> y", &[0]),
    ]);
    expect![[r#"
        ┌───────────────────────────────┐
        │ 0 a [31m"] cli…javascript:1"  │
        └───────────────┬───────────────┘
                        │
                ╔═══════▼═══════╗
                ║ 1 `b`#quot;\  ║
                ╚═══════════════╝
        ╔═╗ the final output
    "#]]
    .assert_eq(&hostile.terminal(100, DrawingCharset::Unicode));
    expect![[r#"
        digraph plan {
          node [shape=box, fontname="monospace"];
          n0 [label="0 a [31m\"] cli…javascript:1\"", tooltip="<script>&'\"\\</script>"];
          n1 [label="1 `b`#quot;\\", tooltip="x\\\" -> y", peripheries=2];
          n0 -> n1;
        }
    "#]]
    .assert_eq(&hostile.dot());
    expect![[r#"
        flowchart TD
          n0["0 a #91;31m#34;#93; cli…javascript:1#34;"]
          n1[["1 #96;b#96;#35;quot#59;#92;"]]
          n0 --> n1
    "#]]
    .assert_eq(&hostile.mermaid());
    let svg = hostile.svg();
    assert!(
        !svg.contains("<script") && svg.contains("&lt;script&gt;&amp;&#39;&quot;\\&lt;/script&gt;"),
        "{svg}"
    );
    for text in [hostile.terminal(20, DrawingCharset::Ascii), hostile.dot(), hostile.mermaid(), svg]
    {
        assert!(
            !text.chars().any(|one| (one.is_control() && one != '\n') || one == '\u{202e}'),
            "{text:?}"
        );
    }
}

#[test]
fn what_no_valid_plan_has_is_left_out() {
    let plan = parse(
        r#"{"nodes": [{"id": 0, "tool": "a", "depends_on": [0, 1, 9]}, {"id": 1, "tool": "b"}], "final_output_node": 7}"#,
    );
    expect![[r#"
        flowchart TD
          n0["0 a"]
          n1["1 b"]
    "#]]
    .assert_eq(&PlanGraph::new(&plan.unwrap()).mermaid());
}

fn any_edges() -> impl Strategy<Value = Vec<Vec<usize>>> {
    prop::collection::vec(prop::collection::vec(0..30_usize, 0..4), 1..30)
}

/// Follows every line of a drawing in Unicode from the bottom of each box, and returns which nodes arrows arrive at.
fn followed(text: &str, count: usize) -> Vec<Vec<usize>> {
    let rows: Vec<Vec<char>> = text.lines().map(|line| line.chars().collect()).collect();
    let at = |row: usize, column: usize| {
        rows.get(row).and_then(|cells| cells.get(column)).copied().unwrap_or(' ')
    };
    let node_below = |row: usize, column: usize| -> usize {
        let left = (0..column).rev().find(|column| "┌╔".contains(at(row, *column))).unwrap();
        let label: String = (left + 1..)
            .map(|column| at(row + 1, column))
            .take_while(|one| !"│║".contains(*one))
            .collect();
        label.split_whitespace().next().unwrap().parse().unwrap()
    };
    let mut found = vec![Vec::new(); count];
    for (row, cells) in rows.iter().enumerate() {
        for (column, glyph) in cells.iter().enumerate() {
            if !"┬╤".contains(*glyph) || !is_border(cells, column) {
                continue;
            }
            let left = (0..column).rev().find(|column| "└╚".contains(at(row, *column))).unwrap();
            let label: String = (left + 1..)
                .map(|column| at(row - 1, column))
                .take_while(|one| !"│║".contains(*one))
                .collect();
            let from: usize = label.split_whitespace().next().unwrap().parse().unwrap();
            // Each step: a place, and the direction in which it was entered.
            let mut steps = vec![(row + 1, column, 'S')];
            while let Some((row, column, way)) = steps.pop() {
                let glyph = at(row, column);
                if glyph == '▼' {
                    found[from].push(node_below(row, column));
                    continue;
                }
                // A line that goes on across another one.
                if glyph == '│' && way != 'S' {
                    steps.push(if way == 'E' {
                        (row, column + 1, way)
                    } else {
                        (row, column - 1, way)
                    });
                    continue;
                }
                if way != 'W' && "─└┌┴┬├┼".contains(glyph) {
                    steps.push((row, column + 1, 'E'));
                }
                if way != 'E' && "─┘┐┴┬┤┼".contains(glyph) {
                    steps.push((row, column - 1, 'W'));
                }
                if "│┌┐├┤┬┼".contains(glyph) {
                    steps.push((row + 1, column, 'S'));
                }
            }
        }
    }
    found.iter_mut().for_each(|nodes| nodes.sort_unstable());
    found
}

/// Returns whether a branch in a row is the bottom of a box rather than part of a line.
fn is_border(row: &[char], column: usize) -> bool {
    let left = row[..column].iter().rev().find(|one| !"─═".contains(**one));
    let right = row[column + 1..].iter().find(|one| !"─═".contains(**one));
    matches!((left, right), (Some('└' | '╚'), Some('┘' | '╝')))
}

proptest! {
    #[test]
    fn every_edge_can_be_followed(edges in any_edges()) {
        let edges: Vec<Vec<usize>> = edges
            .into_iter()
            .enumerate()
            .map(|(place, mut edges)| {
                edges.retain(|edge| *edge < place);
                edges.sort_unstable();
                edges.dedup();
                edges
            })
            .collect();
        let nodes: Vec<_> = edges.iter().map(|edges| ("t", "", edges.as_slice())).collect();
        let graph = graph(&nodes);
        let text = graph.terminal(10_000, DrawingCharset::Unicode);
        prop_assert!(text.contains('╔'), "not drawn as boxes:\n{}", text);
        let mut expected = vec![Vec::new(); edges.len()];
        for (place, edges) in edges.iter().enumerate() {
            for edge in edges {
                expected[*edge].push(place);
            }
        }
        prop_assert_eq!(followed(&text, edges.len()), expected, "{}", text);
    }

    #[test]
    fn no_line_is_longer_than_the_terminal(edges in any_edges(), columns in 20..120_usize) {
        let nodes: Vec<_> = edges.iter().map(|edges| ("a_longer_tool", "purpose", edges.as_slice())).collect();
        for charset in [DrawingCharset::Unicode, DrawingCharset::Ascii] {
            let text = graph(&nodes).terminal(columns, charset);
            prop_assert!(text.lines().all(|line| line.chars().count() <= columns));
            prop_assert!(charset == DrawingCharset::Unicode || text.is_ascii());
        }
    }
}
