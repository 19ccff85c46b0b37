//! A family's own rendering of a task, on a path of the family.
//!
//! The version that takes the task's next step renders it. A plugin that fails here is the gateway's failure: the task
//! goes on, and its usual rendering stays.

use gatehouse_model::{
    Blame, Boxed, Credits, Failure, FailureKind, Json, KeyId, RouteInfo, RouteUse, Task, TaskView,
};
use gatehouse_runtime::StepRoute;

use crate::api::ViewRequest;
use crate::errors::ViewError;
use crate::read::result;
use crate::read::tasks::Tasks;
use crate::submit::references::parent_of;

impl Tasks {
    /// The body a family makes of one of the caller's tasks; links begin with the request's `base`.
    pub async fn view(&self, request: &ViewRequest<'_>) -> Result<Vec<u8>, ViewError> {
        let ViewRequest { key, task, surface, base } = request;
        let task = self.task(key, *task).await?.ok_or(ViewError::NotFound)?;
        let json = self.rendered(&key.id, &task, surface).await?;
        let rendered =
            result::fill_in(json.as_bytes(), &task.media, |media| self.shared.media.link(base, media));
        rendered.ok_or(ViewError::Plugin(task.model))
    }

    fn rendered<'a>(
        &'a self,
        key: &'a KeyId,
        task: &'a Task,
        surface: &'a str,
    ) -> Boxed<'a, Result<Json, ViewError>> {
        Box::pin(async move {
            let Ok(StepRoute::Run(version) | StepRoute::Migrate(version)) =
                self.shared.plugins.route(&task.family, &task.digest, task.state_version).await
            else {
                return Err(ViewError::Plugin(task.model.clone()));
            };
            let renders = |route: RouteInfo| route.does == RouteUse::View && route.surface == surface;
            if !version.about().all_routes().into_iter().any(renders) {
                return Err(ViewError::NotFound);
            }
            let context = self.shared.context(task, &version);
            let view = self.task_view(task);
            let plugins = self.shared.plugins.for_key(key);
            plugins.view(&version, context, surface.to_owned(), view).await.map_err(|fault| {
                tracing::error!(task = %task.id, family = task.family, %fault, "plugin fault in a view");
                ViewError::Plugin(task.model.clone())
            })
        })
    }

    fn task_view(&self, task: &Task) -> TaskView {
        let failure = task.failure.as_ref().filter(|_| task.status.is_final());
        TaskView {
            task: parent_of(&self.shared.upstream, task, Vec::new()),
            progress: task.progress,
            created: task.created,
            ended: task.finished,
            failure: failure.map(|failure| Failure {
                blame: match failure.kind {
                    FailureKind::Request => Blame::Request,
                    FailureKind::Moderation => Blame::Moderation,
                    FailureKind::Cancelled => Blame::Cancelled,
                    FailureKind::Limit => Blame::Limit,
                    FailureKind::Timeout => Blame::Timeout,
                    FailureKind::Upstream | FailureKind::Internal => Blame::Upstream,
                },
                message: failure.message.clone(),
            }),
            cost: task.cost.as_ref().map(Credits::to_string),
        }
    }
}
