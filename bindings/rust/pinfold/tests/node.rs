//! Each function of the crate is called once on a library that was built: the decisions have tests
//! of their own.

use pinfold::{
    Code, Error, Fleet, Isolation, Level, Node, Options, Owner, Partial, Processes, Reconfiguration,
};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::{env, fs, process};

const MACHINE: &str = r#"{name: n, numaNodes: [{id: 0, memory: 4294967296}],
 cpus: [{id: 0, core: 0, socket: 0, numa: 0, l3: 0}, {id: 1, core: 1, socket: 0, numa: 0, l3: 0},
        {id: 2, core: 2, socket: 0, numa: 0, l3: 0}, {id: 3, core: 3, socket: 0, numa: 0, l3: 0}]}"#;
const CONFIG: &str = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'";

struct TempDir(PathBuf);

impl TempDir {
    fn new() -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("pinfold-rust-{}-{number}", process::id()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn options(dir: &TempDir) -> Options {
    Options::new()
        .no_enforce()
        .state_dir(dir.0.join("state"))
        .interrupted(Arc::default())
        .machine(MACHINE)
        .config(CONFIG)
}

fn open(dir: &TempDir) -> Node {
    options(dir).open().unwrap()
}

fn pod(name: &str, cpus: u32) -> String {
    format!(
        "metadata: {{name: {name}, uid: {name}-1}}\n\
         spec: {{containers: [{{name: main, resources: {{limits: {{cpu: {cpus}, memory: 1Gi}}}}}}]}}"
    )
}

#[test]
fn an_admitted_pod_has_its_resources() {
    let dir = TempDir::new();
    let node = open(&dir);
    let admitted = node.admit(&pod("db", 2)).unwrap();
    assert!(admitted.is_admitted && !admitted.is_held && node.has_current_files());
    assert_eq!(
        (admitted.uid.as_str(), admitted.namespace.as_str()),
        ("db-1", "default")
    );
    let main = admitted.container("main").unwrap();
    assert_eq!(
        (main.cpus.as_str(), main.exclusive_cpus.as_str()),
        ("1-2", "1-2")
    );
    assert_eq!(main.isolation, Isolation::Container);
    assert_eq!(
        (main.cpu_shares, main.memory_limit_bytes),
        (2048, Some(1 << 30))
    );
    assert_eq!(main.cgroup, "poddb-1/main");
    assert!(admitted.container("other").is_none() && admitted.json.contains("\"db-1\""));
    assert_eq!(node.pod("default/db").unwrap(), admitted);
    assert_eq!(node.pods().unwrap(), [admitted]);
    assert!(node.status().unwrap().contains("\"db\""));
    node.start("db", "main").unwrap();
    node.remove_container("default/db", "main", Processes::Refuse)
        .unwrap();
    node.remove("db-1", Processes::Kill).unwrap();
    assert_eq!(node.pods().unwrap(), []);
}

#[test]
fn a_rejected_pod_comes_with_the_error() {
    let dir = TempDir::new();
    let node = open(&dir);
    let error: Error = node.admit(&pod("big", 4)).unwrap_err();
    assert_eq!(error.code, Code::Rejected);
    assert_eq!(error.pod().unwrap().reason, "UnexpectedAdmissionError");
    assert!(
        error.to_string().contains("not enough cpus available"),
        "{error}"
    );
    let explained = node.explain(&pod("big", 4)).unwrap();
    assert!(!explained.is_admitted && explained.trace.contains("\"source\""));
    let made = node.defragment(&pod("big", 4), true).unwrap_err();
    assert_eq!(made.code, Code::Rejected);
    assert!(matches!(made.partial, Some(Partial::Json(_))));
}

#[test]
fn a_container_is_resized() {
    let dir = TempDir::new();
    let node = open(&dir);
    node.admit(&pod("db", 1)).unwrap();
    let resized = node.resize("db", "main", 2000).unwrap();
    assert_eq!(resized.container("main").unwrap().exclusive_cpus, "1-2");
    let refused = node.resize("db", "main", 1500).unwrap_err();
    assert_eq!(refused.code, Code::Rejected);
    assert!(refused.message.contains("Infeasible: "), "{refused}");
    let kept = refused.pod().unwrap().container("main").unwrap();
    assert_eq!(kept.exclusive_cpus, "1-2");
}

#[test]
fn a_container_takes_two_calls() {
    let dir = TempDir::new();
    let node = open(&dir);
    let created = node.create(&pod("db", 2), None, &dir.0).unwrap();
    assert_eq!(created.container("main").unwrap().exclusive_cpus, "1-2");
    let rejected = node
        .create(&pod("big", 4), Some("main"), &dir.0)
        .unwrap_err();
    assert_eq!(rejected.pod().unwrap().reason, "UnexpectedAdmissionError");
    let missing = node.create(&pod("web", 1), Some("other"), &dir.0);
    assert_eq!(missing.unwrap_err().code, Code::NotFound);
    node.delete("db-1", Some("main")).unwrap();
    node.delete("db-1", None).unwrap();
    assert_eq!(node.pods().unwrap(), []);
}

#[test]
fn owners_are_read_without_a_node() {
    let dir = TempDir::new();
    let state = dir.0.join("state");
    let missing = pinfold::owner_of(&state, 1).unwrap_err();
    assert_eq!(missing.code, Code::NotFound);
    let node = open(&dir);
    node.admit(&pod("db", 2)).unwrap();
    let owner = Owner {
        uid: "db-1".into(),
        container: "main".into(),
    };
    assert_eq!(pinfold::owner_of(&state, 1).unwrap(), Some(owner));
    assert_eq!(pinfold::owner_of(&state, 3).unwrap(), None);
    assert!(pinfold::is_exclusive(&state, "1-2").unwrap());
    assert!(!pinfold::is_exclusive(&state, "1-3").unwrap());
    let malformed = pinfold::is_exclusive(&state, "1-").unwrap_err();
    assert_eq!(malformed.code, Code::InvalidArgument);
    let is_placed = || pinfold::container_is_placed(&state, "db-1", "main", &dir.0);
    assert_eq!(is_placed().unwrap_err().code, Code::NotFound);
    for (cpus, expected) in [("1-2", true), ("1-3", false)] {
        fs::write(dir.0.join("cpuset.cpus.effective"), cpus).unwrap();
        assert_eq!(is_placed().unwrap(), expected);
    }
}

#[test]
fn errors_have_a_code_and_a_message() {
    let dir = TempDir::new();
    let node = open(&dir);
    let missing = node.remove("nobody", Processes::Refuse).unwrap_err();
    assert_eq!(missing.code, Code::NotFound);
    assert!(missing.message.contains("nobody"), "{missing}");
    assert_eq!(
        node.admit("no: pod").unwrap_err().code,
        Code::InvalidArgument
    );
    assert_eq!(
        node.admit("zero\0byte").unwrap_err().code,
        Code::InvalidArgument
    );
    node.admit(&pod("db", 1)).unwrap();
    assert_eq!(
        node.attach("db", "main", 1).unwrap_err().code,
        Code::InvalidArgument
    );
    assert_eq!(
        node.attach_pidfd("db", "main", -1).unwrap_err().code,
        Code::InvalidArgument
    );
    assert_eq!(
        node.adopt("db", "main", "/nowhere").unwrap_err().code,
        Code::InvalidArgument
    );
    assert_eq!(node.reconcile().unwrap_err().code, Code::Unsupported);
    let reader = options(&dir).read_only().open().unwrap();
    assert_eq!(
        reader.remove("db", Processes::Refuse).unwrap_err().code,
        Code::Unsupported
    );
    assert_eq!(reader.pods().unwrap().len(), 1);
}

#[test]
fn a_configuration_can_be_planned() {
    let dir = TempDir::new();
    let node = open(&dir);
    node.admit(&pod("db", 2)).unwrap();
    let change = Reconfiguration {
        config: Some("cpuManagerPolicy: static\nreservedSystemCPUs: '3'".into()),
        dry_run: true,
        ..Reconfiguration::default()
    };
    assert!(node.reconfigure(&change).unwrap().contains("\"db-1\""));
    assert_eq!(node.pod("db").unwrap().containers[0].cpus, "1-2");
}

#[test]
fn the_log_is_called_and_threads_may_share_a_node() {
    let dir = TempDir::new();
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    let log = move |level: Level, line: &str| kept.lock().unwrap().push((level, line.to_owned()));
    let node = Arc::new(options(&dir).log(log).open().unwrap());
    let threads: Vec<_> = (0..3)
        .map(|i| {
            let node = Arc::clone(&node);
            std::thread::spawn(move || {
                node.admit(&pod(&format!("p{i}"), 1)).unwrap().containers[0]
                    .cpus
                    .clone()
            })
        })
        .collect();
    let mut cpus: Vec<String> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    cpus.sort();
    assert_eq!(cpus, ["1", "2", "3"]);
    assert!(lines
        .lock()
        .unwrap()
        .iter()
        .any(|(level, line)| *level == Level::Info && line.contains("p0")));
}

#[test]
fn a_fleet_predicts() {
    let zone = "{name: node-0, type: Node, resources: [{name: cpu, capacity: 4, allocatable: 4, available: 4}]}";
    let topology = format!(
        "{{apiVersion: topology.node.k8s.io/v1alpha2, kind: NodeResourceTopology, metadata: {{name: a}},\n\
         attributes: [{{name: topologyManagerPolicy, value: single-numa-node}}], zones: [{zone}]}}"
    );
    let fleet = Fleet::open(&topology, &["memory"]).unwrap();
    assert!(fleet
        .predict(&pod("db", 3), None)
        .unwrap()
        .contains("\"a\""));
    fleet.place(&pod("db", 3), "a").unwrap();
    let full = fleet
        .predict(&pod("more", 3), Some("LeastNUMANodes"))
        .unwrap_err();
    assert_eq!(full.code, Code::Rejected);
    assert!(matches!(full.partial, Some(Partial::Json(json)) if json.contains("\"a\"")));
    fleet.remove("db-1").unwrap();
    assert_eq!(fleet.remove("db-1").unwrap_err().code, Code::NotFound);
    assert!(!pinfold::version().is_empty());
}
