//! The table of utilities, one row each.

use super::{Role, Utility};
use crate::judgement::How::{self, Read, Write};

const NONE: &[&str] = &[];
const NO_PATHS: &[(&str, How)] = &[];

pub(super) const CHECKSUMS: &[&str] =
    &["b2sum", "cksum", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum"];

const fn row(
    names: &'static [&'static str],
    role: Role,
    letters: &'static str,
    long: &'static [&'static str],
    paths: &'static [(&'static str, How)],
) -> Utility {
    Utility { names, role, letters, long, paths }
}

const TARGET: (&str, How) = ("t", Write);
const TARGET_DIRECTORY: (&str, How) = ("target-directory", Write);
const REFERENCE: (&str, How) = ("reference", Read);

pub(super) const UTILITIES: &[Utility] = &[
    row(&["base32", "base64"], Role::Reads, "w", &["wrap"], NO_PATHS),
    row(&["cat"], Role::Reads, "", NONE, NO_PATHS),
    row(&["chmod"], Role::Changes, "", NONE, &[REFERENCE]),
    row(&["chgrp", "chown"], Role::Changes, "", &["from"], &[REFERENCE]),
    row(&["cmp"], Role::Reads, "in", &["ignore-initial", "bytes"], NO_PATHS),
    row(&["comm", "join", "paste"], Role::Reads, "de", &["delimiters"], NO_PATHS),
    row(&["cp"], Role::Copies, "", &["sparse"], &[TARGET, TARGET_DIRECTORY]),
    row(
        &["cut"],
        Role::Reads,
        "bcfd",
        &["bytes", "characters", "fields", "delimiter", "output-delimiter"],
        NO_PATHS,
    ),
    row(&["dd"], Role::Settings, "", NONE, NO_PATHS),
    row(
        &["diff"],
        Role::Reads,
        "CUxFILW",
        &["context", "unified", "exclude", "ignore-matching-lines", "label", "width", "color"],
        &[("X", Read), ("exclude-from", Read), ("from-file", Read), ("to-file", Read)],
    ),
    row(&["dir", "ls", "vdir"], Role::ReadsHere, "ITw", &["ignore", "hide", "width"], NO_PATHS),
    row(
        &["du"],
        Role::ReadsHere,
        "dBt",
        &["max-depth", "threshold"],
        &[("X", Read), ("exclude-from", Read)],
    ),
    row(
        &["egrep", "fgrep", "grep"],
        Role::Searches,
        "eABCmDd",
        GREP_LONG,
        &[("f", Read), ("file", Read), ("exclude-from", Read)],
    ),
    row(&["expand", "unexpand"], Role::Reads, "t", &["tabs"], NO_PATHS),
    row(
        &["file"],
        Role::Reads,
        "eFP",
        &["separator", "exclude"],
        &[("m", Read), ("magic-file", Read)],
    ),
    row(&["fold", "fmt"], Role::Reads, "wgp", &["width", "goal", "prefix"], NO_PATHS),
    row(
        &["head", "tail"],
        Role::Reads,
        "ncs",
        &["lines", "bytes", "pid", "sleep-interval", "max-unchanged-stats"],
        NO_PATHS,
    ),
    row(&["hexdump", "hd"], Role::Reads, "ens", NONE, &[("f", Read)]),
    row(
        &["install"],
        Role::Copies,
        "gmo",
        &["group", "mode", "owner"],
        &[TARGET, TARGET_DIRECTORY],
    ),
    row(&["ln"], Role::Copies, "", NONE, &[TARGET, TARGET_DIRECTORY]),
    row(CHECKSUMS, Role::Reads, "al", &["algorithm", "length"], NO_PATHS),
    row(&["mkdir", "mkfifo"], Role::Writes, "m", &["mode"], NO_PATHS),
    row(&["mknod"], Role::Writes, "m", &["mode"], NO_PATHS),
    row(&["mv"], Role::Moves, "", NONE, &[TARGET, TARGET_DIRECTORY]),
    row(&["nl"], Role::Reads, "bdfhilnsvw", NONE, NO_PATHS),
    row(
        &["od"],
        Role::Reads,
        "ANjSt",
        &["address-radix", "skip-bytes", "read-bytes", "format"],
        NO_PATHS,
    ),
    row(
        &["readlink", "realpath"],
        Role::Reads,
        "",
        NONE,
        &[("relative-to", Read), ("relative-base", Read)],
    ),
    row(
        &["rg"],
        Role::SearchesHere,
        "eABCmMjdgtTEr",
        RG_LONG,
        &[("f", Read), ("file", Read), ("ignore-file", Read)],
    ),
    row(&["rm", "rmdir", "unlink"], Role::Writes, "", NONE, NO_PATHS),
    row(&["shred"], Role::Writes, "ns", &["iterations", "size"], &[("random-source", Read)]),
    row(
        &["sort"],
        Role::Reads,
        "kSt",
        &["key", "buffer-size", "field-separator", "batch-size", "parallel", "sort"],
        &[
            ("o", Write),
            ("output", Write),
            ("T", Write),
            ("temporary-directory", Write),
            ("random-source", Read),
        ],
    ),
    row(&["stat"], Role::Reads, "c", &["format", "printf"], NO_PATHS),
    row(&["strings"], Role::Reads, "net", &["bytes", "encoding", "radix"], NO_PATHS),
    row(&["tac"], Role::Reads, "s", &["separator"], NO_PATHS),
    row(&["tee"], Role::Writes, "", NONE, NO_PATHS),
    row(&["touch"], Role::Writes, "dt", &["date", "time"], &[("r", Read), REFERENCE]),
    row(&["tree"], Role::ReadsHere, "LPIHT", &["filelimit", "charset"], &[("o", Write)]),
    row(&["truncate"], Role::Writes, "s", &["size"], &[("r", Read), REFERENCE]),
    row(&["uniq"], Role::Filters, "fsw", &["skip-fields", "skip-chars", "check-chars"], NO_PATHS),
    row(&["wc"], Role::Reads, "", NONE, NO_PATHS),
    row(&["unzip"], Role::Unpacks, "P", NONE, &[("d", Write)]),
    // Its options are words after a single dash, and which of them take a value is its own matter.
    row(&["xxd"], Role::Either, "", NONE, NO_PATHS),
    row(
        &["zip"],
        Role::Packs,
        "bnPstix",
        &["exclude", "include", "password", "suffixes", "temp-path"],
        &[("O", Write), ("out", Write)],
    ),
];

const GREP_LONG: &[&str] = &[
    "regexp",
    "max-count",
    "label",
    "after-context",
    "before-context",
    "context",
    "binary-files",
    "devices",
    "directories",
    "exclude",
    "exclude-dir",
    "include",
    "group-separator",
];

const RG_LONG: &[&str] = &[
    "regexp",
    "after-context",
    "before-context",
    "color",
    "colors",
    "context",
    "context-separator",
    "encoding",
    "engine",
    "field-context-separator",
    "field-match-separator",
    "glob",
    "iglob",
    "max-columns",
    "max-count",
    "max-depth",
    "max-filesize",
    "path-separator",
    "replace",
    "sort",
    "sortr",
    "threads",
    "type",
    "type-add",
    "type-clear",
    "type-not",
];
