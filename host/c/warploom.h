/* A driver for Warploom's core: C99, no library, no allocation, no global state.
 *
 * Registers and words come from warploom_host.h, which `warploom map` writes for one
 * configuration. Every function returns WARPLOOM_OK, a code of the hardware (WARPLOOM_ERROR_*,
 * 1 to 255), or one of the driver's own codes below.
 *
 * What a program must know:
 * - Launches of one stream run one after the other, those of different streams at once. Who wants
 *   two launches at once uses two streams.
 * - An urgent launch that never ends starves every launch of a lower priority with mode auto, reset
 *   or drain for ever, even when all its blocks are placed and SMs are empty. Persistent kernels
 *   belong to the lowest priority.
 * - A low launch of mode wait that has begun stops every priority until its last block is placed:
 *   with a large grid, for long.
 * - Blocks that wait for each other belong to mode wait. With mode yield an urgent launch may take
 *   the room that the rest of them needs: both then stand still, until the program aborts one.
 * - The record of an aborted launch can come before those of earlier launches of its stream. Wait
 *   for an event (warploom_streams.h), not for a record.
 * - A launch that was killed, and then aborted while it waited, has cycles and first_offer 0, and
 *   its kills.
 * - A launch fails with NO_SM when every SM is lost; SMs that are only disabled do not count. One
 *   that was aborted, or whose time was over, says that instead. */
#ifndef WARPLOOM_H
#define WARPLOOM_H

#include <stdint.h>

#include "warploom_host.h"

#define WARPLOOM_OK 0
#define WARPLOOM_BUS_ERROR (-1)    /* the core refused an access, or the bus failed */
#define WARPLOOM_NOT_THERE (-2)    /* ID is not Warploom's */
#define WARPLOOM_OTHER_MAP (-3)    /* VERSION has another major number than this header: take the
                                    * driver of the core's version */
#define WARPLOOM_OTHER_CONFIG (-4) /* the header was written for another configuration */
#define WARPLOOM_BUSY (-5)         /* the section's last command is not complete */
#define WARPLOOM_WAITED (-6)       /* nothing came in `patience` turns of waiting */
#define WARPLOOM_RANGE (-7)        /* a section or a value that no field can hold */
#define WARPLOOM_EMPTY (-8)        /* no final record waits */
#define WARPLOOM_FULL (-9)         /* a list of the program's has no room */
#define WARPLOOM_QUIET (-10)       /* the driver cannot see the end of a quiet launch */

/* How the driver reaches the core. read32 and write32 return 0 if the core answered OKAY.
 *
 * Order: a read must not reach the core before a write that it depends on. AXI lets a read pass a
 * posted write, and only the write's response orders the two. Either write32 returns after the
 * response, or `barrier` waits for the responses of all writes before. */
typedef struct {
    int (*read32)(void *context, uint32_t address, uint32_t *value);
    int (*write32)(void *context, uint32_t address, uint32_t value);
    /* Return when every write has had its response; 0 if all answered OKAY. Null: write32 does. */
    int (*barrier)(void *context);
    /* Sleep until `irq` is 1, or for a while; return 0. Null: the driver polls. */
    int (*wait_irq)(void *context);
    void *context;
    /* Turns of waiting before WARPLOOM_WAITED; 0: wait for ever. A command may wait long: a launch
     * after a reset until the dispatcher knows every slot of every SM, a cycle for each; a command
     * behind others. */
    uint32_t patience;
} warploom_core;

/* Pairs that the task register has words for, in every configuration. */
#define WARPLOOM_WAIT_WORDS 4

/* What a launch waits for: so many launches of a stream, the low 16 bits of their count. If it is
 * relative, which needs loops: the launch that is so many before the stream's latest accepted one. */
typedef struct {
    uint32_t stream, count, relative;
} warploom_wait_pair;

/* A kernel launch. What one block takes stands in the hardware's units (docs/host/register_map.md). */
typedef struct {
    uint64_t code, arguments;
    uint32_t address_space;
    uint32_t stream, priority;
    uint32_t idempotent, mode;
    uint32_t quiet; /* 1: leaves a record only if it does not finish; needs loops */
    uint32_t gx, gy, gz;
    uint32_t dx, dy, dz;
    uint32_t index_address, table;
    uint32_t warp_registers, shared, barriers;
    uint32_t waits; /* how many of `wait` count: 0 to WARPLOOM_LAUNCH_WAITS */
    warploom_wait_pair wait[WARPLOOM_WAIT_WORDS];
    uint64_t inline_args[WARPLOOM_INLINE_ARGS ? WARPLOOM_INLINE_ARGS : 1];
} warploom_launch;

/* A task for a section's execution unit: `larger` parts of small + 1 elements, then the others of
 * `small`, from element `first` on. */
typedef struct {
    uint64_t code, arguments;
    uint32_t first, parts, larger, small;
    uint32_t skip_primary; /* 1: the primary core takes no part itself */
} warploom_task;

/* What became of a section's last command. */
typedef struct {
    uint32_t code, core, argument;
    uint32_t ticket;           /* of a launch; 0: none */
    uint32_t succeeded, parts; /* of a task: a bit for each core */
    uint32_t task;             /* number of the task */
    uint32_t number;           /* of a launch in its stream, low 16 bits */
} warploom_outcome;

/* What became of a launch, or of a PREEMPT. */
typedef struct {
    uint32_t ticket; /* 0 of a PREEMPT */
    uint32_t fate;   /* WARPLOOM_FATE_* */
    uint32_t code;   /* 0, or the reason of the failure */
    uint32_t kind;   /* WARPLOOM_KIND_* */
    uint32_t kills;
    uint32_t drained; /* 1: mode RESET, drained instead, because it is not idempotent */
    uint32_t cycles;  /* of its last run: from its first offer to its last report */
    uint32_t stream, offered;
    uint32_t number; /* of a launch in its stream, low 16 bits; 0 without loops */
    uint32_t accepted, first_offer, made; /* low half of the clock; first_offer: of its last run */
    /* Of a PREEMPT: launches that finished, were killed, drained, skipped. */
    uint32_t met_finished, met_killed, met_drained, met_skipped;
} warploom_record;

/* Check that this is the core that warploom_host.h was written for. Call it first. */
int warploom_identify(const warploom_core *core);

/* Write a command and ring the section's doorbell; the outcome comes later. */
int warploom_submit_launch(const warploom_core *core, uint32_t section, const warploom_launch *launch);
int warploom_submit_task(const warploom_core *core, uint32_t section, const warploom_task *task);
int warploom_submit_abort(const warploom_core *core, uint32_t section, uint32_t ticket);
int warploom_submit_preempt(const warploom_core *core, uint32_t section, uint32_t streams);
int warploom_submit_resume(const warploom_core *core, uint32_t section, uint32_t streams);
int warploom_submit_abort_streams(const warploom_core *core, uint32_t section, uint32_t streams);
int warploom_submit_disconnect(const warploom_core *core, uint32_t section);

/* The words of a launch, WARPLOOM_LAUNCH_WORDS, without an access. */
#define WARPLOOM_LAUNCH_WORDS (WARPLOOM_LAUNCH_WAIT0_STREAM_WORD + WARPLOOM_WAIT_WORDS)
int warploom_pack_launch(const warploom_launch *launch, uint32_t *words);
/* The pair that waits for the latest accepted launch of a stream, whichever that is then. */
static inline warploom_wait_pair warploom_wait_latest(uint32_t stream)
{
    warploom_wait_pair pair = {stream, 0, 1};
    return pair;
}
/* Write the first words of any command, 32 at most, or those whose bits are 1, and ring; read and
 * write any register. */
int warploom_submit_words(const warploom_core *core, uint32_t section, const uint32_t *words,
                          uint32_t count);
int warploom_submit_chosen(const warploom_core *core, uint32_t section, const uint32_t *words,
                           uint32_t chosen);
int warploom_read_register(const warploom_core *core, uint32_t address, uint32_t *value);
int warploom_write_register(const warploom_core *core, uint32_t address, uint32_t value);

/* Look whether a section's command is complete: WARPLOOM_BUSY, or the outcome. */
int warploom_poll(const warploom_core *core, uint32_t section, warploom_outcome *outcome);
/* Poll until it is. The result is the outcome's code. */
int warploom_wait(const warploom_core *core, uint32_t section, warploom_outcome *outcome);

/* Submit and wait. A launch that is refused because a queue is full is tried again. `ticket` is 0
 * unless the launch was accepted. */
int warploom_launch_kernel(const warploom_core *core, uint32_t section, const warploom_launch *launch,
                           uint32_t *ticket);
int warploom_run(const warploom_core *core, uint32_t section, const warploom_task *task,
                 warploom_outcome *outcome);
int warploom_abort(const warploom_core *core, uint32_t section, uint32_t ticket);
/* Of a mask of streams: hold them and stop what runs of them (a record of kind
 * WARPLOOM_KIND_PREEMPT tells when all is back); let them go on, at once: a PREEMPT whose record is
 * not made yet does not wait for them any more; abort all their launches that were accepted so
 * far. */
int warploom_preempt(const warploom_core *core, uint32_t section, uint32_t streams);
int warploom_resume(const warploom_core *core, uint32_t section, uint32_t streams);
int warploom_abort_streams(const warploom_core *core, uint32_t section, uint32_t streams);
/* Read result words 0 to count - 1 that the unit's cores wrote. */
int warploom_results(const warploom_core *core, uint32_t section, uint32_t count, uint32_t *words);

/* Take the oldest final record: WARPLOOM_EMPTY if none waits. */
int warploom_take_record(const warploom_core *core, warploom_record *record);
/* Take it as soon as one is there, by the interrupt if the core has wait_irq. */
int warploom_wait_record(const warploom_core *core, warploom_record *record);

/* Raise `irq` for these bits (1 << WARPLOOM_IRQ_*), and bit 0 from so many records on. */
int warploom_enable_irq(const warploom_core *core, uint32_t bits, uint32_t threshold);
/* Read what happened, and clear it. */
int warploom_acknowledge_irq(const warploom_core *core, uint32_t *bits);

/* End a launch that stays longer than so many cycles at a stretch; 0: none. Let a record that
 * waits so many cycles raise `irq`, whatever the threshold is; 0: never. */
int warploom_set_launch_timeout(const warploom_core *core, uint32_t cycles);
int warploom_set_irq_timeout(const warploom_core *core, uint32_t cycles);
/* Read the clock whose low half stands in records. */
int warploom_clock(const warploom_core *core, uint64_t *clock);

/* Mend a stream that a failed launch broke: launches that are rung later find it mended; reset units
 * (a bit each); use SMs (a bit each). */
int warploom_clear_stream(const warploom_core *core, uint32_t stream);
int warploom_reset_units(const warploom_core *core, uint32_t units);
int warploom_enable_sms(const warploom_core *core, uint32_t word, uint32_t sms);

/* End every launch and task, and wait until the core is as after power-on. Records stay. */
int warploom_soft_reset(const warploom_core *core);

#endif
