use proptest::prelude::*;

use super::*;

/// Ids and descriptions as servers in use publish them, some two hundred.
const TOOLS: &str = include_str!("tools.txt");

/// Queries of people and models, and the tools that they mean.
const QUERIES: &[(&str, &str)] = &[
    ("create a github issue", "github_create_issue"),
    ("open a new pull request", "github_create_pull_request"),
    ("merge PR pull request", "github_merge_pull_request"),
    ("comment on an issue github", "github_add_issue_comment"),
    ("search code", "github_search_code"),
    ("fork repo", "github_fork_repository"),
    ("logs of a failed CI job", "github_get_job_logs"),
    ("retry pipeline", "gitlab_retry_pipeline"),
    ("send email", "gmail_send_email"),
    ("sending an email with gmail", "gmail_send_email"),
    ("download email attachment", "gmail_download_attachment"),
    ("post message to slack", "slack_post_message"),
    ("reply in a slack thread", "slack_reply_to_thread"),
    ("create a calendar event", "calendar_create_event"),
    ("find a time when everybody is free", "calendar_find_free_time"),
    ("take a screenshot", "browser_take_screenshot"),
    ("click a button on a web page", "browser_click"),
    ("weather forecast tomorrow", "weather_get_forecast"),
    ("current time in Tokyo", "time_get_current_time"),
    ("convert timezones", "time_convert_time"),
    ("refund payment", "stripe_create_refund"),
    ("cancel subscriptions", "stripe_cancel_subscription"),
    ("run a sql query postgres", "postgres_query"),
    ("explain slow query plan", "postgres_explain_query"),
    ("columns of a table", "postgres_describe_table"),
    ("kubernetes pod logs", "kubernetes_get_pod_logs"),
    ("scale deployment replicas", "kubernetes_scale_deployment"),
    ("build docker image", "docker_build_image"),
    ("upload to s3 bucket", "aws_s3_put_object"),
    ("translate", "translate_text"),
    ("youtube transcript", "youtube_get_transcript"),
    ("extract text from pdf", "pdf_extract_text"),
    ("resizing images", "image_resize"),
    ("knowledge graph search", "memory_search_nodes"),
    ("driving directions", "maps_directions"),
    ("rename a file", "filesystem_move_file"),
    ("directoryTree", "filesystem_directory_tree"),
    ("query spreadsheet cells", "sheets_read_range"),
    ("notion_query_database", "notion_query_database"),
    ("jira ticket", "jira_create_ticket"),
];

fn tools() -> Vec<(&'static str, &'static str)> {
    TOOLS.lines().filter_map(|line| line.split_once('\t')).collect()
}

#[test]
fn what_is_meant_comes_first() {
    let tools = tools();
    let index = ToolRanking::new(tools.iter().copied());
    let first = |query: &str| index.best(query, 1).first().map(|tool| tools[*tool].0);
    let missed: Vec<_> = QUERIES
        .iter()
        .filter(|(query, meant)| first(query) != Some(meant))
        .map(|(query, meant)| {
            (
                query,
                meant,
                index.best(query, 3).iter().map(|tool| tools[*tool].0).collect::<Vec<_>>(),
            )
        })
        .collect();
    assert!(missed.is_empty(), "{} of {}: {missed:#?}", missed.len(), QUERIES.len());
}

#[test]
fn a_query_without_known_words_finds_nothing() {
    let index = ToolRanking::new(tools());
    for query in ["", "   ", "the of to", "xylophone zzz", "\u{0}\u{1}"] {
        assert!(index.best(query, 10).is_empty(), "{query:?}");
    }
    assert!(ToolRanking::default().best("anything", 10).is_empty());
}

#[test]
fn equals_are_in_their_own_order() {
    let tools = ["two", "one", "ten"].map(|id| (id, "sends mail"));
    let index = ToolRanking::new(tools);
    assert_eq!(index.best("mail", 10), [0, 1, 2]);
    assert_eq!(index.best("mail", 2), [0, 1]);
}

#[test]
fn words_of_a_query_beyond_the_bound_are_passed_over() {
    let index = ToolRanking::new([("wanted", "the last word")]);
    let others: Vec<String> = (0..QUERY_WORDS_MAX).map(|number| format!("other{number}")).collect();
    let one_less = format!("{} wanted", others[1..].join(" "));
    let all = format!("{} wanted", others.join(" "));
    assert_eq!((index.best(&one_less, 1), index.best(&all, 1)), (vec![0], Vec::new()));
}

#[test]
fn longer_words_beyond_the_bound_are_passed_over() {
    let ids: Vec<String> =
        (0..=LONGER_WORDS_MAX).map(|number| format!("word{number:04}")).collect();
    let index = ToolRanking::new(ids.iter().map(|id| (id.as_str(), "")));
    assert_eq!(index.best("word", usize::MAX).len(), LONGER_WORDS_MAX);
}

proptest! {
    #[test]
    fn every_tool_is_found_by_its_own_id(number in 0..tools().len()) {
        let tools = tools();
        let index = ToolRanking::new(tools.iter().copied());
        let best = index.best(tools[number].0, 3);
        prop_assert!(best.contains(&number), "{} finds {best:?}", tools[number].0);
    }

    #[test]
    fn any_text_can_be_asked_and_indexed(texts in proptest::collection::vec((".{0,40}", ".{0,80}"), 0..8), query in ".{0,80}") {
        let index = ToolRanking::new(texts.iter().map(|(id, about)| (id.as_str(), about.as_str())));
        let best = index.best(&query, 4);
        prop_assert!(best.len() <= 4 && best.iter().all(|tool| *tool < texts.len()));
    }
}
