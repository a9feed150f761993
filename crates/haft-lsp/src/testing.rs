//! For this crate's unit tests: a program that sends prepared messages, and a server made of it. It
//! answers nothing.

use std::collections::VecDeque;
use std::io;

use haft_contract::{
    BackgroundProcess, BoxFuture, ChannelRead, ConfinementReport, EnforcedConfinement, Excerpt,
    ProcessEnding, ToolError,
};
use serde_json::Value;

use crate::link::{LspLink, LspWorkspaceConfig, link_process};
use crate::project_files::ProjectFiles;
use crate::server::LanguageServer;
use crate::wire;

/// How a program handles its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Everything,
    Nothing,
}

/// How a program behaves after its last message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Waits,
    /// Its output ends, but the program does not.
    ClosesOutput,
}

/// A program.
pub(crate) struct Talker {
    takes: Takes,
    /// Headers and messages, alternating.
    says: VecDeque<Vec<u8>>,
    then: Then,
}

impl Talker {
    /// Returns a program that sends these notifications.
    pub(crate) fn new(takes: Takes, says: &[(&str, Value)], then: Then) -> Self {
        let frame = |(method, params): &(&str, Value)| {
            let body = wire::notification(method, params);
            [format!("Content-Length: {}", body.len()).into_bytes(), Vec::new(), body]
        };
        Self { takes, says: says.iter().flat_map(frame).collect(), then }
    }

    /// Returns a program that writes these lines, and zeros for a body, and then closes its output.
    pub(crate) fn with_lines(lines: &[&str]) -> Self {
        let says = lines.iter().map(|line| line.as_bytes().to_vec()).collect();
        Self { takes: Takes::Everything, says, then: Then::ClosesOutput }
    }

    /// Returns a connection to it.
    pub(crate) fn link(self) -> LspLink {
        link_process(
            Box::new(self),
            LspWorkspaceConfig { settings: Value::Null, folders: Value::Null },
        )
    }

    /// Returns it as a server.
    pub(crate) fn server(self) -> LanguageServer {
        let confined = ConfinementReport::new(EnforcedConfinement::NOTHING);
        LanguageServer::new(self.link(), "fake".to_owned(), ProjectFiles::default(), confined)
    }
}

impl BackgroundProcess for Talker {
    fn send<'a>(&'a mut self, _: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        match self.takes {
            Takes::Everything => Box::pin(async { Ok(()) }),
            Takes::Nothing => Box::pin(std::future::pending()),
        }
    }

    fn receive<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
        _: usize,
    ) -> BoxFuture<'a, io::Result<ChannelRead>> {
        match (self.says.pop_front(), self.then) {
            (Some(line), _) => {
                into.extend(line);
                Box::pin(async { Ok(ChannelRead::Line) })
            }
            (None, Then::ClosesOutput) => Box::pin(async { Ok(ChannelRead::Closed) }),
            (None, Then::Waits) => Box::pin(std::future::pending()),
        }
    }

    fn receive_exact<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
        length: usize,
    ) -> BoxFuture<'a, io::Result<()>> {
        into.extend(self.says.pop_front().unwrap_or_else(|| vec![0; length]));
        Box::pin(async { Ok(()) })
    }

    fn take_output(&mut self) -> BoxFuture<'_, Excerpt> {
        Box::pin(async { Excerpt::default() })
    }

    fn kill(&mut self) {}

    fn wait_for_exit(&mut self) -> BoxFuture<'_, Result<ProcessEnding, ToolError>> {
        Box::pin(std::future::pending())
    }

    fn exceeded_limit(&self) -> Option<String> {
        None
    }

    fn take_confinement(&mut self) -> ConfinementReport {
        ConfinementReport::new(EnforcedConfinement::NOTHING)
    }
}
