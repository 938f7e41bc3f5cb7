/* Two loops in hardware: each is one LOOP, whatever the number of its iterations. */
#include "warploom_loops.h"

#ifdef WARPLOOM_LOOP_TEMPLATES

int run_array(const warploom_core *core, warploom_templates *templates, const warploom_launch *kernel);
int run_two_buffers(const warploom_core *core, warploom_templates *templates,
                    const warploom_launch *fill, const warploom_launch *reduce, uint64_t other);

/* Launch so many slots, often, and wait until all launches have ended. */
static int run_loop(const warploom_core *core, warploom_templates *templates, uint32_t first,
                    uint32_t count, uint32_t iterations)
{
    const uint32_t section = WARPLOOM_SECTIONS - 1; /* the last sections can loop */
    warploom_loop_result result;
    int error = warploom_submit_loop(core, templates, section, first, count, iterations, 0);
    if (!error) error = warploom_loop_done(core, section);
    return error ? error : warploom_loop_outcome(core, templates, section, &result);
}

/* A loop over a pointer and a grid: 1,000 rows of 4,096 bytes, each two blocks longer. */
int run_array(const warploom_core *core, warploom_templates *templates, const warploom_launch *kernel)
{
    const warploom_steps steps = {
        .steps = WARPLOOM_STEP_ARGUMENTS | WARPLOOM_STEP_GX, .arguments = 4096, .gx = 2,
    };
    uint32_t slot;
    int error = warploom_take_slots(templates, 1, &slot);
    if (error) return error;
    error = warploom_write_template(core, templates, slot, kernel, &steps);
    if (!error) error = run_loop(core, templates, slot, 1, 1000);
    return error ? error : warploom_free_slots(templates, slot);
}

/* A loop over two streams: `fill` writes one of two buffers, `reduce` reads it. */
int run_two_buffers(const warploom_core *core, warploom_templates *templates,
                    const warploom_launch *fill, const warploom_launch *reduce, uint64_t other)
{
    const warploom_steps swap = {.alternates = WARPLOOM_STEP_ARGUMENTS, .arguments = other};
    warploom_launch writer = *fill, reader = *reduce;
    uint32_t slot;
    int error = warploom_take_slots(templates, 2, &slot);
    if (error) return error;
    /* In each iteration `reduce` waits for its own `fill`, and `fill` for the last but one `reduce`:
     * the reader of its buffer. */
    reader.wait[reader.waits++] = warploom_wait_latest(writer.stream);
    writer.wait[writer.waits] = warploom_wait_latest(reader.stream);
    writer.wait[writer.waits++].count = 1;
    error = warploom_write_template(core, templates, slot, &writer, &swap);
    if (!error)
        error = warploom_write_template(core, templates, (slot + 1) % WARPLOOM_LOOP_TEMPLATES,
                                        &reader, &swap);
    if (!error) error = run_loop(core, templates, slot, 2, 500);
    return error ? error : warploom_free_slots(templates, slot);
}

#endif
