use std::path::Path;

use serde_json::json;

use super::*;
use crate::testing::cx;

#[tokio::test]
async fn a_host_without_an_index_finds_nothing() {
    let input = json!({"query": "send mail"});
    let answer = tool_search().call_unguarded(input, cx(Path::new("/"))).await.unwrap();
    let haft_contract::OutputBody::Data(data) = answer.body else { panic!("it answers JSON") };
    assert_eq!(data, json!({"matches": [], "note": "no tool fits: try other words"}));
}
