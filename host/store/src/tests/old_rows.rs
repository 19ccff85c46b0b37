//! Rows of the release before briefs, joins and shares, byte for byte: they are read as they were meant, and what
//! they lack is empty.

use gatehouse_model::{
    Body, Charge, ChatFormat, Credits, Customer, CustomerPolicy, Digest, Event, Key, KeyDigest, KeyPolicy,
    Phase, Price, Reading, Replay, Status, Task, TaskId, UnixMs,
};
use gatehouse_sample::{customer_id, name};
use gatehouse_tasks::{Hold, HoldId, ResponseRecord};

use super::begin;
use crate::config::Config;
use crate::layout;
use crate::row::{decode, encode};
use crate::store::Store;
use gatehouse_fault_injection::Disk;

/// The beginning of a live task, up to its `phase`.
const BEFORE: &str = "\
    01de001ca26964bf7461736b5f30314b4842583656473030303030303030303030303030303037a87265766973696f6e\
    03a76163636f756e74a461636d65a36b6579a26b31a666616d696c79ad636f6e746578742d696d616765a66469676573\
    74d940343435373563663562323835313264373536343462663534613531376463656633303466663830396664353131\
    37343736323162346436346631396161633636ad73746174655f76657273696f6e02a57374617465c403010203a47365\
    656409a56d6f64656ca8666c75782d70726fa773757266616365af696d616765732e67656e6572617465a67374617475\
    73aa70726f63657373696e67a870726f677265737328a763726561746564cf0000019c57d36e00a8646561646c696e65\
    cf0000019c57eee540a866696e6973686564c0ab65787065637465645f6d73cd2328a57068617365";

/// What follows the `phase`.
const AFTER: &str = "\
    a47365617482a870726f7669646572a362666ca76163636f756e74a46d61696ea5626c6f627391bf626c6f625f303030\
    3030303030303030303030303030303030303030303035a663686172676582a46b65797391a8666c75782d70726fa871\
    75616e7469747902aa756e69745f707269636514a468656c6428a4636f7374c0a67075626c6963c4027b7da770726976\
    617465c400a56d6564696190a76661696c757265c0";

/// The `phase` before the first step: `Run("Start")`.
const BEGUN: &str = "\
    81a352756ea55374617274";

/// `Sent`; the call has `save_body: true`.
const SENT: &str = "\
    81a453656e7482a463616c6c88a870726f7669646572a362666ca66d6574686f64a4504f5354a674617267657481a450\
    617468a82f76312f6a6f6273a7686561646572739182a46e616d65a6616363657074a576616c7565a32a2f2aa4626f64\
    7981a44a736f6ec4077b2261223a317daa74696d656f75745f6d73cd7530a67265706c6179a44f6e6365a9736176655f\
    626f6479c3a26174cf0000019c57d36e64";

/// `Save`; the outcome has no claims, its product no edit.
const SAVE: &str = "\
    81a45361766584a67075626c6963c4167b22696d61676573223a5b226d656469613a30225d7da770726976617465c402\
    7b7da870726f64756374739182a6736f75726365b968747470733a2f2f62666c2e6578616d706c652f612e706e67a46d\
    696d65a9696d6167652f706e67a6736574746c6582a46b65797391a8666c75782d70726fa87175616e7469747901";

/// `Run(Reply)`; the reply has no affinity.
const REPLY: &str = "\
    81a352756e81a55265706c7983a6737461747573ccc8a76865616465727390a4626f647981a6496e6c696e65c4027b7d";

/// The hold of that task.
const HOLD: &str = "\
    0187a2696481a45461736bbf7461736b5f30314b4842583656473030303030303030303030303030303037a76163636f\
    756e74a461636d65a36b6579a26b31a6616d6f756e7428aa756e69745f707269636514a763726561746564cf0000019c\
    57d36e00a765787069726573cf0000019c57eee540";

/// A key of the release before limits and rotations.
const KEY: &str = "\
    018ca26964aa30313233343536373839a76163636f756e74a461636d65a46e616d65a66c6170746f70a6646967657374\
    d94032626238306435333762316461336533386264333033363161613835353638366264653065616364373136326665\
    663661323566653937626635323761323562a763726561746564cf0000019c57d36e00a571756f746164a47573656428\
    a66d6f64656c7391a76374782d70726fa86e6574776f726b7390a765787069726573c0a77265766f6b6564c0ab636861\
    745f666f726d6174a462617265";

/// A customer of the release before quotas of customers.
const CUSTOMER: &str = "\
    0186a26964a461636d65a763726561746564cf0000019c57d36e00a9617661696c61626c653ca8726573657276656428\
    a57370656e7400a96465706f736974656464";

/// A response of the release before its stream could be told again.
const RESPONSE: &str = "\
    0188a8637573746f6d6572a461636d65a26964a6726573705f31a870726576696f7573c0a46b657074cf0000019c57d3\
    6e00a765787069726573cf0000019c57d45860a56974656d7391a56d73675f31a5696e707574c4035b375da872657370\
    6f6e7365c40f7b226964223a22726573705f31227d";

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn id() -> TaskId {
    TaskId::from_bits((1_771_000_000_000 << 80) | 7)
}

/// The task in that phase; everything else is the same in all rows.
fn task(phase: &str) -> Task {
    let task: Task = decode("live", &bytes(&[BEFORE, phase, AFTER].concat())).unwrap();
    assert_eq!((task.id, task.revision, task.customer.0.as_str()), (id(), 3, "acme"));
    assert_eq!(
        (task.digest, task.state_version, task.state.as_slice()),
        (Digest::of(b"build"), 2, &[1, 2, 3][..])
    );
    assert_eq!(
        (task.status, task.progress, task.deadline),
        (Status::Processing, 40, UnixMs(1_771_001_800_000))
    );
    assert_eq!((task.held, task.charge.clone()), (Credits(40), Charge::of(["flux-pro"], 2)));
    assert_eq!((task.public.as_slice(), task.blobs.len()), (&b"{}"[..], 1));
    assert_eq!(task.assignment.as_ref().map(|assigned| assigned.account.as_str()), Some("main"));
    assert_eq!(task.prices, [Price::each(Credits(20))]);
    // What the row lacks.
    assert!(task.brief.is_empty() && task.joined.is_empty() && task.joined_held == Credits::ZERO);
    task
}

#[test]
fn old_tasks_are_read_in_every_phase() {
    assert_eq!(task(BEGUN).phase, Phase::Run(Event::Start(Default::default())));
    let Phase::Sent { call, at } = task(SENT).phase else { panic!("a call that was sent") };
    assert_eq!((call.reading, call.replay, at), (Reading::Saved, Replay::Once, UnixMs(1_771_000_000_100)));
    assert_eq!((call.affinity, call.credentials, call.shared), (None, true, None));
    let Phase::Save(outcome) = task(SAVE).phase else { panic!("an outcome") };
    assert_eq!((&*outcome.public, &*outcome.private), (r#"{"images":["media:0"]}"#, "{}"));
    assert_eq!(outcome.settle, Some(Charge::of(["flux-pro"], 1)));
    assert_eq!((outcome.claims.len(), outcome.products[0].edit.clone()), (0, None));
    let Phase::Run(Event::Reply(reply)) = task(REPLY).phase else { panic!("a reply") };
    assert_eq!((reply.status, reply.affinity.as_str()), (200, ""));
    assert!(matches!(reply.body, Body::Inline(body) if body == "{}"));
}

#[test]
fn old_rows_are_written_anew_and_read_again() {
    for phase in [BEGUN, SENT, SAVE, REPLY] {
        let old = task(phase);
        assert_eq!(decode::<Task>("live", &encode("live", &old).unwrap()), Ok(old));
    }
    let hold: Hold = decode("holds", &bytes(HOLD)).unwrap();
    assert_eq!((hold.id, hold.amount, hold.own()), (HoldId::Task(id()), Credits(40), Some(Credits(40))));
    assert_eq!(decode::<Hold>("holds", &encode("holds", &hold).unwrap()), Ok(hold));
}

#[test]
fn an_old_key_has_no_limits_and_is_written_as_it_was() {
    let key: Key = decode("keys", &bytes(KEY)).unwrap();
    let policy = KeyPolicy {
        name: "laptop".to_owned(),
        quota: Some(Credits(100)),
        models: vec!["ctx-pro".to_owned()],
        chat_format: ChatFormat::Bare,
        ..KeyPolicy::default()
    };
    let digest = KeyDigest(Digest::of(b"secret"));
    let new = Key::new("0123456789".into(), "acme".into(), digest, UnixMs(1_771_000_000_000), policy);
    assert_eq!(key, Key { used: Credits(40), ..new });
    assert_eq!((key.revision, key.lineage(), key.open_requests()), (0, &key.id, 0));
    assert_eq!(encode("keys", &key).unwrap(), bytes(KEY));
}

/// The rows of a key and a hold without periods are written as they were, too: above.
#[test]
fn an_old_customer_has_no_quota_and_is_written_as_it_was() {
    let customer: Customer = decode("customers", &bytes(CUSTOMER)).unwrap();
    let new = Customer::new("acme".into(), UnixMs(1_771_000_000_000), CustomerPolicy::default());
    let balances = (Credits(60), Credits(40), Credits(100));
    assert_eq!(
        customer,
        Customer { available: balances.0, reserved: balances.1, deposited: balances.2, ..new }
    );
    assert_eq!(customer.quota_use(UnixMs(0)), None);
    assert_eq!(encode("customers", &customer).unwrap(), bytes(CUSTOMER));
}

/// A file of the release before names has no tables for them; reading must not fail for that.
#[tokio::test]
async fn an_old_file_gets_the_tables_it_lacks() {
    for schema in [1, layout::SCHEMA] {
        let disk = Disk::default();
        let store = Store::with_backend(disk.clone(), &Config::default()).unwrap();
        begin(&store).await;
        let database = store.database().unwrap();
        let txn = database.begin_write().unwrap();
        assert!(txn.delete_table(layout::NAMES).unwrap() && txn.delete_table(layout::NAME_OWNERS).unwrap());
        txn.open_table(layout::META).unwrap().insert(layout::SCHEMA_KEY, schema).unwrap();
        txn.commit().unwrap();
        drop(database);
        store.close();

        let store = Store::with_backend(Disk::of(disk.bytes()), &Config::default()).unwrap();
        assert_eq!(store.owned_names(&customer_id(0), &[name(1)]), Ok(vec![]));
        assert!(store.examine().unwrap().is_clean());
    }
}

#[test]
fn a_response_without_an_outline_is_read() {
    let found: ResponseRecord = decode("responses", &bytes(RESPONSE)).unwrap();
    assert_eq!(
        (found.customer.0.as_str(), found.id.as_str(), found.previous.as_deref()),
        ("acme", "resp_1", None)
    );
    assert_eq!((found.kept, found.expires), (UnixMs(1_771_000_000_000), UnixMs(1_771_000_060_000)));
    assert_eq!(
        (found.input.as_slice(), found.response.as_slice()),
        (&b"[7]"[..], &br#"{"id":"resp_1"}"#[..])
    );
    assert_eq!((found.items, found.outline), (vec!["msg_1".to_owned()], vec![]));
}
