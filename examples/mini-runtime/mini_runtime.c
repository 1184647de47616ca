/* A minimal container runtime: admits a Pod through libpinfold, starts a process in one of its
 * containers, waits for it and removes the pod.
 *
 *   mini-runtime STATE_DIR CGROUP_ROOT CONFIG_FILE POD_FILE CONTAINER COMMAND [ARGUMENT...]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pinfold/pinfold.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kStateDir = 1, kCgroupRoot, kConfig, kPod, kContainer, kCommand };

static int report(const char* what, char* error) {
  fprintf(stderr, "mini-runtime: %s: %s\n", what, error == NULL ? strerror(errno) : error);
  pinfold_free(error);
  return 125;
}

static char* read_file(const char* path) {
  enum { kMost = 1 << 20 };
  FILE* in = fopen(path, "re");
  char* text = in == NULL ? NULL : calloc(1, kMost + 1);
  if (text != NULL && fread(text, 1, kMost, in) == 0) {
    free(text);
    text = NULL;
  }
  if (in != NULL) fclose(in);
  return text;
}

static void print_log(void* data, int32_t level, const char* message) {
  (void)data;
  if (level >= PINFOLD_LOG_WARNING) fprintf(stderr, "mini-runtime: %s\n", message);
}

/* The container's process. It waits at the gate until it is in its cgroup. */
static void run_container(int gate, char** command) {
  char go = 0;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);  /* the container ends with its runtime */
  if (read(gate, &go, 1) != 1) _exit(125); /* the runtime has died: do not run unpinned */
  close(gate);
  execvp(command[0], command);
  fprintf(stderr, "mini-runtime: %s: %s\n", command[0], strerror(errno));
  _exit(127);
}

/* Starts the command behind a closed gate. Returns its process and sets *gate to the end that opens
 * it. */
static pid_t start(char** command, int* gate) {
  int ends[2];
  if (pipe(ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    if (unshare(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC) != 0 || sethostname("mini", 4) != 0) {
      perror("mini-runtime: namespaces");
      _exit(125);
    }
    run_container(ends[0], command);
  }
  close(ends[0]);
  *gate = ends[1];
  return child;
}

static int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return 125;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Returns whether the kernel shows what was decided for the container, within a second: a shared
 * one waits until the admission of another pod is applied. */
static int is_placed(const char* uid, const char* directory, char** argv, char** error) {
  const struct timespec pause = {0, 10 * 1000 * 1000};
  int placed = 0;
  for (int i = 0; i < 100 && !placed; ++i) {
    if (i > 0) (void)nanosleep(&pause, NULL);
    if (pinfold_container_is_placed(argv[kStateDir], uid, argv[kContainer], directory, &placed,
                                    error) != PINFOLD_OK)
      return 0;
  }
  if (!placed) *error = strdup("its cgroup does not have the CPUs that were decided");
  return placed;
}

static int run(pinfold_node* node, const char* uid, const char* directory, char** argv) {
  char* error = NULL;
  int gate = -1;
  if (!pinfold_is_done(pinfold_container_start(node, uid, argv[kContainer], &error))) {
    return report("start container", error);
  }
  const pid_t child = start(argv + kCommand, &gate);
  if (child < 0) return report("start process", NULL);
  if (!pinfold_is_done(
          pinfold_container_attach_process(node, uid, argv[kContainer], child, &error))) {
    close(gate); /* the child reads end of file and exits */
    (void)wait_for(child);
    return report("attach process", error);
  }
  if (!is_placed(uid, directory, argv, &error)) {
    close(gate);
    (void)wait_for(child);
    return report("placement", error);
  }
  const ssize_t opened = write(gate, "!", 1);
  close(gate);
  const int status = wait_for(child);
  return opened == 1 ? status : 125;
}

int main(int argc, char** argv) {
  pinfold_log_sink log_sink = PINFOLD_LOG_SINK_INIT;
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  pinfold_container container = PINFOLD_CONTAINER_INIT;
  pinfold_node* node = NULL;
  pinfold_pod* pod = NULL;
  char* error = NULL;
  if (argc <= kCommand) {
    fprintf(stderr, "usage: mini-runtime STATE_DIR CGROUP_ROOT CONFIG POD CONTAINER COMMAND...\n");
    return 125;
  }
  log_sink.log = print_log;
  options.log_sink = &log_sink;
  options.state_dir = argv[kStateDir];
  options.cgroup_root = argv[kCgroupRoot];
  options.config_file = argv[kConfig];
  char* text = read_file(argv[kPod]);
  if (text == NULL) return report(argv[kPod], NULL);
  if (pinfold_node_open(&options, &node, &error) != PINFOLD_OK) return report("open", error);
  const pinfold_code admitted = pinfold_pod_admit(node, text, &pod, &error);
  free(text);
  int status = 125;
  if (!pinfold_is_done(admitted)) {
    status = report(pinfold_code_name(admitted), error);
  } else if (pinfold_pod_find_container(pod, argv[kContainer], &container, &error) != PINFOLD_OK) {
    status = report("find container", error);
  } else {
    printf("mini-runtime: %s: cpus %s, mems %s, %s\n", container.name, container.cpus,
           container.mems, container.cgroup_path);
    fflush(stdout);
    status = run(node, pinfold_pod_uid(pod), container.cgroup_path, argv);
  }
  /* Remove an admitted pod, even if it was not applied to the kernel. */
  if (pod != NULL && pinfold_pod_is_admitted(pod) &&
      !pinfold_is_done(
          pinfold_pod_remove(node, pinfold_pod_uid(pod), PINFOLD_REMOVE_KILL, &error))) {
    status = report("remove pod", error);
  }
  pinfold_pod_free(pod);
  pinfold_node_close(node);
  return status;
}
