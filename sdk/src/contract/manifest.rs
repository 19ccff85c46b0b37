//! The manifest, whose types both sides of the contract share, and how the tasks that a self-test follows up are written in it.

pub use gatehouse_contract::{
    About, HttpRoute, Model, ModelName, NameAt, NoSettings, PaceSettings, ParentAt, Receipt, RouteMethod,
    RouteUse, SelfTest, Surface, Verdict,
};
use gatehouse_contract::{FactsWritten, KindWritten, ParentWritten, SOME_TASK, StatusWritten};

use super::json;
use super::media::{Facts, MediaKind};
use super::parent::{Parent, Status};

impl From<Parent> for ParentWritten {
    fn from(parent: Parent) -> Self {
        Self {
            task: Some(parent.task),
            family: parent.family,
            model: parent.model,
            status: match parent.status {
                Status::Submitted => StatusWritten::Submitted,
                Status::Pending => StatusWritten::Pending,
                Status::Processing => StatusWritten::Processing,
                Status::Completed => StatusWritten::Completed,
                Status::Failed => StatusWritten::Failed,
            },
            public: parent.public.to_string(),
            private: parent.private.to_string(),
            media: parent.media.into_iter().map(written).collect(),
            affinity: parent.affinity,
            joining: parent.joining.iter().map(|brief| String::from_utf8_lossy(brief).into_owned()).collect(),
        }
    }
}

impl From<ParentWritten> for Parent {
    fn from(parent: ParentWritten) -> Self {
        Self {
            task: parent.task.unwrap_or_else(|| SOME_TASK.to_owned()),
            family: parent.family,
            model: parent.model,
            status: parent.status.into(),
            public: json::of_host(&parent.public),
            private: json::of_host(&parent.private),
            media: parent.media.into_iter().map(read).collect(),
            affinity: parent.affinity,
            joining: parent.joining.into_iter().map(String::into_bytes).collect(),
        }
    }
}

fn written(facts: Facts) -> FactsWritten {
    let Facts { kind, mime, bytes, width, height, milliseconds, fps_milli, has_audio, has_alpha, blob } =
        facts;
    let kind = match kind {
        MediaKind::Image => KindWritten::Image,
        MediaKind::Video => KindWritten::Video,
        MediaKind::Audio => KindWritten::Audio,
        MediaKind::Other => KindWritten::Other,
    };
    FactsWritten { kind, mime, bytes, width, height, milliseconds, fps_milli, has_audio, has_alpha, blob }
}

fn read(facts: FactsWritten) -> Facts {
    let FactsWritten {
        kind,
        mime,
        bytes,
        width,
        height,
        milliseconds,
        fps_milli,
        has_audio,
        has_alpha,
        blob,
    } = facts;
    let kind = kind.into();
    Facts { kind, mime, bytes, width, height, milliseconds, fps_milli, has_audio, has_alpha, blob }
}

impl From<StatusWritten> for Status {
    fn from(written: StatusWritten) -> Self {
        match written {
            StatusWritten::Submitted => Self::Submitted,
            StatusWritten::Pending => Self::Pending,
            StatusWritten::Processing => Self::Processing,
            StatusWritten::Completed => Self::Completed,
            StatusWritten::Failed => Self::Failed,
        }
    }
}

impl From<KindWritten> for MediaKind {
    fn from(written: KindWritten) -> Self {
        match written {
            KindWritten::Image => Self::Image,
            KindWritten::Video => Self::Video,
            KindWritten::Audio => Self::Audio,
            KindWritten::Other => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// Authors in other languages write the document by this schema.
    #[test]
    fn the_published_schema_is_that_of_the_types() {
        let published = include_str!("../../wit/manifest.schema.json");
        let schema = serde_json::to_string_pretty(&schemars::schema_for!(About)).expect("JSON") + "\n";
        assert!(published == schema, "wit/v1/manifest.schema.json must be:\n{schema}");
    }

    #[test]
    fn a_document_says_what_was_said() {
        let parent = Parent::new("painter", "painter-1", serde_json::json!({"job": 7}));
        let about = About::new("painter", "1.2.0")
            .model(Model::new("painter-1").serves("images.edit").makes("image"))
            .surface(Surface {
                schema: "true".to_owned(),
                ..Surface::new::<u8>("images.edit").parent_in("follows")
            })
            .price_key_per("painter-1", "picture")
            .self_test_of("images.edit", Value::from(1), vec![parent], Verdict::Doomed);
        let expected = serde_json::json!({
            "family": "painter",
            "version": "1.2.0",
            "models": [{"id": "painter-1", "surfaces": ["images.edit"], "modality": "image"}],
            "surfaces": [{"name": "images.edit", "schema": true, "parent": {"field": "follows"}, "joins": false}],
            "price_keys": ["painter-1"],
            "units": {"painter-1": "picture"},
            "state_version": 1,
            "self_tests": [{
                "surface": "images.edit",
                "body": 1,
                "parents": [{
                    "task": "task_01KDWFAMDV000000000000000B",
                    "family": "painter",
                    "model": "painter-1",
                    "status": "completed",
                    "public": null,
                    "private": {"job": 7},
                }],
                "expect": "doomed",
            }],
        });
        assert_eq!(serde_json::to_value(about).expect("JSON"), expected);
    }
}
