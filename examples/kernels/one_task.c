/* The tasks of merged.c as launches of their own: one kernel, and each launch names its task.
 *
 * Grid and block are the task's, so a thread knows its place without a table. */
#include "merged_tasks.h"

struct arguments {
    const struct task *task;
    unsigned number;
};

enum { VECTOR_ADD, STENCIL, BLOCK_SUM };

void kernel(const struct arguments *given)
{
    const struct task *task = given->task;
    struct place at = {block_number(), block_x(),  block_y(),  block_z(),
                       thread_number(), thread_x(), thread_y(), thread_z()};
    if (given->number == VECTOR_ADD) add_vectors(task, &at);
    if (given->number == STENCIL) stencil(task, &at);
    if (given->number == BLOCK_SUM) sum_block(task, &at);
}
