/* Words that stand in a section's task register (docs/host/drivers.md). Beside warploom.h.
 *
 * Task words survive commands. A program that keeps those of its last launch in a section lets the
 * driver write only the words that differ. */
#ifndef WARPLOOM_KEPT_H
#define WARPLOOM_KEPT_H

#include "warploom.h"

/* One section's words, bit n of `known` where word n stands in the section, too. All 0: none. */
typedef struct {
    uint32_t known;
    uint32_t words[32];
} warploom_kept;

/* Know nothing: when another driver may have used the section, or after a reset. */
void warploom_forget_words(warploom_kept *kept);
/* The words that a launch with so many pairs is read from, a bit each. */
uint32_t warploom_read_words(uint32_t waits);
/* As warploom_submit_launch; writes the words that differ. After any error `kept` knows nothing. */
int warploom_submit_launch_kept(const warploom_core *core, uint32_t section,
                                const warploom_launch *launch, warploom_kept *kept);
/* As warploom_launch_kernel, with the outcome. `kept` may be null. Else only code, argument, number
 * and, unless the launch is quiet, ticket are read. After a refusal it knows nothing; a launch that
 * is tried again because a queue is full is rung as it stands. */
int warploom_launch_kept(const warploom_core *core, uint32_t section, const warploom_launch *launch,
                         warploom_kept *kept, warploom_outcome *outcome);

#endif
