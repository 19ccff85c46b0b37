//! The official SDKs of `OpenAI` and Anthropic in a browser: the modules that npm installs, on a page of another origin, which the
//! gateway's configuration allows to call.

use std::path::PathBuf;

use bytes::Bytes;
use gatehouse_harness::{run, serve_http};
use http::{Request, Response};
use http_body_util::Full;
use serde_json::json;

use crate::clients::kit::{Set, Tool};
use crate::clients::scene::Scene;
use crate::console::browser::Tab;

const NODE: Set = Set { tool: Tool::Node, name: "node-current" };
/// Finds the modules. Webhooks are nothing for pages, and their package is no module.
const PAGE: &str = r#"<!doctype html><script type="importmap">{"imports": {
    "openai": "/openai/index.mjs",
    "@anthropic-ai/sdk": "/@anthropic-ai/sdk/index.mjs",
    "@opentelemetry/api": "/@opentelemetry/api/dist/index.mjs",
    "standardwebhooks": "data:text/javascript,export class Webhook {}"
}}</script>"#;
/// Each SDK answers whole and streamed, and reads the request id of an error.
const SCRIPT: &str = r#"
const [base, bare, key, done] = [BASE, BARE, KEY, arguments[arguments.length - 1]];
const said = "Say hello";
const run = async () => {
  const { default: OpenAI } = await import("openai");
  const { default: Anthropic } = await import("@anthropic-ai/sdk");
  const openai = new OpenAI({ baseURL: base + "/v1", apiKey: bare, dangerouslyAllowBrowser: true });
  const anthropic = new Anthropic({ baseURL: base, apiKey: key, dangerouslyAllowBrowser: true });
  const messages = [{ role: "user", content: said }];
  const model = "gpt-sim", claude = "lm-sonnet-4-6", max_tokens = 100;
  const out = {};
  out.chat = (await openai.chat.completions.create({ model, messages })).choices[0].message.content;
  out.streamed = "";
  for await (const chunk of await openai.chat.completions.create({ model, messages, stream: true }))
    out.streamed += chunk.choices[0]?.delta?.content ?? "";
  out.message = (await anthropic.messages.create({ model: claude, max_tokens, messages })).content[0].text;
  out.events = await anthropic.messages.stream({ model: claude, max_tokens, messages }).finalText();
  const refused = await openai.chat.completions.create({ model: "unknown", messages }).catch((error) => error);
  // The simulated model goes on with words of its own.
  for (const name in out) out[name] = out[name].slice(0, "you wrote: ".length + said.length);
  out.refused = [refused.status, /^req_/.test(refused.requestID)];
  return out;
};
run().then(done, (error) => done(String(error.stack ?? error)));
"#;

async fn serve(folder: PathBuf, request: Request<impl Sized>) -> Response<Full<Bytes>> {
    let path = request.uri().path().trim_start_matches('/');
    let (kind, body) = match path {
        "" => ("text/html", Some(PAGE.as_bytes().to_vec())),
        path => ("text/javascript", std::fs::read(folder.join(path)).ok()),
    };
    let status = if body.is_some() { 200 } else { 404 };
    let response = Response::builder().status(status).header("content-type", kind);
    response.body(Full::from(body.unwrap_or_default())).expect("a response")
}

/// Without it no page can use the gateway, whatever unit tests say of headers: browsers ask first, and hide answers.
#[test]
fn both_sdks_work_on_a_page_of_a_configured_origin() {
    run(async {
        let (_, folder) = tokio::task::block_in_place(|| NODE.ready());
        let modules = folder.join("node_modules");
        let page = serve_http(move |request| serve(modules.clone(), request)).await;
        let scene = Scene::start(&format!("[server.cors]\norigins = [\"http://{page}\"]\n\n")).await;
        let script = SCRIPT
            .replace("BASE", &json!(format!("http://{}", scene.gateway.public)).to_string())
            .replace("BARE", &json!(scene.key("bare")).to_string())
            .replace("KEY", &json!(scene.key("main")).to_string());
        let answer = "you wrote: Say hello";
        let tab = Tab::open(&format!("http://{page}")).await;
        tab.goto_raw(&format!("http://{page}/")).await;
        let said = tab.run_async(&script).await;
        let expected = json!({
            "chat": answer, "streamed": answer, "message": answer, "events": answer, "refused": [404, true],
        });
        assert_eq!(said, expected);
        tab.close().await;
        // The same page at another origin, which nobody allowed.
        let tab = Tab::open(&format!("http://localhost:{}", page.port())).await;
        tab.goto_raw(&format!("http://localhost:{}/", page.port())).await;
        let said = tab.run_async(&script).await;
        assert!(said.as_str().is_some_and(|said| said.contains("Connection error")), "{said}");
        tab.close().await;
    });
}
