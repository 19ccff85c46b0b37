//! A finished task: which pictures, films or texts it has. A grid is cut into its four tiles where the provider gives
//! nothing but the grid.

use gatehouse_sdk::Product;

use crate::action::Action;
use crate::job::{Body, Job, Tile};
use crate::provider::failure;
use crate::provider::task::Task;
use crate::record::{Button, Completed, Kind};

const MIME_FILM: &str = "video/mp4";
/// Tiles of a grid, in the order of their numbers: column and row.
const TILES: [(u8, u8); 4] = [(0, 0), (1, 0), (0, 1), (1, 1)];
/// Buttons of a grid, and of a single picture.
const GRID_BUTTONS: [&str; 2] = ["MJ::JOB::upsample::", "MJ::JOB::variation::"];
const SINGLE_BUTTONS: [&str; 6] = [
    "MJ::JOB::upsample_",
    "MJ::JOB::high_variation",
    "MJ::JOB::low_variation",
    "MJ::Outpaint",
    "MJ::Inpaint",
    "MJ::JOB::pan_",
];

/// What a finished task has.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finished {
    pub(crate) completed: Completed,
    /// In the order of the record: pictures or films, then the grid.
    pub(crate) products: Vec<Product>,
    /// The text of a description.
    pub(crate) text: Option<String>,
}

/// Reads the record of a task whose status is SUCCESS.
///
/// # Errors
/// What is missing, for the log.
pub(crate) fn finished(task: &Task, job: &Job) -> Result<Finished, String> {
    let buttons = task.buttons();
    let kind = kind(job, &buttons);
    let (products, has_grid, text) = match kind {
        Kind::Text => {
            let text = task.described().ok_or("SUCCESS without a text")?;
            (Vec::new(), false, Some(text.to_owned()))
        }
        Kind::Films => (films(task, job)?, false, None),
        Kind::Single => {
            let image = task.image().or_else(|| task.images().into_iter().next());
            let image = image.ok_or("SUCCESS without a URL in imageUrl")?;
            (vec![Product::new(image)], false, None)
        }
        Kind::Grid => {
            let (products, has_grid) = tiles(task)?;
            (products, has_grid, None)
        }
    };
    let count = products.len() - usize::from(has_grid);
    let description = task.description().and_then(failure::words);
    Ok(Finished { completed: Completed { kind, count, has_grid, buttons, description }, products, text })
}

/// By the gateway's own action: the provider's word for it differs between servers. Other buttons than those of a grid
/// say that a follow-up made one picture.
fn kind(job: &Job, buttons: &[Button]) -> Kind {
    match job.action {
        // A tile that is upscaled for a follow-up is one picture, whatever its buttons say.
        _ if matches!(job.tile, Some(Tile::Upscaling(_))) => Kind::Single,
        Action::Describe => Kind::Text,
        Action::Video => Kind::Films,
        Action::Upscale => Kind::Single,
        _ => {
            let has = |leads: &[&str]| {
                buttons.iter().any(|button| leads.iter().any(|lead| button.custom_id.starts_with(lead)))
            };
            if has(&SINGLE_BUTTONS) && !has(&GRID_BUTTONS) { Kind::Single } else { Kind::Grid }
        }
    }
}

/// Four pictures and the grid, if the provider gives one.
fn tiles(task: &Task) -> Result<(Vec<Product>, bool), String> {
    let grid = task.image();
    let listed = task.images();
    let mut products: Vec<Product> = match &grid {
        _ if listed.len() == TILES.len() => listed.into_iter().map(Product::new).collect(),
        Some(grid) => TILES.iter().map(|&(column, row)| Product::new(grid).tile(column, row, 2, 2)).collect(),
        None => return Err("SUCCESS without a URL in imageUrl".to_owned()),
    };
    let has_grid = grid.is_some();
    products.extend(grid.map(Product::new));
    Ok((products, has_grid))
}

/// At most as many films as were asked for.
fn films(task: &Task, job: &Job) -> Result<Vec<Product>, String> {
    let wanted = match &job.body {
        Body::Video(film) => usize::try_from(film.batch_size).unwrap_or(1),
        _ => 1,
    };
    let films = task.films();
    if films.is_empty() {
        return Err("SUCCESS without a URL in videoUrl".to_owned());
    }
    Ok(films.into_iter().take(wanted).map(|film| Product::new(film).mime(MIME_FILM)).collect())
}
