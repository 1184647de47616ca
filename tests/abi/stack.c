/* How much stack the calls need, with a service and with an agent of their own, measured by what
 * they overwrite. */
#define _GNU_SOURCE
#include <pinfold/pinfold.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { kStack = 1 << 20, kPaint = 0xa5, kLimit = 48 << 10, kLimitToReconfigure = 64 << 10 };

static const char kPod[] =
    "metadata: {name: a, uid: a}\n"
    "spec: {containers: [{name: main, resources: {limits: {cpu: 1, memory: 1Mi}}}]}";
static pinfold_node* node;
static pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;

static int is_bad;

static void must(pinfold_code code, char* error) {
  if (code == PINFOLD_OK) return;
  fprintf(stderr, "%s: %s\n", pinfold_code_name(code), error == NULL ? "" : error);
  is_bad = 1;
}

static void open_node(void) {
  char* error = NULL;
  must(pinfold_node_open(&options, &node, &error), error);
}
static void admit(void) {
  pinfold_pod* pod = NULL;
  char* error = NULL;
  must(pinfold_pod_admit(node, kPod, &pod, &error), error);
  pinfold_pod_free(pod);
}
static void explain(void) {
  pinfold_pod* pod = NULL;
  char* error = NULL;
  must(pinfold_pod_explain(node, kPod, &pod, &error), error);
  pinfold_pod_free(pod);
}
static void list(void) {
  pinfold_pod_list* pods = NULL;
  char* error = NULL;
  must(pinfold_node_list_pods(node, &pods, &error), error);
  pinfold_pod_list_free(pods);
}
static void status(void) {
  char* json = NULL;
  char* error = NULL;
  must(pinfold_node_get_status(node, &json, &error), error);
  pinfold_free(json);
}
static void start(void) {
  char* error = NULL;
  must(pinfold_container_start(node, "a", "main", &error), error);
}
static void defragment(void) {
  char* plan = NULL;
  char* error = NULL;
  must(pinfold_node_defragment(node, kPod, PINFOLD_RECONFIGURE_DRY_RUN, &plan, &error), error);
  pinfold_free(plan);
}
static void reconfigure(void) {
  pinfold_reconfiguration wish = PINFOLD_RECONFIGURATION_INIT;
  char* plan = NULL;
  char* error = NULL;
  wish.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '1'\n";
  must(pinfold_node_reconfigure(node, &wish, &plan, &error), error);
  pinfold_free(plan);
}
static void resize(void) {
  pinfold_pod* pod = NULL;
  char* error = NULL;
  const pinfold_code code = pinfold_container_resize(node, "a", "main", 2000, &pod, &error);
  if (code != PINFOLD_REJECTED) must(code, error); /* a small machine has no room */
  pinfold_pod_free(pod);
}
static void remove_pod(void) {
  char* error = NULL;
  must(pinfold_pod_remove(node, "a", 0, &error), error);
}

static void create(void) {
  pinfold_request request = PINFOLD_REQUEST_INIT;
  char* error = NULL;
  request.manifest = kPod;
  must(pinfold_container_create(node, &request, "/tmp", NULL, &error), error);
}
static void delete (void) {
  char* error = NULL;
  must(pinfold_container_delete(node, "a", NULL, &error), error);
}

static void* run(void* call) {
  (*(void (**)(void))call)();
  return NULL;
}

/* Returns the bytes of a thread's stack that a call has written. */
static size_t measure(void (*call)(void)) {
  unsigned char* const stack =
      mmap(NULL, kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  pthread_attr_t attributes;
  pthread_t thread;
  size_t unused = 0;
  memset(stack, kPaint, kStack);
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, kStack);
  if (pthread_create(&thread, &attributes, run, &call) != 0) abort();
  pthread_join(thread, NULL);
  while (unused < kStack && stack[unused] == kPaint) ++unused;
  munmap(stack, kStack);
  return kStack - unused;
}

typedef struct {
  const char* name;
  void (*call)(void);
} Call;

static const Call kCalls[] = {
    {"open", open_node}, {"admit", admit},           {"explain", explain},
    {"list", list},      {"status", status},         {"start", start},
    {"resize", resize},  {"defragment", defragment}, {"reconfigure", reconfigure},
    {"status", status},  {"remove", remove_pod}};

/* A machine and a configuration with everything that decides. */
static const char kMachine[] =
    "{\"name\":\"n\",\"cpus\":["
    "{\"id\":0,\"core\":0,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":1,\"core\":1,\"socket\":0,\"numa\":0,\"l3\":0},"
    "{\"id\":2,\"core\":2,\"socket\":1,\"numa\":1,\"l3\":1},"
    "{\"id\":3,\"core\":3,\"socket\":1,\"numa\":1,\"l3\":1}],"
    "\"numaNodes\":[{\"id\":0,\"memory\":4294967296,\"hugepages\":{}},"
    "{\"id\":1,\"memory\":4294967296,\"hugepages\":{}}],\"devices\":[]}";
static const char kWithMemory[] =
    "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\ntopologyManagerPolicy: restricted\n"
    "memoryManagerPolicy: Static\nsystemReserved: {memory: 64Mi}\n"
    "evictionHard: {memory.available: 64Mi}\n"
    "reservedMemory: [{numaNode: 0, limits: {memory: 128Mi}}]\n";
static const Call kCallsWithMemory[] = {
    {"open", open_node}, {"admit", admit},           {"explain", explain}, {"start", start},
    {"resize", resize},  {"defragment", defragment}, {"status", status},   {"remove", remove_pod},
    {"create", create},  {"delete", delete}};

static void measure_all(const Call* calls, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    const size_t used = measure(calls[i].call);
    printf("%-11s %zu bytes of stack\n", calls[i].name, used);
    is_bad = is_bad || used > (calls[i].call == reconfigure ? kLimitToReconfigure : kLimit);
  }
  pinfold_node_close(node);
}

/* stack [DIRECTORY [SOCKET]]: of a service. */
int main(int argc, char** argv) {
  char dir[] = "/tmp/pinfold_stack_XXXXXX";
  char command[64];
  options.flags = PINFOLD_NODE_NO_ENFORCE;
  options.state_dir = argc > 1 ? argv[1] : mkdtemp(dir);
  options.socket = argc > 2 ? argv[2] : "";
  options.config = "cpuManagerPolicy: static\nreservedSystemCPUs: '0'\n";
  measure_all(kCalls, sizeof kCalls / sizeof kCalls[0]);
  if (argc > 1) return is_bad;
  snprintf(command, sizeof command, "rm -r %s", dir);
  if (system(command) != 0) return 2;
  memset(dir + sizeof dir - 7, 'X', 6);
  options.state_dir = mkdtemp(dir);
  puts("with the memory manager:");
  options.machine = kMachine;
  options.config = kWithMemory;
  measure_all(kCallsWithMemory, sizeof kCallsWithMemory / sizeof kCallsWithMemory[0]);
  snprintf(command, sizeof command, "rm -r %s", dir);
  return system(command) != 0 || is_bad;
}
