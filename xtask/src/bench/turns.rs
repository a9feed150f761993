//! Entrants of one measurement, and the rounds in which they take turns. The order is different in every round, so
//! that no entrant always follows the same other one. Each entrant decides what to do in its turn.

use std::time::Duration;

use super::samples::Samples;

/// One of the programs that are measured beside each other.
pub(super) struct Entrant<'a> {
    /// The name of the case, for example «over pipes». Entrants of one case are compared with each other.
    case: String,
    name: String,
    /// The reason if it cannot take part.
    turn: Result<BenchTurn<'a>, String>,
}

struct BenchTurn<'a> {
    /// How many samples are taken at a turn.
    repeats: usize,
    sample: Box<dyn FnMut() -> anyhow::Result<Duration> + 'a>,
    samples: Samples<Duration>,
}

/// The results of the entrants of one case. The first is the one that the others are compared with.
#[derive(Clone)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) rows: Vec<CaseRow>,
}

#[derive(Clone)]
pub(super) struct CaseRow {
    pub(super) name: String,
    pub(super) figure: Figure,
}

#[derive(Clone)]
pub(super) enum Figure {
    Measured(Samples<Duration>),
    /// Made of other figures.
    Computed(Duration),
    /// There is none, for the reason given.
    Absent(String),
}

impl Figure {
    pub(super) fn median(&self) -> Option<Duration> {
        match self {
            Self::Measured(samples) => samples.median(),
            Self::Computed(duration) => Some(*duration),
            Self::Absent(_) => None,
        }
    }
}

impl Case {
    /// Returns the median of the first row.
    pub(super) fn own_median(&self) -> Option<Duration> {
        self.rows.first()?.figure.median()
    }

    /// Returns the median of the row of that name.
    pub(super) fn median(&self, name: &str) -> Option<Duration> {
        self.rows.iter().find(|row| row.name == name)?.figure.median()
    }
}

impl<'a> Entrant<'a> {
    pub(super) fn new(
        case: &str,
        name: &str,
        repeats: usize,
        sample: impl FnMut() -> anyhow::Result<Duration> + 'a,
    ) -> Self {
        let turn = BenchTurn { repeats, sample: Box::new(sample), samples: Samples::default() };
        Self { case: case.to_owned(), name: name.to_owned(), turn: Ok(turn) }
    }

    pub(super) fn absent(case: &str, name: &str, reason: &str) -> Self {
        Self { case: case.to_owned(), name: name.to_owned(), turn: Err(reason.to_owned()) }
    }

    fn take_turn(&mut self) -> anyhow::Result<()> {
        let Ok(turn) = &mut self.turn else { return Ok(()) };
        for _ in 0..turn.repeats {
            let sample = (turn.sample)()?;
            turn.samples.push(sample);
        }
        Ok(())
    }
}

/// Lets the entrants take turns, after one round that does not count, and returns the cases in order.
pub(super) fn interleave(
    mut entrants: Vec<Entrant<'_>>,
    rounds: usize,
) -> anyhow::Result<Vec<Case>> {
    for entrant in &mut entrants {
        entrant.take_turn()?;
        if let Ok(turn) = &mut entrant.turn {
            turn.samples = Samples::default();
        }
    }
    for round in 0..rounds {
        for index in order(round, entrants.len()) {
            if let Some(entrant) = entrants.get_mut(index) {
                entrant.take_turn()?;
            }
        }
    }
    Ok(cases(entrants))
}

/// Returns the order of a round: it starts one later each time, and every other time it goes backwards.
fn order(round: usize, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.rotate_left(round % count.max(1));
    if round % 2 == 1 {
        order.reverse();
    }
    order
}

fn cases(entrants: Vec<Entrant<'_>>) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for Entrant { case, name, turn } in entrants {
        let figure = turn.map_or_else(Figure::Absent, |turn| Figure::Measured(turn.samples));
        let row = CaseRow { name, figure };
        match cases.iter_mut().find(|found| found.name == case) {
            Some(found) => found.rows.push(row),
            None => cases.push(Case { name: case, rows: vec![row] }),
        }
    }
    cases
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn everyone_takes_its_turns_and_the_first_round_does_not_count() {
        let log = RefCell::new(String::new());
        let entrant = |case, name: &'static str, repeats| {
            let log = &log;
            Entrant::new(case, name, repeats, move || {
                log.borrow_mut().push_str(name);
                Ok(Duration::from_millis(5))
            })
        };
        let entrants = vec![
            entrant("one", "a", 1),
            entrant("two", "b", 2),
            Entrant::absent("one", "c", "not installed"),
        ];
        let cases = interleave(entrants, 3).expect("nothing fails");
        assert_eq!(log.take(), "abb".to_owned() + "abb" + "abb" + "abb");
        let names: Vec<_> = cases
            .iter()
            .map(|case| (&*case.name, case.rows.iter().map(|row| &*row.name).collect::<Vec<_>>()))
            .collect();
        assert_eq!(names, [("one", vec!["a", "c"]), ("two", vec!["b"])]);
        assert!(
            matches!(&cases[1].rows[0].figure, Figure::Measured(samples) if samples.len() == 6)
        );
        assert_eq!(cases[0].median("a"), Some(Duration::from_millis(5)));
        assert_eq!(cases[0].median("c"), None);
    }

    #[test]
    fn the_order_changes_and_leaves_no_one_out() {
        assert_eq!(order(0, 3), [0, 1, 2]);
        assert_eq!(order(1, 3), [0, 2, 1]);
        assert_eq!(order(2, 3), [2, 0, 1]);
        assert_eq!(order(3, 3), [2, 1, 0]);
        assert!(order(4, 0).is_empty());
    }

    #[test]
    fn a_failure_ends_the_measurement() {
        let entrants = vec![Entrant::new("one", "a", 1, || anyhow::bail!("broken"))];
        assert!(interleave(entrants, 1).is_err());
    }
}
