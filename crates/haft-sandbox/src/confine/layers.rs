//! What a command's own process puts on just before it becomes the command: limits, Landlock, and the system call
//! filters last. All of it is made ready before, and what was really put on is returned. It is not undone by anything.

use std::io;
use std::path::Path;

use super::landlock::{self, PathRule};
use super::limits;
use super::seccomp::{FilterOptions, Filters, Ipc, Memfd, Neighbours, Sockets};
use super::{capabilities, rules, suffices};
use crate::confinement::{Network, Resources};
use crate::wire::{Applied, Bounds, Failure, Stage};

/// The layers of one command.
pub(crate) struct Layers {
    bounds: Bounds,
    has_namespaces: bool,
    rules: Option<Vec<PathRule>>,
    filters: Option<Filters>,
    resources: Resources,
}

impl Layers {
    /// For a process that has a view of its own already, and no capabilities.
    pub(crate) fn within_namespaces(bounds: &Bounds) -> Result<Layers, Failure> {
        // What is held in memory without being mapped by anyone is seen by no look at processes.
        let (memfd, ipc) = (Memfd::Denied, Ipc::Small);
        let options =
            FilterOptions { sockets: Sockets::All, memfd, ipc, neighbours: Neighbours::Own };
        Ok(Layers {
            bounds: bounds.clone(),
            has_namespaces: true,
            rules: bounds.mechanisms.landlock.then(|| rules::within_view(bounds)),
            filters: filters(bounds, options)?,
            resources: bounds.resources,
        })
    }

    /// For a process that sees the whole machine.
    pub(crate) fn without_namespaces(bounds: &Bounds, private: &Path) -> Result<Layers, Failure> {
        let sockets = match bounds.network {
            Network::Host => Sockets::All,
            Network::Loopback | Network::Proxied => Sockets::None,
        };
        let options = FilterOptions {
            sockets,
            memfd: Memfd::Denied,
            ipc: Ipc::Denied,
            neighbours: Neighbours::Everyone,
        };
        let rules = if bounds.mechanisms.landlock {
            Some(rules::without_view(bounds, private)?)
        } else {
            None
        };
        // The limit counts every process of the user; those that there are already are not this command's.
        let others = limits::tasks_of_user().map_err(failed("counting processes"))?;
        let processes = bounds.resources.processes.saturating_add(others);
        Ok(Layers {
            bounds: bounds.clone(),
            has_namespaces: false,
            rules,
            filters: filters(bounds, options)?,
            resources: Resources { processes, ..bounds.resources },
        })
    }

    /// Puts everything on this process, for good, and returns what is in force then.
    ///
    /// An error means that the command must not run: then this process is confined less than it should be.
    pub(crate) fn apply(&self) -> Result<Applied, Failure> {
        if !self.has_namespaces {
            capabilities::drop_all().map_err(failed("dropping capabilities"))?;
        }
        limits::apply(&self.resources).map_err(failed("setting limits"))?;
        let landlock = match &self.rules {
            Some(rules) => landlock::restrict(rules).map_err(failed("restricting files"))?,
            None => false,
        };
        if let Some(filters) = &self.filters {
            filters.install().map_err(failed("filtering system calls"))?;
        }
        let applied = Applied {
            namespaces: self.has_namespaces,
            landlock,
            seccomp: self.filters.is_some(),
            limits: true,
            // Whoever made the namespaces knows.
            process_bound: false,
        };
        if suffices(&self.bounds, applied) {
            Ok(applied)
        } else {
            let error = io::Error::from_raw_os_error(libc::EOPNOTSUPP);
            Err(failed("comparing what is in force with what was asked for")(error))
        }
    }

    /// Puts on this process whatever can be, and tells what that was.
    pub(crate) fn try_out() -> Applied {
        let options = FilterOptions {
            sockets: Sockets::All,
            memfd: Memfd::Allowed,
            ipc: Ipc::Allowed,
            neighbours: Neighbours::Own,
        };
        // Both of the others need that no new privileges can be had.
        let has_dropped = capabilities::drop_all().is_ok();
        let limits = limits::apply(&Resources::default()).is_ok();
        let landlock = has_dropped && landlock::restrict(&[]).unwrap_or(false);
        let filter = || Filters::build(options)?.install();
        Applied { landlock, seccomp: has_dropped && filter().is_ok(), limits, ..Applied::default() }
    }
}

fn filters(bounds: &Bounds, options: FilterOptions) -> Result<Option<Filters>, Failure> {
    if !bounds.mechanisms.seccomp {
        return Ok(None);
    }
    Filters::build(options).map(Some).map_err(failed("building system call filters"))
}

fn failed(at: &'static str) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::new(Stage::Confine, at, &error)
}
