/* The stub where libpinfold.so.0 cannot be loaded. */
#include <pinfold/pinfold.h>
#include <string.h>

#include "check.h"

int main(void) {
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  pinfold_node* node = NULL;
  char* error = NULL;
  CHECK(pinfold_node_open(&options, &node, &error) == PINFOLD_UNSUPPORTED);
  CHECK(error != NULL && strstr(error, "pinfold_node_open: ") == error);
  CHECK(error != NULL && strstr(error, "libpinfold.so.0: ") != NULL);
  CHECK(node == NULL);
  pinfold_free(error);
  CHECK(pinfold_node_open(&options, &node, NULL) == PINFOLD_UNSUPPORTED);
  CHECK(strcmp(pinfold_version(), "") == 0);
  CHECK(pinfold_version_number() == 0);
  CHECK(pinfold_pod_list_pod(NULL, 0) == NULL);
  CHECK(strcmp(pinfold_pod_uid(NULL), "") == 0);
  pinfold_node_close(NULL);
  pinfold_pod_free(NULL);
  return failures == 0 ? 0 : 1;
}
