/* The libraries that libpinfold loads on demand, when they cannot be loaded; see
 * check_without_libraries. Usage: without_libraries STATE REASON */
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

static const char kMachine[] =
    "{\"name\":\"n\",\"cpus\":[{\"id\":0,\"core\":0,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":1,\"core\":1,\"socket\":0,\"numa\":0,\"l3\":0}],"
    "\"numaNodes\":[{\"id\":0,\"memory\":4294967296,\"hugepages\":{}}],\"devices\":[]}";

/* Opens a node; returns the message, "" for none. It is only valid until the next call. */
static const char* open_node(const pinfold_node_options* options, pinfold_code expected) {
  static char message[1024];
  pinfold_node* node = NULL;
  char* error = NULL;
  CHECK(pinfold_node_open(options, &node, &error) == expected);
  (void)snprintf(message, sizeof(message), "%s", error == NULL ? "" : error);
  (void)puts(message);
  pinfold_free(error);
  pinfold_node_close(node);
  return message;
}

int main(int argc, char** argv) {
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  const char* message;
  if (argc != 3) return 2;
  options.state_dir = argv[1];
  options.socket = "";
  options.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  options.flags = PINFOLD_NODE_NO_ENFORCE;
  options.machine = kMachine;
  CHECK(strcmp(open_node(&options, PINFOLD_OK), "") == 0);

  options.machine = "core:2 pu:1";
  message = open_node(&options, PINFOLD_UNSUPPORTED);
  CHECK(strstr(message, "library 'libhwloc.so.15', needed to read hwloc's topologies") != NULL);
  CHECK(strstr(message, argv[2]) != NULL);

  options.machine = kMachine;
  options.flags = 0;
  message = open_node(&options, PINFOLD_UNSUPPORTED);
  CHECK(strstr(message, "no cgroup root given, and enforcement is on: ") != NULL);
  CHECK(strstr(message, "library 'libcgroup.so.2', needed to find the control groups") != NULL);
  CHECK(strstr(message, argv[2]) != NULL);
  return failures == 0 ? 0 : 1;
}
