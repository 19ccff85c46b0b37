//! The endpoints, one file a group. Each turns a request into calls of the house behind and their answers
//! into the specification's shapes; none knows a connection, a key's text or a status code of an error.

mod health;
mod jobs;
mod media;
mod models;
mod tasks;
mod text;

use std::sync::Arc;

use gatehouse_model::Key;
use http::Response;

use crate::backend::Backend;
use crate::errors::{Kind, Problem};
use crate::http::context::{EdgeContext as Front, EndpointRequest as Visit};
use crate::http::response::ResponseBody as Content;
use crate::http::routes::Route;

/// The routes that need a key.
pub(crate) async fn answer<B: Backend>(
    front: &Front<B>,
    visit: Visit<'_>,
    key: Arc<Key>,
) -> Result<Response<Content>, Problem> {
    match visit.entry.route {
        Route::Submit(submit) => jobs::submit(front, visit, key, submit).await,
        Route::Task => tasks::read(front, &visit, &key).await,
        Route::Cancel => tasks::cancel(front, &visit, key).await,
        Route::Tasks => tasks::list(front, &visit, &key).await,
        Route::JourneyTask => Err(tasks::unknown(visit.open)),
        Route::Models => Ok(models::list(front, &key)),
        Route::Model => models::read(front, &visit, &key),
        Route::Text => text::ask(front, visit, key).await,
        Route::CountTokens => Err(text::no_counting()),
        Route::Media | Route::Live | Route::Ready => answer_open(front, visit).await,
    }
}

/// The routes that need none.
pub(crate) async fn answer_open<B: Backend>(
    front: &Front<B>,
    visit: Visit<'_>,
) -> Result<Response<Content>, Problem> {
    match visit.entry.route {
        Route::Media => media::read(front, &visit).await,
        Route::Live => Ok(health::live()),
        Route::Ready => health::ready(front),
        _ => Err(Problem::new(Kind::Unauthenticated, "missing API key")),
    }
}
