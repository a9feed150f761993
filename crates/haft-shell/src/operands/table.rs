//! The table of utilities, one row each.

use super::{OperandRole, Utility};
use crate::analysis::FileUseMode::{self, Read, Write};

const NONE: &[&str] = &[];
const NO_PATHS: &[(&str, FileUseMode)] = &[];

pub(super) const CHECKSUMS: &[&str] =
    &["b2sum", "cksum", "md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum"];

const fn row(
    names: &'static [&'static str],
    role: OperandRole,
    letters: &'static str,
    long: &'static [&'static str],
    paths: &'static [(&'static str, FileUseMode)],
) -> Utility {
    Utility { names, role, letters, long, paths }
}

const TARGET: (&str, FileUseMode) = ("t", Write);
const TARGET_DIRECTORY: (&str, FileUseMode) = ("target-directory", Write);
const REFERENCE: (&str, FileUseMode) = ("reference", Read);

pub(super) const UTILITIES: &[Utility] = &[
    row(&["base32", "base64"], OperandRole::Reads, "w", &["wrap"], NO_PATHS),
    row(&["cat"], OperandRole::Reads, "", NONE, NO_PATHS),
    row(&["chmod"], OperandRole::Changes, "", NONE, &[REFERENCE]),
    row(&["chgrp", "chown"], OperandRole::Changes, "", &["from"], &[REFERENCE]),
    row(&["cmp"], OperandRole::Reads, "in", &["ignore-initial", "bytes"], NO_PATHS),
    row(&["comm", "join", "paste"], OperandRole::Reads, "de", &["delimiters"], NO_PATHS),
    row(&["cp"], OperandRole::Copies, "", &["sparse"], &[TARGET, TARGET_DIRECTORY]),
    row(
        &["cut"],
        OperandRole::Reads,
        "bcfd",
        &["bytes", "characters", "fields", "delimiter", "output-delimiter"],
        NO_PATHS,
    ),
    row(&["dd"], OperandRole::Settings, "", NONE, NO_PATHS),
    row(
        &["diff"],
        OperandRole::Reads,
        "CUxFILW",
        &["context", "unified", "exclude", "ignore-matching-lines", "label", "width", "color"],
        &[("X", Read), ("exclude-from", Read), ("from-file", Read), ("to-file", Read)],
    ),
    row(
        &["dir", "ls", "vdir"],
        OperandRole::ReadsHere,
        "ITw",
        &["ignore", "hide", "width"],
        NO_PATHS,
    ),
    row(
        &["du"],
        OperandRole::ReadsHere,
        "dBt",
        &["max-depth", "threshold"],
        &[("X", Read), ("exclude-from", Read)],
    ),
    row(
        &["egrep", "fgrep", "grep"],
        OperandRole::Searches,
        "eABCmDd",
        GREP_LONG,
        &[("f", Read), ("file", Read), ("exclude-from", Read)],
    ),
    row(&["expand", "unexpand"], OperandRole::Reads, "t", &["tabs"], NO_PATHS),
    row(
        &["file"],
        OperandRole::Reads,
        "eFP",
        &["separator", "exclude"],
        &[("m", Read), ("magic-file", Read)],
    ),
    row(&["fold", "fmt"], OperandRole::Reads, "wgp", &["width", "goal", "prefix"], NO_PATHS),
    row(
        &["head", "tail"],
        OperandRole::Reads,
        "ncs",
        &["lines", "bytes", "pid", "sleep-interval", "max-unchanged-stats"],
        NO_PATHS,
    ),
    // They replace a file by a packed one of another name, and back.
    row(
        &["bunzip2", "bzip2", "gunzip", "gzip", "lz4", "unxz", "unzstd", "xz", "zstd"],
        OperandRole::Either,
        "So",
        &["suffix"],
        NO_PATHS,
    ),
    row(&["hexdump", "hd"], OperandRole::Reads, "ens", NONE, &[("f", Read)]),
    row(
        &["install"],
        OperandRole::Copies,
        "gmo",
        &["group", "mode", "owner"],
        &[TARGET, TARGET_DIRECTORY],
    ),
    row(&["ln"], OperandRole::Copies, "", NONE, &[TARGET, TARGET_DIRECTORY]),
    row(CHECKSUMS, OperandRole::Reads, "al", &["algorithm", "length"], NO_PATHS),
    row(&["mkdir", "mkfifo"], OperandRole::Writes, "m", &["mode"], NO_PATHS),
    row(&["mknod"], OperandRole::Writes, "m", &["mode"], NO_PATHS),
    row(&["mv"], OperandRole::Moves, "", NONE, &[TARGET, TARGET_DIRECTORY]),
    row(&["nl"], OperandRole::Reads, "bdfhilnsvw", NONE, NO_PATHS),
    row(
        &["od"],
        OperandRole::Reads,
        "ANjSt",
        &["address-radix", "skip-bytes", "read-bytes", "format"],
        NO_PATHS,
    ),
    row(
        &["readlink", "realpath"],
        OperandRole::Reads,
        "",
        NONE,
        &[("relative-to", Read), ("relative-base", Read)],
    ),
    row(
        &["rg"],
        OperandRole::SearchesHere,
        "eABCmMjdgtTEr",
        RG_LONG,
        &[("f", Read), ("file", Read), ("ignore-file", Read)],
    ),
    row(&["rm", "rmdir", "unlink"], OperandRole::Writes, "", NONE, NO_PATHS),
    row(
        &["shuf"],
        OperandRole::Reads,
        "in",
        &["input-range", "head-count"],
        &[("o", Write), ("output", Write), ("random-source", Read)],
    ),
    row(&["shred"], OperandRole::Writes, "ns", &["iterations", "size"], &[("random-source", Read)]),
    row(
        &["sort"],
        OperandRole::Reads,
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
    row(&["stat"], OperandRole::Reads, "c", &["format", "printf"], NO_PATHS),
    row(&["strings"], OperandRole::Reads, "net", &["bytes", "encoding", "radix"], NO_PATHS),
    row(&["tac"], OperandRole::Reads, "s", &["separator"], NO_PATHS),
    row(&["tee"], OperandRole::Writes, "", NONE, NO_PATHS),
    row(&["touch"], OperandRole::Writes, "dt", &["date", "time"], &[("r", Read), REFERENCE]),
    row(&["tree"], OperandRole::ReadsHere, "LPIHT", &["filelimit", "charset"], &[("o", Write)]),
    row(&["truncate"], OperandRole::Writes, "s", &["size"], &[("r", Read), REFERENCE]),
    row(
        &["uniq"],
        OperandRole::Filters,
        "fsw",
        &["skip-fields", "skip-chars", "check-chars"],
        NO_PATHS,
    ),
    row(&["wc"], OperandRole::Reads, "", NONE, NO_PATHS),
    row(&["unzip"], OperandRole::Unpacks, "P", NONE, &[("d", Write)]),
    // Its options are words after a single dash, and which of them take a value is irregular.
    row(&["xxd"], OperandRole::Either, "", NONE, NO_PATHS),
    row(
        &["zip"],
        OperandRole::Packs,
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
