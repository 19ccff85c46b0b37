//! The schemas of what has the shape of OpenAI's API: pictures, videos, completions. Outlines, whose details are OpenAI's.

use serde_json::{Value, json};

use crate::document::shapes::{list_of, object};
use crate::document::webhooks::callback_url;

/// Bodies and answers.
pub(super) fn schemas() -> Value {
    let text = json!({"type": ["string", "null"]});
    let picture = json!({"anyOf": [
        {"type": "string", "description": "A file of a form, an address, or a `data:` URI."},
        object(&["image_url"], &json!({"image_url": {"type": "string"}})),
    ]});
    json!({
        "ImageEdit": {
            "type": "object", "required": ["prompt"],
            "description": "The fields of `images.edit`; others are the family's own.",
            "properties": {
                "model": {"type": "string"}, "prompt": {"type": "string"},
                "image": {"anyOf": [picture, {"type": "array", "items": picture}],
                    "description": "The pictures to begin with."},
                "images": {"type": "array", "items": picture, "description": "The same under its name in JSON."},
                "n": {"type": ["integer", "null"]}, "size": text, "output_format": text,
                "response_format": {"type": ["string", "null"], "enum": ["url", "b64_json", null]},
                "callback_url": callback_url(),
            },
        },
        "ImageList": object(&["created", "data"], &json!({
            "created": {"type": "integer"},
            "data": {"type": "array", "items": {"type": "object", "properties": {
                "url": {"type": "string", "description": "Signed; valid for a day."},
                "b64_json": {"type": "string", "description": "With `response_format: b64_json`."},
            }}},
        })),
        "VideoRequest": {
            "type": "object", "required": ["prompt"],
            "description": "The fields of `videos.create`; others are the family's own.",
            "properties": {
                "model": {"type": "string"}, "prompt": {"type": "string"},
                "seconds": {"type": ["string", "integer", "null"]},
                "size": {"type": ["string", "null"], "description": "Pixels, such as `1280x720`."},
                "input_reference": picture, "callback_url": callback_url(),
            },
        },
        "Video": object(&["id", "object", "model", "status", "progress", "created_at"], &json!({
            "id": {"type": "string"}, "object": {"const": "video"}, "model": {"type": "string"},
            "status": {"enum": ["queued", "in_progress", "completed", "failed"]},
            "progress": {"type": "integer", "minimum": 0, "maximum": 100},
            "created_at": {"type": "integer"}, "completed_at": {"type": ["integer", "null"]},
            "expires_at": {"type": ["integer", "null"], "description": "Until when its file is kept."},
            "error": {"anyOf": [{"type": "null"}, object(&["code", "message"], &json!({
                "code": {"type": "string"}, "message": {"type": "string"},
            }))]},
        })),
        "VideoList": object(&["object", "data", "has_more", "first_id", "last_id"], &json!({
            "object": {"const": "list"},
            "data": list_of("Video"),
            "has_more": {"type": "boolean"}, "first_id": text, "last_id": text,
        })),
        "DeletedVideo": object(&["id", "object", "deleted"], &json!({
            "id": {"type": "string"}, "object": {"const": "video.deleted"}, "deleted": {"const": true},
        })),
        "TextCompletionRequest": {
            "type": "object", "required": ["model", "prompt"],
            "description": "The fields of `completions.create`, for models that answer conversations.",
            "properties": {
                "model": {"type": "string"},
                "prompt": {"anyOf": [
                    {"type": "string"},
                    {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 32},
                ]},
                "max_tokens": {"type": ["integer", "null"], "description": "16 unless it is said."},
                "temperature": {"type": ["number", "null"]}, "top_p": {"type": ["number", "null"]},
                "n": {"type": ["integer", "null"]}, "stop": {},
                "echo": {"type": ["boolean", "null"], "description": "Whether the answer begins with the prompt."},
                "stream": {"type": ["boolean", "null"]},
                "stream_options": {"type": ["object", "null"]},
            },
        },
        "TextCompletion": object(&["id", "object", "created", "model", "choices"], &json!({
            "id": {"type": "string"}, "object": {"const": "text_completion"},
            "created": {"type": "integer"}, "model": {"type": "string"},
            "choices": {"type": "array", "items": object(&["index", "text"], &json!({
                "index": {"type": "integer", "minimum": 0}, "text": {"type": "string"},
                "finish_reason": {"type": ["string", "null"]},
            }))},
            "usage": {"type": ["object", "null"]},
        })),
    })
}
