//! The built-in snapshots of the workspace, with places to die around them.

use std::sync::Arc;

use haft::{
    PendingEffect, SnapshotError, Snapshots, SystemClock, WorkspaceRoots, WorkspaceSnapshots,
};
use haft_contract::{BoxFuture, CallAddress};
use haft_faults::SeededRandom;
use haft_journal::Journal;

use crate::point::Points;
use crate::world::World;

/// Snapshots that a worker may die around.
struct PointedSnapshots {
    inner: WorkspaceSnapshots,
    points: Arc<Points>,
}

/// Tells whether there are snapshots in a world: they are in every third one.
pub(crate) fn are_in(seed: u64) -> bool {
    SeededRandom::from_seeds(seed, u64::from(u32::MAX)).one_in(3)
}

/// Returns the snapshots of a world, if there are any in it.
pub(crate) fn of_world(
    world: &World,
    seed: u64,
    (roots, journal, points): (&WorkspaceRoots, &Arc<dyn Journal>, &Arc<Points>),
) -> Option<Arc<dyn Snapshots>> {
    if !are_in(seed) {
        return None;
    }
    let directory = world.snapshots();
    let (journal, clock) = (Arc::clone(journal), Arc::new(SystemClock));
    let inner = WorkspaceSnapshots::new(&directory, roots, journal, clock, &Default::default());
    Some(Arc::new(PointedSnapshots { inner, points: Arc::clone(points) }))
}

impl Snapshots for PointedSnapshots {
    fn before_effect<'a>(
        &'a self,
        effect: &'a PendingEffect,
    ) -> BoxFuture<'a, Result<(), SnapshotError>> {
        Box::pin(async move {
            self.points.pass("before-first-snapshot");
            let look = self.inner.before_effect(effect);
            let answer = self.points.within_async("mid-first-snapshot", look).await;
            self.points.pass("after-first-snapshot");
            answer
        })
    }

    fn durability_snapshot<'a>(
        &'a self,
        tool: &'a str,
        call_id: &'a CallAddress,
    ) -> BoxFuture<'a, Result<(), SnapshotError>> {
        Box::pin(async move {
            self.points.pass("before-second-snapshot");
            let look = self.inner.durability_snapshot(tool, call_id);
            let answer = self.points.within_async("mid-second-snapshot", look).await;
            self.points.pass("after-second-snapshot");
            answer
        })
    }

    fn not_executed(&self, call_id: &CallAddress) {
        self.inner.not_executed(call_id);
    }

    fn finish(&self) -> BoxFuture<'_, ()> {
        self.inner.finish()
    }
}
