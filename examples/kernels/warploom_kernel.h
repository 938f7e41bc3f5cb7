/* What a kernel for SimtCore may ask: its thread, its block, its grid, and the block's barrier.
 *
 * A kernel is one function, `kernel`. Its parameter points to the arguments, one word each, in the
 * order in which the host gave them. There is no stack: everything that a kernel calls is inlined.
 * docs/examples/run_a_kernel.md has the command that compiles a kernel. */
#ifndef WARPLOOM_KERNEL_H
#define WARPLOOM_KERNEL_H

/* The assembler counts csrr as an extension of rv32im. */
__asm__(".option arch, +zicsr");

#define WARPLOOM_CSR(name, number)                               \
    static inline __attribute__((always_inline)) unsigned name(void) \
    {                                                            \
        unsigned value;                                          \
        __asm__("csrr %0, " #number : "=r"(value));              \
        return value;                                            \
    }

WARPLOOM_CSR(thread_x, 0xCC0)
WARPLOOM_CSR(thread_y, 0xCC1)
WARPLOOM_CSR(thread_z, 0xCC2)
WARPLOOM_CSR(block_x, 0xCC3)
WARPLOOM_CSR(block_y, 0xCC4)
WARPLOOM_CSR(block_z, 0xCC5)
WARPLOOM_CSR(block_dim_x, 0xCC6)
WARPLOOM_CSR(block_dim_y, 0xCC7)
WARPLOOM_CSR(block_dim_z, 0xCC8)
WARPLOOM_CSR(grid_dim_x, 0xCC9)
WARPLOOM_CSR(grid_dim_y, 0xCCA)
WARPLOOM_CSR(grid_dim_z, 0xCCB)
WARPLOOM_CSR(lane, 0xCCC)
WARPLOOM_CSR(warp, 0xCCD)

/* Wait until every thread of the block that has not ended waits here. */
static inline __attribute__((always_inline)) void barrier(void)
{
    __asm__ volatile("csrwi 0xCCE, 0" ::: "memory");
}

/* The thread's number in its block, and in the whole grid: x runs first, then y, then z. */
static inline __attribute__((always_inline)) unsigned thread_number(void)
{
    return thread_x() + block_dim_x() * (thread_y() + block_dim_y() * thread_z());
}

static inline __attribute__((always_inline)) unsigned block_threads(void)
{
    return block_dim_x() * block_dim_y() * block_dim_z();
}

static inline __attribute__((always_inline)) unsigned block_number(void)
{
    return block_x() + grid_dim_x() * (block_y() + grid_dim_y() * block_z());
}

/* A variable in the block's shared memory. It has no initial value. */
#define SHARED __attribute__((section(".shared"))) static

#endif
