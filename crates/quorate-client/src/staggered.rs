//! Reaching one of several endpoints, some of which may be stopped or partitioned.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinSet;

/// Time after which the next endpoint is tried as well. A stopped or partitioned node does not refuse a connection, it only
/// stays silent, and a session must not expire while its client waits for such a node.
const STAGGER: Duration = Duration::from_millis(200);

/// Tries endpoints in order: the next one starts when an attempt has failed or has not answered within [`STAGGER`]. Returns
/// the position and the answer of the first endpoint that answers, or all failures in order of arrival.
pub(crate) async fn first_that_answers<T, E, F>(
    endpoints: impl IntoIterator<Item = String>,
    attempt: impl Fn(String) -> F,
) -> Result<(usize, T), Vec<(String, E)>>
where
    T: Send + 'static,
    E: Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
{
    let mut endpoints = endpoints.into_iter().enumerate().peekable();
    let (mut trying, mut failures) = (JoinSet::new(), Vec::new());
    loop {
        if let Some((position, endpoint)) = endpoints.next() {
            let answer = attempt(endpoint.clone());
            trying.spawn(async move { (position, endpoint, answer.await) });
        }
        let ended = match endpoints.peek() {
            Some(_) => tokio::time::timeout(STAGGER, trying.join_next()).await,
            None => Ok(trying.join_next().await),
        };
        match ended {
            Ok(Some(Ok((position, _, Ok(answer))))) => return Ok((position, answer)),
            Ok(Some(Ok((_, endpoint, Err(failure))))) => failures.push((endpoint, failure)),
            Ok(Some(Err(_))) | Err(_) => {}
            Ok(None) if endpoints.peek().is_none() => return Err(failures),
            Ok(None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An endpoint that answers, refuses or stays silent, depending on its name.
    async fn try_one(endpoint: String) -> Result<String, &'static str> {
        match endpoint.as_str() {
            "silent" => std::future::pending().await,
            "refuses" => Err("refused"),
            _ => Ok(endpoint),
        }
    }

    async fn try_all(endpoints: &[&str]) -> Result<(usize, String), Vec<(String, &'static str)>> {
        first_that_answers(endpoints.iter().map(|it| (*it).to_owned()), try_one).await
    }

    #[tokio::test]
    async fn a_node_that_says_nothing_is_not_waited_for() {
        let endpoints = ["silent", "refuses", "silent", "answers", "answers too"];
        let found = tokio::time::timeout(100 * STAGGER, try_all(&endpoints)).await;
        assert_eq!(found, Ok(Ok((3, "answers".to_owned()))));
    }

    #[tokio::test]
    async fn every_failure_is_told() {
        let refused = ("refuses".to_owned(), "refused");
        assert_eq!(try_all(&["refuses", "refuses"]).await, Err(vec![refused.clone(), refused]));
        assert_eq!(try_all(&[]).await, Err(Vec::new()));
    }
}
