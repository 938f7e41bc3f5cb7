/* The last thread of block 1 reads a word at an odd address: the launch ends as failed. */
#include "warploom_kernel.h"

struct arguments {
    int *out;
};

void kernel(const struct arguments *given)
{
    unsigned thread = thread_number();
    int *out = given->out + block_number() * block_threads() + thread;
    if (block_number() == 1 && thread + 1 == block_threads()) {
        out = (int *)((unsigned)out | 1);
        *(volatile int *)out;
    }
    *out = 1;
}
