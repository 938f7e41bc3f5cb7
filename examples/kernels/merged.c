/* One kernel that runs the blocks of three tasks, in the order of a mapping table.
 *
 * A block looks itself up in the table by its merged id. It waits until the marks of all tasks that
 * its task needs stand, does its work, and sets its tag. The last block of a task by merged id waits
 * for all tags of the task, then sets the task's mark. So blocks must be dispatched in the order of
 * merged ids, and the table must be legal: docs/merging/merged_kernels.md.
 *
 * A tag or a mark stands if it is the launch's epoch, an argument: nothing is cleared between two
 * launches with epochs of their own.
 *
 * LAST_BY_BLOCK_ID and NO_WAIT make two wrong kernels of it, as the method may be read: 'last' is
 * the task's highest block id; blocks do not wait for marks. */
#include "merged_tasks.h"

struct entry {
    unsigned task, x, y, z; /* which block of which task a merged block is */
};

struct arguments {
    const struct entry *table;
    const struct task *tasks;
    volatile unsigned *tags, *marks;
    unsigned epoch;
};

enum { VECTOR_ADD, STENCIL, BLOCK_SUM, TASKS };

/* Wait until a word has a value. The label says which code waits. */
INLINE void wait_for(volatile unsigned *word, unsigned value)
{
    unsigned seen;
    __asm__ volatile("wait_%=:\tlw %0, 0(%1)\n\tbne %0, %2, wait_%="
                     : "=&r"(seen)
                     : "r"(word), "r"(value)
                     : "memory");
}

/* n / d for n below 2^10; `per_d` is 2^20 / d, rounded up. */
INLINE unsigned divided(unsigned n, unsigned per_d)
{
    return n * per_d >> 20;
}

/* Each thread finds its place in the task's block. */
INLINE struct place place_of(const struct task *task, const struct entry *entry, unsigned thread)
{
    unsigned z = divided(thread, task->per_layer);
    unsigned rest = thread - z * task->dx * task->dy;
    unsigned y = divided(rest, task->per_row);
    unsigned block = entry->x + task->gx * (entry->y + task->gy * entry->z);
    struct place at = {block, entry->x, entry->y, entry->z, thread, rest - y * task->dx, y, z};
    return at;
}

/* Set the block's tag; the task's last block waits for all tags, and sets the mark. */
INLINE void report(const struct arguments *given, const struct task *task, unsigned number,
                   unsigned block)
{
    volatile unsigned *tag = given->tags + task->first_tag;
    tag[block] = given->epoch;
#ifdef LAST_BY_BLOCK_ID
    if (block != task->blocks - 1) return;
#else
    if (block_number() != task->last) return;
#endif
    for (unsigned left = task->blocks; left > 0; left--) wait_for(tag++, given->epoch);
    given->marks[number] = given->epoch;
}

void kernel(const struct arguments *given)
{
    const struct entry *entry = given->table + block_number();
    unsigned number = entry->task, thread = thread_number();
    const struct task *task = given->tasks + number;
    struct place at = place_of(task, entry, thread);
#ifndef NO_WAIT
    if (thread == 0) {
        for (unsigned other = 0; other < TASKS; other++) {
            if (task->needs >> other & 1) wait_for(given->marks + other, given->epoch);
        }
    }
    barrier();
#endif
    if (number == VECTOR_ADD) add_vectors(task, &at);
    if (number == STENCIL) stencil(task, &at);
    if (number == BLOCK_SUM) sum_block(task, &at);
    barrier();
    if (thread == 0) report(given, task, number, at.block);
}
