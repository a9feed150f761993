//! Properties over generated texts: what a diff says is what happens, or the patch is refused.

use proptest::prelude::*;

use super::super::{PatchApplyError, apply, apply_hunks, parse, parse_single};

/// One line of an edit script: kept (` `), removed (`-`) or added (`+`), with its line break.
type Step<'t> = (char, &'t str);

/// Returns the shortest edit script between two texts, by the table of longest common suffixes.
fn script<'t>(old: &'t str, new: &'t str) -> Vec<Step<'t>> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            steps.push((' ', old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            steps.push(('-', old[i]));
            i += 1;
        } else {
            steps.push(('+', new[j]));
            j += 1;
        }
    }
    steps
}

fn reversed<'t>(steps: &[Step<'t>]) -> Vec<Step<'t>> {
    let swap = |sign| match sign {
        '-' => '+',
        '+' => '-',
        kept => kept,
    };
    steps.iter().map(|(sign, line)| (swap(*sign), *line)).collect()
}

/// How a patch is written.
#[derive(Clone, Copy, Debug)]
struct Manner {
    context: usize,
    numbered: bool,
    strips_blank: bool,
}

/// Writes an edit script as hunks, each with as much context as the manner has.
fn hunks(steps: &[Step<'_>], manner: Manner) -> String {
    let changed = |at: &usize| steps[*at].0 != ' ';
    let mut patch = String::new();
    let mut from = 0;
    while let Some(first) = (from..steps.len()).find(changed) {
        let start = first.saturating_sub(manner.context).max(from);
        let mut last = first;
        while let Some(next) = (last + 1..steps.len()).find(changed)
            && next - last <= 2 * manner.context + 1
        {
            last = next;
        }
        let end = (last + 1 + manner.context).min(steps.len());
        patch.push_str(&hunk(steps, start..end, manner));
        from = end;
    }
    patch
}

fn hunk(steps: &[Step<'_>], range: std::ops::Range<usize>, manner: Manner) -> String {
    let count = |steps: &[Step<'_>], other| steps.iter().filter(|step| step.0 != other).count();
    let (above, body) = (&steps[..range.start], &steps[range]);
    let numbers = |other| {
        let (before, here) = (count(above, other), count(body, other));
        format!("{},{here}", if here == 0 { before } else { before + 1 })
    };
    let mut text = match manner.numbered {
        true => format!("@@ -{} +{} @@ heading\n", numbers('+'), numbers('-')),
        false => "@@\n".to_owned(),
    };
    for (sign, line) in body {
        if !(manner.strips_blank && *sign == ' ' && *line == "\n") {
            text.push(*sign);
        }
        text.push_str(line);
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
    text
}

/// Generates a text of few distinct lines, some of which look like parts of a patch.
fn text(lines: &'static [&'static str]) -> impl Strategy<Value = String> {
    let lines = prop::collection::vec(prop::sample::select(lines), 0..14);
    (lines, any::<bool>()).prop_map(|(lines, terminated)| {
        let text = lines.join("\n");
        if terminated && !lines.is_empty() { text + "\n" } else { text }
    })
}

const PLAIN: &[&str] = &["a", "b", "c", "d", "  a", "", "ö"];
const TRICKY: &[&str] =
    &["a", "b", "", " ", "-- a/f", "++ b/f", "@@ -1 +1 @@", "```", "\\ x", "*** End Patch", "-- "];

fn manner() -> impl Strategy<Value = Manner> {
    (0_usize..=5, any::<bool>()).prop_map(|(context, strips_blank)| Manner {
        context,
        numbered: true,
        strips_blank,
    })
}

fn patched(hunks: &str, text: &str) -> Result<String, PatchApplyError> {
    let patch = parse(&format!("--- a/f\n+++ b/f\n{hunks}")).unwrap();
    assert_eq!(patch.files.len(), 1);
    apply(&patch.files[0], Some(text)).map(|text| text.unwrap_or_default())
}

/// Checks that a right patch makes the right text; only additions without context are refused.
fn check_right(steps: &[Step<'_>], manner: Manner, old: &str, new: &str) {
    let hunks = hunks(steps, manner);
    if hunks.is_empty() {
        assert_eq!(old, new);
        return;
    }
    match patched(&hunks, old) {
        Ok(result) => assert_eq!(result, new, "{hunks}"),
        Err(PatchApplyError::NoContext { .. }) => assert_eq!(manner.context, 0, "{hunks}"),
        Err(err) => panic!("{err}\n{hunks}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_diff_makes_the_second_text(old in text(TRICKY), new in text(TRICKY), manner in manner()) {
        check_right(&script(&old, &new), manner, &old, &new);
    }

    #[test]
    fn a_reversed_diff_makes_the_first_text(old in text(PLAIN), new in text(PLAIN), manner in manner()) {
        check_right(&reversed(&script(&old, &new)), manner, &new, &old);
    }

    #[test]
    fn without_numbers_the_result_is_right_or_refused(
        old in text(PLAIN), new in text(PLAIN), manner in manner(),
    ) {
        let hunks = hunks(&script(&old, &new), Manner { numbered: false, ..manner });
        if !hunks.is_empty() && let Ok(result) = patched(&hunks, &old) {
            prop_assert_eq!(result, new);
        }
    }

    #[test]
    fn endings_and_mark_of_the_file_stay(
        old in text(PLAIN), new in text(PLAIN), manner in manner(), patch_crlf: bool, mark: bool,
    ) {
        prop_assume!(old.contains('\n'));
        let hunks = hunks(&script(&old, &new), manner);
        prop_assume!(!hunks.is_empty());
        let hunks = if patch_crlf { hunks.replace('\n', "\r\n") } else { hunks };
        let dressed = |text: &str| {
            format!("{}{}", if mark { "\u{feff}" } else { "" }, text.replace('\n', "\r\n"))
        };
        match patched(&hunks, &dressed(&old)) {
            Ok(result) => prop_assert_eq!(result, dressed(&new)),
            Err(PatchApplyError::NoContext { .. }) => prop_assert_eq!(manner.context, 0),
            Err(err) => panic!("{err}\n{hunks}"),
        }
    }

    #[test]
    fn nothing_panics_on_patches_in_pieces(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24), text in text(PLAIN),
    ) {
        let patch = pieces.concat();
        if let Ok(patch) = parse(&patch) {
            for file in &patch.files {
                if let Err(err) = apply(file, Some(&text)).and_then(|_| apply(file, None)) {
                    prop_assert!(err.to_string().len() < 8_000);
                }
            }
        }
        if let Ok(hunks) = parse_single(&patch) {
            let _outcome = apply_hunks(&hunks, &text);
        }
    }

    #[test]
    fn nothing_panics_on_any_text(patch in "(?s).{0,200}", text in "(?s).{0,100}") {
        prop_assert!(parse(&patch).is_err() || patch.contains("--- ") || patch.contains("***"));
        if let Ok(hunks) = parse_single(&format!("@@\n{patch}")) {
            let _outcome = apply_hunks(&hunks, &text);
        }
    }
}

const PIECES: &[&str] = &[
    "diff --git a/f b/f\n",
    "--- a/f\n",
    "+++ b/f\n",
    "--- /dev/null\n",
    "+++ /dev/null\n",
    "new file mode 100644\n",
    "rename from f\nrename to g\n",
    "@@ -1 +1 @@\n",
    "@@ -18446744073709551615,3 +1 @@\n",
    "@@ a @@\n",
    "@@\n",
    " a\n",
    "-b\n",
    "+c\n",
    "+c",
    "\r\n",
    "\n",
    "\\ No newline at end of file\n",
    "*** Begin Patch\n",
    "*** Update File: f\n",
    "*** Add File: g\n",
    "*** End of File\n",
    "*** End Patch\n",
    "```\n",
    "\u{feff}",
    "\"",
];
