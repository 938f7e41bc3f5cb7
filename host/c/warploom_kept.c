#include "warploom_fields.h"

#define COMMON_WORDS 11 /* of every launch */

void warploom_forget_words(warploom_kept *kept)
{
    kept->known = 0;
}

uint32_t warploom_read_words(uint32_t waits)
{
    uint32_t inline_words = 2 * WARPLOOM_INLINE_ARGS;
    uint32_t words = (UINT32_C(1) << COMMON_WORDS) - 1;
    words |= ((UINT32_C(1) << inline_words) - 1) << INLINE_WORD;
    return words | ((UINT32_C(1) << waits) - 1) << WARPLOOM_LAUNCH_WAIT0_STREAM_WORD;
}

/* Write the kept words that a launch is read from and the section lacks, and ring. */
static int submit_kept(const warploom_core *core, uint32_t section, uint32_t waits,
                       warploom_kept *kept)
{
    uint32_t chosen = warploom_read_words(waits) & ~kept->known;
    int error = warploom_submit_chosen(core, section, kept->words, chosen);
    kept->known |= chosen;
    if (error) warploom_forget_words(kept);
    return error;
}

/* Pack a launch into the kept words. */
static int pack_kept(const warploom_launch *launch, const warploom_wait_pair *pairs, uint32_t waits,
                     warploom_kept *kept)
{
    uint32_t changed = 0;
    int error = warploom_pack_waiting(launch, pairs, waits, kept->words, &changed);
    kept->known &= ~changed;
    return error;
}

int warploom_submit_launch_kept(const warploom_core *core, uint32_t section,
                                const warploom_launch *launch, warploom_kept *kept)
{
    int error = pack_kept(launch, launch->wait, launch->waits, kept);
    return error ? error : submit_kept(core, section, launch->waits, kept);
}

/* Wait for a launch's answer: its code, or the driver's. */
static int wait_answer(const warploom_core *core, uint32_t section, const warploom_launch *launch,
                       warploom_outcome *outcome)
{
    uint32_t base = warploom_section(section, 0), word, turns = core->patience;
    int error;
    for (;;) {
        error = warploom_read_register(core, base + WARPLOOM_SECTION_DOORBELL_OFFSET, &word);
        if (error) return error;
        if (!word) break;
        if (core->patience && !--turns) return WARPLOOM_WAITED;
    }
    error = warploom_read_register(core, base + WARPLOOM_SECTION_ERROR_OFFSET, &word);
    if (error) return error;
    outcome->code = word & WARPLOOM_SECTION_ERROR_CODE_MASK;
    outcome->argument = word >> WARPLOOM_SECTION_ERROR_ARGUMENT_SHIFT;
    if (outcome->code) return (int)outcome->code;
    error = warploom_read_register(core, base + WARPLOOM_SECTION_RESULT1_OFFSET, &word);
    outcome->number = word >> WARPLOOM_SECTION_RESULT1_COUNT_SHIFT;
    if (error || launch->quiet) return error;
    return warploom_read_register(core, base + WARPLOOM_SECTION_RESULT0_OFFSET, &outcome->ticket);
}

static void forget_outcome(warploom_outcome *outcome)
{
    outcome->code = outcome->core = outcome->argument = 0;
    outcome->ticket = outcome->succeeded = outcome->parts = 0;
    outcome->task = outcome->number = 0;
}

int warploom_launch_waiting(const warploom_core *core, uint32_t section,
                            const warploom_launch *launch, const warploom_wait_pair *pairs,
                            uint32_t waits, warploom_kept *kept, warploom_outcome *outcome)
{
    uint32_t words[WARPLOOM_LAUNCH_WORDS], turns = core->patience, n, changed;
    int error, packed;
    for (n = 0; !kept && n < WARPLOOM_LAUNCH_WORDS; n++) words[n] = 0;
    packed = kept ? pack_kept(launch, pairs, waits, kept)
                  : warploom_pack_waiting(launch, pairs, waits, words, &changed);
    do {
        forget_outcome(outcome);
        if (packed)
            error = packed;
        else if (kept)
            error = submit_kept(core, section, waits, kept);
        else
            error = warploom_submit_words(core, section, words, warploom_launch_length(waits));
        if (!error)
            error = kept ? wait_answer(core, section, launch, outcome)
                         : warploom_wait(core, section, outcome);
    } while (error == (int)WARPLOOM_ERROR_QUEUE_FULL && (!core->patience || --turns));
    if (error && kept) warploom_forget_words(kept);
    return error == (int)WARPLOOM_ERROR_QUEUE_FULL ? WARPLOOM_WAITED : error;
}

int warploom_launch_kept(const warploom_core *core, uint32_t section, const warploom_launch *launch,
                         warploom_kept *kept, warploom_outcome *outcome)
{
    return warploom_launch_waiting(core, section, launch, launch->wait, launch->waits, kept, outcome);
}
