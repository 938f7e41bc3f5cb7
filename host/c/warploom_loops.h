/* Launch templates and loops over them (docs/host/drivers.md). Beside warploom.h.
 *
 * A program writes the launches of a loop once, as templates. One LOOP then makes the core launch
 * them, iteration by iteration, while some of their fields change. Without loops in the
 * configuration this file has nothing. */
#ifndef WARPLOOM_LOOPS_H
#define WARPLOOM_LOOPS_H

#include "warploom_streams.h"

#ifdef WARPLOOM_LOOP_TEMPLATES

/* Fields of a template that may change. GRID_YZ steps in each half by itself. */
#define WARPLOOM_STEP_GX (1u << 0)
#define WARPLOOM_STEP_GRID_YZ (1u << 1)
#define WARPLOOM_STEP_ARGUMENTS (1u << 2)
#define WARPLOOM_STEP_INLINE(k) (1u << (3 + (k)))

/* How a launch changes from one iteration to the next: fields of the mask `steps` grow by the values
 * below, those of `alternates` have them in odd iterations. All other fields stay. */
typedef struct {
    uint32_t steps, alternates;
    uint32_t gx, gy, gz;
    uint64_t arguments;
    uint64_t inline_args[WARPLOOM_INLINE_ARGS ? WARPLOOM_INLINE_ARGS : 1];
} warploom_steps;

/* The loop of a section. */
typedef struct {
    uint32_t runs, first, size, iterations, epoch;
} warploom_loop;

/* What became of a loop: 0, or why it ended early, and the code's argument; launches that were
 * accepted and that finished, modulo 2^32. */
typedef struct {
    uint32_t code, argument, accepted, finished;
} warploom_loop_result;

/* The template memory, its slots and the loops over them. It has one owner: nobody else writes
 * templates or rings LOOPs of this core. */
typedef struct {
    warploom_streams *streams;
    uint32_t group[WARPLOOM_LOOP_TEMPLATES];   /* 0: free; else the first slot of its group, + 1 */
    uint32_t written[WARPLOOM_LOOP_TEMPLATES]; /* 1: its group's owner has written it */
    /* What stands in each half of a slot, as far as it is known: bit n for word n. */
    uint32_t known[WARPLOOM_LOOP_TEMPLATES][2];
    uint32_t words[WARPLOOM_LOOP_TEMPLATES][2][32];
    warploom_loop loops[WARPLOOM_LOOP_SECTIONS];
} warploom_templates;

/* Begin: all slots are free, nothing of them is known, no loop runs. `streams` has the orders
 * between streams that go on behind loops, or is null. */
void warploom_templates_begin(warploom_templates *templates, warploom_streams *streams);
/* Take so many slots that follow each other, modulo the slots: WARPLOOM_FULL if there are none. */
int warploom_take_slots(warploom_templates *templates, uint32_t count, uint32_t *first);
/* Give them back: WARPLOOM_BUSY while a loop uses one. */
int warploom_free_slots(warploom_templates *templates, uint32_t first);
/* Write a launch, and how it changes (null: it does not), into a slot that was taken. Only words that
 * differ from what stands there are written. The launch becomes quiet. WARPLOOM_BUSY while a loop
 * uses the slot. */
int warploom_write_template(const warploom_core *core, warploom_templates *templates, uint32_t slot,
                            const warploom_launch *launch, const warploom_steps *steps);
/* Launch so many slots from `first` on, in order, `iterations` times. `in_flight` launches may be
 * unfinished at a time; 0: one more than they have streams, at least 4, at most half of the queue's
 * entries. The section must be one that can loop, the slots of one group, and written. */
int warploom_submit_loop(const warploom_core *core, warploom_templates *templates, uint32_t section,
                         uint32_t first, uint32_t count, uint32_t iterations, uint32_t in_flight);
/* Wait until the section's loop has ended: by the interrupt COMMAND_DONE, which it clears, if the
 * core has wait_irq. */
int warploom_loop_done(const warploom_core *core, uint32_t section);
/* Read what became of the section's loop: WARPLOOM_BUSY while it runs. Its slots may be written
 * again, and its streams' counts go on. */
int warploom_loop_outcome(const warploom_core *core, warploom_templates *templates,
                          uint32_t section, warploom_loop_result *result);
/* Let the section's loop launch nothing more. It ends when its launches have. */
int warploom_loop_stop(const warploom_core *core, uint32_t section);

#endif
#endif
