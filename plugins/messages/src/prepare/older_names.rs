//! Fields under the names that earlier versions of the protocol had for them.

use gatehouse_text_protocols::json::{UniqueObject, Writer};

/// The older name of `output_config.format`.
const OUTPUT_FORMAT: &str = "output_format";
const OUTPUT_CONFIG: &str = "output_config";

/// The body under the present names; `None` where it has them. A request that says both is judged as it is.
pub(super) fn renamed(body: &str) -> Option<String> {
    if !body.contains(OUTPUT_FORMAT) {
        return None;
    }
    let fields: UniqueObject<'_> = serde_json::from_str(body).ok()?;
    let format = fields.get(OUTPUT_FORMAT)?;
    let given = fields.get(OUTPUT_CONFIG);
    let config: UniqueObject<'_> = match given {
        Some(given) => serde_json::from_str(given.get()).ok()?,
        None => UniqueObject::default(),
    };
    if config.get("format").is_some() {
        return None;
    }
    let mut written = Writer::new(format.get().len() + 64);
    written.members(config.iter().filter(|(name, _)| *name != "format"));
    written.member("format", format.get());
    let mut out = Writer::new(body.len() + 64);
    out.members(fields.iter().filter(|(name, _)| *name != OUTPUT_FORMAT && *name != OUTPUT_CONFIG));
    out.member(OUTPUT_CONFIG, &written.done());
    Some(out.done())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a structured output of an earlier version is an unknown field.
    #[test]
    fn an_output_format_goes_into_the_output_config() {
        for (body, expected) in [
            (r#"{"a":1,"output_format":{"t":2}}"#, Some(r#"{"a":1,"output_config":{"format":{"t":2}}}"#)),
            (
                r#"{"output_format":{"t":2},"output_config":{"effort":"low"}}"#,
                Some(r#"{"output_config":{"effort":"low","format":{"t":2}}}"#),
            ),
            (r#"{"output_format":null}"#, None),
            (r#"{"output_format":{},"output_config":{"format":{}}}"#, None),
            (r#"{"messages":"output_format"}"#, None),
        ] {
            assert_eq!(renamed(body).as_deref(), expected, "{body}");
        }
    }
}
