//! What the operator has sent along with every call of a provider: headers and parameters of the query, such as the version of
//! an API, with secrets by reference. A plugin can neither see nor replace them, and a presigned address gets none of them.

use std::sync::Arc;

use gatehouse_model::Secret;
use http::{HeaderMap, HeaderName, HeaderValue};
use url::Url;

use crate::auth::redact::Redactor;

/// What is sent along.
#[derive(Default)]
pub(crate) struct Extra {
    headers: Vec<(HeaderName, HeaderValue)>,
    query: Vec<(String, Secret<String>)>,
    /// Takes the secrets among them out of what comes back.
    redactor: Option<Arc<Redactor>>,
}

impl Extra {
    /// These headers and parameters, of whose values `secrets` are some.
    pub(crate) fn new(
        headers: Vec<(HeaderName, HeaderValue)>,
        query: Vec<(String, Secret<String>)>,
        secrets: &[Secret<String>],
    ) -> Self {
        let redactor = (!secrets.is_empty()).then(|| Arc::new(Redactor::of(secrets)));
        Self { headers, query, redactor }
    }

    /// Puts them on a request; what a plugin has put there under the same names is gone.
    pub(crate) fn apply(&self, url: &mut Url, headers: &mut HeaderMap) {
        for (name, value) in &self.headers {
            headers.insert(name, value.clone());
        }
        if self.query.is_empty() {
            return;
        }
        let is_own = |name: &str| self.query.iter().any(|(own, _)| own == name);
        if url.query_pairs().any(|(name, _)| is_own(&name)) {
            let kept: Vec<_> = url.query_pairs().into_owned().filter(|(name, _)| !is_own(name)).collect();
            url.query_pairs_mut().clear().extend_pairs(kept);
        }
        let own = self.query.iter().map(|(name, value)| (name, value.expose()));
        url.query_pairs_mut().extend_pairs(own);
    }

    /// What also takes these secrets out.
    pub(crate) fn with(&self, redactor: &Arc<Redactor>) -> Arc<Redactor> {
        match &self.redactor {
            Some(own) => Arc::new(redactor.and(own)),
            None => Arc::clone(redactor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a plugin chooses the version of an API that an operator has fixed.
    #[test]
    fn the_operators_values_win_and_the_rest_stays() {
        let secret = Secret::new("q9X-word-7731-k".to_owned());
        let header = (HeaderName::from_static("x-team"), HeaderValue::from_static("red"));
        let query = vec![
            ("api-version".to_owned(), Secret::new("2026-01".to_owned())),
            ("key".to_owned(), secret.clone()),
        ];
        let extra = Extra::new(vec![header], query, &[secret]);
        let mut headers = HeaderMap::new();
        headers.append("x-team", HeaderValue::from_static("blue"));
        headers.append("x-other", HeaderValue::from_static("kept"));
        for (asked, expected) in [
            ("https://a.example/p", "https://a.example/p?api-version=2026-01&key=q9X-word-7731-k"),
            (
                "https://a.example/p?b=%20c",
                "https://a.example/p?b=%20c&api-version=2026-01&key=q9X-word-7731-k",
            ),
            (
                "https://a.example/p?api-version=1&b=c&api%2Dversion=2",
                "https://a.example/p?b=c&api-version=2026-01&key=q9X-word-7731-k",
            ),
        ] {
            let mut url = Url::parse(asked).unwrap();
            extra.apply(&mut url, &mut headers);
            assert_eq!(url.as_str(), expected);
        }
        assert_eq!(headers.get_all("x-team").iter().collect::<Vec<_>>(), ["red"]);
        assert_eq!(headers["x-other"], "kept");
        let redactor = extra.with(&Arc::new(Redactor::of([&Secret::new("the-account-8842-Z".to_owned())])));
        let clean = redactor.clean(b"q9X-word-7731-k and the-account-8842-Z".to_vec());
        assert_eq!(clean, b"(secret) and (secret)");
    }
}
