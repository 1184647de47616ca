/*
 * The hand-over of CPUs from one decision to the next, as docs/cgroups.md describes it: commit,
 * shrink, grant, verify, start; with crashes, reboots and other programs that write cpusets.
 *
 * Each container is in a pod of its own, whose group the planner keeps wide enough. A set of CPUs
 * is a mask; 0 stands for "no group". The planner below is that of enforce/src/plan.cpp on masks.
 * It prints each plan that it makes and what a restart observes: handover_test.cpp compares both.
 *
 * Broken on purpose, so that the assertions are seen to fail: GRANT_FIRST, NO_VERIFY, COMMIT_LAST.
 */
#define CONTAINERS 3
#define CPUS 4
#define ALL 15
#define HAS(mask, c) (((mask) >> (c)) & 1)
#define BIT(c) (1 << (c))
#define WHEN(condition, action) if :: condition -> action :: else fi
#define IF(condition, action, other) if :: condition -> action :: else -> other fi
#define EACH(c) c : 0 .. CONTAINERS - 1

typedef Layout {
  byte cpus[CONTAINERS];  /* the set of each container */
  byte exclusive          /* which containers have theirs exclusively */
};
#define EXCLUSIVE(l, c) (HAS(l.exclusive, c) -> l.cpus[c] : 0)
#define POOL(l) (ALL & ~(EXCLUSIVE(l, 0) | EXCLUSIVE(l, 1) | EXCLUSIVE(l, 2)))

mtype = { Decide, Commit, Apply, Start, Restart, Done, Remove, Set, Create, Verify };
mtype phase = Decide;
Layout old, next;         /* the decision in force, and the next one */
bool moves;               /* a reconfiguration, see find_moves() */
bool follows;             /* next is in force in the agent's memory */
bool durable;             /* next is in force on disk, where a restart finds it */
byte kernel[CONTAINERS];  /* the set of each container's group */
byte had[CONTAINERS];     /* the CPUs of its set in old that it has never left */
byte started;             /* containers whose program runs */
byte touched;             /* containers whose set another program has written since a plan ended */
byte crashes = CRASHES;   /* how many may still happen */
byte writes = WRITES;     /* writes by other programs that may still happen */
chan plan = [9] of { mtype, byte, byte };

/* Arguments and variables of the planner and of single transitions; not part of the state. */
hidden Layout before, after;
hidden byte has[CONTAINERS];
hidden byte c, d, pass, both, set, parking, movers, changed, old_right, overlap;
hidden byte possible, has_moved, is_blocked, failed; hidden mtype kind;

#define DESIRED(c) (follows -> next.cpus[c] : old.cpus[c])
#define ALONE(c) (follows -> EXCLUSIVE(next, c) : EXCLUSIVE(old, c))
#define AS_DESIRED(c) (kernel[c] == DESIRED(c))
#define IN_FORCE (AS_DESIRED(0) && AS_DESIRED(1) && AS_DESIRED(2))
#define RUNS_AS_DESIRED(c) (!DESIRED(c) == !HAS(started, c))

/* ---- The planner ---- */

inline add(step, target) {
  plan ! step, c, target;
  WHEN(step == Remove, printf(" -%d", c));
  WHEN(step == Set, printf(" %d=%d", c, target));
  WHEN(step == Create, printf(" +%d=%d", c, target));
  IF(step == Verify, printf(" ?%d=%d", c, target), has[c] = target)
}

inline set_cpus(mask) { WHEN(has[c] != mask, add(Set, mask); changed = changed | BIT(c)) }

inline print_layout(layout) {
  for (EACH(c)) {
    IF(!layout.cpus[c], printf(" -"),
       IF(HAS(layout.exclusive, c), printf(" x%d", layout.cpus[c]), printf(" s%d", layout.cpus[c])))
  }
}

inline remove_gone() { for (EACH(c)) { WHEN(before.cpus[c] && !after.cpus[c], add(Remove, 0)) } }

inline shrink() {
  for (pass : 0 .. 1) {  /* those in the shared pool first */
    for (EACH(c)) {
      both = before.cpus[c] & after.cpus[c];
      WHEN(HAS(before.exclusive | after.exclusive, c) == pass && after.cpus[c] && both != before.cpus[c],
           IF(both, set_cpus(both), movers = movers | BIT(c)))
    }
  }
}

/* Whether a container with other rights to its CPUs runs on those that c gets. */
inline find_blocked() {
  is_blocked = false;
  for (EACH(d)) {
    is_blocked = is_blocked || (d != c && has[d] & ~after.cpus[d] & after.cpus[c] &&
                                (before.exclusive | after.exclusive) & (BIT(c) | BIT(d)))
  }
}

inline move_unblocked() {
  for (pass : 0 .. 1) {
    for (EACH(c)) {
      WHEN(HAS(movers, c) && HAS(before.exclusive | after.exclusive, c) == pass,
           find_blocked();
           WHEN(!is_blocked, set_cpus(after.cpus[c]); movers = movers & ~BIT(c); has_moved = true))
    }
  }
}

inline park_movers() {
  has_moved = !parking;
  do :: has_moved -> has_moved = false; move_unblocked() :: else -> break od;
  for (pass : 0 .. 1) {
    for (EACH(c)) {
      WHEN(HAS(movers, c) && HAS(before.exclusive | after.exclusive, c) == pass,
           IF(parking, set_cpus(parking), possible = false))
    }
  }
}

inline create_new() {
  for (EACH(c)) {
    set = (parking == ALL -> after.cpus[c] : parking);  /* ALL: nothing to protect */
    WHEN(after.cpus[c] && !before.cpus[c],
         IF(parking, add(Create, set); changed = changed | BIT(c), possible = false))
  }
}

inline grow() { for (EACH(c)) { WHEN(has[c], set_cpus(after.cpus[c])) } }
inline verify() { for (EACH(c)) { WHEN(HAS(changed, c), add(Verify, after.cpus[c])) } }

inline drop_plan() { do :: nempty(plan) -> plan ? _, _, _ :: empty(plan) -> break od }

/* The steps from `before` to `after`; none, and not `possible`, if no order is safe. */
inline make_plan() {
  changed = 0; movers = 0; possible = true;
  parking = POOL(before) & POOL(after);
  for (EACH(c)) { has[c] = before.cpus[c] }
  printf("plan"); print_layout(before); printf(" >"); print_layout(after); printf(" :");
  remove_gone();
#ifdef GRANT_FIRST
  grow();
#else
  shrink(); park_movers();
#endif
  create_new(); grow(); verify();
  IF(possible, printf("\n"), printf(" impossible\n"); drop_plan())
}

/* ---- The agent ---- */

inline copy(from, to) {
  for (EACH(c)) { to.cpus[c] = from.cpus[c] }
  to.exclusive = from.exclusive
}

inline decide() {
  copy(old, before); copy(next, after); make_plan();
  assert(possible || moves);  /* only a reconfiguration can be rejected */
  phase = (possible -> Commit : Done)
}

inline commit() {
  follows = true;
#ifndef COMMIT_LAST
  durable = true;
#endif
  for (EACH(c)) { WHEN(!next.cpus[c], started = started & ~BIT(c)) }  /* it has ended */
  phase = Apply
}

/* No other container has CPUs that are exclusive to a container by the decision in force, except
 * CPUs that both have shared since before. Until a container has its next CPUs, the same holds for
 * the old decision, except for CPUs that both will share. Sets that another program has written do
 * not count until a plan has ended after that. */
inline check_overlap() {
  for (EACH(c)) { had[c] = had[c] & kernel[c] }
  overlap = 0;
  for (EACH(c)) {
    old_right = (kernel[c] == next.cpus[c] -> 0 : had[c] & EXCLUSIVE(old, c));
    for (EACH(d)) {
      WHEN(d != c && !(touched & (BIT(c) | BIT(d))), overlap = overlap | kernel[d] &
           ((kernel[c] & ALONE(c) & ~(had[c] & had[d])) |
            (old_right & ~(next.cpus[c] & next.cpus[d]))))
    }
  }
  assert(!overlap)
}

/* The kernel rejects writes to a group that does not exist. */
inline apply_step() {
  plan ? kind, c, set;
  failed = (kind == Verify && kernel[c] != set) || (kind == Set && !kernel[c]);
  IF(failed, drop_plan(); phase = Restart, kernel[c] = set);  /* dirty: it observes again */
  check_overlap()
}

inline end_plan() {
  for (EACH(c)) { WHEN(AS_DESIRED(c), touched = touched & ~BIT(c)) }
  phase = Start
}

/* Starts the first container whose program does not run, after it reads back that the container has
 * its CPUs and that no other one has those that are exclusive to it. */
inline start_one() {
  c = 0;
  do :: c < CONTAINERS && (!DESIRED(c) || HAS(started, c)) -> c++ :: else -> break od;
  if
  :: c == CONTAINERS -> phase = Done
  :: else ->
     failed = !AS_DESIRED(c);
     for (EACH(d)) { failed = failed || (d != c && kernel[d] & ~DESIRED(d) & ALONE(c)) }
#ifdef NO_VERIFY
     assert(!failed);
#endif
     assert(durable || old.cpus[c]);
     IF(failed, phase = Restart, started = started | BIT(c))
  fi
}

/* What a restarted agent knows: the durable decision, and what the kernel has. A container that
 * runs on a part of the CPUs that are exclusive to it, now or before a reconfiguration, has them
 * exclusively. */
inline observe() {
  follows = durable; before.exclusive = 0;
  printf("kernel %d %d %d started %d", kernel[0], kernel[1], kernel[2], started);
  IF(moves && follows, printf(" earlier"); print_layout(old); printf(" "), printf(" "));
  IF(follows, copy(next, after), copy(old, after));
  for (EACH(c)) {
    before.cpus[c] = kernel[c];
    WHEN(kernel[c] && ((HAS(after.exclusive, c) && !(kernel[c] & ~after.cpus[c])) ||
         (moves && follows && HAS(started, c) && kernel[c] != after.cpus[c] &&
          HAS(old.exclusive, c) && !(kernel[c] & ~old.cpus[c]))),
         before.exclusive = before.exclusive | BIT(c))
  }
}

inline reconcile() {
  observe(); make_plan();
  assert(possible);  /* what is committed can always be brought into force */
  phase = Apply
}

/* ---- The world ---- */

inline give(layout, owner) {
  WHEN(owner < CONTAINERS, layout.cpus[owner] = layout.cpus[owner] | BIT(n);
                           layout.exclusive = layout.exclusive | BIT(owner))
}

/* A container without exclusive CPUs is in the shared pool, or does not exist. */
inline share(layout) { if :: !layout.cpus[n] -> layout.cpus[n] = POOL(layout) :: true fi }

/* Any two layouts. Each CPU has an owner before and an owner after; 3: the shared pool. CPUs are
 * interchangeable, so their pairs of owners are in order. The kubelet's rules reserve a CPU. */
inline choose_layouts() {
  for (n : 0 .. CPUS - 1) {
    do :: owners < 15 -> owners++ :: break od;
    give(old, owners / 4); give(next, owners % 4)
  }
  WHEN(!POOL(old) || !POOL(next), goto over);
  for (EACH(n)) { share(old); share(next) }
  n = 0; owners = 0
}

/* A reconfiguration gives containers other exclusive CPUs, or changes all shared ones. */
inline find_moves() {
  for (EACH(c)) {
    kernel[c] = old.cpus[c];
    had[c] = old.cpus[c];
    started = started | (old.cpus[c] -> BIT(c) : 0);
    moves = moves || (old.cpus[c] && next.cpus[c] && old.cpus[c] != next.cpus[c] &&
                      HAS(old.exclusive | next.exclusive, c))
  }
  moves = moves || !(POOL(old) & POOL(next))
}

/* Another program widens a container's set, or removes a group without processes. */
inline disturb(who) {
  writes--; touched = touched | BIT(who);
  if :: kernel[who] = ALL :: !HAS(started, who) -> kernel[who] = 0 fi;
  d_step { check_overlap() }
}

active proctype agent() {
  byte n, owners;
  atomic { choose_layouts(); d_step { find_moves() } }
  do
  :: d_step { phase == Decide -> decide() }
  :: d_step { phase == Commit -> commit() }
  :: d_step { phase == Apply && nempty(plan) -> apply_step() }
  :: d_step { phase == Apply && empty(plan) -> end_plan() }
  :: d_step { phase == Start -> start_one() }
  :: d_step { phase == Restart -> reconcile() }
  :: d_step { phase == Done && !IN_FORCE -> phase = Restart }  /* the watcher sees it */
  :: d_step { crashes && phase != Done -> crashes--; drop_plan(); phase = Restart }
  :: d_step { crashes && phase != Done -> crashes--; drop_plan(); phase = Restart;  /* a reboot */
              kernel[0] = 0; kernel[1] = 0; kernel[2] = 0; started = 0; touched = 0;
              check_overlap() }
  :: atomic { writes && kernel[0] -> disturb(0) }
  :: atomic { writes && kernel[1] -> disturb(1) }
  :: atomic { writes && kernel[2] -> disturb(2) }
  :: phase == Done && IN_FORCE -> break
  od;
  assert(RUNS_AS_DESIRED(0) && RUNS_AS_DESIRED(1) && RUNS_AS_DESIRED(2));
over:
  skip
}
