/* A persistent kernel: its warps are the cores of an execution unit, and add up parts of an array.
 *
 * SUM: each lane adds up its share of the part, and stores it in out[its thread].
 * COLLECT: lane 0 adds up the part, and gives the sum as result word 0 to 7, by its warp.
 * END: the warp ends. */
#include "warploom_unit.h"

enum { END, SUM, COLLECT };
enum { UNKNOWN_TASK = 1 };

struct arguments {
    const int *in;
    int *out;
    unsigned lanes; /* of a warp */
};

void kernel(void)
{
    volatile struct unit_core *core = unit_core();
    unsigned code, part = 0;
    do {
        unsigned failure = 0;
        int sum = 0;
        part = next_part(core, part);
        code = core->code;
        const struct arguments *task = (const struct arguments *)core->arguments;
        unsigned i = core->first, end = i + core->count;
        if (code == SUM) {
            for (i += lane(); i < end; i += task->lanes) sum += task->in[i];
            task->out[thread_number()] = sum;
        } else if (code == COLLECT) {
            if (lane() == 0) {
                for (; i < end; i++) sum += task->in[i];
                core->result[warp() & 7] = sum;
            }
        } else if (code != END) {
            failure = UNKNOWN_TASK;
        }
        arrive(core, part, failure);
    } while (code != END);
}
