//! Suggestions for names that do not exist.

/// The known name that is most similar to this one, if any is similar enough.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let close = |candidate: &&str| strsim::jaro_winkler(name, candidate) > 0.7;
    known
        .into_iter()
        .filter(close)
        .max_by(|a, b| strsim::jaro_winkler(name, a).total_cmp(&strsim::jaro_winkler(name, b)))
}
