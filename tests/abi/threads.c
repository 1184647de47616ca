/* Threads of one process use one node, through a common handle and through separate ones. */
#define _POSIX_C_SOURCE 200809L
#include <pinfold/pinfold.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kThreads = 4, kRounds = 12 };

static char state_dir[] = "/tmp/pinfold_threads_XXXXXX";
static const char kMachine[] =
    "{\"name\":\"n\",\"cpus\":["
    "{\"id\":0,\"core\":0,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":1,\"core\":1,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":2,\"core\":2,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":3,\"core\":3,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":4,\"core\":4,\"socket\":0,\"numa\":0,\"l3\":0}],"
    "\"numaNodes\":[{\"id\":0,\"memory\":4294967296,\"hugepages\":{}}],\"devices\":[]}";

static pinfold_node* shared;

static void must(pinfold_code code, char* error) {
  if (code == PINFOLD_OK) return;
  fprintf(stderr, "%s: %s\n", pinfold_code_name(code), error == NULL ? "" : error);
  exit(1);
}

static pinfold_node* open_node(void) {
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  pinfold_node* node = NULL;
  char* error = NULL;
  options.flags = PINFOLD_NODE_NO_ENFORCE;
  options.state_dir = state_dir;
  options.machine = kMachine;
  options.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  must(pinfold_node_open(&options, &node, &error), error);
  return node;
}

static void* work(void* data) {
  const int number = *(const int*)data;
  pinfold_node* const own = number % 2 == 0 ? NULL : open_node();
  pinfold_node* const node = own == NULL ? shared : own;
  for (int round = 0; round < kRounds; ++round) {
    char text[256];
    char name[32];
    char* error = NULL;
    char* json = NULL;
    pinfold_pod* pod = NULL;
    snprintf(name, sizeof name, "p%d-%d", number, round);
    snprintf(text, sizeof text,
             "metadata: {name: %s, uid: %s}\nspec: {containers: [{name: main, resources: {limits: "
             "{cpu: 1, memory: 1Mi}}}]}",
             name, name);
    must(pinfold_pod_admit(node, text, &pod, &error), error); /* there is one CPU for each thread */
    pinfold_pod_free(pod);
    must(pinfold_pod_get(node, name, &pod, &error), error);
    pinfold_pod_free(pod);
    must(pinfold_node_get_status(node, &json, &error), error);
    pinfold_free(json);
    must(pinfold_pod_remove(node, name, 0, &error), error);
  }
  pinfold_node_close(own);
  return NULL;
}

int main(void) {
  pthread_t threads[kThreads];
  int numbers[kThreads];
  char command[64];
  if (mkdtemp(state_dir) == NULL) return 2;
  shared = open_node();
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    if (pthread_create(&threads[i], NULL, work, &numbers[i]) != 0) return 2;
  }
  for (int i = 0; i < kThreads; ++i) {
    if (pthread_join(threads[i], NULL) != 0) return 2;
  }
  pinfold_node_close(shared);
  snprintf(command, sizeof command, "rm -rf %s", state_dir);
  return system(command) == 0 ? 0 : 2;
}
