import sys

import pinfold

POD = {"metadata": {"name": "db", "uid": "db-1"},
       "spec": {"containers": [{"name": "main", "resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}]}}

with pinfold.Node(sys.argv[1],
                  enforce=False,  # without it: cgroups below cgroup_root
                  machine=sys.argv[2],  # without it: this machine
                  config="cpuManagerPolicy: static\nreservedSystemCPUs: '0'") as node:
    for container in node.admit(POD).containers:
        print(f"{container.name}: cpus {container.cpus}, shares {container.cpu_shares}")
    node.remove("db-1")
