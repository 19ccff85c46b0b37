use crate::common::{self, ready};
#[test]
fn measure() {
    let (dir, families, version) = ready();
    let cx = common::context(&version);
    for what in ["ok", "ok", "look", "context"] {
        let bench = gatehouse_families::Bench::load(common::unruly(), Default::default()).unwrap();
        let n = 5000;
        let t = std::time::Instant::now();
        for _ in 0..n { bench.submit(cx.clone(), common::request(what)).unwrap().unwrap(); }
        eprintln!("{what}: {:?} per call", t.elapsed() / n);
    }
    drop((families, version));
    let t = std::time::Instant::now();
    let f = common::open(dir.path());
    eprintln!("warm open {:?}", t.elapsed());
    drop(f);
    let py = std::fs::read("/tmp/meas/py.wasm").unwrap();
    let mut c = gatehouse_families::Config::new(dir.path().join("py"));
    let big = gatehouse_families::Limits { component_mib: 32.try_into().unwrap(), call_ms: 1000.try_into().unwrap(), ..Default::default() };
    c.limits_by_family.insert("py".into(), big);
    let t = std::time::Instant::now();
    let f = common::open_with(c.clone());
    match f.install(&py) { Ok(r) => eprintln!("python {:?} compiled={} {:?}", r.about.family, r.compiled, t.elapsed()), Err(e) => { eprintln!("python: {e}"); return } }
    let v = f.registry().family("py").unwrap();
    let rt = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut s = common::request("x"); s.body = b"{\"prompt\":\"x\"}".to_vec();
    let t = std::time::Instant::now();
    for _ in 0..200 { rt.block_on(f.submit(&v, common::context(&v), s.clone())).unwrap().unwrap(); }
    eprintln!("python {:?} per call", t.elapsed() / 200);
    drop((f, v));
    let t = std::time::Instant::now();
    let f = common::open_with(c);
    eprintln!("python warm open {:?} {:?}", t.elapsed(), f.list());
}
