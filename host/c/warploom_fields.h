/* Fields of words, for the driver's own sources. */
#ifndef WARPLOOM_FIELDS_H
#define WARPLOOM_FIELDS_H

#include "warploom_kept.h"

/* The value of a field that a word holds, and the word that holds a value. */
#define GET(word, field) (((word) & field##_MASK) >> field##_SHIFT)
#define FITS(value, field) (!EXCESS(value, field))
/* What is left of a value above its field. */
#define EXCESS(value, field) ((value) & ~(field##_MASK >> field##_SHIFT))
#define PUT(value, field) ((value) << field##_SHIFT)
/* The low bits of a value, as many as a field has. */
#define CUT(value, field) ((value) & (field##_MASK >> field##_SHIFT))

#define INLINE_WORD 12 /* of a launch: its first inline argument's low word */
#define LOW(value) ((uint32_t)((value) & UINT32_C(0xFFFFFFFF)))
#define HIGH(value) ((uint32_t)((value) >> 32))

#ifdef WARPLOOM_LOOP_TEMPLATES
#define LOOPS 1
#else
/* Without loops no launch is quiet, and no pair relative. */
#define LOOPS 0
#define WARPLOOM_LAUNCH_QUIET_SHIFT 0
#define WARPLOOM_LAUNCH_QUIET_MASK UINT32_C(0)
#define WARPLOOM_FLAG_RELATIVE 0
#endif

/* Set word n, or n and n + 1; return the bits of those that were others before. */
static inline uint32_t put_word(uint32_t *words, uint32_t n, uint32_t value)
{
    if (words[n] == value) return 0;
    words[n] = value;
    return UINT32_C(1) << n;
}

static inline uint32_t put_pair(uint32_t *words, uint32_t n, uint64_t value)
{
    return put_word(words, n, LOW(value)) | put_word(words, n + 1, HIGH(value));
}

/* As the calls of warploom.h and warploom_kept.h, for other pairs than the launch's own. Words that
 * the launch is not read from stay as they are; `changed` has the bits of those that differ now. */
int warploom_pack_waiting(const warploom_launch *launch, const warploom_wait_pair *pairs,
                          uint32_t waits, uint32_t *words, uint32_t *changed);
int warploom_launch_waiting(const warploom_core *core, uint32_t section,
                            const warploom_launch *launch, const warploom_wait_pair *pairs,
                            uint32_t waits, warploom_kept *kept, warploom_outcome *outcome);

/* How many words a launch is read from, counted from word 0. */
static inline uint32_t warploom_launch_length(uint32_t waits)
{
    return waits ? WARPLOOM_LAUNCH_WAIT0_STREAM_WORD + waits : INLINE_WORD + 2 * WARPLOOM_INLINE_ARGS;
}

#endif
