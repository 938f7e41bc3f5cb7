#include "warploom_fields.h"

void warploom_forget_words(warploom_kept *kept)
{
    kept->known = 0;
}

uint32_t warploom_read_words(uint32_t waits)
{
    uint32_t inline_words = 2 * WARPLOOM_INLINE_ARGS;
    uint32_t words = (UINT32_C(1) << 11) - 1;
    words |= ((UINT32_C(1) << inline_words) - 1) << 12;
    return words | ((UINT32_C(1) << waits) - 1) << WARPLOOM_LAUNCH_WAIT0_STREAM_WORD;
}

/* Write the words that are read, and differ, and ring. */
static int submit_kept(const warploom_core *core, uint32_t section, const uint32_t *words,
                       uint32_t read, warploom_kept *kept)
{
    uint32_t chosen = 0, n;
    int error;
    for (n = 0; n < WARPLOOM_LAUNCH_WORDS; n++) {
        uint32_t bit = UINT32_C(1) << n;
        if ((read & bit) && (!(kept->known & bit) || kept->words[n] != words[n])) chosen |= bit;
    }
    error = warploom_submit_chosen(core, section, words, chosen);
    if (error) {
        warploom_forget_words(kept);
        return error;
    }
    for (n = 0; n < WARPLOOM_LAUNCH_WORDS; n++)
        if (chosen >> n & 1) kept->words[n] = words[n];
    kept->known |= chosen;
    return WARPLOOM_OK;
}

int warploom_submit_launch_kept(const warploom_core *core, uint32_t section,
                                const warploom_launch *launch, warploom_kept *kept)
{
    uint32_t words[WARPLOOM_LAUNCH_WORDS];
    int error = warploom_pack_launch(launch, words);
    return error ? error
                 : submit_kept(core, section, words, warploom_read_words(launch->waits), kept);
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
    uint32_t words[WARPLOOM_LAUNCH_WORDS], turns = core->patience;
    int error, packed = warploom_pack_waiting(launch, pairs, waits, words);
    do {
        forget_outcome(outcome);
        if (packed)
            error = packed;
        else if (kept)
            error = submit_kept(core, section, words, warploom_read_words(waits), kept);
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
