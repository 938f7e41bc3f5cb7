/* out[i] = a[i] + b[i] for i below n. */
#include "warploom_kernel.h"

struct arguments {
    const int *a, *b;
    int *out;
    unsigned n;
};

void kernel(const struct arguments *given)
{
    unsigned i = block_number() * block_threads() + thread_number();
    if (i < given->n) given->out[i] = given->a[i] + given->b[i];
}
