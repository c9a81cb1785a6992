//! Work that is done while a lock is held.

use quorate_client::{Client, Error, SessionOptions};

/// Acquires the lock `name` and does `work` with its token. Returns `None` if the lock was lost before the work was done.
pub(crate) async fn with_lock<T>(
    client: &Client,
    name: &str,
    work: impl AsyncFnOnce(u64) -> T,
) -> Result<Option<T>, Error> {
    let session = client.session(SessionOptions::default()).await?;
    let guard = session.lock(name)?.why("an example").acquire().await?;
    let done = tokio::select! {
        // Another client may get the lock soon, so the work is dropped where it stands.
        () = guard.expiring() => None,
        done = work(guard.token()) => Some(done),
    };
    if guard.is_held() {
        guard.release().await?;
    }
    session.close().await?;
    Ok(done)
}
