//! Directories as bytes: encoded and decoded, and rejected if encoding would not have produced
//! them.

use std::path::Path;

use proptest::prelude::*;

use super::*;

fn content(byte: u8) -> ContentId {
    ContentId(ObjectId([byte; ID_BYTES]))
}

fn name() -> impl Strategy<Value = OsString> {
    prop::collection::vec(1_u8..=255, 1..6)
        .prop_map(OsString::from_vec)
        .prop_filter("a name that is recorded", |name| is_possible(name))
}

fn node() -> impl Strategy<Value = TreeNode> {
    let mode = 0_u32..0o10000;
    let file = (any::<u8>(), any::<u64>(), mode.clone(), any::<(u32, u32)>()).prop_map(
        |(byte, size_bytes, mode, (user, group))| {
            let owner = (mode & SET_ID != 0).then_some(FileOwner { user, group });
            TreeNode::File(RecordedFile { content: content(byte), size_bytes, mode, owner })
        },
    );
    let directory = (any::<u8>(), mode)
        .prop_map(|(byte, mode)| TreeNode::Directory { mode, tree: TreeId(content(byte).0) });
    let left_out = (0_u8..8, 0_u8..7, any::<u64>(), any::<i128>()).prop_map(
        |(kind, reason, size_bytes, modified_ns)| {
            let (kind, reason) = (KINDS[usize::from(kind)], REASONS[usize::from(reason)]);
            TreeNode::LeftOut(OmittedEntry { kind, reason, size_bytes, modified_ns })
        },
    );
    prop_oneof![file, directory, left_out, name().prop_map(|target| TreeNode::Link { target }),]
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(entries in prop::collection::vec((name(), node()), 0..8)) {
        let mut tree = TreeObject::default();
        for (name, node) in &entries {
            tree.set(name, node.clone());
        }
        prop_assert_eq!(TreeObject::decode(&tree.encode()), Ok(tree.clone()));
        // The order of insertion does not matter.
        let mut other = TreeObject::default();
        for (name, node) in entries.iter().rev() {
            if other.get(name).is_none() {
                other.set(name, node.clone());
            }
        }
        prop_assert_eq!(other.encode(), tree.encode());
    }

    #[test]
    fn whatever_is_read_is_what_would_be_written(
        entries in prop::collection::vec((name(), node()), 1..4),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut tree = TreeObject::default();
        for (name, node) in entries {
            tree.set(&name, node);
        }
        let mut bytes = tree.encode();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        if let Ok(read) = TreeObject::decode(&bytes) {
            prop_assert_eq!(read.encode(), bytes);
        }
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let node = TreeNode::Link { target: "x".into() };
    for name in ["", ".", "..", "a/b", "/", "a\0b", ".git", ".GIT", ".gIt"] {
        let tree =
            TreeObject { entries: vec![TreeEntry { name: name.into(), node: node.clone() }] };
        assert_eq!(
            TreeObject::decode(&tree.encode()),
            Err("it has a name that no file has"),
            "{name:?}"
        );
    }
    let tree = TreeObject { entries: vec![TreeEntry { name: ".github".into(), node }] };
    assert_eq!(TreeObject::decode(&tree.encode()), Ok(tree));
}

#[test]
fn names_twice_or_out_of_order_are_refused() {
    let entry =
        |name: &str| TreeEntry { name: name.into(), node: TreeNode::Link { target: "x".into() } };
    for names in [["a", "a"], ["b", "a"]] {
        let tree = TreeObject { entries: names.map(entry).to_vec() };
        assert_eq!(
            TreeObject::decode(&tree.encode()),
            Err("its names are not in order"),
            "{names:?}"
        );
    }
}

#[test]
fn a_tree_keeps_a_name_once() {
    let mut tree = TreeObject::default();
    let link = |target: &str| TreeNode::Link { target: target.into() };
    for (name, target) in [("b", "1"), ("a", "2"), ("b", "3")] {
        tree.set(OsStr::new(name), link(target));
    }
    tree.remove(OsStr::new("a"));
    tree.remove(OsStr::new("never there"));
    assert_eq!(tree.entries().len(), 1);
    assert_eq!(
        tree.get(OsStr::new("b")).map(TreeNode::state),
        Some(PathState::Link { target: Path::new("3").to_path_buf() })
    );
}
