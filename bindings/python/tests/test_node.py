"""Each function of the package is called once on a library that was built: the decisions have tests of their own."""
import json
import logging
import pathlib
import tempfile
import threading
import unittest
import warnings

import pinfold
from pinfold import _ffi

MACHINE = {"name": "n", "numaNodes": [{"id": 0, "memory": 4 << 30}],
           "cpus": [{"id": i, "core": i, "socket": 0, "numa": 0, "l3": 0} for i in range(4)]}
CONFIG = {"cpuManagerPolicy": "static", "reservedSystemCPUs": "0"}


def pod(name, cpus):
    return {"metadata": {"name": name, "uid": f"{name}-1"},
            "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": cpus, "memory": "1Gi"}}}]}}


class NodeTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = pathlib.Path(directory.name)

    def open(self, **options):
        node = pinfold.Node(self.directory / "state", machine=MACHINE, config=CONFIG, enforce=False, **options)
        self.addCleanup(node.close)
        return node

    def test_an_admitted_pod_has_its_resources(self):
        with self.open() as node:
            admitted = node.admit(pod("db", 2))
            self.assertTrue(admitted.is_admitted and not admitted.is_held)
            self.assertEqual((admitted.uid, admitted.namespace, admitted.json["uid"]), ("db-1", "default", "db-1"))
            main = admitted.container("main")
            self.assertEqual((main.cpus, main.exclusive_cpus, main.isolation), ("1-2", "1-2", pinfold.Isolation.CONTAINER))
            self.assertEqual((main.cpu_shares, main.memory_limit_bytes, main.cgroup), (2048, 1 << 30, "poddb-1/main"))
            self.assertRaises(KeyError, admitted.container, "other")
            self.assertEqual(node.pod("default/db"), admitted)
            self.assertEqual(node.pods(), [admitted])
            self.assertEqual(len(node.status()["pods"]), 1)
            node.start("db", "main")
            node.remove_container("default/db", "main")
            node.remove("db-1", kill=True)
            self.assertEqual(node.pods(), [])

    def test_manifests_are_text_or_objects(self):
        node = self.open()
        self.assertEqual(node.admit(json.dumps(pod("a", 1))).name, "a")
        self.assertEqual(node.admit("metadata: {name: b, uid: b}\nspec: {containers: [{name: c}]}").containers[0].name, "c")

    def test_a_rejected_pod_comes_with_the_error(self):
        node = self.open()
        with self.assertRaises(pinfold.RejectedError) as caught:
            node.admit(pod("big", 4))
        self.assertEqual(caught.exception.code, pinfold.Code.REJECTED)
        self.assertEqual(caught.exception.result.reason, "UnexpectedAdmissionError")
        self.assertIn("not enough cpus available", str(caught.exception))
        explained = node.explain(pod("big", 4))
        self.assertFalse(explained.is_admitted)
        self.assertEqual(explained.trace[0]["source"], "cpu")
        with self.assertRaises(pinfold.RejectedError) as caught:
            node.defragment(pod("big", 4), dry_run=True)
        self.assertIsInstance(caught.exception.result, dict)

    def test_a_container_is_resized(self):
        node = self.open()
        self.assertEqual(node.admit(pod("db", 1)).container("main").exclusive_cpus, "1")
        self.assertEqual(node.resize("db", "main", 2000).container("main").exclusive_cpus, "1-2")
        with self.assertRaisesRegex(pinfold.RejectedError, "Infeasible: ") as caught:
            node.resize("db", "main", 1500)
        self.assertEqual(caught.exception.result.container("main").exclusive_cpus, "1-2")

    def test_a_container_takes_two_calls(self):
        node = self.open()
        created = node.create(pod("db", 2), self.directory)
        self.assertEqual((created.uid, created.container("main").exclusive_cpus), ("db-1", "1-2"))
        with self.assertRaises(pinfold.RejectedError) as caught:
            node.create(pod("big", 4), self.directory, container="main")
        self.assertEqual(caught.exception.result.reason, "UnexpectedAdmissionError")
        self.assertRaises(pinfold.NotFoundError, node.create, pod("web", 1), self.directory, container="other")
        node.delete("db-1", "main")
        node.delete("db-1")
        self.assertEqual(node.pods(), [])

    def test_owners_are_read_without_a_node(self):
        state = self.directory / "state"
        self.assertRaises(pinfold.NotFoundError, pinfold.owner_of, 1, state)
        node = self.open()
        node.admit(pod("db", 2))
        self.assertEqual(pinfold.owner_of(1, state), pinfold.Owner("db-1", "main"))
        self.assertIsNone(pinfold.owner_of(3, state))
        self.assertTrue(pinfold.is_exclusive("1-2", state))
        self.assertFalse(pinfold.is_exclusive("1-3", state))
        self.assertRaises(pinfold.InvalidArgumentError, pinfold.is_exclusive, "1-", state)
        for cpus, is_placed in (("1-2", True), ("1-3", False)):
            (self.directory / "cpuset.cpus.effective").write_text(cpus + "\n")
            self.assertEqual(pinfold.container_is_placed("db-1", "main", self.directory, state), is_placed)
        self.assertRaises(pinfold.NotFoundError, pinfold.container_is_placed, "db-1", "main", state, state)

    def test_errors_have_a_class_and_a_message(self):
        node = self.open()
        with self.assertRaisesRegex(pinfold.NotFoundError, "nobody"):
            node.remove("nobody")
        self.assertRaises(ValueError, node.admit, "no: pod")
        node.admit(pod("db", 1))
        self.assertRaises(pinfold.InvalidArgumentError, node.attach, "db", "main", 1)
        self.assertRaises(pinfold.InvalidArgumentError, node.attach_pidfd, "db", "main", -1)
        self.assertRaises(pinfold.InvalidArgumentError, node.adopt, "db", "main", "/nowhere")
        self.assertRaises(pinfold.UnsupportedError, node.reconcile)
        reader = self.open(read_only=True)
        self.assertRaises(pinfold.UnsupportedError, reader.remove, "db")
        self.assertEqual([one.uid for one in reader.pods()], ["db-1"])
        node.close()
        node.close()
        self.assertRaises(pinfold.InvalidArgumentError, node.pods)

    def test_a_warning_is_no_error(self):
        def not_settled(error):
            return _ffi.PINFOLD_NOT_SETTLED

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual(pinfold._call(not_settled, read=lambda: "done"), "done")
        self.assertEqual([one.category for one in caught], [pinfold.NotSettledWarning])

    def test_a_configuration_can_be_planned(self):
        node = self.open()
        node.admit(pod("db", 2))
        plan = node.reconfigure(config={**CONFIG, "reservedSystemCPUs": "3"}, dry_run=True)
        self.assertIn("db-1", json.dumps(plan))
        self.assertEqual(node.pod("db").containers[0].cpus, "1-2")

    def test_the_log_is_called_and_threads_may_share_a_node(self):
        with self.assertLogs("pods", logging.INFO) as lines:
            node = self.open(log=logging.getLogger("pods"))
            cpus = []
            threads = [threading.Thread(target=lambda i=i: cpus.append(node.admit(pod(f"p{i}", 1)).containers[0].cpus))
                       for i in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(sorted(cpus), ["1", "2", "3"])
        self.assertTrue(any("p0" in line for line in lines.output))

    def test_a_fleet_predicts(self):
        zone = {"name": "node-0", "type": "Node",
                "resources": [{"name": "cpu", "capacity": 4, "allocatable": 4, "available": 4}]}
        topology = {"apiVersion": "topology.node.k8s.io/v1alpha2", "kind": "NodeResourceTopology", "metadata": {"name": "a"},
                    "attributes": [{"name": "topologyManagerPolicy", "value": "single-numa-node"}], "zones": [zone]}
        with pinfold.Fleet(topology, ["memory"]) as fleet:
            self.assertIn('"a"', json.dumps(fleet.predict(pod("db", 3))))
            fleet.place(pod("db", 3), "a")
            with self.assertRaises(pinfold.RejectedError) as caught:
                fleet.predict(pod("more", 3), "LeastNUMANodes")
            self.assertIn('"a"', json.dumps(caught.exception.result))
            fleet.remove("db-1")
            self.assertRaises(LookupError, fleet.remove, "db-1")

    def test_the_library_has_a_version(self):
        self.assertRegex(pinfold.version(), r"^\d+\.\d+\.\d+$")


if __name__ == "__main__":
    unittest.main()
