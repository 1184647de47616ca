"""An API server that holds nodes, pods and NodeResourceTopologies, and fails as real ones do.

Lists with pages and continuations, watches with resource versions, bookmarks and time limits, 410
for versions that it no longer has. Server-side apply of NodeResourceTopologies, with one manager
for all of an object; merge patches of pods. Failures are switched on by the attributes of
FakeApiServer.
"""

import http.server
import json
import re
import ssl
import threading
import time
import urllib.parse

PATHS = {
    "/api/v1/nodes": "nodes",
    "/api/v1/pods": "pods",
    "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies": "noderesourcetopologies",
}

ONE_OBJECT = re.compile(r"(/api/v1/nodes|/api/v1(?=/namespaces/)|/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies)"
                        r"(?:/namespaces/(?P<namespace>[^/]+)/pods)?/(?P<name>[^/]+)$")


def parse_object_path(path):
    """Returns kind and name; None for another path."""
    match = ONE_OBJECT.match(path)
    if match is None:
        return None, None
    return PATHS.get(match[1], "pods"), match["name"]


def first_choice(handler):
    """Returns the form of the answer that the client prefers."""
    return handler.headers["Accept"].split(",")[0]


class FakeApiServer:
    def __init__(self, certificate=None, key=None):
        self.changed = threading.Condition()
        self.version = 100
        self.oldest = 100  # events before it are gone
        self.objects = {kind: {} for kind in PATHS.values()}
        self.events = {kind: [] for kind in PATHS.values()}  # (version, type, object)
        self.requests = []  # (kind, query) of every request for many objects
        self.patches = []  # (kind, name) of every patch, refused ones included
        self.managers = {}  # name of a NodeResourceTopology to the manager of its fields
        self.continuations = {}
        self.token = None  # the only one that is accepted
        self.status = {}  # kind to the status of all answers
        self.generation = 0  # watches of an earlier one end
        self.bookmark_seconds = 0.2
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.server.daemon_threads = True
        self.server.handle_error = lambda *_: None  # clients that end a connection
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def close(self):
        self.drop_watches()
        self.server.shutdown()
        self.server.server_close()

    # What happens in the cluster.

    def put(self, kind, name, body, manager="the test"):
        with self.changed:
            self.version += 1
            known = name in self.objects[kind]
            metadata = {**body.get("metadata", {}), "name": name, "resourceVersion": str(self.version)}
            made = {**body, "metadata": metadata}
            self.objects[kind][name] = made
            if kind == "noderesourcetopologies":
                self.managers[name] = manager
            self.events[kind].append((self.version, "MODIFIED" if known else "ADDED", made))
            self.changed.notify_all()

    def delete(self, kind, name):
        with self.changed:
            self.version += 1
            gone = self.objects[kind].pop(name)
            gone["metadata"]["resourceVersion"] = str(self.version)
            self.events[kind].append((self.version, "DELETED", gone))
            self.changed.notify_all()

    def compact(self):
        """Forgets all events, as etcd does: older versions and continuations are gone."""
        with self.changed:
            self.oldest = self.version
            self.continuations.clear()
            for events in self.events.values():
                events.clear()

    def drop_watches(self):
        with self.changed:
            self.generation += 1
            self.changed.notify_all()

    def count(self, kind, watch):
        with self.changed:
            return sum(1 for k, query in self.requests if k == kind and ("watch" in query) == watch)

    # How it answers.

    def handler(self):
        fake = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                url = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(url.query))
                kind = PATHS.get(url.path)
                one, name = parse_object_path(url.path)
                if kind:
                    fake.note(kind, query)
                if self.is_refused(kind or one):
                    return None
                if name:
                    return fake.get(self, one, name)
                if "watch" in query:
                    return fake.watch(self, kind, query)
                return fake.list(self, kind, query)

            def do_PATCH(self):
                url = urllib.parse.urlsplit(self.path)
                kind, name = parse_object_path(url.path)
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with fake.changed:
                    fake.patches.append((kind, name))
                if self.is_refused(kind):
                    return None
                manager = dict(urllib.parse.parse_qsl(url.query)).get("fieldManager")
                patch = {"noderesourcetopologies": fake.apply, "pods": fake.merge}[kind]
                return patch(self, name, json.loads(body), manager)

            def is_refused(self, kind):
                expected = f"Bearer {fake.token}"
                if fake.token and self.headers.get("Authorization") != expected:
                    self.fail(401, "Unauthorized")
                elif kind is None:
                    self.fail(404, "the server could not find the requested resource")
                elif kind in fake.status:
                    self.fail(fake.status[kind], "as the test wants")
                else:
                    return False
                return True

            def expect_type(self, expected):
                if self.headers["Content-Type"] == expected:
                    return True
                self.fail(415, f"expected {expected}")
                return False

            def fail(self, status, message, causes=()):
                self.send(status, {"kind": "Status", "code": status, "message": message,
                                   "details": {"causes": list(causes)}})

            def send(self, status, body):
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def chunk(self, line):
                text = json.dumps(line).encode() + b"\n"
                self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))
                self.wfile.flush()

        return Handler

    def note(self, kind, query):
        with self.changed:
            self.requests.append((kind, query))
            self.changed.notify_all()

    def get(self, handler, kind, name):
        with self.changed:
            found = self.objects[kind].get(name)
        return handler.send(200, found) if found else handler.fail(404, f'{kind} "{name}" not found')

    def apply(self, handler, name, body, manager):
        if not handler.expect_type("application/apply-patch+yaml"):
            return None
        kind = "noderesourcetopologies"
        with self.changed:
            found = self.objects[kind].get(name)
            fields = {key: value for key, value in body.items() if key != "metadata"}
            is_same = found and all(found.get(key) == value for key, value in fields.items())
            if found and self.managers[name] != manager and not is_same:
                return handler.fail(409, f'Apply failed with 1 conflict: conflict with "{self.managers[name]}": .zones',
                                    [{"reason": "FieldManagerConflict", "field": ".zones"}])
        self.put(kind, name, body, manager)
        return handler.send(200 if found else 201, body)

    def merge(self, handler, name, body, _):
        if not handler.expect_type("application/merge-patch+json"):
            return None
        with self.changed:
            found = self.objects["pods"].get(name)
        if found is None:
            return handler.fail(404, f'pods "{name}" not found')
        if body["metadata"].get("uid", found["metadata"]["uid"]) != found["metadata"]["uid"]:
            return handler.fail(422, f'Pod "{name}" is invalid: metadata.uid: Invalid value: field is immutable')
        annotations = {**found["metadata"].get("annotations", {}), **body["metadata"]["annotations"]}
        self.put("pods", name, {**found, "metadata": {**found["metadata"], "annotations": annotations}})
        return handler.send(200, {})

    def list(self, handler, kind, query):
        if ";as=PartialObjectMetadata;" in first_choice(handler):
            return handler.fail(406, "you requested PartialObjectMetadata, but the requested object is a list")
        limit = int(query.get("limit", "0")) or 1 << 30
        with self.changed:
            if "continue" in query:
                rest = self.continuations.pop(query["continue"], None)
                if rest is None:
                    return handler.fail(410, "The provided continue parameter is too old")
                version, items = rest
            else:
                version, items = self.version, list(self.objects[kind].values())
            metadata = {"resourceVersion": str(version)}
            if len(items) > limit:
                metadata["continue"] = f"{kind}/{len(self.requests)}=+"
                self.continuations[metadata["continue"]] = (version, items[limit:])
        handler.send(200, {"kind": "List", "metadata": metadata, "items": items[:limit]})

    def watch(self, handler, kind, query):
        since = int(query["resourceVersion"])
        end = time.monotonic() + int(query.get("timeoutSeconds", "300"))
        if since < self.oldest:
            return handler.fail(410, "too old resource version")
        expects_lists = ";as=PartialObjectMetadataList;" in first_choice(handler)
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        with self.changed:
            generation = self.generation
        while True:
            with self.changed:
                news = [event for event in self.events[kind] if event[0] > since]
                if not news and self.generation == generation:
                    self.changed.wait(self.bookmark_seconds)
                    news = [event for event in self.events[kind] if event[0] > since]
                over = self.generation != generation
                gone = since < self.oldest
                version = self.version
            if expects_lists:
                break  # no event and no bookmark can be converted to a list
            if over:
                handler.close_connection = True  # without a last chunk, as a lost connection
                return None
            if gone:
                handler.chunk({"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}})
                break
            for number, what, body in news:
                handler.chunk({"type": what, "object": body})
                since = number
            if not news:
                handler.chunk({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": str(version)}}})
                since = version
            if time.monotonic() > end:
                break
        handler.wfile.write(b"0\r\n\r\n")
        return None
