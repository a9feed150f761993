//! The command line of a worker, written by its driver and read by itself.

use crate::Failure;
use crate::script::Commands;
use crate::worker::{DriverKind, End, Orders};

const USAGE: &str = "expected: worker WORLD SEED some|none replays|goes-on LIFE RUN killed|after-run \
    HEARD,… PLACE:TIMES:WAIT_US|-";

impl Orders {
    /// Returns the arguments that say all this.
    pub(crate) fn to_args(&self) -> Vec<String> {
        let heard: Vec<String> = self.heard.iter().map(usize::to_string).collect();
        let commands = match self.commands {
            Commands::Some => "some",
            Commands::None => "none",
        };
        let driver = match self.driver {
            DriverKind::Replays => "replays",
            DriverKind::GoesOn => "goes-on",
        };
        let end = match self.end {
            End::Killed => "killed",
            End::AfterRun => "after-run",
        };
        vec![
            "worker".to_owned(),
            self.world.to_string_lossy().into_owned(),
            self.seed.to_string(),
            commands.to_owned(),
            driver.to_owned(),
            self.life.to_string(),
            self.run.to_string(),
            end.to_owned(),
            heard.join(","),
            self.point.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    }

    /// Reads the arguments.
    pub(crate) fn from_args(args: &[String]) -> Result<Self, Failure> {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let [_, world, seed, commands, driver, life, run, end, heard, point] = args.as_slice()
        else {
            return Err(USAGE.into());
        };
        Ok(Self {
            world: world.into(),
            seed: seed.parse()?,
            commands: match *commands {
                "some" => Commands::Some,
                "none" => Commands::None,
                _ => return Err(USAGE.into()),
            },
            driver: match *driver {
                "replays" => DriverKind::Replays,
                "goes-on" => DriverKind::GoesOn,
                _ => return Err(USAGE.into()),
            },
            life: life.parse()?,
            run: run.parse()?,
            end: match *end {
                "killed" => End::Killed,
                "after-run" => End::AfterRun,
                _ => return Err(USAGE.into()),
            },
            heard: heard.split(',').map(str::parse).collect::<Result<_, _>>()?,
            point: (*point != "-").then(|| (*point).to_owned()),
        })
    }
}
