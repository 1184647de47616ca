/**
 * @file
 * The codes that the functions of Pinfold's C interfaces return.
 */
#ifndef PINFOLD_CODE_H
#define PINFOLD_CODE_H

#include <stdint.h>

typedef int32_t pinfold_code;

enum {
  PINFOLD_OK = 0,
  PINFOLD_INVALID_ARGUMENT = 1, /**< malformed, or outside its domain */
  PINFOLD_NOT_FOUND = 2,        /**< the named object does not exist */
  PINFOLD_CORRUPT = 3,          /**< stored data fails its own checks */
  PINFOLD_IO = 4,               /**< a system call failed; the message names it */
  PINFOLD_UNSUPPORTED = 5,      /**< not possible on this machine or with this library */
  PINFOLD_INTERNAL = 6,         /**< a bug in Pinfold */
  PINFOLD_BUSY = 7, /**< in use: a lock, a cgroup with processes, a node during a call */
  PINFOLD_NO_MEMORY = 100,
  PINFOLD_REJECTED = 101,     /**< the pod is rejected and has no resources; do not start it */
  PINFOLD_NOT_ENFORCED = 102, /**< decided and stored, but not applied to the kernel: remove the
                                 cause, then call pinfold_node_reconcile */
  PINFOLD_NOT_SETTLED = 103,  /**< done and durable in Pinfold's journal, but the kubelet's state
                                 files are out of date; the next call tries again */
  PINFOLD_UNKNOWN = 104       /**< the disk failed: the change is stored or not, but never in part.
                                 The next call that succeeds decides; read the state */
};

/** Returns whether a call succeeded: PINFOLD_OK, or PINFOLD_NOT_SETTLED, which is a warning. Check
 * codes with this function, so that a success is not taken for a failure. */
static inline int pinfold_is_done(pinfold_code code) {
  return code == PINFOLD_OK || code == PINFOLD_NOT_SETTLED;
}

#endif
