//! The answers that workers printed before they died. haft must keep each of them.

use std::collections::BTreeMap;

use crate::Failure;

/// An answer that a worker passed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ack {
    pub(crate) place: AckPlace,
    /// The call as the envelope names it.
    pub(crate) call: String,
    /// `OK`, or the code of the error.
    pub(crate) code: String,
    pub(crate) replayed: bool,
    /// Tells the answer from others.
    pub(crate) digest: String,
}

/// Which step of which lane of which run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AckPlace {
    pub(crate) run: u32,
    pub(crate) lane: usize,
    pub(crate) step: usize,
}

/// One line of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// It has looked after what the dead left.
    Ready {
        in_doubt: u64,
        settled: u64,
        temporaries: u64,
    },
    Ack(Ack),
    /// It said of a call in doubt what became of it.
    Settled {
        verdict: String,
        happened: bool,
    },
    Done(u32),
    Stuck(u32),
    /// It is about to kill itself, within what it was to be killed in or just after that.
    Struck {
        within: bool,
    },
}

impl Said {
    /// Reads one line.
    pub(crate) fn parse(line: &str) -> Result<Self, Failure> {
        let words: Vec<&str> = line.split(' ').collect();
        Ok(match words.as_slice() {
            ["ready", in_doubt, settled, temporaries] => Self::Ready {
                in_doubt: in_doubt.parse()?,
                settled: settled.parse()?,
                temporaries: temporaries.parse()?,
            },
            ["ack", run, lane, step, call, code, replayed, digest] => {
                let place =
                    AckPlace { run: run.parse()?, lane: lane.parse()?, step: step.parse()? };
                Self::Ack(Ack {
                    place,
                    call: (*call).to_owned(),
                    code: (*code).to_owned(),
                    replayed: replayed.parse()?,
                    digest: (*digest).to_owned(),
                })
            }
            ["settled", _, verdict, happened] => {
                Self::Settled { verdict: (*verdict).to_owned(), happened: happened.parse()? }
            }
            ["done", run] => Self::Done(run.parse()?),
            ["stuck", run] => Self::Stuck(run.parse()?),
            ["struck", within] => Self::Struck { within: within.parse()? },
            _ => return Err(format!("a worker said {line:?}").into()),
        })
    }
}

/// All answers that were heard in a world.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    acks: BTreeMap<AckPlace, Ack>,
}

impl Heard {
    /// Takes note of an answer. Returns what is wrong with it, given what was heard before.
    pub(crate) fn take(&mut self, ack: Ack) -> Option<String> {
        let before = self.acks.insert(ack.place, ack.clone())?;
        if !ack.replayed {
            return Some(format!("{before:?} was acknowledged and executed again: {ack:?}"));
        }
        let is_same =
            (&before.call, &before.code, &before.digest) == (&ack.call, &ack.code, &ack.digest);
        (!is_same).then(|| format!("{before:?} was acknowledged and came back as {ack:?}"))
    }

    /// Returns the answers of a run.
    pub(crate) fn of_run(&self, run: u32) -> impl Iterator<Item = &Ack> {
        self.acks.values().filter(move |ack| ack.place.run == run)
    }

    /// Returns how many answers of a lane were heard.
    pub(crate) fn count(&self, run: u32, lane: usize) -> usize {
        self.of_run(run).filter(|ack| ack.place.lane == lane).count()
    }
}
