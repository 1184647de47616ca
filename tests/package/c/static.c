/* Machines that libpinfold.a can read in a static program: this one, and none that needs hwloc. */
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <string.h>

static int open_node(const char* machine, const char* expected) {
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  pinfold_node* node = NULL;
  char* error = NULL;
  int holds;
  options.flags = PINFOLD_NODE_NO_ENFORCE;
  options.state_dir = "consumer-state";
  options.machine = machine;
  options.config = "cpuManagerPolicy: none\n";
  (void)pinfold_node_open(&options, &node, &error);
  holds = expected == NULL ? node != NULL : error != NULL && strstr(error, expected) != NULL;
  if (!holds) fprintf(stderr, "%s\n", error == NULL ? "the node is open" : error);
  pinfold_free(error);
  pinfold_node_close(node);
  return holds;
}

int main(void) {
  if (!open_node("core:2 pu:1",
                 "'libhwloc.so.15', needed to read hwloc's topologies and find PCI "
                 "devices: a statically linked program cannot load it")) {
    return 1;
  }
  if (!open_node(NULL, NULL)) return 1;
  printf("this machine\n");
  return 0;
}
