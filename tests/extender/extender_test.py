#!/usr/bin/python3
"""extender_test.py PROGRAM [TEST ...]: pinfold-extender between a fake API server and calls like kube-scheduler's."""

import contextlib
import json
import os
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

from fake_api_server import FakeApiServer
from running_extender import Extender, pod, topology
from waiting import SECONDS, until

PROGRAM = sys.argv.pop(1)


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)


def certificates(directory):
    """Makes a CA, and certificates of a server and a client; returns their files by name."""
    path = {name: os.path.join(directory, name) for name in
            ("ca.crt", "ca.key", "server.crt", "server.key", "client.crt", "client.key", "extensions")}
    with open(path["extensions"], "w", encoding="utf-8") as file:
        file.write("subjectAltName=IP:127.0.0.1\n")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=ca",
            "-days", "2", "-keyout", path["ca.key"], "-out", path["ca.crt"])
    for who in ("server", "client"):
        request = os.path.join(directory, f"{who}.csr")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={who}",
                "-keyout", path[f"{who}.key"], "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", path["ca.crt"], "-CAkey", path["ca.key"], "-CAcreateserial",
                "-days", "2", "-extfile", path["extensions"], "-out", path[f"{who}.crt"])
    return path


class ExtenderTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.api = FakeApiServer()
        self.addCleanup(self.api.close)

    def start(self, **options):
        extender = Extender(PROGRAM, self.directory, self.api, **options)
        self.addCleanup(extender.log.close)
        self.addCleanup(extender.close)
        return extender

    def start_ready(self, **options):
        extender = self.start(**options)
        until(lambda: extender.get("/readyz")[0] == 200, "ready")
        return extender

    def test_filters_ranks_and_judges_evictions(self):
        self.api.put("nodes", "a", {})
        self.api.put("noderesourcetopologies", "a", topology(8, 8))
        self.api.put("noderesourcetopologies", "b", topology(3, 4))
        extender = self.start_ready()
        result = extender.filter(pod("p", 6), ["a", "b", "unknown"])
        self.assertEqual(result["NodeNames"], ["a", "unknown"])
        self.assertEqual(result["FailedAndUnresolvableNodes"], {"b": "no NUMA node has cpu 6 free (nearest: b: node-1 lacks cpu 2)"})
        status, text = extender.post("prioritize", {"Pod": pod("p", 6), "NodeNames": ["a", "unknown"]})
        self.assertEqual((status, json.loads(text)), (200, [{"Host": "a", "Score": 10}, {"Host": "unknown", "Score": 0}]))
        victims = {"unknown": {"Pods": [{"UID": "x"}], "NumPDBViolations": 0}, "b": {"Pods": [], "NumPDBViolations": 0}}
        status, text = extender.post("preempt", {"Pod": pod("p", 6), "NodeNameToMetaVictims": victims})
        self.assertEqual(list(json.loads(text)["NodeNameToMetaVictims"]), ["unknown"])

    def test_ends_at_sigterm(self):
        extender = self.start_ready()
        self.assertEqual(extender.close(), 0)
        self.assertIn(f"signal {int(signal.SIGTERM)}", extender.said())

    def test_is_not_ready_before_all_lists_are_in(self):
        self.api.status["pods"] = 403
        extender = self.start()
        until(lambda: "status 403" in extender.get("/readyz")[1], "the reason")
        self.assertEqual(extender.get("/readyz")[0], 503)
        self.assertEqual(extender.get("/healthz")[0], 200)
        self.assertIn("not ready: pods: status 403", extender.filter(pod("p", 6), ["a"])["Error"])
        del self.api.status["pods"]
        until(lambda: extender.get("/readyz")[0] == 200, "ready")

    def test_a_bound_pod_takes_its_place_before_the_topology_shows_it(self):
        self.api.put("noderesourcetopologies", "a", topology(8, 0))
        extender = self.start_ready()
        self.assertEqual(extender.filter(pod("p", 6), ["a"])["NodeNames"], ["a"])
        self.api.put("pods", "p", pod("p", 6, "a"))
        until(lambda: "it has cpu 2 of 6" in extender.filter(pod("q", 6), ["a"])["FailedAndUnresolvableNodes"].get("a", ""), "the pod counts")
        self.api.delete("pods", "p")
        until(lambda: extender.filter(pod("q", 6), ["a"])["NodeNames"] == ["a"], "the pod no longer counts")

    def test_survives_lost_watches_and_forgotten_versions(self):
        self.api.put("noderesourcetopologies", "a", topology(8, 8))
        extender = self.start_ready()
        for free in (1, 2, 3):
            lists = self.api.count("noderesourcetopologies", watch=False)
            self.api.drop_watches()
            self.api.put("noderesourcetopologies", "a", topology(free, 0))
            self.api.compact()
            until(lambda: f"it has cpu {free} of 8" in extender.filter(pod("p", 8), ["a"])["FailedAndUnresolvableNodes"].get("a", ""),
                  f"{free} CPUs are free")
            self.assertGreater(self.api.count("noderesourcetopologies", watch=False), lists)

    def test_a_lost_watch_is_resumed_without_a_list(self):
        self.api.put("noderesourcetopologies", "a", topology(8, 8))
        extender = self.start_ready()
        watches = self.api.count("noderesourcetopologies", watch=True)
        self.api.drop_watches()
        until(lambda: self.api.count("noderesourcetopologies", watch=True) > watches, "another watch")
        self.api.put("noderesourcetopologies", "a", topology(1, 1))
        until(lambda: "a" in extender.filter(pod("p", 8), ["a"])["FailedAndUnresolvableNodes"], "the change")
        self.assertEqual(self.api.count("noderesourcetopologies", watch=False), 1)

    def test_watches_nodes_for_their_metadata(self):
        self.api.put("nodes", "a", {})
        extender = self.start_ready()
        self.api.put("nodes", "b", {})
        until(lambda: 'pinfold_extender_objects{kind="nodes"} 2' in extender.get("/metrics")[1], "the node")

    def test_lists_in_pages(self):
        for i in range(1234):
            self.api.put("pods", f"p{i}", pod(f"p{i}", 1, "elsewhere"))
        extender = self.start_ready()
        self.assertIn('pinfold_extender_objects{kind="bound_pods"} 1234', extender.get("/metrics")[1])
        self.assertEqual(self.api.count("pods", watch=False), 3)

    def test_answers_while_the_api_server_is_away(self):
        self.api.put("noderesourcetopologies", "a", topology(8, 8))
        extender = self.start_ready()
        for kind in self.api.objects:
            self.api.status[kind] = 500
        self.api.drop_watches()
        until(lambda: re.search(r"watch_errors\S* [1-9]", extender.get("/metrics")[1]), "errors are counted")
        self.assertEqual(extender.filter(pod("p", 6), ["a"])["NodeNames"], ["a"])

    def test_a_broken_topology_is_named_and_its_node_passes(self):
        broken = topology(8, 8)
        del broken["zones"][0]["resources"][0]["available"]
        self.api.put("noderesourcetopologies", "broken", broken)
        self.api.put("noderesourcetopologies", "a", topology(1, 1))
        extender = self.start_ready()
        self.assertEqual(extender.filter(pod("p", 6), ["a", "broken"])["NodeNames"], ["broken"])
        until(lambda: "node 'broken': nothing is predicted" in extender.said(), "a warning")

    def test_a_rotated_token_is_read_again(self):
        token = os.path.join(self.directory, "token")
        with open(token, "w", encoding="utf-8") as file:
            file.write("first\n")
        self.api.token = "first"
        extender = self.start_ready(user=f"{{tokenFile: {token}}}")
        self.api.token = "second"
        with open(token, "w", encoding="utf-8") as file:
            file.write("second\n")
        self.api.drop_watches()
        self.api.put("noderesourcetopologies", "a", topology(1, 1))
        until(lambda: "a" in extender.filter(pod("p", 6), ["a"])["FailedAndUnresolvableNodes"], "the change")

    def test_garbage_is_answered_with_what_was_expected(self):
        extender = self.start_ready()
        for body in ("", "{", "[]", '{"Pod":5}', "\0" * 1000):
            status, text = extender.post("filter", body)
            self.assertEqual(status, 200)
            self.assertRegex(json.loads(text)["Error"], "expected")
            self.assertEqual(extender.post("prioritize", body)[0], 400)
            self.assertEqual(extender.post("preempt", body)[0], 400)
        self.assertEqual(extender.post("other", "{}")[0], 404)

    def test_a_deeply_nested_request_does_not_end_the_program(self):
        extender = self.start_ready()
        nested = "[" * 1_000_000 + "]" * 1_000_000
        body = f'{{"Pod":{json.dumps(pod("p", 6))},"Nodes":{{"items":[{{"metadata":{{"name":"a"}},"x":{nested}}}]}}}}'
        status, text = extender.post("filter", body)
        self.assertEqual((status, json.loads(text)["Error"]),
                         (200, "pinfold-extender: request: expected JSON of at most 100 levels"))
        self.assertEqual(extender.post("prioritize", body)[0], 400)

    def test_every_metric_is_documented(self):
        self.api.put("nodes", "a", {})
        extender = self.start_ready()
        extender.filter(pod("p", 6), ["a"])
        with open(os.path.join(os.path.dirname(__file__), "../../docs/scheduler.md"), encoding="utf-8") as file:
            page = file.read()
        families = re.findall(r"^# TYPE (\S+)", extender.get("/metrics")[1], re.MULTILINE)
        self.assertGreater(len(families), 8)
        for name in families:
            self.assertRegex(page, f"`({name}|{name.removeprefix('pinfold_extender_watch')})[`{{]")

    def test_five_thousand_nodes_take_less_than_200_mib(self):
        with open(PROGRAM, "rb") as file:
            if b"__asan_init" in file.read():
                self.skipTest("sanitizers need more memory")
        names = [f"node-{i}" for i in range(5_000)]
        for name in names:
            self.api.put("nodes", name, {})
            self.api.put("noderesourcetopologies", name, topology(8, 4))
        for i in range(10_000):
            self.api.put("pods", f"p{i}", pod(f"p{i}", 1 + i % 6, names[i % 5_000]))
        extender = self.start_ready()
        for i in range(100):
            self.assertEqual(len(extender.filter(pod(f"q{i}", 2), names)["NodeNames"]), 5_000)
        with open(f"/proc/{extender.process.pid}/status", encoding="utf-8") as file:
            most = int(re.search(r"VmHWM:\s+(\d+) kB", file.read())[1])
        self.assertLess(most, 200 << 10)

    def test_a_request_that_is_too_large_is_refused(self):
        extender = self.start_ready()
        with contextlib.closing(extender.connect(extender.port)) as connection:
            connection.putrequest("POST", "/filter")
            connection.putheader("Content-Length", str(33 << 20))
            connection.endheaders()
            answer = connection.getresponse()
            self.assertEqual(answer.status, 413)
            self.assertIn("expected at most 33554432 bytes", answer.read().decode())

    def test_slow_clients_delay_nobody(self):
        self.api.put("noderesourcetopologies", "a", topology(8, 8))
        extender = self.start_ready()
        slow = []
        for i in range(400):  # more than the limit of connections
            client = socket.create_connection(("127.0.0.1", extender.port))
            client.sendall(b"POST /filter HTTP/1.1\r\nContent-Length: 100\r\n"[:1 + i % 40])
            slow.append(client)
        self.assertEqual(extender.filter(pod("p", 6), ["a"])["NodeNames"], ["a"])
        for client in slow:
            client.close()

    def test_tls_needs_a_certificate_of_the_client(self):
        files = certificates(self.directory)
        tls = (f"tls: {{certificate: {files['server.crt']}, key: {files['server.key']}, "
               f"clientCa: {files['ca.crt']}}}")
        extender = self.start_ready(settings=[tls])
        extender.tls = ssl.create_default_context(cafile=files["ca.crt"])
        with self.assertRaises(OSError):
            extender.filter(pod("p", 6), ["a"])
        until(lambda: "expected a client with a certificate" in extender.said(), "a message")
        extender.tls.load_cert_chain(files["client.crt"], files["client.key"])
        self.assertEqual(extender.filter(pod("p", 6), ["a"])["NodeNames"], ["a"])

    def test_a_client_that_resumes_a_session_shows_its_certificate_again(self):
        files = certificates(self.directory)
        tls = (f"tls: {{certificate: {files['server.crt']}, key: {files['server.key']}, "
               f"clientCa: {files['ca.crt']}}}")
        extender = self.start_ready(settings=[tls])
        client = ssl.create_default_context(cafile=files["ca.crt"])
        client.load_cert_chain(files["client.crt"], files["client.key"])
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            client.maximum_version = version
            session = None
            for _ in range(2):
                with socket.create_connection(("127.0.0.1", extender.port)) as plain:
                    with client.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as connection:
                        connection.sendall(b"GET /filter HTTP/1.1\r\nConnection: close\r\n\r\n")
                        self.assertIn(b"405", connection.recv(1000))
                        self.assertFalse(connection.session_reused)
                        session = connection.session

    def test_verifies_the_api_server(self):
        files = certificates(self.directory)
        self.api.close()
        self.api = FakeApiServer(files["server.crt"], files["server.key"])
        self.addCleanup(self.api.close)
        stranger = self.start()
        until(lambda: "certificate" in stranger.get("/readyz")[1], "the server is not trusted")
        stranger.close()
        self.start_ready(cluster=f", certificate-authority: {files['ca.crt']}")

    def test_says_what_is_wrong_with_the_settings(self):
        for line, message in (("adress: x", "did you mean 'address'"), ("scoring: Best", "expected LeastNUMANodes"),
                              ("logLevel: loud", "expected debug")):
            extender = self.start(settings=[line])
            self.assertEqual(extender.process.wait(SECONDS), 2, line)
            self.assertIn(message, extender.said())

    def test_checks_addresses_and_certificates_before_it_watches(self):
        files = certificates(self.directory)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            self.api.close()  # a watch would say so
            for line, message in (("healthAddress: nowhere", "healthAddress: address 'nowhere': expected an IP address"),
                                  (f"healthAddress: '127.0.0.1:{port}'", f"healthAddress: listen at '127.0.0.1:{port}': Address already in use"),
                                  (f"address: '127.0.0.1:{port}'", f"listen at '127.0.0.1:{port}': Address already in use"),
                                  (f"healthAddress: '127.0.0.1:{port}'\naddress: '127.0.0.1:{port}'", "expected another address than 'address'"),
                                  ("tls: {certificate: /none, key: /none}", "certificate: read '/none': No such file or directory"),
                                  (f"tls: {{certificate: {files['server.key']}, key: /none}}", "expected a file in PEM"),
                                  (f"tls: {{certificate: {files['server.crt']}, key: {files['client.key']}}}", "the key of the certificate"),
                                  (f"tls: {{certificate: {files['server.crt']}, key: {files['server.key']}, clientCa: {files['server.key']}}}",
                                   "client CA")):
                extender = self.start(settings=line.split("\n"))
                self.assertEqual(extender.process.wait(SECONDS), 2, line)
                self.assertIn(message, extender.said())
                self.assertEqual(extender.said().count("\n"), 1, extender.said())


if __name__ == "__main__":
    unittest.main(verbosity=2)
