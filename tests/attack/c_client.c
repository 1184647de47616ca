/* c_client VERB: acts like `pinfold` on the node in ./node.json, through the C interface. Verbs:
 * admit (the pod in ./db.yaml), remove (the pod "u-web"), status. With PINFOLD_ATTACK_ROOT it
 * writes to the kernel. */
#include <pinfold/pinfold.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int report(const char* what, const char* error) {
  fprintf(stderr, "%s: %s\n", what, error == NULL ? "no memory" : error);
  return 1;
}

/* The whole of a small file, or NULL. */
static char* content_of(const char* path) {
  static char text[1 << 16];
  FILE* const file = fopen(path, "r");
  size_t size = 0;
  if (file == NULL) return NULL;
  size = fread(text, 1, sizeof text - 1, file);
  text[size] = '\0';
  const int failed = ferror(file);
  return fclose(file) != 0 || failed ? NULL : strdup(text);
}

static pinfold_code run(pinfold_node* node, const char* verb, char** error) {
  pinfold_pod* pod = NULL;
  char* text = NULL;
  pinfold_code code = PINFOLD_INVALID_ARGUMENT;
  if (strcmp(verb, "remove") == 0) return pinfold_pod_remove(node, "u-web", 0, error);
  if (strcmp(verb, "status") == 0) {
    code = pinfold_node_get_status(node, &text, error);
    pinfold_free(text);
    return code;
  }
  text = content_of("db.yaml");
  if (text == NULL) return code;
  code = pinfold_pod_admit(node, text, &pod, error);
  pinfold_pod_free(pod);
  free(text);
  return code;
}

int main(int argc, char** argv) {
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  pinfold_node* node = NULL;
  char* error = NULL;
  char* const machine = content_of("node.json");
  if (argc != 2 || machine == NULL) return report("node.json", "cannot be read");
  options.state_dir = "state";
  options.machine = machine;
  options.config_file = "config.yaml";
  options.cgroup_root = getenv("PINFOLD_ATTACK_ROOT");
  if (options.cgroup_root == NULL) options.flags = PINFOLD_NODE_NO_ENFORCE;
  pinfold_code code = pinfold_node_open(&options, &node, &error);
  if (code == PINFOLD_OK) code = run(node, argv[1], &error);
  pinfold_node_close(node);
  free(machine);
  if (code == PINFOLD_OK) return 0;
  report(pinfold_code_name(code), error);
  pinfold_free(error);
  return code == PINFOLD_NOT_SETTLED ? 0 : 1;
}
