/* Pins containers of an unpatched crun: a handler for its directory of handlers, in Debian
 * /usr/lib/x86_64-linux-gnu/crun/handlers. docs/embedding.md has its limits. Needs the headers of
 * exactly the crun that loads it. */
#include <config.h>
#include <errno.h>
#include <libcrun/container.h>
#include <libcrun/custom-handler.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pinned.h"

/* crun exports no function to its handlers, also none that looks up annotations or makes errors. */
static const char* find(const libcrun_container_t* container, const char* name) {
  const json_map_string_string* const map = container->container_def->annotations;
  for (size_t i = 0; map != NULL && i < map->len; ++i)
    if (strcmp(map->keys[i], name) == 0) return map->values[i];
  return NULL;
}

/* Takes over `message`. */
static int fail(libcrun_error_t* err, char* message) {
  *err = malloc(sizeof(**err));
  if (*err == NULL) return -1;
  (*err)->status = 0;
  (*err)->msg = message;
  return -1;
}

static int can_handle(libcrun_container_t* container, libcrun_error_t* err) {
  (void)err;
  return find(container, "io.pinfold.cpu") != NULL;
}

static int load(void** cookie, libcrun_error_t* err) {
  (void)err;
  *cookie = NULL;
  return 0;
}

static int unload(void* cookie, libcrun_error_t* err) {
  (void)cookie;
  (void)err;
  return 0;
}

/* Runs in the container's first process, which is in its cgroup. Before the mounts it still has the
 * root of the host. */
static int configure(void* cookie, enum handler_configure_phase phase, libcrun_context_t* context,
                     libcrun_container_t* container, const char* rootfs, libcrun_error_t* err) {
  (void)cookie;
  (void)rootfs;
  if (phase != HANDLER_CONFIGURE_BEFORE_MOUNTS) return 0;
  char* const failed = pinned_create(context->id, find(container, "io.pinfold.cpu"),
                                     find(container, "io.pinfold.memory"), 0);
  return failed == NULL ? 0 : fail(err, failed);
}

static int run(void* cookie, libcrun_container_t* container, const char* path, char* const args[]) {
  (void)cookie;
  (void)container;
  execv(path, args);
  return errno;
}

/* The function that crun asks a handler for. */
struct custom_handler_s* run_oci_handler_get_handler(void) {
  static struct custom_handler_s handler = {.name = "pinfold",
                                            .feature_string = "PINFOLD",
                                            .load = load,
                                            .unload = unload,
                                            .run_func = run,
                                            .exec_func = run,
                                            .configure_container = configure,
                                            .can_handle_container = can_handle};
  return &handler;
}
