//! `/providers`: providers with their accounts' health, and the switch that keeps new work away from an account.

use crate::api::provider::{ProviderAccountView, ProviderView};
use crate::api::values::List;
use crate::http::call::{Call, Outcome};
use crate::http::route::Route;
use crate::reply::Reply;
use crate::service::account_changes;

pub(super) fn routes() -> Vec<Route> {
    vec![
        Route::get("/providers", "listProviders", list)
            .says("Lists providers by name, each with its accounts.")
            .paged()
            .returns::<List<ProviderView>>(),
        Route::get("/providers/{provider}", "getProvider", show)
            .says("Shows one provider.")
            .returns::<ProviderView>(),
        Route::get("/providers/{provider}/accounts/{account}", "getProviderAccount", show_account)
            .says("Shows one account of a provider.")
            .returns::<ProviderAccountView>(),
        Route::post("/providers/{provider}/accounts/{account}/drain", "drainAccount", drain)
            .says("Keeps new work away from an account; what is in flight goes on. Ends with the process.")
            .returns::<ProviderAccountView>(),
        Route::post("/providers/{provider}/accounts/{account}/resume", "resumeAccount", resume)
            .says("Lets new work come to a drained account again.")
            .returns::<ProviderAccountView>(),
    ]
}

async fn list(call: Call) -> Outcome {
    call.list_of(call.service.providers.list()?, |provider| provider.name.clone())
}

async fn show(call: Call) -> Outcome {
    Ok(Reply::json(&call.service.providers.get(call.path("provider"))?))
}

async fn show_account(call: Call) -> Outcome {
    let account = call.service.providers.account(call.path("provider"), call.path("account"))?;
    Ok(Reply::json(&account))
}

async fn drain(call: Call) -> Outcome {
    switch(&call, true)
}

async fn resume(call: Call) -> Outcome {
    switch(&call, false)
}

fn switch(call: &Call, drained: bool) -> Outcome {
    let (provider, account) = (call.path("provider"), call.path("account"));
    let (view, before) = call.service.providers.drain(provider, account, drained)?;
    call.describe(format!("providers/{provider}/accounts/{account}"), account_changes(before, drained));
    Ok(Reply::json(&view))
}
