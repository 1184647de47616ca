/* A container runtime in miniature: gives a container of a Pod its CPUs and memory through
 * libpinfold, starts a process pinned there, waits for it, and takes everything back.
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
#include <unistd.h>

enum { kStateDir = 1, kCgroupRoot, kConfig, kPod, kContainer, kCommand };

static int complain(const char* what, char* error) {
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

static void tell(void* data, int32_t level, const char* message) {
  (void)data;
  if (level >= PINFOLD_LOG_WARNING) fprintf(stderr, "mini-runtime: %s\n", message);
}

/* What runs in the container. It waits until it is told that it stands where it belongs. */
static void be_container(int gate, char** command) {
  char go = 0;
  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);  /* the container ends with its runtime */
  if (read(gate, &go, 1) != 1) _exit(125); /* the runtime is gone: nothing must run unpinned */
  close(gate);
  execvp(command[0], command);
  fprintf(stderr, "mini-runtime: %s: %s\n", command[0], strerror(errno));
  _exit(127);
}

/* Starts the command behind a closed gate. Returns its process, and the other end of the gate. */
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
    be_container(ends[0], command);
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

static int run(pinfold_node* node, const char* uid, char** argv) {
  char* error = NULL;
  int gate = -1;
  if (pinfold_container_start(node, uid, argv[kContainer], &error) != PINFOLD_OK) {
    return complain("start container", error);
  }
  const pid_t child = start(argv + kCommand, &gate);
  if (child < 0) return complain("start process", NULL);
  if (pinfold_container_place_process(node, uid, argv[kContainer], child, &error) != PINFOLD_OK) {
    close(gate); /* the child reads the end of the file, and leaves */
    (void)wait_for(child);
    return complain("place process", error);
  }
  const ssize_t told = write(gate, "!", 1);
  close(gate);
  const int status = wait_for(child);
  return told == 1 ? status : 125;
}

int main(int argc, char** argv) {
  pinfold_log_sink log = PINFOLD_LOG_SINK_INIT;
  pinfold_node_options options = PINFOLD_NODE_OPTIONS_INIT;
  pinfold_container container = PINFOLD_CONTAINER_INIT;
  pinfold_node* node = NULL;
  pinfold_pod* pod = NULL;
  char* error = NULL;
  if (argc <= kCommand) {
    fprintf(stderr, "usage: mini-runtime STATE_DIR CGROUP_ROOT CONFIG POD CONTAINER COMMAND...\n");
    return 125;
  }
  log.log = tell;
  options.log = &log;
  options.state_dir = argv[kStateDir];
  options.cgroup_root = argv[kCgroupRoot];
  options.config_file = argv[kConfig];
  char* text = read_file(argv[kPod]);
  if (text == NULL) return complain(argv[kPod], NULL);
  if (pinfold_node_open(&options, &node, &error) != PINFOLD_OK) return complain("open", error);
  const pinfold_code admitted = pinfold_pod_admit(node, text, &pod, &error);
  free(text);
  int status = 125;
  if (admitted != PINFOLD_OK) {
    status = complain(pinfold_code_name(admitted), error);
  } else if (pinfold_pod_find(pod, argv[kContainer], &container, &error) != PINFOLD_OK) {
    status = complain("find container", error);
  } else {
    printf("mini-runtime: %s: cpus %s, mems %s, %s\n", container.name, container.cpus,
           container.mems, container.cgroup_path);
    fflush(stdout);
    status = run(node, pinfold_pod_uid(pod), argv);
  }
  /* What was given is taken back, also if the kernel did not have it yet. */
  if (pod != NULL && pinfold_pod_admitted(pod) &&
      pinfold_pod_release(node, pinfold_pod_uid(pod), PINFOLD_KILL, &error) != PINFOLD_OK) {
    status = complain("release", error);
  }
  pinfold_pod_free(pod);
  pinfold_node_close(node);
  return status;
}
