/* How a warp of a persistent kernel is a core of its SM's execution unit: it takes a part of a
 * task, gives result words, and arrives at the unit's barrier.
 *
 * docs/examples/persistent_kernel.md has the registers and their rules. */
#ifndef WARPLOOM_UNIT_H
#define WARPLOOM_UNIT_H

#include "warploom_kernel.h"

/* A core's registers; each is accessed as a word. */
struct unit_core {
    unsigned state;                        /* [8]: a part is there; [7:0]: its number */
    unsigned first, count, code, arguments; /* the part, and its task */
    unsigned arrive;                       /* [31:16]: the part's state, [15:0]: failure, or 0 */
    unsigned unused[2];
    unsigned result[8];
};

/* The registers of this warp's core. */
static inline __attribute__((always_inline)) volatile struct unit_core *unit_core(void)
{
    return (volatile struct unit_core *)(0x800 + sizeof(struct unit_core) * warp());
}

/* Wait until there is another part than `last`, and return its state; `last` is 0 at first.
 *
 * The loop stands behind all other code. So a lane that waits here has the highest pc of its warp,
 * and takes no turn from the lanes that still work. */
static inline __attribute__((always_inline)) unsigned
next_part(volatile struct unit_core *core, unsigned last)
{
    unsigned state, open;
    __asm__ volatile("j 1f\n"
                     ".pushsection .text.wait, \"ax\", @progbits\n"
                     "1:\tlw %0, 0(%2)\n\t"
                     "beq %0, %3, 1b\n\t"
                     "andi %1, %0, 0x100\n\t"
                     "beqz %1, 1b\n\t"
                     "j 2f\n"
                     ".popsection\n"
                     "2:"
                     : "=&r"(state), "=&r"(open)
                     : "r"(core), "r"(last)
                     : "memory");
    return state;
}

/* This lane has done its work at a part; everything that it stored is stored. */
static inline __attribute__((always_inline)) void
arrive(volatile struct unit_core *core, unsigned state, unsigned failure)
{
    __asm__ volatile("" ::: "memory");
    core->arrive = state << 16 | failure;
}

#endif
