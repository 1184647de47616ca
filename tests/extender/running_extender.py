"""pinfold-extender as a process, and objects of a cluster for it."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import tempfile

from waiting import SECONDS


def zone(name, cpus, available):
    return {"name": name, "type": "Node",
            "resources": [{"name": "cpu", "capacity": str(cpus), "allocatable": str(cpus), "available": str(available)}]}


def topology(first, second, policy="single-numa-node"):
    return {"kind": "NodeResourceTopology", "apiVersion": "topology.node.k8s.io/v1alpha2",
            "attributes": [{"name": "topologyManagerPolicy", "value": policy},
                           {"name": "topologyManagerScope", "value": "pod"}],
            "zones": [zone("node-0", 8, first), zone("node-1", 8, second)]}


def pod(name, cpus, node=None):
    amounts = {"cpu": str(cpus), "memory": "1Gi"}
    spec = {"containers": [{"name": "c", "resources": {"requests": amounts, "limits": amounts}}]}
    if node:
        spec["nodeName"] = node
    return {"metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}"}, "spec": spec,
            "status": {"phase": "Pending"}}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Extender:
    """A running program."""

    def __init__(self, program, directory, api, settings=(), user="{}", cluster=""):
        self.port, self.health = free_port(), free_port()
        kubeconfig = os.path.join(directory, "kubeconfig")
        with open(kubeconfig, "w", encoding="utf-8") as file:
            file.write(f"current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
                       f"clusters: [{{name: k, cluster: {{server: '{api.url}'{cluster}}}}}]\n"
                       f"users: [{{name: u, user: {user}}}]\n")
        file = os.path.join(directory, "extender.yaml")
        with open(file, "w", encoding="utf-8") as out:
            defaults = [f"address: 127.0.0.1:{self.port}", f"healthAddress: 127.0.0.1:{self.health}",
                        f"kubeconfig: {kubeconfig}"]
            names = [line.split(":")[0] for line in settings]
            out.write("\n".join([*[line for line in defaults if line.split(":")[0] not in names], *settings]) + "\n")
        self.log = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([program, "--settings", file], stderr=self.log)
        self.tls = None

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(SECONDS)

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def connect(self, port):
        if port == self.port and self.tls:
            return http.client.HTTPSConnection("127.0.0.1", port, timeout=SECONDS, context=self.tls)
        return http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)

    def get(self, path):
        try:
            with contextlib.closing(self.connect(self.health)) as connection:
                connection.request("GET", path)
                answer = connection.getresponse()
                return answer.status, answer.read().decode()
        except OSError:
            return 0, ""

    def post(self, verb, body):
        text = body if isinstance(body, (str, bytes)) else json.dumps(body)
        with contextlib.closing(self.connect(self.port)) as connection:
            connection.request("POST", f"/{verb}", text, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def filter(self, wanted, nodes):
        status, text = self.post("filter", {"Pod": wanted, "Nodes": None, "NodeNames": nodes})
        assert status == 200, text
        return json.loads(text)
