/* Counts for ever: only an abort ends it. */
#include "warploom_kernel.h"

struct arguments {
    volatile unsigned *out;
};

void kernel(const struct arguments *given)
{
    volatile unsigned *out = given->out + block_number() * block_threads() + thread_number();
    for (;;) *out += 1;
}
