//! Whether a provider says that the conversation is longer than its model reads. Few servers have a code for it, and each has
//! words of its own; clients shorten a conversation only where they are told in the words of their own protocol.

use crate::provider_error::ProviderError;

/// Types and codes.
const CODES: [&str; 10] = [
    "context_length_exceeded",
    "context_window_exceeded",
    "context_window_exceeded_error",
    "exceed_context_size_error",
    "model_context_window_exceeded",
    "model_max_prompt_tokens_exceeded",
    "max_context_length_exceeded",
    "prompt_too_long",
    "tokens_limit_reached",
    // Z.ai.
    "1261",
];

/// Words that say it, in lower case: all of a row.
const WORDS: [&[&str]; 104] = [
    // OpenAI, vLLM, DeepSeek, OpenRouter, Mistral.
    &["maximum context length"],
    &["maximum model length"],
    &["maximum context size"],
    &["exceed", "context window"],
    &["context window", "full"],
    // llama.cpp, SGLang, Ollama, LM Studio.
    &["exceed", "context size"],
    &["exceed", "context length"],
    &["longer than", "context length"],
    &["greater than", "context length"],
    &["context length of only"],
    &["overflows", "context"],
    // Anthropic, and those in front of it.
    &["prompt is too long"],
    &["exceed", "context limit"],
    &["prompt too long"],
    &["prompt is longer than"],
    // Bedrock.
    &["input is too long"],
    &["too many input tokens"],
    &["input tokens exceed"],
    &["number of input tokens", "exceed"],
    // Gemini, Vertex AI.
    &["input token count", "exceed"],
    &["prompt token count", "exceed"],
    &["token count exceed"],
    &["input token count", "supports up to"],
    &["tokens in the prompt", "exceed"],
    // What vLLM has left for the answer.
    &["max_tokens must be at least 1, got -"],
    &["max_completion_tokens must be at least 1, got -"],
    // Ark, SambaNova.
    &["exceed max message tokens"],
    &["input length", "exceed", "maximum"],
    // TGI, Together.
    &["inputs tokens + max_new_tokens must be"],
    &["inputs must have less than"],
    // xAI, Moonshot, Cohere, Z.ai, Qwen.
    &["maximum prompt length"],
    &["exceed", "model token limit"],
    &["too many tokens", "prompt"],
    &["too many tokens", "size limit exceeded"],
    &["prompt exceeds max length"],
    &["range of input length should be"],
    // Groq and Cerebras, GitHub Models, Snowflake, SambaNova.
    &["reduce the length of the messages"],
    &["request body too large", "tokens"],
    &["max tokens of", "exceeded"],
    &["maximum supported sequence length"],
    &["exceed", "maximum sequence length"],
    // TensorRT-LLM, LMDeploy, TabbyAPI, older vLLM.
    &["should not exceed max_num_tokens"],
    &["exceed", "max_model_len"],
    &["exceed", "session_len"],
    &["prompt", "max_seq_len"],
    &["too long to fit into the model"],
    // Qianfan, Z.ai.
    &["prompt tokens too long"],
    &["max input characters"],
    &["prompt \u{8d85}\u{957f}"],
    // Newer vLLM, Baichuan, Databricks, Vertex AI.
    &["context length is only"],
    &["tokens in request more than max tokens"],
    &["exceeded the maximum number of tokens"],
    &["context is too long"],
    &["length of the messages is too long"],
    // LiteLLM, older Mistral, SiliconFlow, Perplexity, Replicate, NIM.
    &["contextwindowexceeded"],
    &["too large for model maximum"],
    &["max_total_tokens", "max_seq_len"],
    &["exceed", "maximum allowed number of tokens"],
    &["max input length", "token"],
    &["exceed", "max sequence length"],
    // text-generation-webui, Aphrodite, ExLlama, and hosts in front of them.
    &["prompt", "truncation length"],
    &["exceed", "max context len"],
    &["exceed", "available cache size"],
    &["tokens in prompt", "exceed"],
    &["input is longer than", "token"],
    &["input is longer than the model"],
    &["input tokens", "too large"],
    // Older llama.cpp, its embeddings, MLC, Titan, Anyscale, Moonshot, Yandex, Yi.
    &["prompt is too big"],
    &["input", "too large to process"],
    &["larger than the model input length"],
    &["expected maxlength", "reformat your input"],
    &["input too long", "token"],
    &["input token length too long"],
    &["number of input tokens must be"],
    &["exceed", "model's context"],
    // Hunyuan, Spark: the input's length, or its count of tokens, exceeds; the input or the context is too long.
    &["\u{8f93}\u{5165}\u{957f}\u{5ea6}", "\u{8d85}"],
    &["\u{8f93}\u{5165}token", "\u{8d85}"],
    &["\u{8f93}\u{5165}", "token\u{6570}", "\u{8d85}"],
    &["\u{8f93}\u{5165}", "\u{8fc7}\u{957f}", "token"],
    &["\u{8f93}\u{5165}", "\u{8d85}\u{957f}", "token"],
    &["\u{4e0a}\u{4e0b}\u{6587}", "\u{8fc7}\u{957f}"],
    &["\u{4e0a}\u{4e0b}\u{6587}", "\u{8d85}\u{957f}"],
    &["prompt", "\u{8fc7}\u{957f}", "token"],
    // Hunyuan, Spark and hosts in their language: the context or the count of tokens exceeds, the input is too long.
    &["\u{4e0a}\u{4e0b}\u{6587}", "\u{8d85}"],
    &["token\u{6570}", "\u{8d85}"],
    &["\u{8f93}\u{5165}", "\u{592a}\u{957f}"],
    &["message token length exceed"],
    &["token", "exceeds the upper limit"],
    // What hosts of open models have of their own.
    &["context_length_exceeded"],
    &["context overflow"],
    &["maximum context exceeded"],
    &["exceeds the context"],
    &["conversation is too long"],
    &["conversation exceeds the token limit"],
    &["request is too long for"],
    &["messages too long", "token"],
    &["exceed", "model's token limit"],
    &["input token limit exceeded"],
    &["prompt size exceeds"],
    &["sequence length", "larger than the maximum"],
    &["sequence length is longer than"],
    &["reduce your prompt"],
    &["input or output tokens must be reduced"],
    &["input tokens and max_new_tokens", "exceed"],
];

/// Words of a limit of what is asked within a time.
const OF_RATES: [&str; 6] =
    ["per minute", "per min", "per day", "per second", "\u{6bcf}\u{5206}\u{949f}", "\u{6bcf}\u{5929}"];

/// Whether the error says it.
#[must_use]
pub fn is_exceeded(error: &ProviderError) -> bool {
    CODES.iter().any(|code| error.is(code)) || error.message().is_some_and(says_exceeded)
}

/// Whether these words say it.
#[must_use]
pub fn says_exceeded(message: &str) -> bool {
    // Some quote the names in it, others do not.
    let message = message.to_ascii_lowercase().replace('`', "");
    // A provider that counts tokens by the minute speaks of another limit.
    !OF_RATES.iter().any(|words| message.contains(words))
        && WORDS.iter().any(|row| row.iter().all(|word| message.contains(word)))
        && !is_of_cap(&message)
}

/// Whether the cap on the answer alone is more than the model has room for: a shorter conversation would not help.
fn is_of_cap(message: &str) -> bool {
    let number = |text: &str| {
        let digits = text.trim_start_matches(|letter: char| !letter.is_ascii_digit());
        let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
        digits[..end].parse::<u64>().ok()
    };
    let after = |words: &str| number(message.split_once(words)?.1);
    let before = |words: &str| {
        let text = message.split_once(words)?.0;
        let start = text.rfind(|letter: char| !letter.is_ascii_digit()).map_or(0, |at| at + 1);
        text[start..].parse::<u64>().ok()
    };
    // OpenAI and vLLM, OpenRouter, newer vLLM, Anthropic.
    let cap = before(" in the completion").or_else(|| before(" in the output"));
    let cap = cap.or_else(|| after("is too large: ")).or_else(|| {
        let sum = message.split_once("exceed context limit: ")?.1;
        number(sum.split_once('+')?.1)
    });
    let limit = after("context length is ").or_else(|| after(" > "));
    cap.zip(limit).is_some_and(|(cap, limit)| cap >= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without it a client that would shorten its conversation fails for ever instead.
    #[test]
    fn every_servers_words_are_known() {
        for said in [
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            "Requested token count exceeds the model's maximum context length of 4096 tokens. You requested a total of 5000.",
            "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it",
            "The input (5000 tokens) is longer than the model's context length (4096 tokens).",
            "input length exceeds the context length",
            "prompt too long; exceeded max context length by 12 tokens",
            "the model is loaded with context length of only 4096 tokens, which is not enough",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
            "Input is too long for requested model.",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 20 `max_new_tokens`",
            "Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            "Invalid request: Your request exceeded model token limit: 262144",
            "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 30720]",
            "Prompt exceeds max length",
            "You passed 9000 input tokens and requested 10 output tokens. However, the model's context length is only 8192 tokens, \
             resulting in a maximum input length of 8182 tokens.",
            "tokens in request more than max tokens allowed",
            "Exceeded the maximum number of tokens",
            "input context is too long",
            "The total length of the messages is too long, please shorten it",
            "max_tokens must be at least 1, got -904.",
            "Total tokens of image and text exceed max message tokens.",
            "Input length 140000 exceeds the maximum length 98304.",
            "Input length 5000 exceeds maximum allowed token size 4096",
            "context window exceeds limit",
            "too many tokens: total number of tokens in the prompt cannot exceed 4081",
            "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192",
            "Request body too large for gpt-4o model. Max size: 8000 tokens.",
            "max tokens of 32768 exceeded",
            "The provided prompt is 9000 tokens long, but the maximum supported sequence length is just 4096!",
            "The sum of prompt length (9000.0), query length (0) should not exceed max_num_tokens (8192)",
            "Prompt length 9000 is greater than max_seq_len 4096",
            "The prompt (total length 9000) is too long to fit into the model (context length 4096).",
            "prompt tokens too long",
            "Prompt \u{8d85}\u{957f}",
            "Unable to submit request because the input token count is 1060000 but model only supports up to 1048576.",
            "The number of tokens in the prompt exceeds the model limit",
            "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs.",
            "inputs tokens + max_new_tokens must be <= 32768",
            "max_total_tokens (33000) must be less than or equal to max_seq_len (32768)",
            "litellm.ContextWindowExceededError: litellm.BadRequestError: too big",
            "Prompt contains 40000 tokens, too large for model maximum of 32768",
            "Input exceeds the maximum allowed number of tokens",
            "Input length 9000 exceeds max sequence length 8192",
            "The prompt length 9000 is greater than the truncation length 8192",
            "The request cannot be processed because it exceeds the max context len",
            "Prompt exceeds the available cache size",
            "Total tokens in prompt 9000 plus max_tokens 100 exceed the model limit 8192",
            "The input is longer than the model's maximum",
            "the input tokens is too large, max 8192",
            "\u{8f93}\u{5165}\u{957f}\u{5ea6}\u{8d85}\u{8fc7}\u{6a21}\u{578b}\u{6700}\u{5927}\u{957f}\u{5ea6}",
            "\u{8f93}\u{5165}\u{5185}\u{5bb9}\u{8fc7}\u{957f} token\u{6570}\u{8d85}\u{8fc7}\u{4e0a}\u{9650}",
            "Context size has been exceeded.",
            "Input prompt is too big compared to KV size. Please try increasing KV size.",
            "input (1024 tokens) is too large to process. increase the physical batch size (current batch size: 512)",
            "Input length (9000 tokens) exceeds the maximum allowed length (8190 tokens). Use a shorter input or enable --allow-auto-truncate.",
            "default_max_tokens (-904) must be greater than 0, default_max_tokens (-904) = max_seq_len (8192) - splited_prompt_len (9096)",
            "Request prompt has 9000 tokens in total, larger than the model input length limit 4096.",
            "Malformed input request: expected maxLength: 42000, actual: 45000, please reformat your input and try again.",
            "Input too long. Recieved 9000 tokens, but the maximum input length is 4096 tokens.",
            "Invalid request: Input token length too long",
            "number of input tokens must be no more than 8192, got 9000",
            "the number of tokens in the prompt (9000) exceeds what is allowed",
            "prompt tokens exceed the model's context",
            "The prompt is too long: 9000, model maximum context length: 8191",
            "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model",
            "prompt token count of 130000 exceeds the limit of 128000",
            "\u{4e0a}\u{4e0b}\u{6587}\u{957f}\u{5ea6}\u{8d85}\u{51fa}\u{9650}\u{5236}",
            "\u{8bf7}\u{6c42}\u{7684}token\u{6570}\u{8d85}\u{8fc7}\u{6a21}\u{578b}\u{6700}\u{5927}\u{9650}\u{5236}",
            "\u{8f93}\u{5165}\u{5185}\u{5bb9}\u{592a}\u{957f}",
            "Total message token length exceed model limit (6000 tokens)",
            "Total tokens count exceeds the upper limit, the history and question have too many characters",
            "context_length_exceeded",
            "context overflow",
            "Maximum context exceeded",
            "prompt exceeds the context",
            "Conversation is too long. Please start a new one.",
            "The conversation exceeds the token limit of this model",
            "Your request is too long for this model",
            "messages too long: 210000 tokens, limit 200000",
            "Input exceeds the model's token limit (32768)",
            "input token limit exceeded",
            "Prompt size exceeds limit: 9000 tokens",
            "Sequence length 9000 is larger than the maximum 8192",
            "Token indices sequence length is longer than the specified maximum sequence length for this model (9000 > 8192)",
            "Please reduce your prompt; or completion length.",
            "The input or output tokens must be reduced in order to run successfully",
            "the sum of input tokens and max_new_tokens (9000 + 100) exceeds 8192",
            "This model's maximum context length is 4097 tokens. However, you requested 4597 tokens (4097 in the messages, 500 in the completion).",
            "'max_tokens' or 'max_completion_tokens' is too large: 500. This model's maximum context length is 4097 tokens and your request has \
             4000 input tokens (500 > 4097 - 4000).",
        ] {
            let body = serde_json::json!({"error": {"message": said}}).to_string();
            assert!(is_exceeded(&ProviderError::read(&body).expect("an error")), "{said}");
        }
        let coded = ProviderError::read(r#"{"error":{"type":"exceed_context_size_error","message":"no"}}"#);
        assert!(is_exceeded(&coded.expect("an error")));
        for said in [
            "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
            "Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000, context length exceeded",
            "Invalid value for 'temperature'",
            "max_tokens: expected at most 8192 output tokens, which is too large",
            "Invalid 'messages[1].content': string too long. Expected a string with maximum length 10485760.",
            "You have exceeded your token limit for today",
            "'max_tokens' or 'max_completion_tokens' is too large: 100000. This model's maximum context length is 8192 tokens and your request has \
             10 input tokens (100000 > 8192 - 10).",
            "This model's maximum context length is 4097 tokens. However, you requested 9000 tokens (10 in the messages, 8990 in the completion).",
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 200015 tokens (15 of text input, 200000 in the output).",
            "input length and `max_tokens` exceed context limit: 10 + 300000 > 200000, decrease input length or `max_tokens` and try again",
            "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens for claude-3-5-sonnet",
            "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
            "Range of max_tokens should be [1, 8192]",
            "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]",
            "Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000, Used 9000, Requested 5000. Prompt is too long for it.",
            "Too many tokens per day, please wait before trying again.",
            "Too many tokens, please wait before trying again.",
            "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes",
            "A maximum of 100 PDF pages may be provided.",
            "Request payload size exceeds the limit: 20971520 bytes.",
            "The file is too large: it exceeds the maximum size of 512 MB",
            "Invalid 'tools': array too long. Expected an array with maximum length 128",
            "max input length of field name is 64",
            "the input is longer than 64 characters",
            "\u{9274}\u{6743}token\u{8fc7}\u{957f}",
            "\u{6bcf}\u{5206}\u{949f}token\u{6570}\u{8d85}\u{8fc7}\u{9650}\u{5236}",
            "\u{8f93}\u{5165}\u{7684}stop\u{957f}\u{5ea6}\u{8d85}\u{8fc7}4",
        ] {
            let body = serde_json::json!({"error": {"message": said}}).to_string();
            assert!(!is_exceeded(&ProviderError::read(&body).expect("an error")), "{said}");
        }
    }
}
