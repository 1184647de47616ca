/* A CPU comes online while a node is open: the next call discovers the machine again. For a guest
 * with four CPUs. */
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <string.h>

static const char kPod[] =
    "metadata: {name: wide, uid: wide-1}\n"
    "spec: {containers: [{name: main, resources: {limits: {cpu: 3, memory: 8Mi}}}]}\n";

static int failures;

static void check(int holds, const char* what, const char* shown) {
  if (holds) return;
  ++failures;
  fprintf(stderr, "%s does not hold: %s\n", what, shown == NULL ? "(no text)" : shown);
}

static void set_online(const char* value) {
  FILE* const file = fopen("/sys/devices/system/cpu/cpu3/online", "w");
  check(file != NULL && fputs(value, file) >= 0 && fclose(file) == 0, "cpu3/online", value);
}

int main(void) {
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  pinfold_container container = PINFOLD_CONTAINER_INIT;
  pinfold_node* node = NULL;
  pinfold_pod* pod = NULL;
  char* error = NULL;
  options.flags = PINFOLD_NODE_NO_ENFORCE;
  options.state_dir = "/tmp/second-look";
  options.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";

  set_online("0");
  check(pinfold_node_open(&options, &node, &error) == PINFOLD_OK, "open", error);
  if (node == NULL) return 1;
  check(pinfold_pod_explain(node, kPod, &pod, &error) == PINFOLD_REJECTED, "no room", error);
  pinfold_pod_free(pod);
  pinfold_free(error);
  pod = NULL;
  error = NULL;

  set_online("1");
  check(pinfold_pod_admit(node, kPod, &pod, &error) == PINFOLD_OK, "room", error);
  if (pod == NULL) return 1;
  check(pinfold_pod_get_container(pod, 0, &container, &error) == PINFOLD_OK, "container", error);
  check(strcmp(container.cpus, "1-3") == 0, "1-3", container.cpus);
  pinfold_pod_free(pod);
  pinfold_node_close(node);
  if (failures == 0) puts("looked twice");
  return failures == 0 ? 0 : 1;
}
