//! The time limit of a call's tool. The time pauses while a person is asked, by the tool or about a call that is made
//! for it. The time that a person takes to think says nothing about the tool. This module does not decide what happens
//! at the limit, or how long a person may take.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::{CallTime, TimePause};
use tokio::sync::watch;
use tokio::time::Instant;

/// The time that is left of one call.
pub(crate) struct CallStopwatch {
    /// Each question writes when it begins and ends; the task that waits for the time limit reads.
    state: Arc<watch::Sender<StopwatchState>>,
    /// The time of the call that this one is made for.
    parent: Arc<dyn CallTime>,
}

/// The end of the time, and the pause that moves it.
#[derive(Clone, Copy)]
struct StopwatchState {
    /// The end of the time, if the time does not pause before.
    deadline: Instant,
    /// The pause that is in progress, if there is one.
    pause: Option<StopwatchPause>,
    /// The length of all pauses that ended.
    paused: Duration,
}

/// The number of open questions, and the start of the first of them.
#[derive(Clone, Copy)]
struct StopwatchPause {
    /// When the pause began.
    since: Instant,
    /// The number of questions that keep the pause open.
    open_questions: u32,
}

/// The guard of an open question. The time continues when the last guard is dropped.
pub(crate) struct StopwatchPauseGuard {
    /// The stopwatch that is paused.
    state: Arc<watch::Sender<StopwatchState>>,
    /// The pause of the calls that led to this one.
    _above: TimePause,
}

impl CallStopwatch {
    /// Returns a stopwatch that runs from now on, beneath the time of the call that this one is made for.
    pub(crate) fn new(time: Duration, above: Arc<dyn CallTime>) -> Self {
        let hand =
            StopwatchState { deadline: Instant::now() + time, pause: None, paused: Duration::ZERO };
        Self { state: Arc::new(watch::Sender::new(hand)), parent: above }
    }

    /// Pauses this time, and the times of the calls above it, until the returned guard is dropped.
    pub(crate) fn pause(&self) -> StopwatchPauseGuard {
        self.state.send_modify(|hand| {
            let first = StopwatchPause { since: Instant::now(), open_questions: 0 };
            hand.pause.get_or_insert(first).open_questions += 1;
        });
        StopwatchPauseGuard { state: Arc::clone(&self.state), _above: self.parent.pause() }
    }

    /// Returns whether the time is over.
    pub(crate) fn is_over(&self) -> bool {
        let hand = *self.state.borrow();
        hand.pause.is_none() && Instant::now() >= hand.deadline
    }

    /// Returns how long the time was paused, until now.
    pub(crate) fn paused(&self) -> Duration {
        let hand = *self.state.borrow();
        let open = hand.pause.map_or(Duration::ZERO, |pause| pause.since.elapsed());
        hand.paused + open
    }

    /// Waits until the time is over.
    pub(crate) async fn wait_until_over(&self) {
        let mut moved = self.state.subscribe();
        loop {
            let StopwatchState { deadline, pause: stands, .. } = *moved.borrow_and_update();
            let over = async {
                match stands {
                    None => tokio::time::sleep_until(deadline).await,
                    Some(_) => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                // `self` owns the sender, so the channel cannot close during this wait.
                _ = moved.changed() => {}
                () = over => return,
            }
        }
    }
}

impl CallTime for CallStopwatch {
    fn pause(&self) -> TimePause {
        Box::new(Self::pause(self))
    }
}

impl Drop for StopwatchPauseGuard {
    fn drop(&mut self) {
        self.state.send_modify(|hand| {
            let Some(stands) = &mut hand.pause else { return };
            stands.open_questions -= 1;
            if stands.open_questions == 0 {
                let paused = stands.since.elapsed();
                hand.deadline += paused;
                hand.paused += paused;
                hand.pause = None;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn pass(ms: u64) {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }

    fn of_100_ms(above: Arc<dyn CallTime>) -> Arc<CallStopwatch> {
        Arc::new(CallStopwatch::new(Duration::from_millis(100), above))
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_stands_while_any_question_is_out() {
        let begun = Instant::now();
        let stopwatch = of_100_ms(Arc::new(()));
        pass(60).await;
        let first = stopwatch.pause();
        pass(1_000).await;
        let second = stopwatch.pause();
        drop(first);
        pass(1_000).await;
        assert!(!stopwatch.is_over());
        drop(second);
        pass(39).await;
        assert!(!stopwatch.is_over());
        stopwatch.wait_until_over().await;
        assert_eq!(begun.elapsed(), Duration::from_millis(2_100));
        assert_eq!(stopwatch.paused(), Duration::from_millis(2_000));
        assert!(stopwatch.is_over());
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_the_end_hears_of_questions_that_come_meanwhile() {
        let begun = Instant::now();
        let stopwatch = of_100_ms(Arc::new(()));
        let asking = async {
            pass(99).await;
            let asked = stopwatch.pause();
            pass(500).await;
            drop(asked);
        };
        tokio::join!(stopwatch.wait_until_over(), asking);
        assert_eq!(begun.elapsed(), Duration::from_millis(600));
    }

    #[tokio::test(start_paused = true)]
    async fn the_times_of_all_calls_above_stand_with_it() {
        let begun = Instant::now();
        let first = of_100_ms(Arc::new(()));
        let second = of_100_ms(Arc::clone(&first) as _);
        let beside = of_100_ms(Arc::clone(&first) as _);
        let third = of_100_ms(Arc::clone(&second) as _);
        let asked = third.pause();
        pass(1_000).await;
        assert!(beside.is_over(), "who is not asked has its time");
        assert!(![&first, &second, &third].into_iter().any(|time| time.is_over()));
        drop(asked);
        tokio::join!(first.wait_until_over(), second.wait_until_over(), third.wait_until_over());
        assert_eq!(begun.elapsed(), Duration::from_millis(1_100));
    }
}
