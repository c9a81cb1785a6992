//! Reaching one of several nodes, of which some may be stopped or cut off.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinSet;

/// Time after which the next endpoint is tried as well. A node that is stopped or cut off does not refuse a connection: it says
/// nothing, and a session must not expire while its client waits for that.
const STAGGER: Duration = Duration::from_millis(200);

/// Tries endpoints in their order, the next one when the last one has failed or does not answer soon. Returns the position of
/// the first one that answers and what it has answered, or all failures in the order in which they came.
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

    /// Endpoints that answer, refuse or say nothing, by their names.
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
