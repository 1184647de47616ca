//! Pinfold: which CPUs and memory nodes the kubelet would give to a container, and cgroups that
//! enforce it.
//!
//! ```no_run
//! # fn main() -> Result<(), pinfold::Error> {
//! let node = pinfold::Options::new()
//!     .state_dir("/var/lib/my-runtime")
//!     .config("cpuManagerPolicy: static\nreservedSystemCPUs: '0'")
//!     .open()?;
//! let pod = node.admit(
//!     "metadata: {name: db, uid: db-1}\n\
//!      spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]}",
//! )?;
//! println!("{}", pod.container("main").unwrap().cpus); // "1-2"
//! node.start("db-1", "main")?;
//! node.attach("db-1", "main", 4711)?;
//! node.remove("db-1", pinfold::Processes::Refuse)
//! # }
//! ```
//!
//! The functions are those of `<pinfold/pinfold.h>`, whose comments are the reference. Manifests are
//! YAML or JSON; JSON results are returned as text, so that this crate needs only the standard
//! library.

use pinfold_sys as sys;
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::os::raw::{c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::Arc;
use std::{fmt, ptr};

/// Why a call has failed. Later libraries may have further codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// Malformed, or outside its domain.
    InvalidArgument,
    /// The named object does not exist.
    NotFound,
    /// Stored data fails its own checks.
    Corrupt,
    /// A system call failed; the message names it.
    Io,
    /// Not possible on this machine or with this library.
    Unsupported,
    /// A bug in Pinfold.
    Internal,
    /// In use: a lock, a cgroup with processes, a node during a call.
    Busy,
    NoMemory,
    /// The pod is rejected and has no resources: do not start it.
    Rejected,
    /// Decided and stored, but not applied to the kernel: remove the cause, then call
    /// [`Node::reconcile`].
    NotEnforced,
    /// The disk failed: the change is stored or not, but never in part. Read the state.
    Unknown,
    /// A code of a later library.
    Other(i32),
}

impl Code {
    fn of(code: sys::pinfold_code) -> Self {
        match code {
            sys::PINFOLD_INVALID_ARGUMENT => Self::InvalidArgument,
            sys::PINFOLD_NOT_FOUND => Self::NotFound,
            sys::PINFOLD_CORRUPT => Self::Corrupt,
            sys::PINFOLD_IO => Self::Io,
            sys::PINFOLD_UNSUPPORTED => Self::Unsupported,
            sys::PINFOLD_INTERNAL => Self::Internal,
            sys::PINFOLD_BUSY => Self::Busy,
            sys::PINFOLD_NO_MEMORY => Self::NoMemory,
            sys::PINFOLD_REJECTED => Self::Rejected,
            sys::PINFOLD_NOT_ENFORCED => Self::NotEnforced,
            sys::PINFOLD_UNKNOWN => Self::Unknown,
            other => Self::Other(other),
        }
    }
}

/// What a call returns although it has failed.
#[derive(Clone, Debug, PartialEq)]
pub enum Partial {
    /// Of a rejection, or of a decision that is not enforced.
    Pod(Box<Pod>),
    /// A plan or a report, as JSON.
    Json(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Error {
    pub code: Code,
    pub message: String,
    pub partial: Option<Partial>,
}

impl Error {
    /// The rejected pod, with the kubelet's reason and message.
    pub fn pod(&self) -> Option<&Pod> {
        match &self.partial {
            Some(Partial::Pod(pod)) => Some(pod),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

/// With whom a container shares its CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// With every container of the node's shared pool.
    Host,
    /// With containers of the same pod.
    Pod,
    /// With no other container.
    Container,
}

/// The desired resources of a container. `None`: leave the value in the kernel as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    pub name: String,
    /// `cpuset.cpus`, "2-3"; "": like the parent.
    pub cpus: String,
    /// `cpuset.mems`; "": like the parent.
    pub mems: String,
    pub exclusive_cpus: String,
    pub isolation: Isolation,
    /// -1 and 0: no limit.
    pub cpu_quota_us: Option<i64>,
    pub cpu_period_us: Option<u64>,
    /// `cpu.shares` of cgroup v1.
    pub cpu_shares: u64,
    /// `cpu.weight` of cgroup v2.
    pub cpu_weight: u64,
    pub memory_limit_bytes: Option<i64>,
    pub oom_score_adj: Option<i64>,
    /// Bytes by the hugetlb controller's name of the page size, "2MB".
    pub hugepage_limits: BTreeMap<String, u64>,
    pub cgroup: String,
    /// "": nothing is enforced.
    pub cgroup_path: String,
}

/// A pod at the time of the call that returned it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pod {
    pub uid: String,
    pub name: String,
    pub namespace: String,
    pub is_admitted: bool,
    /// Only the kubelet's state files name it.
    pub is_held: bool,
    /// The kubelet's, "TopologyAffinityError"; "": admitted.
    pub reason: String,
    pub message: String,
    pub containers: Vec<Container>,
    /// The explanation by [`Node::explain`], as JSON.
    pub trace: String,
    pub json: String,
}

impl Pod {
    pub fn container(&self, name: &str) -> Option<&Container> {
        self.containers
            .iter()
            .find(|container| container.name == name)
    }
}

/// What to do about processes that still run in what is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Processes {
    /// [`Code::Busy`].
    Refuse,
    Kill,
}

impl Processes {
    fn flags(self) -> u32 {
        match self {
            Self::Refuse => 0,
            Self::Kill => sys::PINFOLD_REMOVE_KILL,
        }
    }
}

/// The importance of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Debug,
    Info,
    Warning,
    Error,
}

type Log = Box<dyn Fn(Level, &str) + Send + Sync>;

/// How to open a [`Node`].
#[derive(Default)]
pub struct Options {
    flags: u32,
    lock_timeout_ms: u32,
    state_dir: Option<PathBuf>,
    cgroup_root: Option<PathBuf>,
    config: Option<String>,
    config_file: Option<PathBuf>,
    machine: Option<String>,
    socket: Option<PathBuf>,
    interrupted: Option<Arc<AtomicI32>>,
    log: Option<Log>,
}

impl Options {
    pub fn new() -> Self {
        Self::default()
    }
    /// The default is /var/lib/pinfold.
    pub fn state_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.state_dir = Some(path.as_ref().to_owned());
        self
    }
    /// The default is "pinfold" at the mount point of the cpuset controller.
    pub fn cgroup_root(mut self, path: impl AsRef<Path>) -> Self {
        self.cgroup_root = Some(path.as_ref().to_owned());
        self
    }
    /// A KubeletConfiguration, YAML or JSON.
    pub fn config(mut self, text: impl Into<String>) -> Self {
        self.config = Some(text.into());
        self
    }
    pub fn config_file(mut self, path: impl AsRef<Path>) -> Self {
        self.config_file = Some(path.as_ref().to_owned());
        self
    }
    /// JSON of `pinfold topology -o json`, among others. The default is this machine.
    pub fn machine(mut self, text: impl Into<String>) -> Self {
        self.machine = Some(text.into());
        self
    }
    /// Decide and store, but touch no cgroup.
    pub fn no_enforce(self) -> Self {
        self.with(sys::PINFOLD_NODE_NO_ENFORCE)
    }
    /// Create, write and lock nothing.
    pub fn read_only(self) -> Self {
        self.with(sys::PINFOLD_NODE_READ_ONLY)
    }
    /// Leave the CPU affinity of attached processes as it is.
    pub fn keep_affinity(self) -> Self {
        self.with(sys::PINFOLD_NODE_KEEP_AFFINITY)
    }
    /// Open the state directory, the cgroups or the service only in the first call.
    pub fn defer(self) -> Self {
        self.with(sys::PINFOLD_NODE_DEFER)
    }
    /// For tests: accept a state directory that other users can change.
    pub fn insecure_state_dir(self) -> Self {
        self.with(sys::PINFOLD_NODE_INSECURE_STATE_DIR)
    }
    /// How long a call waits for another process; the default is 30 s.
    pub fn lock_timeout(mut self, timeout: std::time::Duration) -> Self {
        self.lock_timeout_ms = u32::try_from(timeout.as_millis())
            .unwrap_or(u32::MAX)
            .max(1);
        self
    }
    /// Once it is not 0, a call that waits for another process ends with [`Code::Busy`] and has
    /// changed nothing. A signal handler may set it.
    pub fn interrupted(mut self, flag: Arc<AtomicI32>) -> Self {
        self.interrupted = Some(flag);
        self
    }
    /// Of the service that does the calls if it has the state directory. "": none is asked. The
    /// default is /run/pinfold/agent.sock.
    pub fn socket(mut self, path: impl AsRef<Path>) -> Self {
        self.socket = Some(path.as_ref().to_owned());
        self
    }
    /// Called on the thread of a call, during the call. It must not use the node.
    pub fn log(mut self, log: impl Fn(Level, &str) + Send + Sync + 'static) -> Self {
        self.log = Some(Box::new(log));
        self
    }

    pub fn open(self) -> Result<Node> {
        let optional_path = |path: &Option<PathBuf>| {
            optional(path.as_ref().map(|path| path.as_os_str().as_bytes()))
        };
        let state_dir = optional_path(&self.state_dir)?;
        let cgroup_root = optional_path(&self.cgroup_root)?;
        let config = optional(self.config.as_ref().map(|text| text.as_bytes()))?;
        let config_file = optional_path(&self.config_file)?;
        let socket = optional_path(&self.socket)?;
        let machine = optional(self.machine.as_ref().map(|text| text.as_bytes()))?;
        let log = self.log.map(Box::new);
        let sink = sys::pinfold_log_sink {
            struct_size: std::mem::size_of::<sys::pinfold_log_sink>(),
            data: log
                .as_deref()
                .map_or(ptr::null_mut(), |log| log as *const Log as *mut c_void),
            log: Some(write_log),
        };
        let options = sys::pinfold_node_options {
            struct_size: std::mem::size_of::<sys::pinfold_node_options>(),
            flags: self.flags,
            lock_timeout_ms: self.lock_timeout_ms,
            state_dir: pointer(&state_dir),
            cgroup_root: pointer(&cgroup_root),
            config: pointer(&config),
            config_file: pointer(&config_file),
            machine: pointer(&machine),
            log_sink: if log.is_some() { &sink } else { ptr::null() },
            hint_providers: ptr::null(),
            hint_provider_count: 0,
            cgroup_fs: ptr::null(),
            socket: pointer(&socket),
            interrupted: self
                .interrupted
                .as_ref()
                .map_or(ptr::null(), |flag| Arc::as_ptr(flag).cast()),
        };
        let mut handle = ptr::null_mut();
        let outcome = call(|error| unsafe { sys::pinfold_node_open(&options, &mut handle, error) });
        let is_current = outcome?;
        Ok(Node {
            handle,
            has_current_files: AtomicBool::new(is_current),
            _interrupted: self.interrupted,
            _log: log,
        })
    }

    fn with(mut self, flag: u32) -> Self {
        self.flags |= flag;
        self
    }
}

/// Another configuration or machine, for [`Node::reconfigure`].
#[derive(Clone, Debug, Default)]
pub struct Reconfiguration {
    /// `None`: the file that the node was opened with, read again.
    pub config: Option<String>,
    /// `None`: that of the node's options, or discovered again.
    pub machine: Option<String>,
    pub dry_run: bool,
    /// Kill processes of pods that are removed.
    pub kill: bool,
    /// Go back to the node before the last reconfiguration.
    pub undo: bool,
    /// Remove pods that cannot keep enough resources.
    pub evict_lost: bool,
    /// Also those that the new rules would reject.
    pub evict_rejected: bool,
}

/// A node: its machine, its configuration and its state directory. Several threads may use it;
/// their calls run one after the other.
pub struct Node {
    handle: *mut sys::pinfold_node,
    has_current_files: AtomicBool,
    _interrupted: Option<Arc<AtomicI32>>, // the library has its address
    _log: Option<Box<Log>>, // the library has its address
}

// The library serialises calls on nodes, whichever thread makes them.
unsafe impl Send for Node {}
unsafe impl Sync for Node {}

impl Drop for Node {
    fn drop(&mut self) {
        unsafe { sys::pinfold_node_close(self.handle) }
    }
}

impl Node {
    /// False if the last change is durable in Pinfold's journal, but the kubelet's state files are
    /// out of date, for example on a full disk. The next call tries again.
    pub fn has_current_files(&self) -> bool {
        self.has_current_files.load(Ordering::Relaxed)
    }

    /// Assigns CPUs and memory, stores the decision and creates the cgroups. Errors:
    /// [`Code::Rejected`], with the pod in [`Error::pod`].
    pub fn admit(&self, manifest: &str) -> Result<Pod> {
        self.pod_of(manifest, sys::pinfold_pod_admit)
    }

    /// Decides as a dry run. Returns a rejected pod, too.
    pub fn explain(&self, manifest: &str) -> Result<Pod> {
        match self.pod_of(manifest, sys::pinfold_pod_explain) {
            Err(Error {
                code: Code::Rejected,
                partial: Some(Partial::Pod(pod)),
                ..
            }) => Ok(*pod),
            other => other,
        }
    }

    /// `pod_id`, here and below: a UID, a name or "namespace/name".
    pub fn pod(&self, pod_id: &str) -> Result<Pod> {
        self.pod_of(pod_id, sys::pinfold_pod_get)
    }

    /// Returns the active pods in the order of their admission, then the held ones.
    pub fn pods(&self) -> Result<Vec<Pod>> {
        let mut list = ptr::null_mut();
        self.change(|error| unsafe { sys::pinfold_node_list_pods(self.handle, &mut list, error) })?;
        let count = unsafe { sys::pinfold_pod_list_count(list) };
        let pods = (0..count)
            .map(|i| unsafe { read_pod(sys::pinfold_pod_list_pod(list, i)) })
            .collect();
        unsafe { sys::pinfold_pod_list_free(list) };
        pods
    }

    pub fn remove(&self, pod_id: &str, processes: Processes) -> Result<()> {
        let id = c_string(pod_id.as_bytes())?;
        self.change(|error| unsafe {
            sys::pinfold_pod_remove(self.handle, id.as_ptr(), processes.flags(), error)
        })
    }

    /// Admits a pod and adopts the cgroup that the runtime made for its container, in one
    /// transaction. `container` may be `None` if the pod has one.
    pub fn create(
        &self,
        manifest: &str,
        container: Option<&str>,
        cgroup: impl AsRef<Path>,
    ) -> Result<Pod> {
        let manifest = c_string(manifest.as_bytes())?;
        let container = container.map(|name| c_string(name.as_bytes())).transpose()?;
        let cgroup = c_string(cgroup.as_ref().as_os_str().as_bytes())?;
        let request = sys::pinfold_request {
            struct_size: std::mem::size_of::<sys::pinfold_request>(),
            manifest: manifest.as_ptr(),
            container: container.as_ref().map_or(ptr::null(), |name| name.as_ptr()),
            uid: ptr::null(),
            name: ptr::null(),
            pod_namespace: ptr::null(),
            milli_cpu: 0,
            memory_bytes: 0,
            hugepages: ptr::null(),
            hugepage_count: 0,
        };
        self.pod_from(|handle, error| unsafe {
            sys::pinfold_container_create(self.handle, &request, cgroup.as_ptr(), handle, error)
        })
    }

    /// Ends what `create` began; nothing if the UID is unknown.
    pub fn delete(&self, uid: &str, container: Option<&str>) -> Result<()> {
        let uid = c_string(uid.as_bytes())?;
        let container = container.map(|name| c_string(name.as_bytes())).transpose()?;
        let name = container.as_ref().map_or(ptr::null(), |name| name.as_ptr());
        self.change(|error| unsafe {
            sys::pinfold_container_delete(self.handle, uid.as_ptr(), name, error)
        })
    }

    /// Prepares the start of a container's process.
    pub fn start(&self, pod_id: &str, container: &str) -> Result<()> {
        self.of_container(pod_id, container, |id, name, error| unsafe {
            sys::pinfold_container_start(self.handle, id, name, error)
        })
    }

    /// Changes the number of exclusive CPUs of a running container. Errors: [`Code::Rejected`], with
    /// the pod.
    pub fn resize(&self, pod_id: &str, container: &str, milli_cpu: i64) -> Result<Pod> {
        let id = c_string(pod_id.as_bytes())?;
        let name = c_string(container.as_bytes())?;
        self.pod_from(|handle, error| unsafe {
            sys::pinfold_container_resize(
                self.handle,
                id.as_ptr(),
                name.as_ptr(),
                milli_cpu,
                handle,
                error,
            )
        })
    }

    pub fn remove_container(
        &self,
        pod_id: &str,
        container: &str,
        processes: Processes,
    ) -> Result<()> {
        self.of_container(pod_id, container, |id, name, error| unsafe {
            sys::pinfold_container_remove(self.handle, id, name, processes.flags(), error)
        })
    }

    /// Moves a process into the container's cgroup.
    pub fn attach(&self, pod_id: &str, container: &str, pid: i64) -> Result<()> {
        self.of_container(pod_id, container, |id, name, error| unsafe {
            sys::pinfold_container_attach_process(self.handle, id, name, pid, error)
        })
    }

    pub fn attach_pidfd(&self, pod_id: &str, container: &str, pidfd: c_int) -> Result<()> {
        self.of_container(pod_id, container, |id, name, error| unsafe {
            sys::pinfold_container_attach_pidfd(self.handle, id, name, pidfd, error)
        })
    }

    /// Adopts a cgroup that the runtime created. Returns the one adopted before; "": none.
    pub fn adopt(
        &self,
        pod_id: &str,
        container: &str,
        directory: impl AsRef<Path>,
    ) -> Result<String> {
        let directory = c_string(directory.as_ref().as_os_str().as_bytes())?;
        let mut previous = ptr::null_mut();
        let outcome = self.of_container(pod_id, container, |id, name, error| unsafe {
            sys::pinfold_container_adopt_cgroup(
                self.handle,
                id,
                name,
                directory.as_ptr(),
                &mut previous,
                error,
            )
        });
        let previous = unsafe { taken(previous) };
        outcome.map(|()| previous.unwrap_or_default())
    }

    /// What `pinfold status -o json` prints.
    pub fn status(&self) -> Result<String> {
        self.json_of(|json, error| unsafe {
            sys::pinfold_node_get_status(self.handle, json, error)
        })
    }

    /// Brings cgroups back to the desired state. Errors: [`Code::NotEnforced`], with the report, if
    /// drift remains.
    pub fn reconcile(&self) -> Result<String> {
        self.json_of(|json, error| unsafe { sys::pinfold_node_reconcile(self.handle, json, error) })
    }

    /// Switches to another configuration or machine while containers run. Returns the plan.
    pub fn reconfigure(&self, change: &Reconfiguration) -> Result<String> {
        let config = optional(change.config.as_ref().map(|text| text.as_bytes()))?;
        let machine = optional(change.machine.as_ref().map(|text| text.as_bytes()))?;
        let flag = |is_set: bool, flag: u32| if is_set { flag } else { 0 };
        let c = sys::pinfold_reconfiguration {
            struct_size: std::mem::size_of::<sys::pinfold_reconfiguration>(),
            flags: flag(change.dry_run, sys::PINFOLD_RECONFIGURE_DRY_RUN)
                | flag(change.kill, sys::PINFOLD_RECONFIGURE_KILL)
                | flag(change.undo, sys::PINFOLD_RECONFIGURE_UNDO)
                | flag(change.evict_lost, sys::PINFOLD_RECONFIGURE_EVICT_LOST)
                | flag(
                    change.evict_rejected,
                    sys::PINFOLD_RECONFIGURE_EVICT_REJECTED,
                ),
            config: pointer(&config),
            machine: pointer(&machine),
        };
        self.json_of(|json, error| unsafe {
            sys::pinfold_node_reconfigure(self.handle, &c, json, error)
        })
    }

    /// Moves the fewest containers after which the node admits a pod. Returns the plan.
    pub fn defragment(&self, manifest: &str, dry_run: bool) -> Result<String> {
        let manifest = c_string(manifest.as_bytes())?;
        let flags = if dry_run {
            sys::PINFOLD_RECONFIGURE_DRY_RUN
        } else {
            0
        };
        self.json_of(|json, error| unsafe {
            sys::pinfold_node_defragment(self.handle, manifest.as_ptr(), flags, json, error)
        })
    }

    fn change(&self, function: impl FnOnce(*mut *mut c_char) -> sys::pinfold_code) -> Result<()> {
        let is_current = call(function)?;
        self.has_current_files.store(is_current, Ordering::Relaxed);
        Ok(())
    }

    fn of_container(
        &self,
        pod_id: &str,
        container: &str,
        function: impl FnOnce(*const c_char, *const c_char, *mut *mut c_char) -> sys::pinfold_code,
    ) -> Result<()> {
        let (id, name) = (
            c_string(pod_id.as_bytes())?,
            c_string(container.as_bytes())?,
        );
        self.change(|error| function(id.as_ptr(), name.as_ptr(), error))
    }

    fn pod_of(&self, argument: &str, function: PodFunction) -> Result<Pod> {
        let argument = c_string(argument.as_bytes())?;
        self.pod_from(|handle, error| unsafe {
            function(self.handle, argument.as_ptr(), handle, error)
        })
    }

    fn pod_from(
        &self,
        function: impl FnOnce(*mut *mut sys::pinfold_pod, *mut *mut c_char) -> sys::pinfold_code,
    ) -> Result<Pod> {
        let mut handle = ptr::null_mut();
        let outcome = self.change(|error| function(&mut handle, error));
        if handle.is_null() {
            return Err(outcome.expect_err("a call without an error has an output"));
        }
        let pod = unsafe { read_pod(handle) };
        unsafe { sys::pinfold_pod_free(handle) };
        match outcome {
            Ok(()) => pod,
            Err(error) => Err(Error {
                partial: Some(Partial::Pod(Box::new(pod?))),
                ..error
            }),
        }
    }

    fn json_of(
        &self,
        function: impl FnOnce(*mut *mut c_char, *mut *mut c_char) -> sys::pinfold_code,
    ) -> Result<String> {
        let mut json = ptr::null_mut();
        let outcome = self.change(|error| function(&mut json, error));
        json_or_error(json, outcome)
    }
}

type PodFunction = unsafe extern "C" fn(
    *mut sys::pinfold_node,
    *const c_char,
    *mut *mut sys::pinfold_pod,
    *mut *mut c_char,
) -> sys::pinfold_code;

/// Who owns a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    pub uid: String,
    /// "": several containers of the pod share it.
    pub container: String,
}

/// Returns `None` for a CPU of the shared pool. This and the next two functions take no lock and
/// never wait.
pub fn owner_of(state_dir: impl AsRef<Path>, cpu: i32) -> Result<Option<Owner>> {
    let state_dir = c_string(state_dir.as_ref().as_os_str().as_bytes())?;
    let (mut uid, mut container) = (ptr::null_mut(), ptr::null_mut());
    call(|error| unsafe {
        sys::pinfold_owner_of(state_dir.as_ptr(), cpu, &mut uid, &mut container, error)
    })?;
    let (uid, container) = unsafe { (taken(uid), taken(container)) };
    let owner = Owner {
        uid: uid.unwrap_or_default(),
        container: container.unwrap_or_default(),
    };
    Ok((!owner.uid.is_empty()).then_some(owner))
}

/// Returns whether every one of the CPUs ("2-3,8") has an owner; false for "".
pub fn is_exclusive(state_dir: impl AsRef<Path>, cpus: &str) -> Result<bool> {
    let state_dir = c_string(state_dir.as_ref().as_os_str().as_bytes())?;
    let cpus = c_string(cpus.as_bytes())?;
    let mut answer = 0;
    call(|error| unsafe {
        sys::pinfold_is_exclusive(state_dir.as_ptr(), cpus.as_ptr(), &mut answer, error)
    })?;
    Ok(answer != 0)
}

/// Returns whether the kernel agrees with the decision for a container, whose program does not run
/// yet.
pub fn container_is_placed(
    state_dir: impl AsRef<Path>,
    uid: &str,
    container: &str,
    cgroup: impl AsRef<Path>,
) -> Result<bool> {
    let state_dir = c_string(state_dir.as_ref().as_os_str().as_bytes())?;
    let uid = c_string(uid.as_bytes())?;
    let container = c_string(container.as_bytes())?;
    let cgroup = c_string(cgroup.as_ref().as_os_str().as_bytes())?;
    let mut answer = 0;
    call(|error| unsafe {
        sys::pinfold_container_is_placed(
            state_dir.as_ptr(),
            uid.as_ptr(),
            container.as_ptr(),
            cgroup.as_ptr(),
            &mut answer,
            error,
        )
    })?;
    Ok(answer != 0)
}

/// Many nodes, as their NodeResourceTopology objects describe them: for schedulers.
pub struct Fleet {
    handle: *mut sys::pinfold_fleet,
}

// The library serialises calls on a fleet.
unsafe impl Send for Fleet {}
unsafe impl Sync for Fleet {}

impl Drop for Fleet {
    fn drop(&mut self) {
        unsafe { sys::pinfold_fleet_close(self.handle) }
    }
}

impl Fleet {
    /// Reads NodeResourceTopology objects, YAML or JSON.
    pub fn open(topologies: &str, ignored_resources: &[&str]) -> Result<Self> {
        let topologies = c_string(topologies.as_bytes())?;
        let ignored = ignored_resources.join(",");
        let ignored = optional(if ignored.is_empty() {
            None
        } else {
            Some(ignored.as_bytes())
        })?;
        let mut handle = ptr::null_mut();
        call(|error| unsafe {
            sys::pinfold_fleet_open(topologies.as_ptr(), pointer(&ignored), &mut handle, error)
        })?;
        Ok(Self { handle })
    }

    /// An element of the output of `pinfold predict -o json`. Errors: [`Code::Rejected`], with it.
    pub fn predict(&self, manifest: &str, scoring: Option<&str>) -> Result<String> {
        let manifest = c_string(manifest.as_bytes())?;
        let scoring = optional(scoring.map(str::as_bytes))?;
        let mut json = ptr::null_mut();
        let outcome = call(|error| unsafe {
            sys::pinfold_fleet_predict(
                self.handle,
                manifest.as_ptr(),
                pointer(&scoring),
                &mut json,
                error,
            )
        });
        json_or_error(json, outcome.map(drop))
    }

    /// Places a pod on a node, so that later predictions find less room there.
    pub fn place(&self, manifest: &str, node_name: &str) -> Result<()> {
        let (manifest, name) = (
            c_string(manifest.as_bytes())?,
            c_string(node_name.as_bytes())?,
        );
        call(|error| unsafe {
            sys::pinfold_fleet_place_pod(self.handle, manifest.as_ptr(), name.as_ptr(), error)
        })
        .map(drop)
    }

    pub fn remove(&self, pod_uid: &str) -> Result<()> {
        let uid = c_string(pod_uid.as_bytes())?;
        call(|error| unsafe { sys::pinfold_fleet_remove_pod(self.handle, uid.as_ptr(), error) })
            .map(drop)
    }
}

/// The version of the library, "0.2.0".
pub fn version() -> &'static str {
    unsafe { CStr::from_ptr(sys::pinfold_version()) }
        .to_str()
        .unwrap_or("")
}

fn c_string(bytes: &[u8]) -> Result<CString> {
    CString::new(bytes).map_err(|_| Error {
        code: Code::InvalidArgument,
        message: format!(
            "'{}': has a zero byte",
            String::from_utf8_lossy(bytes).escape_debug()
        ),
        partial: None,
    })
}

fn optional(bytes: Option<&[u8]>) -> Result<Option<CString>> {
    bytes.map(c_string).transpose()
}

fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(ptr::null(), |text| text.as_ptr())
}

/// Returns a copy of a `char *` output, and frees it.
unsafe fn taken(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
    sys::pinfold_free(text.cast());
    Some(copy)
}

/// Returns whether the kubelet's state files are up to date.
fn call(function: impl FnOnce(*mut *mut c_char) -> sys::pinfold_code) -> Result<bool> {
    let mut error = ptr::null_mut();
    let code = function(&mut error);
    let message = unsafe { taken(error) };
    match code {
        sys::PINFOLD_OK => Ok(true),
        sys::PINFOLD_NOT_SETTLED => Ok(false),
        _ => Err(Error {
            code: Code::of(code),
            message: message.unwrap_or_else(|| unsafe { copied(sys::pinfold_code_name(code)) }),
            partial: None,
        }),
    }
}

fn json_or_error(json: *mut c_char, outcome: Result<()>) -> Result<String> {
    let json = unsafe { taken(json) };
    match outcome {
        Ok(()) => Ok(json.unwrap_or_default()),
        Err(error) => Err(Error {
            partial: json.map(Partial::Json),
            ..error
        }),
    }
}

unsafe fn copied(text: *const c_char) -> String {
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

unsafe fn read_pod(pod: *const sys::pinfold_pod) -> Result<Pod> {
    let count = sys::pinfold_pod_container_count(pod);
    let containers = (0..count)
        .map(|i| read_container(pod, i))
        .collect::<Result<_>>()?;
    Ok(Pod {
        uid: copied(sys::pinfold_pod_uid(pod)),
        name: copied(sys::pinfold_pod_name(pod)),
        namespace: copied(sys::pinfold_pod_namespace(pod)),
        is_admitted: sys::pinfold_pod_is_admitted(pod) != 0,
        is_held: sys::pinfold_pod_is_held(pod) != 0,
        reason: copied(sys::pinfold_pod_reason(pod)),
        message: copied(sys::pinfold_pod_message(pod)),
        containers,
        trace: copied(sys::pinfold_pod_trace(pod)),
        json: copied(sys::pinfold_pod_json(pod)),
    })
}

unsafe fn read_container(pod: *const sys::pinfold_pod, index: usize) -> Result<Container> {
    let mut c: sys::pinfold_container = std::mem::zeroed();
    c.struct_size = std::mem::size_of::<sys::pinfold_container>();
    call(|error| sys::pinfold_pod_get_container(pod, index, &mut c, error))?;
    let has = |flag: u32| c.has & flag != 0;
    let limits = (0..c.hugepage_limit_count)
        .map(|i| *c.hugepage_limits.add(i))
        .map(|limit| (copied(limit.page_size), limit.bytes))
        .collect();
    Ok(Container {
        name: copied(c.name),
        cpus: copied(c.cpus),
        mems: copied(c.mems),
        exclusive_cpus: copied(c.exclusive_cpus),
        isolation: match c.isolation {
            sys::PINFOLD_ISOLATION_CONTAINER => Isolation::Container,
            sys::PINFOLD_ISOLATION_POD => Isolation::Pod,
            _ => Isolation::Host,
        },
        cpu_quota_us: has(sys::PINFOLD_HAS_CPU_QUOTA).then_some(c.cpu_quota_us),
        cpu_period_us: has(sys::PINFOLD_HAS_CPU_PERIOD).then_some(c.cpu_period_us),
        cpu_shares: c.cpu_shares,
        cpu_weight: c.cpu_weight,
        memory_limit_bytes: has(sys::PINFOLD_HAS_MEMORY_LIMIT).then_some(c.memory_limit_bytes),
        oom_score_adj: has(sys::PINFOLD_HAS_OOM_SCORE_ADJ).then_some(c.oom_score_adj),
        hugepage_limits: limits,
        cgroup: copied(c.cgroup),
        cgroup_path: copied(c.cgroup_path),
    })
}

unsafe extern "C" fn write_log(data: *mut c_void, level: i32, message: *const c_char) {
    let log = &*(data as *const Log);
    let level = match level {
        sys::PINFOLD_LOG_DEBUG => Level::Debug,
        sys::PINFOLD_LOG_INFO => Level::Info,
        sys::PINFOLD_LOG_WARNING => Level::Warning,
        _ => Level::Error,
    };
    // A panic must not unwind into the library.
    let message = CStr::from_ptr(message).to_string_lossy();
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| log(level, &message)));
}
