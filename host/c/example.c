/* One kernel from a host's first access to its final record: the place to start from.
 *
 * Change BASE to where your bus has the core. `code` and `arguments` mean what your SMs make of
 * them. Build it with the driver and the header of your core:
 *
 *     warploom map --config default --driver firmware
 *     gcc -std=c99 -ffreestanding -Ifirmware -c firmware/warploom*.c host/c/example.c
 *
 * Where writes are posted (PCIe, a buffered bridge), give `barrier`, too: here write32 returns
 * after the response, as a store to device memory and the barrier behind it do. */
#include "warploom_shapes.h"

#ifndef BASE
#define BASE UINT32_C(0x40000000)
#endif

static int read32(void *context, uint32_t address, uint32_t *value)
{
    (void)context;
    *value = *(volatile uint32_t *)(uintptr_t)(BASE + address);
    return 0;
}

static int write32(void *context, uint32_t address, uint32_t value)
{
    (void)context;
    *(volatile uint32_t *)(uintptr_t)(BASE + address) = value;
    return 0;
}

int run_one_kernel(uint64_t code, uint64_t arguments)
{
    const warploom_core core = {.read32 = read32, .write32 = write32, .patience = 1000000};
    /* Kept between calls: each block shape has its own rows of the index memory. */
    static warploom_shape entries[16];
    static warploom_shapes shapes = {.shapes = entries, .size = 16};
    warploom_launch launch = {
        .code = code, .arguments = arguments,
        .gx = 64, .gy = 1, .gz = 1, .dx = 32, .dy = 1, .dz = 1, .warp_registers = 1,
    };
    warploom_record record;
    uint32_t ticket;
    int error = warploom_identify(&core);
    if (!error) error = warploom_place_indices(&shapes, &launch);
    if (!error) error = warploom_launch_kernel(&core, 0, &launch, &ticket);
    if (!error) error = warploom_wait_record(&core, &record);
    if (error) return error;
    if (record.ticket == ticket && record.fate == WARPLOOM_FATE_FINISHED) return 0;
    /* An aborted launch has the code 0. */
    return record.code ? (int)record.code : 255;
}
