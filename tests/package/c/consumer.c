#include <pinfold/pinfold.h>
#include <stdio.h>

static const char kMachine[] =
    "{\"name\":\"n\",\"cpus\":["
    "{\"id\":0,\"core\":0,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":1,\"core\":1,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":2,\"core\":2,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":3,\"core\":3,\"socket\":0,\"numa\":0,\"l3\":0}],"
    "\"numaNodes\":[{\"id\":0,\"memory\":4294967296,\"hugepages\":{}}],\"devices\":[]}";
static const char kPod[] =
    "metadata: {name: db, uid: db-1}\n"
    "spec: {containers: [{name: main, resources: {limits: {cpu: 2, memory: 1Gi}}}]}\n";

int main(void) {
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  pinfold_container container = PINFOLD_CONTAINER_INIT;
  pinfold_node* node = NULL;
  pinfold_pod* pod = NULL;
  char* error = NULL;
  options.flags = PINFOLD_NODE_NO_ENFORCE;
  options.state_dir = "consumer-state";
  options.machine = kMachine;
  options.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  if (pinfold_node_open(&options, &node, &error) != PINFOLD_OK ||
      pinfold_pod_admit(node, kPod, &pod, &error) != PINFOLD_OK ||
      pinfold_pod_find_container(pod, "main", &container, &error) != PINFOLD_OK) {
    fprintf(stderr, "%s\n", error);
    return 1;
  }
  printf("main: %s\n", container.cpus);
  pinfold_pod_free(pod);
  pinfold_node_close(node);
  return 0;
}
