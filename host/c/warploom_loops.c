#include "warploom_loops.h"
#include "warploom_fields.h"

#ifdef WARPLOOM_LOOP_TEMPLATES

#define SLOTS WARPLOOM_LOOP_TEMPLATES
#define HALF_WORDS 32
#define FIRST_SECTION (WARPLOOM_SECTIONS - WARPLOOM_LOOP_SECTIONS)
#define FIRST_INLINE 3 /* number of the field that is inline word 0 */
/* All fields that may change. */
#define FIELDS (WARPLOOM_STEP_INLINE(WARPLOOM_INLINE_ARGS) - 1)
#define LEAST_IN_FLIGHT 4

static int can_loop(uint32_t section)
{
    return section - FIRST_SECTION < WARPLOOM_LOOP_SECTIONS;
}

static void forget_templates(warploom_templates *templates)
{
    uint32_t slot;
    for (slot = 0; slot < SLOTS; slot++)
        templates->written[slot] = templates->known[slot][0] = templates->known[slot][1] = 0;
}

void warploom_templates_begin(warploom_templates *templates, warploom_streams *streams)
{
    uint32_t n;
    templates->streams = streams;
    forget_templates(templates);
    for (n = 0; n < SLOTS; n++) templates->group[n] = 0;
    for (n = 0; n < WARPLOOM_LOOP_SECTIONS; n++) templates->loops[n].runs = 0;
}

int warploom_take_slots(warploom_templates *templates, uint32_t count, uint32_t *first)
{
    uint32_t start, n;
    if (!count || count > SLOTS) return WARPLOOM_RANGE;
    for (start = 0; start < SLOTS; start++) {
        for (n = 0; n < count && !templates->group[(start + n) % SLOTS]; n++) {}
        if (n < count) continue;
        for (n = 0; n < count; n++) {
            templates->group[(start + n) % SLOTS] = start + 1;
            templates->written[(start + n) % SLOTS] = 0;
        }
        *first = start;
        return WARPLOOM_OK;
    }
    return WARPLOOM_FULL;
}

/* Whether a loop uses a slot. */
static int is_used(const warploom_templates *templates, uint32_t slot)
{
    uint32_t n;
    for (n = 0; n < WARPLOOM_LOOP_SECTIONS; n++) {
        const warploom_loop *loop = &templates->loops[n];
        if (loop->runs && (slot - loop->first) % SLOTS < loop->size) return 1;
    }
    return 0;
}

int warploom_free_slots(warploom_templates *templates, uint32_t first)
{
    uint32_t n;
    if (first >= SLOTS || templates->group[first] != first + 1) return WARPLOOM_RANGE;
    for (n = 0; n < SLOTS; n++)
        if (templates->group[n] == first + 1 && is_used(templates, n)) return WARPLOOM_BUSY;
    for (n = 0; n < SLOTS; n++)
        if (templates->group[n] == first + 1) templates->group[n] = 0;
    return WARPLOOM_OK;
}

static int steps_fit(const warploom_steps *steps)
{
    return !((steps->steps | steps->alternates) & ~FIELDS) &&
           !(steps->steps & steps->alternates) && FITS(steps->gy, WARPLOOM_LAUNCH_GY) &&
           FITS(steps->gz, WARPLOOM_LAUNCH_GZ);
}

/* Fill the words of a field's change; return their bits. */
static uint32_t pack_change(const warploom_steps *steps, uint32_t field, uint32_t *words)
{
    uint32_t low = WARPLOOM_LAUNCH_ARGUMENTS_LOW_WORD;
    uint64_t value = steps->arguments;
    if (field == 0) {
        words[WARPLOOM_LAUNCH_GX_WORD] = steps->gx;
        return UINT32_C(1) << WARPLOOM_LAUNCH_GX_WORD;
    }
    if (field == 1) {
        words[WARPLOOM_LAUNCH_GY_WORD] =
            PUT(steps->gy, WARPLOOM_LAUNCH_GY) | PUT(steps->gz, WARPLOOM_LAUNCH_GZ);
        return UINT32_C(1) << WARPLOOM_LAUNCH_GY_WORD;
    }
    if (field >= FIRST_INLINE) {
        low = INLINE_WORD + 2 * (field - FIRST_INLINE);
        value = steps->inline_args[field - FIRST_INLINE];
    }
    words[low] = LOW(value);
    words[low + 1] = HIGH(value);
    return UINT32_C(3) << low;
}

/* Write the words of half a slot that differ from what stands there. */
static int write_half(const warploom_core *core, warploom_templates *templates, uint32_t slot,
                      uint32_t half, const uint32_t *words, uint32_t read)
{
    uint32_t base = WARPLOOM_TEMPLATE_BASE + slot * WARPLOOM_TEMPLATE_BYTES, n;
    uint32_t *known = &templates->known[slot][half], *copy = templates->words[slot][half];
    for (n = 0; n < HALF_WORDS; n++) {
        uint32_t bit = UINT32_C(1) << n;
        if (!(read & bit) || ((*known & bit) && copy[n] == words[n])) continue;
        if (core->write32(core->context, base + half * WARPLOOM_TEMPLATE_STEPS + 4 * n, words[n]))
            return WARPLOOM_BUS_ERROR;
        *known |= bit;
        copy[n] = words[n];
    }
    return WARPLOOM_OK;
}

int warploom_write_template(const warploom_core *core, warploom_templates *templates, uint32_t slot,
                            const warploom_launch *launch, const warploom_steps *steps)
{
    uint32_t first[WARPLOOM_LAUNCH_WORDS], second[HALF_WORDS], changed = 0, field;
    int error;
    if (slot >= SLOTS || !templates->group[slot] || (steps && !steps_fit(steps)))
        return WARPLOOM_RANGE;
    error = warploom_pack_launch(launch, first);
    if (error) return error;
    first[WARPLOOM_LAUNCH_STREAM_WORD] |= PUT(1u, WARPLOOM_LAUNCH_QUIET);
    if (is_used(templates, slot)) return WARPLOOM_BUSY;
    first[WARPLOOM_TEMPLATE_CHANGES_WORD] = 0;
    if (steps)
        first[WARPLOOM_TEMPLATE_CHANGES_WORD] =
            PUT(steps->steps | steps->alternates, WARPLOOM_TEMPLATE_CHANGES) |
            PUT(steps->alternates, WARPLOOM_TEMPLATE_ALTERNATES);
    for (field = 0; steps && field < FIRST_INLINE + WARPLOOM_INLINE_ARGS; field++)
        if ((steps->steps | steps->alternates) >> field & 1)
            changed |= pack_change(steps, field, second);
    templates->written[slot] = 0;
    error = write_half(core, templates, slot, 0, first,
                       warploom_read_words(launch->waits) | 1u << WARPLOOM_TEMPLATE_CHANGES_WORD);
    if (!error) error = write_half(core, templates, slot, 1, second, changed);
    if (!error && core->barrier && core->barrier(core->context)) error = WARPLOOM_BUS_ERROR;
    if (error)
        forget_templates(templates);
    else
        templates->written[slot] = 1;
    return error;
}

/* The stream of what stands in a slot. */
static uint32_t stream_of(const warploom_templates *templates, uint32_t slot)
{
    return GET(templates->words[slot % SLOTS][0][WARPLOOM_LAUNCH_STREAM_WORD],
               WARPLOOM_LAUNCH_STREAM);
}

/* Whether slot k of a loop is the first one of its stream. */
static int is_first(const warploom_templates *templates, uint32_t first, uint32_t k)
{
    uint32_t n, stream = stream_of(templates, first + k);
    for (n = 0; n < k; n++)
        if (stream_of(templates, first + n) == stream) return 0;
    return 1;
}

/* Add to the running loops of each stream that a loop has. */
static void mark_streams(const warploom_templates *templates, const warploom_loop *loop, uint32_t more)
{
    uint32_t k;
    for (k = 0; k < loop->size; k++)
        if (is_first(templates, loop->first, k))
            templates->streams->looping[stream_of(templates, loop->first + k)] += more;
}

static uint32_t default_in_flight(const warploom_templates *templates, uint32_t first, uint32_t count)
{
    uint32_t k, found = 1, most = WARPLOOM_QUEUE_DEPTH / 2;
    for (k = 0; k < count; k++) found += (uint32_t)is_first(templates, first, k);
    if (found < LEAST_IN_FLIGHT) found = LEAST_IN_FLIGHT;
    if (!most) most = 1;
    return found < most ? found : most;
}

int warploom_submit_loop(const warploom_core *core, warploom_templates *templates, uint32_t section,
                         uint32_t first, uint32_t count, uint32_t iterations, uint32_t in_flight)
{
    uint32_t words[3], k;
    warploom_loop *loop;
    int error;
    if (!can_loop(section)) return WARPLOOM_RANGE;
    if (first >= SLOTS || !count || count > SLOTS) return WARPLOOM_RANGE;
    if (!FITS(in_flight, WARPLOOM_LOOP_IN_FLIGHT)) return WARPLOOM_RANGE;
    for (k = 0; k < count; k++) {
        uint32_t slot = (first + k) % SLOTS;
        if (!templates->written[slot] || !templates->group[slot]) return WARPLOOM_RANGE;
        if (templates->group[slot] != templates->group[first]) return WARPLOOM_RANGE;
        if (is_used(templates, slot)) return WARPLOOM_BUSY;
    }
    loop = &templates->loops[section - FIRST_SECTION];
    if (loop->runs) return WARPLOOM_BUSY;
    if (!in_flight) in_flight = default_in_flight(templates, first, count);
    words[WARPLOOM_LOOP_OPCODE_WORD] = PUT(WARPLOOM_OPCODE_LOOP, WARPLOOM_LOOP_OPCODE);
    words[WARPLOOM_LOOP_COUNT_WORD] = iterations;
    words[WARPLOOM_LOOP_FIRST_SLOT_WORD] = PUT(first, WARPLOOM_LOOP_FIRST_SLOT) |
                                           PUT((first + count - 1) % SLOTS, WARPLOOM_LOOP_LAST_SLOT) |
                                           PUT(in_flight, WARPLOOM_LOOP_IN_FLIGHT);
    if (templates->streams && templates->streams->words)
        warploom_forget_words(&templates->streams->words[section]);
    error = warploom_submit_words(core, section, words, 3);
    if (error == WARPLOOM_BUS_ERROR) forget_templates(templates);
    if (error) return error;
    loop->runs = 1;
    loop->first = first;
    loop->size = count;
    loop->iterations = iterations;
    if (templates->streams) {
        loop->epoch = templates->streams->epoch;
        templates->streams->loops |= UINT32_C(1) << section;
        mark_streams(templates, loop, 1);
    }
    return WARPLOOM_OK;
}

int warploom_loop_done(const warploom_core *core, uint32_t section)
{
    uint32_t turns = core->patience, doorbell;
    if (!can_loop(section)) return WARPLOOM_RANGE;
    for (;;) {
        /* An event that comes after this shows that the command is complete. */
        int error = core->wait_irq ? warploom_write_register(core, WARPLOOM_IRQ_STATUS_ADDRESS,
                                                             1u << WARPLOOM_IRQ_COMMAND_DONE)
                                   : WARPLOOM_OK;
        if (error) return error;
        error = warploom_read_register(
            core, warploom_section(section, WARPLOOM_SECTION_DOORBELL_OFFSET), &doorbell);
        if (error || !doorbell) return error;
        if (core->wait_irq && core->wait_irq(core->context)) return WARPLOOM_BUS_ERROR;
        if (core->patience && !--turns) return WARPLOOM_WAITED;
    }
}

/* Divide by `by`, at most SLOTS, without an instruction that a small core may lack. */
static uint32_t divide(uint32_t value, uint32_t by, uint32_t *rest)
{
    uint32_t quotient = 0, bit;
    *rest = 0;
    for (bit = UINT32_C(1) << 31; bit; bit >>= 1) {
        *rest = *rest << 1 | !!(value & bit);
        if (*rest < by) continue;
        *rest -= by;
        quotient |= bit;
    }
    return quotient;
}

/* Let the counts of the streams of a section's loop go on by its launches. */
static void count_launches(warploom_templates *templates, uint32_t section,
                           const warploom_loop_result *result)
{
    const warploom_loop *loop = &templates->loops[section - FIRST_SECTION];
    warploom_streams *streams = templates->streams;
    uint32_t rest, k, whole = divide(result->accepted, loop->size, &rest);
    /* All were accepted, also if they are more than 2^32. */
    if (!result->code) {
        whole = loop->iterations;
        rest = 0;
    }
    /* A soft reset has ended everything. */
    if (!streams || loop->epoch != streams->epoch) return;
    mark_streams(templates, loop, UINT32_MAX);
    streams->loops &= ~(UINT32_C(1) << section);
    for (k = 0; k < loop->size; k++)
        streams->count[stream_of(templates, loop->first + k)] += (uint64_t)whole + (k < rest);
    /* All have finished, and so has what was before them. */
    for (k = 0; k < loop->size && !result->code && whole; k++) {
        uint32_t stream = stream_of(templates, loop->first + k);
        streams->ended[stream] = streams->count[stream];
    }
}

int warploom_loop_outcome(const warploom_core *core, warploom_templates *templates,
                          uint32_t section, warploom_loop_result *result)
{
    uint32_t base = warploom_section(section, 0), word;
    warploom_loop *loop;
    int error;
    if (!can_loop(section)) return WARPLOOM_RANGE;
    error = warploom_read_register(core, base + WARPLOOM_SECTION_DOORBELL_OFFSET, &word);
    if (error) return error;
    if (word) return WARPLOOM_BUSY;
    error = warploom_read_register(core, base + WARPLOOM_SECTION_ERROR_OFFSET, &word);
    if (error) return error;
    result->code = GET(word, WARPLOOM_SECTION_ERROR_CODE);
    result->argument = GET(word, WARPLOOM_SECTION_ERROR_ARGUMENT);
    error = warploom_read_register(core, base + WARPLOOM_SECTION_RESULT3_OFFSET,
                                   &result->accepted);
    if (error) return error;
    /* Where all went well each one that was accepted has finished. */
    result->finished = result->accepted;
    if (result->code)
        error = warploom_read_register(core, base + WARPLOOM_SECTION_RESULT2_OFFSET,
                                       &result->finished);
    if (error) return error;
    loop = &templates->loops[section - FIRST_SECTION];
    if (loop->runs) count_launches(templates, section, result);
    loop->runs = 0;
    return (int)result->code;
}

int warploom_loop_stop(const warploom_core *core, uint32_t section)
{
    if (!can_loop(section)) return WARPLOOM_RANGE;
    return warploom_write_register(core, WARPLOOM_LOOP_STOP_ADDRESS, UINT32_C(1) << section);
}

#endif
