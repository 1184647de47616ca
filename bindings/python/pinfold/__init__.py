"""Pinfold: which CPUs and memory nodes the kubelet would give to a container, and cgroups that enforce it.

    import pinfold

    with pinfold.Node("/var/lib/my-runtime", config="cpuManagerPolicy: static\\nreservedSystemCPUs: '0'") as node:
        pod = node.admit({"metadata": {"name": "db", "uid": "db-1"},
                          "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}]}})
        print(pod.container("main").cpus)      # "1-2"
        node.start("db-1", "main")
        node.attach("db-1", "main", pid)
        node.remove("db-1")

The functions are those of <pinfold/pinfold.h>, whose comments are the reference. Each raises an Error of the code's class; a
manifest is text (YAML or JSON) or what json.dumps takes. Set PINFOLD_LIBRARY to use another file than libpinfold.so.0.
"""
from __future__ import annotations

import ctypes as C
import json
import logging
import os
import warnings
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Callable, Iterable, Mapping, Optional, TypeVar, Union

from . import _ffi

__all__ = ["BusyError", "Code", "Container", "CorruptError", "Error", "Fleet", "InternalError", "InvalidArgumentError", "Isolation",
           "Manifest", "Node", "NoMemoryError", "NotEnforcedError", "NotFoundError", "NotSettledWarning", "OSFailure", "Owner", "Pod",
           "RejectedError", "UnknownOutcomeError", "UnsupportedError", "container_is_placed", "is_exclusive", "owner_of", "version"]

Manifest = Union[str, Mapping[str, Any]]


class Isolation(IntEnum):
    """With whom a container shares its CPUs."""

    HOST = _ffi.PINFOLD_ISOLATION_HOST
    POD = _ffi.PINFOLD_ISOLATION_POD
    CONTAINER = _ffi.PINFOLD_ISOLATION_CONTAINER


class Code(IntEnum):
    """A pinfold_code; the numbers never change."""

    OK = _ffi.PINFOLD_OK
    INVALID_ARGUMENT = _ffi.PINFOLD_INVALID_ARGUMENT
    NOT_FOUND = _ffi.PINFOLD_NOT_FOUND
    CORRUPT = _ffi.PINFOLD_CORRUPT
    IO = _ffi.PINFOLD_IO
    UNSUPPORTED = _ffi.PINFOLD_UNSUPPORTED
    INTERNAL = _ffi.PINFOLD_INTERNAL
    BUSY = _ffi.PINFOLD_BUSY
    NO_MEMORY = _ffi.PINFOLD_NO_MEMORY
    REJECTED = _ffi.PINFOLD_REJECTED
    NOT_ENFORCED = _ffi.PINFOLD_NOT_ENFORCED
    NOT_SETTLED = _ffi.PINFOLD_NOT_SETTLED
    UNKNOWN = _ffi.PINFOLD_UNKNOWN


class Error(Exception):
    """A call has failed. `code` is a Code (an int that this version does not know for a newer library)."""

    def __init__(self, code: int, message: str, result: Any = None):
        super().__init__(message)
        self.code = Code(code) if code in Code._value2member_map_ else code
        #: What the call returns although it has failed: the Pod of a rejection, or the plan or report of the call; else None.
        self.result = result


class InvalidArgumentError(Error, ValueError):
    """An argument is malformed, or outside its domain."""


class NotFoundError(Error, LookupError):
    """The named object does not exist."""


class CorruptError(Error):
    """Stored data fails its own checks."""


class OSFailure(Error):
    """A system call failed; the message names it."""


class UnsupportedError(Error):
    """Not possible on this machine or with this library."""


class InternalError(Error):
    """A bug in Pinfold."""


class BusyError(Error):
    """In use: a lock, a cgroup with processes, a node during a call."""


class NoMemoryError(Error, MemoryError):
    """No memory is left."""


class RejectedError(Error):
    """The pod is rejected and has no resources. `result` is the Pod, with reason and message."""


class NotEnforcedError(Error):
    """Decided and stored, but not applied to the kernel: remove the cause, then call Node.reconcile."""


class UnknownOutcomeError(Error):
    """The disk failed: the change is stored or not, but never in part. Read the state."""


class NotSettledWarning(UserWarning):
    """Everything is done, but the kubelet's state files are older than Pinfold's journal. The next call tries again."""


_CLASSES = {
    Code.INVALID_ARGUMENT: InvalidArgumentError, Code.NOT_FOUND: NotFoundError, Code.CORRUPT: CorruptError, Code.IO: OSFailure,
    Code.UNSUPPORTED: UnsupportedError, Code.INTERNAL: InternalError, Code.BUSY: BusyError, Code.NO_MEMORY: NoMemoryError,
    Code.REJECTED: RejectedError, Code.NOT_ENFORCED: NotEnforcedError, Code.UNKNOWN: UnknownOutcomeError,
}

_library: Any = None


def _lib() -> Any:
    global _library
    if _library is None:
        _library = _ffi.load(os.environ.get("PINFOLD_LIBRARY", "libpinfold.so.0"))
    return _library


def version() -> str:
    """Returns the version of the library, "0.2.0"."""
    return _lib().pinfold_version().decode()


def _encoded(text: Union[str, os.PathLike, None]) -> Optional[bytes]:
    return None if text is None else os.fspath(text).encode()


def _manifest(manifest: Manifest) -> bytes:
    return manifest.encode() if isinstance(manifest, str) else json.dumps(manifest).encode()


def _taken(text: Any) -> Optional[str]:
    """Returns the text of a `char *` output, and frees it."""
    if not text:
        return None
    try:
        return C.string_at(text).decode()
    finally:
        _lib().pinfold_free(text)


def _call(function: Any, *arguments: Any, read: Callable[[], Any] = lambda: None) -> Any:
    """Calls a function whose last argument is `error`. `read` returns the outputs and frees them; it runs for every code."""
    message = C.c_void_p()
    code = function(*arguments, C.byref(message))
    text = _taken(message)
    result = read()
    if code == _ffi.PINFOLD_OK:
        return result
    if code == _ffi.PINFOLD_NOT_SETTLED:
        warnings.warn(text or "the kubelet's state files are out of date", NotSettledWarning, stacklevel=3)
        return result
    raise _CLASSES.get(code, Error)(code, text or _lib().pinfold_code_name(code).decode(), result)


@dataclass(frozen=True)
class Container:
    """The desired resources of a container. None: leave the value in the kernel as it is."""

    name: str
    cpus: str  #: cpuset.cpus, "2-3"; "": like the parent
    mems: str  #: cpuset.mems; "": like the parent
    exclusive_cpus: str
    isolation: Isolation
    cpu_quota_us: Optional[int]  #: -1 and 0: no limit
    cpu_period_us: Optional[int]
    cpu_shares: int  #: cgroup v1
    cpu_weight: int  #: cgroup v2
    memory_limit_bytes: Optional[int]
    oom_score_adj: Optional[int]
    hugepage_limits: Mapping[str, int]  #: "2MB" to bytes
    cgroup: str
    cgroup_path: str  #: "": nothing is enforced

    @staticmethod
    def _of(c: _ffi.pinfold_container) -> Container:
        def known(flag: int, value: int) -> Optional[int]:
            return value if c.has & flag else None

        limits = {c.hugepage_limits[i].page_size.decode(): c.hugepage_limits[i].bytes for i in range(c.hugepage_limit_count)}
        return Container(c.name.decode(), c.cpus.decode(), c.mems.decode(), c.exclusive_cpus.decode(), Isolation(c.isolation),
                         known(_ffi.PINFOLD_HAS_CPU_QUOTA, c.cpu_quota_us), known(_ffi.PINFOLD_HAS_CPU_PERIOD, c.cpu_period_us),
                         c.cpu_shares, c.cpu_weight, known(_ffi.PINFOLD_HAS_MEMORY_LIMIT, c.memory_limit_bytes),
                         known(_ffi.PINFOLD_HAS_OOM_SCORE_ADJ, c.oom_score_adj), limits, c.cgroup.decode(), c.cgroup_path.decode())


@dataclass(frozen=True)
class Pod:
    """A pod at the time of the call that returned it."""

    uid: str
    name: str
    namespace: str
    is_admitted: bool
    is_held: bool  #: only the kubelet's state files name it
    reason: str  #: the kubelet's, "TopologyAffinityError"; "": admitted
    message: str
    containers: tuple[Container, ...]
    trace: list[dict[str, str]] = field(repr=False)  #: the explanation by Node.explain
    json: dict[str, Any] = field(repr=False)

    def container(self, name: str) -> Container:
        """Errors: KeyError."""
        for one in self.containers:
            if one.name == name:
                return one
        raise KeyError(name)

    @staticmethod
    def _of(handle: Any) -> Pod:
        lib = _lib()
        containers = []
        for i in range(lib.pinfold_pod_container_count(handle)):
            one = _ffi.pinfold_container(struct_size=C.sizeof(_ffi.pinfold_container))
            _call(lib.pinfold_pod_get_container, handle, i, C.byref(one))
            containers.append(Container._of(one))

        def text(accessor: Any) -> str:
            return accessor(handle).decode()

        return Pod(text(lib.pinfold_pod_uid), text(lib.pinfold_pod_name), text(lib.pinfold_pod_namespace),
                   bool(lib.pinfold_pod_is_admitted(handle)), bool(lib.pinfold_pod_is_held(handle)), text(lib.pinfold_pod_reason),
                   text(lib.pinfold_pod_message), tuple(containers), json.loads(text(lib.pinfold_pod_trace)),
                   json.loads(text(lib.pinfold_pod_json)))


def _pod_of(output: Any) -> Optional[Pod]:
    """Returns the pod of a `pinfold_pod **` output, and frees it."""
    if not output:
        return None
    try:
        return Pod._of(output)
    finally:
        _lib().pinfold_pod_free(output)


def _json_of(output: Any) -> Any:
    text = _taken(output)
    return None if text is None else json.loads(text)


_LEVELS = {_ffi.PINFOLD_LOG_DEBUG: logging.DEBUG, _ffi.PINFOLD_LOG_INFO: logging.INFO, _ffi.PINFOLD_LOG_WARNING: logging.WARNING,
           _ffi.PINFOLD_LOG_ERROR: logging.ERROR}


class _Handle:
    """Owns a handle of the library, until close() or the end of a `with`."""

    _close: str  #: the library's function

    def __init__(self) -> None:
        self._handle = C.c_void_p()

    def close(self) -> None:
        if self._handle:
            getattr(_lib(), self._close)(self._handle)
            self._handle = C.c_void_p()

    def __enter__(self: _Owner) -> _Owner:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self.close()


_Owner = TypeVar("_Owner", bound=_Handle)


class Node(_Handle):
    """A node: its machine, its configuration and its state directory. A context manager; else call close().
    `socket`: of the service that does the calls if it has the state directory; "": none is asked. `defer`: the state
    directory, the cgroups or the service are opened only in the first call."""

    _close = "pinfold_node_close"

    def __init__(self, state_dir: Union[str, os.PathLike, None] = None, *, config: Optional[Manifest] = None,
                 config_file: Union[str, os.PathLike, None] = None, machine: Optional[Manifest] = None,
                 cgroup_root: Union[str, os.PathLike, None] = None, enforce: bool = True, read_only: bool = False,
                 keep_affinity: bool = False, defer: bool = False, insecure_state_dir: bool = False, lock_timeout: float = 30.0,
                 socket: Union[str, os.PathLike, None] = None, log: Optional[logging.Logger] = None):
        flags = ((0 if enforce else _ffi.PINFOLD_NODE_NO_ENFORCE) | (_ffi.PINFOLD_NODE_READ_ONLY if read_only else 0) |
                 (_ffi.PINFOLD_NODE_KEEP_AFFINITY if keep_affinity else 0) |
                 (_ffi.PINFOLD_NODE_DEFER if defer else 0) |
                 (_ffi.PINFOLD_NODE_INSECURE_STATE_DIR if insecure_state_dir else 0))
        options = _ffi.pinfold_node_options(
            struct_size=C.sizeof(_ffi.pinfold_node_options), flags=flags, lock_timeout_ms=max(1, round(lock_timeout * 1000)),
            state_dir=_encoded(state_dir), cgroup_root=_encoded(cgroup_root), config=None if config is None else _manifest(config),
            config_file=_encoded(config_file), machine=None if machine is None else _manifest(machine), socket=_encoded(socket))
        if log is not None:
            def write(_data: Any, level: int, message: bytes) -> None:
                log.log(_LEVELS.get(level, logging.INFO), "%s", message.decode(errors="replace"))

            sink = _ffi.pinfold_log_sink(struct_size=C.sizeof(_ffi.pinfold_log_sink))
            self._write = type(sink.log)(write)  # lives as long as the node
            sink.log = self._write
            options.log_sink = C.pointer(sink)
        super().__init__()
        _call(_lib().pinfold_node_open, C.byref(options), C.byref(self._handle))

    def _pod(self, function: Any, *arguments: Any) -> Pod:
        out = C.c_void_p()
        return _call(function, self._handle, *arguments, C.byref(out), read=lambda: _pod_of(out))

    def _json(self, function: Any, *arguments: Any) -> Any:
        out = C.c_void_p()
        return _call(function, self._handle, *arguments, C.byref(out), read=lambda: _json_of(out))

    def admit(self, manifest: Manifest) -> Pod:
        """Assigns CPUs and memory, stores the decision, creates the cgroups. Errors: RejectedError; see pinfold_pod_admit."""
        return self._pod(_lib().pinfold_pod_admit, _manifest(manifest))

    def explain(self, manifest: Manifest) -> Pod:
        """Decides as a dry run. A rejected pod is returned, too: see Pod.is_admitted and Pod.trace."""
        try:
            return self._pod(_lib().pinfold_pod_explain, _manifest(manifest))
        except RejectedError as rejected:
            return rejected.result

    def pod(self, pod_id: str) -> Pod:
        """`pod_id`, here and below: a UID, a name or "namespace/name"."""
        return self._pod(_lib().pinfold_pod_get, pod_id.encode())

    def pods(self) -> list[Pod]:
        """Returns the active pods in the order of their admission, then the held ones."""
        lib = _lib()
        out = C.c_void_p()

        def read() -> Optional[list[Pod]]:
            if not out:
                return None
            try:
                return [Pod._of(lib.pinfold_pod_list_pod(out, i)) for i in range(lib.pinfold_pod_list_count(out))]
            finally:
                lib.pinfold_pod_list_free(out)

        return _call(lib.pinfold_node_list_pods, self._handle, C.byref(out), read=read)

    def remove(self, pod_id: str, *, kill: bool = False) -> None:
        """Errors: BusyError if processes run and `kill` is not set."""
        _call(_lib().pinfold_pod_remove, self._handle, pod_id.encode(), _ffi.PINFOLD_REMOVE_KILL if kill else 0)

    def start(self, pod_id: str, container: str) -> None:
        """Prepares the start of a container's process."""
        _call(_lib().pinfold_container_start, self._handle, pod_id.encode(), container.encode())

    def resize(self, pod_id: str, container: str, milli_cpu: int) -> Pod:
        """Changes the number of a running container's exclusive CPUs. Errors: RejectedError, with the pod as `result`."""
        return self._pod(_lib().pinfold_container_resize, pod_id.encode(), container.encode(), milli_cpu)

    def remove_container(self, pod_id: str, container: str, *, kill: bool = False) -> None:
        _call(_lib().pinfold_container_remove, self._handle, pod_id.encode(), container.encode(),
              _ffi.PINFOLD_REMOVE_KILL if kill else 0)

    def attach(self, pod_id: str, container: str, pid: int) -> None:
        """Moves a process into the container's cgroup."""
        _call(_lib().pinfold_container_attach_process, self._handle, pod_id.encode(), container.encode(), pid)

    def attach_pidfd(self, pod_id: str, container: str, pidfd: int) -> None:
        _call(_lib().pinfold_container_attach_pidfd, self._handle, pod_id.encode(), container.encode(), pidfd)

    def adopt(self, pod_id: str, container: str, directory: Union[str, os.PathLike]) -> str:
        """Adopts a cgroup that the runtime created. Returns the one adopted before; "": none."""
        out = C.c_void_p()
        return _call(_lib().pinfold_container_adopt_cgroup, self._handle, pod_id.encode(), container.encode(), _encoded(directory),
                     C.byref(out), read=lambda: _taken(out))

    def create(self, manifest: Manifest, cgroup: Union[str, os.PathLike], *, container: Optional[str] = None) -> Pod:
        """Admits a pod and adopts the cgroup that the runtime made for its container, in one transaction. `container` may be
        left out if the pod has one. Errors: see pinfold_container_create."""
        request = _ffi.pinfold_request(struct_size=C.sizeof(_ffi.pinfold_request), manifest=_manifest(manifest),
                                       container=None if container is None else container.encode())
        return self._pod(_lib().pinfold_container_create, C.byref(request), _encoded(cgroup))

    def delete(self, uid: str, container: Optional[str] = None) -> None:
        """Ends what create() began; nothing if the UID is unknown. Errors: BusyError if processes run in the cgroup."""
        _call(_lib().pinfold_container_delete, self._handle, uid.encode(), None if container is None else container.encode())

    def status(self) -> dict[str, Any]:
        """Returns what `pinfold status -o json` prints."""
        return self._json(_lib().pinfold_node_get_status)

    def reconcile(self) -> dict[str, Any]:
        """Brings cgroups back to the desired state. Errors: NotEnforcedError, with the report as `result`, if drift remains."""
        return self._json(_lib().pinfold_node_reconcile)

    def reconfigure(self, *, config: Optional[Manifest] = None, machine: Optional[Manifest] = None, dry_run: bool = False,
                    kill: bool = False, undo: bool = False, evict_lost: bool = False, evict_rejected: bool = False) -> dict[str, Any]:
        """Switches to another configuration or machine while containers run. Returns the plan."""
        flags = ((_ffi.PINFOLD_RECONFIGURE_DRY_RUN if dry_run else 0) | (_ffi.PINFOLD_RECONFIGURE_KILL if kill else 0) |
                 (_ffi.PINFOLD_RECONFIGURE_UNDO if undo else 0) | (_ffi.PINFOLD_RECONFIGURE_EVICT_LOST if evict_lost else 0) |
                 (_ffi.PINFOLD_RECONFIGURE_EVICT_REJECTED if evict_rejected else 0))
        change = _ffi.pinfold_reconfiguration(struct_size=C.sizeof(_ffi.pinfold_reconfiguration), flags=flags,
                                              config=None if config is None else _manifest(config),
                                              machine=None if machine is None else _manifest(machine))
        return self._json(_lib().pinfold_node_reconfigure, C.byref(change))

    def defragment(self, manifest: Manifest, *, dry_run: bool = False) -> dict[str, Any]:
        """Moves the fewest containers after which the node admits a pod. Returns the plan. Does not admit the pod."""
        return self._json(_lib().pinfold_node_defragment, _manifest(manifest), _ffi.PINFOLD_RECONFIGURE_DRY_RUN if dry_run else 0)


@dataclass(frozen=True)
class Owner:
    """Who owns a CPU."""

    uid: str
    container: str  #: "": several containers of the pod share it


def owner_of(cpu: int, state_dir: Union[str, os.PathLike, None] = None) -> Optional[Owner]:
    """Returns None for a CPU of the shared pool. This and the next two functions take no lock and never wait."""
    uid, container = C.c_void_p(), C.c_void_p()
    texts = _call(_lib().pinfold_owner_of, _encoded(state_dir), cpu, C.byref(uid), C.byref(container),
                  read=lambda: (_taken(uid), _taken(container)))
    return Owner(*texts) if texts[0] else None


def is_exclusive(cpus: str, state_dir: Union[str, os.PathLike, None] = None) -> bool:
    """Returns whether every one of the CPUs ("2-3,8") has an owner; False for ""."""
    answer = C.c_int()
    _call(_lib().pinfold_is_exclusive, _encoded(state_dir), cpus.encode(), C.byref(answer))
    return bool(answer.value)


def container_is_placed(uid: str, container: str, cgroup: Union[str, os.PathLike],
                        state_dir: Union[str, os.PathLike, None] = None) -> bool:
    """Returns whether the kernel agrees with the decision for a container, whose program does not run yet."""
    answer = C.c_int()
    _call(_lib().pinfold_container_is_placed, _encoded(state_dir), uid.encode(), container.encode(), _encoded(cgroup),
          C.byref(answer))
    return bool(answer.value)


class Fleet(_Handle):
    """Many nodes, as their NodeResourceTopology objects describe them: for schedulers. A context manager."""

    _close = "pinfold_fleet_close"

    def __init__(self, topologies: Manifest, ignored_resources: Iterable[str] = ()):
        super().__init__()
        ignored = ",".join(ignored_resources)
        _call(_lib().pinfold_fleet_open, _manifest(topologies), ignored.encode() if ignored else None, C.byref(self._handle))

    def predict(self, manifest: Manifest, scoring: Optional[str] = None) -> dict[str, Any]:
        """Returns an element of the output of `pinfold predict -o json`. Errors: RejectedError, with it as `result`."""
        out = C.c_void_p()
        return _call(_lib().pinfold_fleet_predict, self._handle, _manifest(manifest), _encoded(scoring), C.byref(out),
                     read=lambda: _json_of(out))

    def place(self, manifest: Manifest, node_name: str) -> None:
        """Places a pod on a node, so that later predictions find less room there."""
        _call(_lib().pinfold_fleet_place_pod, self._handle, _manifest(manifest), node_name.encode())

    def remove(self, pod_uid: str) -> None:
        _call(_lib().pinfold_fleet_remove_pod, self._handle, pod_uid.encode())
