//! One life of the house: every real room from the driver down, in one thread, from its start to a cut, a stop,
//! or the end of the plan.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use gatehouse_driver::{Config, Driver, Parts};
use gatehouse_media::MediaStore;
use gatehouse_model::Secret;
use gatehouse_store::fault_injection::{Disk, DiskFault, PowerCut};
use gatehouse_store::{Store, StoreError, Writer};
use gatehouse_upstream::{Place, Upstream};
use serde_json::json;
use tokio::task::{JoinHandle, JoinSet};

use crate::clients;
use crate::clock::Time;
use crate::customers::pepper;
use crate::objects::Cellar;
use crate::panics;
use crate::plan::Act;
use crate::shelf::Shelf;
use crate::talks;
use crate::wires::{DOORS, Wires};
use crate::world::World;

/// Accounts at the provider and their places, the first to be used first.
pub(crate) const PLACES: [(&str, usize); 2] = [("main", 3), ("spare", 2)];
/// A world that needs more lives than this never ends.
const LIVES: usize = 40;

/// How a life ends.
enum Over {
    /// The power went.
    Cut,
    /// It was stopped, to be started again.
    Stopped,
    /// Nothing is left to be done.
    Done,
}

/// Plays a world to its end.
///
/// # Errors
/// The first invariant that did not hold.
pub(crate) fn play(world: &Arc<World>, shelf: &mut Shelf) -> Result<(), String> {
    shelf.tidy();
    let panics = panics::here();
    world.power.restore(world.next_cut());
    for _ in 0..LIVES {
        let first = world.disk();
        let disk = Disk::of(first.clone());
        let over = live(world, shelf, &disk);
        world.verdict()?;
        if panics::here() != panics {
            return Err("something panicked".to_owned());
        }
        match over {
            Over::Done => return Ok(()),
            Over::Stopped => world.leave_disk(disk.bytes()),
            Over::Cut => {
                world.count("the power went");
                world.power.restore(world.next_cut());
                world.leave_disk(after_cut(world, first, &disk));
                if world.dice.once_in(8) {
                    shelf.reopen();
                }
            }
        }
    }
    Err("it never comes to an end".to_owned())
}

/// What the cut left: everything synced, and of the rest what chance wants.
fn after_cut(world: &World, mut first: Vec<u8>, disk: &Disk) -> Vec<u8> {
    let log = disk.log();
    let cut = PowerCut::at_end(&mut first, &log);
    let image = world.dice.with(|dice| cut.images(1, dice).pop());
    image.expect("one image was asked for")
}

fn live(world: &Arc<World>, shelf: &Shelf, disk: &Disk) -> Over {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        world.time.begin();
        world.begin_life();
        world.say(format_args!("the house starts"));
        let over = {
            let mut life = pin!(whole_life(world, shelf, disk));
            tokio::select! {
                biased;
                () = world.power.gone() => Over::Cut,
                () = world.time.stuck() => {
                    world.fail("I19: time stands still while something turns in a circle".to_owned());
                    Over::Cut
                }
                over = &mut life => over,
            }
        };
        if let Some(what) = world.power.cut() {
            world.say(format_args!("the power goes as {what}"));
        }
        let away = world.chance.millis(0..20_000);
        world.time.end(away);
        over
    })
}

async fn whole_life(world: &Arc<World>, shelf: &Shelf, disk: &Disk) -> Over {
    let Some(house) = House::open(world, shelf, disk).await else {
        // The power went meanwhile, and whoever waits for that ends this.
        return std::future::pending().await;
    };
    house.look();
    let mut errands = JoinSet::new();
    while let Some(due) = world.next_due() {
        Time::pause(Duration::from_millis(due.saturating_sub(world.time.gone()))).await;
        let Some(number) = world.next_act() else { break };
        match &world.plan.acts[number].1 {
            Act::Restart(dearer) => {
                world.say(format_args!("the house is stopped"));
                errands.detach_all();
                house.close().await;
                world.set_prices(world.plan.prices(*dearer));
                world.count("the house was restarted");
                return Over::Stopped;
            }
            act => drop(errands.spawn(clients::run(Arc::clone(&house), act.clone()))),
        }
    }
    while errands.join_next().await.is_some() {}
    world.calm();
    if let Err(what) = house.settle().await {
        world.fail(what);
    }
    house.close().await;
    Over::Done
}

/// The rooms, open.
pub(crate) struct House {
    pub(crate) world: Arc<World>,
    pub(crate) driver: Driver,
    pub(crate) families: gatehouse_runtime::PluginService,
    pub(crate) upstream: Upstream,
    store: Store,
    closed: AtomicBool,
    writing: std::sync::Mutex<Option<JoinHandle<()>>>,
}

impl House {
    /// Opens every room. `None` once the power went.
    async fn open(world: &Arc<World>, shelf: &Shelf, disk: &Disk) -> Option<Arc<Self>> {
        let power = Arc::clone(world);
        disk.break_by(DiskFault::Ask(Box::new(move |access| power.power.step(access.word()))));
        let opened = Store::with_writer(disk.clone(), &gatehouse_store::Config::default());
        let (store, writer) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                if world.power.is_on() {
                    world.fail(format!("I21: the store does not open: {error}"));
                }
                return None;
            }
        };
        let told = Arc::new(OnceLock::new());
        let writing = tokio::spawn(write(Arc::clone(world), store.clone(), writer, Arc::clone(&told)));
        let upstream = upstream(world);
        let media = MediaStore::over(
            Arc::new(Cellar { world: Arc::clone(world), kept: Arc::clone(&world.objects) }),
            gatehouse_media::Config::default(),
            pepper(),
            upstream.clone(),
            world.time.clone(),
            world.chance.clone(),
        );
        let config = Config {
            time_limit_s: world.plan.limit_s,
            prices: world.prices(),
            text: talks::config(),
            models: talks::models(),
            ..Config::default()
        };
        let parts = Parts {
            store: store.clone(),
            plugins: shelf.room().clone(),
            upstream: upstream.clone(),
            media,
            config,
            clock: world.time.clone(),
            seed: world.chance.clone(),
        };
        let driver = match Driver::start(parts).await {
            Ok(driver) => driver,
            Err(error) => {
                if world.power.is_on() {
                    world.fail(format!("the driver does not start: {error}"));
                }
                return None;
            }
        };
        told.get_or_init(|| driver.clone());
        Some(Arc::new(Self {
            world: Arc::clone(world),
            driver,
            plugins: shelf.room().clone(),
            upstream,
            store,
            closed: AtomicBool::new(false),
            writing: std::sync::Mutex::new(Some(writing)),
        }))
    }

    /// Checks every invariant now.
    pub(crate) fn look(&self) {
        look(&self.world, &self.store, Some(&self.driver));
    }

    /// Whether there is anybody to be asked.
    pub(crate) fn is_open(&self) -> bool {
        self.world.power.is_on() && !self.closed.load(Ordering::SeqCst)
    }

    /// Stops as a gateway does when it is told to.
    async fn close(&self) {
        self.driver.stop(Duration::from_secs(20), Duration::ZERO).await;
        self.closed.store(true, Ordering::SeqCst);
        self.store.close();
        let writing = self.writing.lock().ok().and_then(|mut writing| writing.take());
        if let Some(writing) = writing {
            // It ends by itself once the store is closed.
            let _ = writing.await;
        }
    }

    /// Once nothing goes wrong any more, everything comes to its end, and every place is free again.
    async fn settle(&self) -> Result<(), String> {
        let world = &self.world;
        let patience = Duration::from_secs(u64::from(world.plan.limit_s) + 200);
        let end = world.time.gone() + u64::try_from(patience.as_millis()).expect("less than an hour");
        while self.store.live_tasks().next().is_some() || talks::open(&self.store)? {
            if world.time.gone() > end {
                let left: Vec<_> =
                    self.store.live_tasks().flatten().map(|task| (task.id, task.phase)).collect();
                return Err(format!("I19: still live: {left:?}, or a hold of a text"));
            }
            Time::pause(Duration::from_secs(1)).await;
        }
        // Whoever heard of an end finds the place free; a step under way may still be on its last lines.
        Time::pause(Duration::from_secs(1)).await;
        for (account, places) in PLACES {
            let taken = self.enter(account, places).await?;
            drop(taken);
        }
        clients::last_task(self).await?;
        talks::last_talk(self).await?;
        self.look();
        clients::read_everything(self)
    }

    /// Takes every place at an account.
    async fn enter(&self, account: &str, places: usize) -> Result<Vec<Place>, String> {
        let mut taken = Vec::new();
        for _ in 0..20 {
            match self.upstream.enter("bfl", Some(account)) {
                Ok((place, _slot)) => taken.push(place),
                Err(gatehouse_upstream::NoSlot::Until(moment)) => {
                    // A trial call tells nothing here; only time ends a pause.
                    Time::pause(moment.since(self.world.time.now()) + Duration::from_millis(1)).await;
                }
                Err(why) => return Err(format!("a place at {account} leaked, {} free: {why}", taken.len())),
            }
            if taken.len() == places {
                return Ok(taken);
            }
        }
        Ok(taken)
    }
}

/// The writer's turns, with a look at everything after each of them.
async fn write(world: Arc<World>, store: Store, mut writer: Writer, driver: Arc<OnceLock<Driver>>) {
    loop {
        if world.is_rough() && world.dice.once_in(4) {
            // A slow disk: commands come together.
            Time::pause(world.dice.millis(1..40)).await;
        }
        if !writer.turn().await {
            break;
        }
        look(&world, &store, driver.get());
    }
    if store.has_failed() && world.power.is_on() {
        world.fail("the store failed with the power on".to_owned());
    }
}

fn look(world: &World, store: &Store, driver: Option<&Driver>) {
    // What was still to be written when the store was closed is seen when it is opened again.
    if !world.power.is_on() || store.customers() == Err(StoreError::Closed) {
        return;
    }
    let found = world.book().look(world, store, driver);
    if let Err(what) = found {
        world.fail(what);
    }
}

fn upstream(world: &Arc<World>) -> Upstream {
    let origin = |number: usize| format!("http://{}", DOORS[number].0);
    let accounts: serde_json::Map<String, serde_json::Value> = PLACES
        .iter()
        .zip(0_u32..)
        .map(|((name, places), priority)| {
            let account = json!({"secret": {"env": name}, "concurrency": places, "priority": priority});
            ((*name).to_owned(), account)
        })
        .collect();
    let account = |priority: u32| json!({"secret": {"env": "text"}, "concurrency": 2, "priority": priority});
    let texts = json!({"main": account(0), "spare": account(1)});
    let config = json!({"providers": {"bfl": {
        "base_url": origin(0), "origins": [origin(1)], "media_origins": [origin(2)],
        "auth": {"header": "x-key"}, "accounts": accounts,
    }, "messages": {"base_url": origin(3), "accounts": texts}, "chat": {"base_url": origin(4), "accounts": texts}}});
    let config = serde_json::from_value(config).expect("a configuration");
    let secret = |_: &_| Ok(Secret::new("the key of this world".to_owned()));
    let wires = Arc::new(Wires(Arc::clone(world)));
    Upstream::dialling(&config, &secret, world.time.clone(), world.chance.clone(), wires.clone(), wires)
        .expect("an upstream")
}

/// Cuts for the lives of a world, chosen by chance.
pub(crate) fn cuts(dice: &crate::clock::Chance) -> VecDeque<usize> {
    (0..dice.below(4)).map(|_| [40, 300, 1200][dice.below(3)]).map(|most| dice.below(most)).collect()
}
