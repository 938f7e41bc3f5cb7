/* out[b] = the sum of block b's part of `in`, each thread one element, in shared memory. */
#include "warploom_kernel.h"

#define MOST 256

struct arguments {
    const int *in;
    int *out;
    unsigned n;
};

SHARED int part[MOST];

void kernel(const struct arguments *given)
{
    unsigned thread = thread_number(), threads = block_threads();
    unsigned i = block_number() * threads + thread;
    part[thread] = i < given->n ? given->in[i] : 0;
    unsigned width = 1;
    while (width < threads) width *= 2;
    for (width /= 2; width > 0; width /= 2) {
        barrier();
        if (thread < width && thread + width < threads) part[thread] += part[thread + width];
    }
    if (thread == 0) given->out[block_number()] = part[0];
}
