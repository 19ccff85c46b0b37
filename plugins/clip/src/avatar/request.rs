//! A checked submission with every default filled in, and the rules between its fields.

use gatehouse_sdk::job::check_size;
use gatehouse_sdk::source::normalised;
use gatehouse_sdk::{Affinity, InvalidParam, Submission, params};
use serde::{Deserialize, Serialize};

use crate::avatar::params::{AssetType, NewAsset, NewGroup, Params};
use crate::names;

/// Spec: default `project_name`.
const PROJECT: &str = "default";
/// Bytes that a request may have as JSON. The host keeps 64 KiB of state for a task; the rest is for ids, problems and
/// the other fields.
const MAX_BYTES: usize = 44 * 1024;

/// Where the assets belong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum GroupChoice {
    /// One group a customer, found by its name or made.
    Default,
    New(NewGroup),
    Known(String),
}

/// A submission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct AvatarRequest {
    pub(crate) group: GroupChoice,
    pub(crate) project: String,
    pub(crate) asset_type: AssetType,
    /// Empty in a task's state, which has each asset with its outcome. States of older versions have them here, too.
    #[serde(skip_deserializing)]
    pub(crate) assets: Vec<NewAsset>,
    /// The account that has the group, if it is known.
    pub(crate) account: Option<Affinity>,
}

impl AvatarRequest {
    /// Reads a request's body.
    pub(crate) fn read(request: &Submission) -> Result<Self, InvalidParam> {
        let params: Params = params::read(&request.body)?;
        let assets = assets(&params)?;
        let (group, account, project) = match (params.group, params.group_id) {
            (Some(_), Some(_)) => {
                return Err(invalid("group", "cannot be combined with `group_id`, got both"));
            }
            (Some(group), None) => (GroupChoice::New(group), None, params.project_name),
            (None, Some(id)) => {
                let (account, of_group) = names::group(request, &id)?;
                if let Some(project) = params.project_name.filter(|project| *project != of_group) {
                    let problem = format!(
                        "expected {of_group:?}, the project of the group, or nothing, got the string {project:?}"
                    );
                    return Err(invalid("project_name", problem));
                }
                (GroupChoice::Known(id), account, Some(of_group))
            }
            (None, None) => (GroupChoice::Default, None, params.project_name),
        };
        let project = project.unwrap_or_else(|| PROJECT.to_owned());
        let asset_type = params.asset_type.unwrap_or_default();
        let avatar = Self { group, project, asset_type, assets, account };
        avatar.check_size().map(|()| avatar)
    }

    /// Refuses what does not fit into the task's state, now or when every asset has failed.
    fn check_size(&self) -> Result<(), InvalidParam> {
        check_size(self, MAX_BYTES).map_err(|bytes| {
            let problem =
                format!("expected texts and URLs of at most {MAX_BYTES} bytes together, got {bytes}");
            InvalidParam::at(None, problem)
        })
    }
}

fn invalid(field: &str, problem: impl Into<String>) -> InvalidParam {
    InvalidParam::at(Some(field), problem.into())
}

fn assets(params: &Params) -> Result<Vec<NewAsset>, InvalidParam> {
    let mut assets = match (&params.assets, &params.url, &params.name) {
        (Some(assets), None, None) => assets.clone(),
        (Some(_), Some(_), _) => return Err(invalid("url", "cannot be combined with `assets`, got both")),
        (Some(_), None, Some(_)) => {
            return Err(invalid("name", "cannot be combined with `assets`, got both"));
        }
        (None, Some(url), Some(name)) => vec![NewAsset { url: url.clone(), name: name.clone() }],
        (None, Some(_), None) => return Err(invalid("name", "expected a string beside `url`, got nothing")),
        (None, None, Some(_)) => return Err(invalid("url", "expected a string beside `name`, got nothing")),
        (None, None, None) => {
            return Err(invalid("assets", "expected an array of 1 to 20, or `url` and `name`; got nothing"));
        }
    };
    assets.iter_mut().for_each(|asset| asset.url = normalised(&asset.url));
    Ok(assets)
}
