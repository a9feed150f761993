//! A program for the tests of this crate that says what it was made to say, and a server that it is. It answers nothing.

use std::collections::VecDeque;
use std::io;

use haft_contract::{
    BoxFuture, Confined, Ending, Enforced, Excerpt, Received, Resident, ToolError,
};
use serde_json::Value;

use crate::link::{Home, Link, link};
use crate::server::Server;
use crate::watch::Watched;
use crate::wire;

/// What a program does with what it is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    Everything,
    Nothing,
}

/// What a program does when it has said everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Waits,
    /// Its output ends, and it does not.
    ClosesOutput,
}

/// A program.
pub(crate) struct Talker {
    takes: Takes,
    /// Lines of headers, and messages, in turns.
    says: VecDeque<Vec<u8>>,
    then: Then,
}

impl Talker {
    /// Returns a program that says these notifications.
    pub(crate) fn new(takes: Takes, says: &[(&str, Value)], then: Then) -> Self {
        let frame = |(method, params): &(&str, Value)| {
            let body = wire::notification(method, params);
            [format!("Content-Length: {}", body.len()).into_bytes(), Vec::new(), body]
        };
        Self { takes, says: says.iter().flat_map(frame).collect(), then }
    }

    /// Returns the way to it.
    pub(crate) fn link(self) -> Link {
        link(Box::new(self), Home { settings: Value::Null, folders: Value::Null })
    }

    /// Returns the server that it is.
    pub(crate) fn server(self) -> Server {
        let confined = Confined::new(Enforced::NOTHING);
        Server::new(self.link(), "fake".to_owned(), Watched::default(), confined)
    }
}

impl Resident for Talker {
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
    ) -> BoxFuture<'a, io::Result<Received>> {
        match (self.says.pop_front(), self.then) {
            (Some(line), _) => {
                into.extend(line);
                Box::pin(async { Ok(Received::Line) })
            }
            (None, Then::ClosesOutput) => Box::pin(async { Ok(Received::Closed) }),
            (None, Then::Waits) => Box::pin(std::future::pending()),
        }
    }

    fn receive_exact<'a>(
        &'a mut self,
        into: &'a mut Vec<u8>,
        _: usize,
    ) -> BoxFuture<'a, io::Result<()>> {
        into.extend(self.says.pop_front().unwrap());
        Box::pin(async { Ok(()) })
    }

    fn take_output(&mut self) -> BoxFuture<'_, Excerpt> {
        Box::pin(async { Excerpt::default() })
    }

    fn kill(&mut self) {}

    fn ended(&mut self) -> BoxFuture<'_, Result<Ending, ToolError>> {
        Box::pin(std::future::pending())
    }

    fn exceeded(&self) -> Option<String> {
        None
    }

    fn take_confined(&mut self) -> Confined {
        Confined::new(Enforced::NOTHING)
    }
}
