#include <pinfold/pinfold.h>
#include <stdio.h>

static const char kPod[] =
    "metadata: {name: db, uid: db-1}\n"
    "spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]}\n";

int main(int argc, char** argv) {
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  pinfold_container main_container = PINFOLD_CONTAINER_INIT;
  pinfold_node* node = NULL;
  pinfold_pod* pod = NULL;
  char* error = NULL;
  if (argc != 3) return 2;
  options.flags = PINFOLD_NODE_NO_ENFORCE; /* without it: cgroups below options.cgroup_root */
  options.state_dir = argv[1];
  options.machine = argv[2]; /* NULL: this machine */
  options.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  if (pinfold_node_open(&options, &node, &error) != PINFOLD_OK ||
      !pinfold_is_done(pinfold_pod_admit(node, kPod, &pod, &error)) ||
      pinfold_pod_find_container(pod, "main", &main_container, &error) != PINFOLD_OK) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  printf("%s: cpus %s, shares %llu\n", main_container.name, main_container.cpus,
         (unsigned long long)main_container.cpu_shares);
  pinfold_pod_free(pod);
  if (!pinfold_is_done(pinfold_pod_remove(node, "db-1", 0, &error))) return 1;
  pinfold_node_close(node);
  return 0;
}
