//! Targets of redirections: files that are read or written, devices that are neither, and the two
//! paths through which bash itself accesses the network.

use crate::analysis::{FileUseMode, FileUseOrigin, UnknownReason};
use crate::analyzer::{LineAnalyzer, StatementScope};
use crate::syntax::{LineRedirectKind, Redirect};
use crate::word::{self, DecodedWord};

/// Devices without content. The standard descriptors were opened elsewhere, where they count.
const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];
const SOCKETS: &[&str] = &["/dev/tcp/", "/dev/udp/"];

pub(crate) fn is_device(path: &str) -> bool {
    let descriptor = path.strip_prefix("/dev/fd/");
    let is_descriptor =
        descriptor.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    is_descriptor || DEVICES.contains(&path)
}

pub(crate) fn analyze_redirect(
    walk: &mut LineAnalyzer,
    redirect: &Redirect,
    scope: &StatementScope,
) {
    let target = &redirect.target;
    let uses: &[FileUseMode] = match redirect.kind {
        LineRedirectKind::Read => &[FileUseMode::Read],
        LineRedirectKind::Write => &[FileUseMode::Write],
        LineRedirectKind::ReadWrite => &[FileUseMode::Read, FileUseMode::Write],
        LineRedirectKind::HereString => {
            walk.analyze_word(target, scope);
            return;
        }
        LineRedirectKind::Document => {
            walk.analyze_embedded_code(target, scope);
            match word::decode_document(target) {
                Ok(DecodedWord::Dynamic { has_arithmetic, .. }) => {
                    walk.data.evaluates |= has_arithmetic;
                }
                Ok(DecodedWord::Literal(_)) => {}
                Err(reason) => walk.add_unknown(&target.source, reason),
            }
            return;
        }
        LineRedirectKind::QuotedDocument => return,
    };
    walk.analyze_embedded_code(target, scope);
    match word::decode(target) {
        Ok(DecodedWord::Literal(path)) => {
            if let Some(address) = SOCKETS.iter().find_map(|socket| path.strip_prefix(socket)) {
                let host = address.split('/').next().unwrap_or_default();
                walk.add_host(&host.to_ascii_lowercase());
                return walk.add_unknown(&path, UnknownReason::Network);
            }
            for how in uses {
                walk.add_file(&path, (*how, FileUseOrigin::Redirect), scope);
            }
        }
        // The commands on the other side of a process substitution were walked as the code of the
        // word.
        Ok(DecodedWord::Dynamic { .. }) if is_process(target) => {}
        Ok(DecodedWord::Dynamic { .. }) => {
            walk.add_unknown(&target.source, UnknownReason::RedirectTarget)
        }
        Err(reason) => walk.add_unknown(&target.source, reason),
    }
}

fn is_process(target: &crate::syntax::ShellWord) -> bool {
    let whole = 0..target.source.len();
    matches!(target.code_expansions.as_slice(), [hole] if hole.range == whole
        && matches!(hole.code, crate::syntax::EmbeddedCode::Process(_)))
}
