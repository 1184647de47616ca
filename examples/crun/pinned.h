/**
 * @file
 * CPUs for a container in two calls of its runtime. Needs libpinfold-stub.a: a runtime that makes
 * neither call loads nothing.
 */
#ifndef PINNED_H
#define PINNED_H

#include <sys/types.h>

/** Admits the container `id` and adopts the cgroup of its first process `pid` (0: the caller),
 * whose program must not run yet. `cpu` and `memory` are quantities as in a Pod ("2", "64Mi"), the
 * values of the annotations io.pinfold.cpu and io.pinfold.memory. The pod is the one that `pinfold
 * hook` would admit: its UID is oci-ID. Returns NULL, or why the container must not run, to be
 * freed with free(). */
char* pinned_create(const char* id, const char* cpu, const char* memory, pid_t pid);

/** Releases the resources of the container `id`. Its processes must have ended; its cgroup may be
 * gone. May be called twice. Returns the same as pinned_create. */
char* pinned_delete(const char* id);

#endif
