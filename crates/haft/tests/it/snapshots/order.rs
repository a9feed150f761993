//! Which calls came after one of which nothing was recorded. The clock of these tests stands still.

use super::*;

async fn call_of(place: &Place, node: &str, tool: &str, text: &str) -> CallAddress {
    let mut call = Call::new(tool, json!({ "text": text }));
    call.task_attempt.node = node.to_owned();
    let envelope = place.stage.run.call(call).await.unwrap();
    assert!(envelope.code().is_none(), "{envelope:?}");
    let rows = place.stage.rows().await;
    rows.iter().rfind(|row| row.scope.node == node).unwrap().id()
}

async fn check(place: &Place, after: &CallAddress, expect: &[&CallAddress]) {
    let changes = place.history().changes(&CallSelection::After(after.clone())).await.unwrap();
    let calls: Vec<&CallAddress> = changes.iter().flat_map(|root| &root.calls).collect();
    assert_eq!(calls, expect, "after {after}");
}

#[tokio::test]
async fn later_calls_of_an_attempt_are_those_of_greater_numbers() {
    let place = Place::new().await;
    let one = place.call("save", "a 1").await;
    let look = place.call("look", "x").await;
    let two = place.call("save", "b 2").await;
    let order = place.call("order", "x").await;
    check(&place, &look, &[&two]).await;
    check(&place, &one, &[&two]).await;
    check(&place, &order, &[]).await;
    place.undo(&CallSelection::After(look)).await.unwrap();
    assert!(place.at("a").exists() && !place.at("b").exists());
}

#[tokio::test]
async fn later_calls_of_other_nodes_are_those_that_were_recorded_later() {
    let place = Place::new().await;
    let one = call_of(&place, "build", "save", "a 1").await;
    let order = call_of(&place, "ask", "order", "x").await;
    let two = call_of(&place, "build", "save", "b 2").await;
    let three = call_of(&place, "test", "command", "c 3").await;
    check(&place, &order, &[&two, &three]).await;
    check(&place, &one, &[&two, &three]).await;
    check(&place, &three, &[]).await;
}

#[tokio::test]
async fn a_call_whose_end_nobody_saw_is_named_when_others_followed() {
    let place = Place::new().await;
    let one = place.call("command", "a 1").await;
    let two = place.call("save", "b 2").await;
    // As if the process had died before the second look, and another one had gone on.
    let mut note = place.notes().await.remove(0);
    note.after = None;
    let told = "the state after it is not known: it is not over, or haft died in it".to_owned();
    note.note = Some(told.clone());
    place.journal.note_snapshot(note).await.unwrap();
    let of = CallSelection::Run(place.stage.run.id().clone());
    let changes = place.changes(&of).await;
    assert_eq!((&changes.calls, changes.ends_now), (&vec![two], false));
    assert_eq!(changes.remarks, [(one, told)]);
}
