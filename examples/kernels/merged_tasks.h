/* Three tasks that one kernel can run, or three: a sum of two vectors, a 3-D stencil, and the sum of
 * each block in shared memory.
 *
 * Each function runs one block of its task. It is called by all threads of the block that runs it,
 * which may have more threads than the task: those do nothing, and reach every barrier. A task
 * repeats its work `rounds` times, so that its blocks are as long as one likes. */
#ifndef WARPLOOM_MERGED_TASKS_H
#define WARPLOOM_MERGED_TASKS_H

#include "warploom_kernel.h"

#define MOST 256 /* threads of a block */
#define INLINE static inline __attribute__((always_inline))

/* A task's record, a word each. */
struct task {
    unsigned needs;     /* bit t: the mark of task t must stand before a block begins */
    unsigned first_tag; /* where its blocks' tags begin */
    unsigned blocks, last; /* how many, and the highest merged id of them */
    unsigned dx, dy, dz, threads; /* of a block */
    unsigned per_row, per_layer;  /* 2^20 / dx and 2^20 / (dx dy), rounded up: for `divided` */
    unsigned gx, gy, gz;
    unsigned rounds;
    const int *a, *b;
    int *out;
    unsigned nx, ny, nz; /* elements; vectors have nx */
};

/* Where a thread is: its block's number and place, its own number and place. */
struct place {
    unsigned block, bx, by, bz, thread, x, y, z;
};

/* out[i] = a[i] + b[i] for i below nx. */
INLINE void add_vectors(const struct task *task, const struct place *at)
{
    unsigned i = at->block * task->threads + at->thread;
    if (at->thread < task->threads && i < task->nx) {
        for (unsigned left = task->rounds; left > 0; left--) {
            task->out[i] = task->a[i] + task->b[i];
            __asm__ volatile("" ::: "memory");
        }
    }
}

/* Each inner point of a box becomes 6 times itself less its six neighbours; the faces are copied. */
INLINE void stencil(const struct task *task, const struct place *at)
{
    unsigned nx = task->nx, ny = task->ny, nz = task->nz;
    unsigned x = at->bx * task->dx + at->x;
    unsigned y = at->by * task->dy + at->y;
    unsigned z = at->bz * task->dz + at->z;
    if (at->thread < task->threads && x < nx && y < ny && z < nz) {
        unsigned i = x + nx * (y + ny * z);
        for (unsigned left = task->rounds; left > 0; left--) {
            const int *a = task->a + i;
            int value = *a;
            if (x > 0 && x + 1 < nx && y > 0 && y + 1 < ny && z > 0 && z + 1 < nz) {
                value = 6 * value - a[-1] - a[1] - a[-(int)nx] - a[nx];
                value -= a[-(int)(nx * ny)] + a[nx * ny];
            }
            task->out[i] = value;
            __asm__ volatile("" ::: "memory");
        }
    }
}

SHARED int part[MOST];

/* out[block] = the sum of the block's part of a, each thread one element. */
INLINE void sum_block(const struct task *task, const struct place *at)
{
    unsigned threads = task->threads, thread = at->thread;
    unsigned i = at->block * threads + thread;
    unsigned widest = 1;
    while (widest < threads) widest *= 2;
    for (unsigned left = task->rounds; left > 0; left--) {
        if (thread < threads) part[thread] = i < task->nx ? task->a[i] : 0;
        for (unsigned width = widest / 2; width > 0; width /= 2) {
            barrier();
            if (thread < width && thread + width < threads) part[thread] += part[thread + width];
        }
        if (thread == 0) task->out[at->block] = part[0];
        barrier();
    }
}

#endif
