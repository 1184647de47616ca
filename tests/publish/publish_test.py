#!/usr/bin/python3
"""publish_test.py PINFOLD_SERVE [TEST ...]: the service publishes its node to a fake API server."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "extender"))
from fake_api_server import FakeApiServer  # pylint: disable=wrong-import-position
from waiting import SECONDS, until  # pylint: disable=wrong-import-position

PROGRAM = os.path.abspath(sys.argv.pop(1))
OBSERVED = "kai.scheduler/numa-placement-observed"
GROUPS = "kai.scheduler/numa-memory-groups-observed"
TOPOLOGIES = "noderesourcetopologies"

MACHINE = {
    "name": "host-1",
    "cpus": [{"id": i, "core": i, "socket": i // 4, "numa": i // 4, "l3": i // 4} for i in range(8)],
    "numaNodes": [{"id": 0, "memory": 2 << 30, "hugepages": {}}, {"id": 1, "memory": 2 << 30, "hugepages": {}}],
    "devices": [],
}
CONFIG = {
    "cpuManagerPolicy": "static", "reservedSystemCPUs": "0", "topologyManagerPolicy": "single-numa-node",
    "memoryManagerPolicy": "Static", "systemReserved": {"memory": "64Mi"},
    "evictionHard": {"memory.available": "64Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "128Mi"}}],
}


def pod(name, cpus, uid=None):
    amounts = {"cpu": str(cpus), "memory": "256Mi"}
    return {"kind": "Pod", "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "default", "uid": uid or f"uid-{name}"},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": amounts, "limits": amounts}}]}}


class Service:
    """`pinfold-serve` on a recorded machine, without cgroups."""

    def __init__(self, directory, settings):
        self.directory = directory
        for name, content in (("machine.json", MACHINE), ("config.yaml", CONFIG),
                              ("agent.yaml", {"stateDir": "state", "config": "config.yaml", "machine": "machine.json",
                                              "enforce": False, "socket": "agent.sock",
                                              "metricsAddress": "127.0.0.1:0", **settings})):
            with open(os.path.join(directory, name), "w", encoding="utf-8") as out:
                json.dump(content, out)
        self.log = open(os.path.join(directory, "log"), "w+", encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if name != "NODE_NAME"}
        self.process = subprocess.Popen([PROGRAM, "--settings", "agent.yaml", "--insecure-state-dir"],
                                        stderr=self.log, cwd=directory, env=environment)

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
        status = self.process.wait(SECONDS)
        self.log.close()
        return status

    def said(self):
        with open(os.path.join(self.directory, "log"), encoding="utf-8") as log:
            return log.read()

    def ask(self, request):
        path = os.path.join(self.directory, "agent.sock")
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(SECONDS)
            client.connect(path)
            with client.makefile("rw") as lines:
                for line in ({"hello": {"version": 2}}, request):
                    lines.write(json.dumps(line) + "\n")
                    lines.flush()
                    answer = json.loads(lines.readline())
        return answer

    def admit(self, manifest):
        answer = self.ask({"admit": {"manifests": [manifest], "trace": False}})
        assert answer["admissions"]["outcomes"][0]["rejection"] is None, answer

    def remove(self, name):
        answer = self.ask({"remove": {"podUid": f"uid-{name}", "kill": False}})
        assert "change" in answer, answer

    def metric(self, name):
        port = re.search(r"serves metrics at '[^']*', port (\d+)", self.said())[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=SECONDS) as answer:
            found = re.search(rf"^{name} (\S+)$", answer.read().decode(), re.M)
        return found and float(found[1])


class PublishTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.api = FakeApiServer()
        self.addCleanup(self.api.close)
        self.api.put("nodes", "worker-1", {"metadata": {"uid": "uid-of-node"}})

    def kubeconfig(self, user="{}"):
        path = os.path.join(self.directory, "kubeconfig")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"current-context: c\ncontexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
                       f"clusters: [{{name: k, cluster: {{server: '{self.api.url}'}}}}]\n"
                       f"users: [{{name: u, user: {user}}}]\n")
        return path

    def start(self, user="{}", **settings):
        publish = {"nodeName": "worker-1", "kubeconfig": self.kubeconfig(user), **settings}
        return self.run_with({"publish": publish})

    def run_with(self, settings):
        service = Service(self.directory, settings)
        self.addCleanup(service.close)
        return service

    def start_serving(self, **options):
        service = self.start(**options)
        until(lambda: "serves state directory" in service.said(), "it serves")
        return service

    def topology(self):
        with self.api.changed:
            return self.api.objects[TOPOLOGIES].get("worker-1")

    def available(self, zone):
        topology = self.topology()
        if topology is None:
            return None
        resources = topology["zones"][zone]["resources"]
        return next(one["available"] for one in resources if one["name"] == "cpu")

    def annotations(self, name):
        with self.api.changed:
            return self.api.objects["pods"][name]["metadata"].get("annotations", {})

    def test_publishes_the_topology_with_policies_and_owner(self):
        self.start()
        until(self.topology, "the topology")
        topology = self.topology()
        self.assertEqual({one["name"]: one["value"] for one in topology["attributes"]},
                         {"topologyManagerPolicy": "single-numa-node", "topologyManagerScope": "container",
                          "cpuManagerPolicy": "static", "memoryManagerPolicy": "Static"})
        self.assertEqual([zone["name"] for zone in topology["zones"]], ["node-0", "node-1"])
        self.assertEqual((self.available(0), self.available(1)), ("3", "4"))
        self.assertEqual(topology["metadata"]["ownerReferences"],
                         [{"apiVersion": "v1", "kind": "Node", "name": "worker-1", "uid": "uid-of-node"}])

    def test_publishes_every_change_and_each_placement(self):
        service = self.start_serving()
        self.api.put("pods", "p", pod("p", 4))
        service.admit(pod("p", 4))
        until(lambda: self.available(1) == "0", "the CPUs are in use")
        until(lambda: OBSERVED in self.annotations("p"), "the placement")
        self.assertEqual(json.loads(self.annotations("p")[OBSERVED]),
                         [{"zone": "node-1", "amount": {"cpu": "4", "memory": "256Mi"}}])
        self.assertEqual(json.loads(self.annotations("p")[GROUPS]),
                         [{"memoryNodes": ["node-1"], "amount": {"memory": str(256 << 20)}}])
        self.api.delete("pods", "p")
        service.remove("p")
        until(lambda: self.available(1) == "4", "the CPUs are free again")
        self.assertGreaterEqual(service.metric("pinfold_publish_topologies_total"), 2)
        self.assertEqual(service.metric("pinfold_publish_placements_total"), 1)
        self.assertEqual(service.close(), 0)

    def test_publishes_no_placements_if_they_are_off(self):
        service = self.start_serving(placements=False)
        self.api.put("pods", "p", pod("p", 4))
        service.admit(pod("p", 4))
        until(lambda: self.available(1) == "0", "the CPUs are in use")
        until(lambda: service.metric("pinfold_publish_pending") == 0, "all is written")
        self.assertEqual(self.annotations("p"), {})

    def test_never_annotates_a_later_pod_of_the_same_name(self):
        service = self.start_serving()
        self.api.put("pods", "p", pod("p", 4, uid="another"))
        service.admit(pod("p", 4))
        until(lambda: ("pods", "p") in self.api.patches, "the attempt")
        until(lambda: service.metric("pinfold_publish_pending") == 0, "nothing is pending")
        self.assertEqual(self.annotations("p"), {})
        self.assertEqual(service.metric("pinfold_publish_rejections_total"), 0)

    def test_publishes_nothing_without_the_section(self):
        service = self.run_with({})
        until(lambda: "serves state directory" in service.said(), "it serves")
        service.admit(pod("p", 4))
        self.assertIsNone(service.metric("pinfold_publish_topologies_total"))
        self.assertEqual(self.api.patches, [])

    def test_serves_while_the_api_server_is_away_and_publishes_when_it_returns(self):
        self.api.status["nodes"] = 500
        service = self.start_serving()
        service.admit(pod("p", 4))
        until(lambda: service.metric("pinfold_publish_failures_total"), "failures are counted")
        self.assertIn("not published: nodes 'worker-1': status 500: as the test wants", service.said())
        del self.api.status["nodes"]
        until(lambda: self.available(1) == "0", "the topology")
        self.api.status[TOPOLOGIES] = 503
        service.remove("p")
        until(lambda: f"{TOPOLOGIES} 'worker-1': status 503" in service.said(), "the next failure is named")
        self.assertGreaterEqual(service.metric("pinfold_publish_pending"), 1)
        del self.api.status[TOPOLOGIES]
        until(lambda: self.available(1) == "4", "the change")

    def test_serves_without_any_api_server(self):
        self.api.close()
        service = self.start_serving()
        service.admit(pod("p", 4))
        until(lambda: "not published: GET '" in service.said(), "it is named")
        self.assertEqual(service.close(), 0)

    def test_leaves_the_topology_of_another_exporter_alone(self):
        other = {"zones": [{"name": "node-0", "type": "Node"}]}
        self.api.put(TOPOLOGIES, "worker-1", other, manager="nfd-topology-updater")
        service = self.start_serving()
        until(lambda: "another exporter owns it" in service.said(), "it is named")
        self.assertIn("nfd-topology-updater", service.said())
        self.assertEqual(self.topology()["zones"], other["zones"])
        until(lambda: service.metric("pinfold_publish_foreign") == 1, "it is counted")
        self.api.delete(TOPOLOGIES, "worker-1")
        service.admit(pod("p", 4))
        until(lambda: self.available(1) == "0", "it is published once the other object is gone")
        until(lambda: service.metric("pinfold_publish_foreign") == 0, "it is no longer counted")

    def test_a_role_that_lacks_a_right_is_named_and_stops_nothing_else(self):
        self.api.status["pods"] = 403
        service = self.start_serving()
        self.api.put("pods", "p", pod("p", 4))
        service.admit(pod("p", 4))
        until(lambda: "pods 'default/p': status 403" in service.said(), "it is named")
        self.assertIn("expected a role that allows 'create' and 'patch' of them", service.said())
        service.remove("p")
        until(lambda: self.available(1) == "4" and service.metric("pinfold_publish_pending") == 0, "the topology")
        self.assertEqual(service.metric("pinfold_publish_rejections_total"), 1)

    def test_a_rotated_token_is_read_again(self):
        token = os.path.join(self.directory, "token")
        with open(token, "w", encoding="utf-8") as file:
            file.write("first\n")
        self.api.token = "first"
        service = self.start_serving(user=f"{{tokenFile: {token}}}")
        until(self.topology, "the topology")
        self.api.token = "second"
        with open(token, "w", encoding="utf-8") as file:
            file.write("second\n")
        service.admit(pod("p", 4))
        until(lambda: self.available(1) == "0", "the change")

    def test_names_a_node_that_the_cluster_does_not_have(self):
        service = self.start_serving(nodeName="worker-2")
        until(lambda: "nodes 'worker-2': not found; expected the name of this node in publish.nodeName" in service.said(),
              "it is named")

    def test_the_name_of_the_node_is_that_of_the_machine(self):
        self.api.put("nodes", "host-1", {"metadata": {"uid": "uid-of-host"}})
        self.run_with({"publish": {"kubeconfig": self.kubeconfig()}})
        until(lambda: "host-1" in self.api.objects[TOPOLOGIES], "the topology")

    def test_says_what_is_wrong_with_the_settings(self):
        for settings, message in (({"publish": {}}, "publish: not in a Pod"),
                                  ({"publish": {"kubeconfig": "/none"}}, "publish: read '/none'"),
                                  ({"publish": {"kubeconfig": self.kubeconfig()},
                                    "nri": {"podLevelResources": "none", "mode": "observe"}}, "expected 'nri.mode: enforce'")):
            service = self.run_with(settings)
            self.assertNotEqual(service.process.wait(SECONDS), 0)
            self.assertIn(message, service.said())


if __name__ == "__main__":
    unittest.main(verbosity=2)
