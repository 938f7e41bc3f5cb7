/* A soft core launches kernels: a vector addition, two streams with an event and an urgent kernel,
 * and one LOOP beside as many launches one by one. Its text goes to the UART. */
#include "kernel.h" /* the kernel's words, made from its ELF file */
#include "soc.h"    /* access to LiteX's registers, and its interrupt */
#include "warploom_loops.h"
#include "warploom_shapes.h"

#define N 256         /* elements of a vector */
#define LAUNCHES 100  /* of the loop, and one by one */
#define SLICE 8       /* elements of one launch of these */
#define BUFFERS 0x4000 /* of the GPU's memory: a, b, out, arguments */

static volatile uint32_t *const memory = (volatile uint32_t *)GPU_MEMORY_BASE;
static volatile int interrupted;

__attribute__((interrupt)) void interrupt(void)
{
    irq_mask(0);
    interrupted = 1;
}

static int read32(void *context, uint32_t address, uint32_t *value)
{
    (void)context;
    *value = *(volatile uint32_t *)(GPU_BASE + address);
    return 0;
}

static int write32(void *context, uint32_t address, uint32_t value)
{
    (void)context;
    *(volatile uint32_t *)(GPU_BASE + address) = value;
    return 0;
}

static int wait_irq(void *context);
static const warploom_core core = {
    .read32 = read32, .write32 = write32, .wait_irq = wait_irq, .patience = 100000,
};

/* Sleep until the core's interrupt, and take it back; 1 if it does not come. */
static int wait_irq(void *context)
{
    uint32_t bits, turns;
    (void)context;
    interrupted = 0;
    irq_mask(1u << GPU_INTERRUPT);
    for (turns = 0; !interrupted; turns++)
        if (turns == 200000) return say("no interrupt came\n"), 1;
    return warploom_acknowledge_irq(&core, &bits);
}

static warploom_shape rows[4];
static warploom_shapes shapes = {.shapes = 0, .size = 0};
static warploom_record kept[4], record;
static warploom_kept words[WARPLOOM_SECTIONS];
static warploom_streams streams;
static warploom_templates templates;

static uint32_t now(void)
{
    uint64_t clock = 0;
    warploom_clock(&core, &clock);
    return (uint32_t)clock;
}

/* Let a launch, whose other fields are 0, add `count` elements by the arguments at `address`. */
static int set_addition(warploom_launch *launch, uint32_t address, uint32_t count)
{
    launch->code = KERNEL_ENTRY;
    launch->arguments = address;
    launch->gx = count / SLICE;
    launch->gy = launch->gz = launch->dy = launch->dz = launch->idempotent = 1;
    launch->dx = SLICE;
    launch->warp_registers = KERNEL_WARP_REGISTERS;
    launch->shared = KERNEL_SHARED;
    launch->barriers = KERNEL_BARRIERS;
    return warploom_place_indices(&shapes, launch);
}

static void put_arguments(uint32_t at, uint32_t first, uint32_t count)
{
    memory[at / 4] = BUFFERS + 4 * first;
    memory[at / 4 + 1] = BUFFERS + 4 * (N + first);
    memory[at / 4 + 2] = BUFFERS + 4 * (2 * N + first);
    memory[at / 4 + 3] = count;
}

static int wrong_sums(uint32_t count)
{
    uint32_t n, wrong = 0;
    for (n = 0; n < count; n++) {
        uint32_t sum = memory[BUFFERS / 4 + 2 * N + n];
        if (sum != 3 * n + 7 && !wrong++) say("element %u is %u, not %u\n", n, sum, 3 * n + 7);
        memory[BUFFERS / 4 + 2 * N + n] = 0;
    }
    return wrong != 0;
}
#define ARGUMENTS (BUFFERS + 4 * 3 * N)
#define TRY(call) do { int error_ = (call); if (error_) return say(#call ": %d\n", error_), 1; } while (0)

static int add_vectors(void)
{
    static warploom_launch launch;
    uint32_t ticket, start = now();
    TRY(set_addition(&launch, ARGUMENTS, N));
    TRY(warploom_launch_kernel(&core, 0, &launch, &ticket));
    TRY(warploom_wait_record(&core, &record));
    TRY(record.fate != WARPLOOM_FATE_FINISHED || wrong_sums(N));
    return say("vector add ok: %u elements, %u clocks, kernel %u\n", N, now() - start, record.cycles), 0;
}

/* `low` in stream 0, `next` in stream 1 behind it by an event, `urgent` in stream 2 before both. */
static int use_streams(void)
{
    static warploom_launch low, next, urgent;
    uint32_t tickets[3], n;
    warploom_event done;
    TRY(set_addition(&low, ARGUMENTS, N));
    TRY(set_addition(&next, ARGUMENTS, N));
    TRY(set_addition(&urgent, ARGUMENTS, SLICE));
    low.mode = WARPLOOM_MODE_RESET;
    low.gx = 512; /* most of its blocks have nothing to add: it only takes long */
    next.stream = 1;
    urgent.stream = 2;
    urgent.priority = (1u << WARPLOOM_PRIORITY_BITS) - 1;
    TRY(warploom_streams_launch(&core, &streams, 0, &low, &tickets[1]));
    TRY(warploom_event_record(&streams, 0, &done));
    TRY(warploom_stream_wait(&core, &streams, 1, &done));
    TRY(warploom_streams_launch(&core, &streams, 0, &next, &tickets[2]));
    TRY(warploom_streams_launch(&core, &streams, 0, &urgent, &tickets[0]));
    for (n = 0; n < 3; n++) {
        static const char *const names[] = {"urgent", "low", "next"};
        TRY(warploom_streams_wait_record(&core, &streams, &record));
        TRY(record.fate != WARPLOOM_FATE_FINISHED || record.ticket != tickets[n]);
        say("%s: accepted %u, first block %u, ended %u, killed %u\n", names[n], record.accepted,
            record.first_offer, record.made, record.kills);
    }
    TRY(wrong_sums(N));
    return say("streams ok\n"), 0;
}

/* Launches over a stepped pointer, one by one and by one LOOP. */
static __attribute__((noinline)) int compare_loop(void)
{
    const uint32_t section = WARPLOOM_SECTIONS - 1, slices = N / SLICE;
    static const warploom_steps steps = {.steps = WARPLOOM_STEP_ARGUMENTS, .arguments = 16};
    static warploom_launch launch;
    warploom_loop_result result;
    uint32_t n, slot, ticket, start, one_by_one;
    for (n = 0; n < LAUNCHES; n++) put_arguments(ARGUMENTS + 16 + 16 * n, n % slices * SLICE, SLICE);
    TRY(set_addition(&launch, ARGUMENTS + 16, SLICE));
    launch.quiet = 1;
    start = now();
    for (n = 0; n < LAUNCHES; n++, launch.arguments += 16)
        TRY(warploom_streams_launch(&core, &streams, 0, &launch, &ticket));
    one_by_one = now() - start;
    launch.quiet = 0; /* its record tells that all before it have ended */
    launch.arguments = ARGUMENTS + 16;
    TRY(warploom_streams_launch(&core, &streams, 0, &launch, &ticket));
    TRY(warploom_streams_wait_record(&core, &streams, &record) || wrong_sums(N));
    TRY(warploom_take_slots(&templates, 1, &slot));
    TRY(warploom_write_template(&core, &templates, slot, &launch, &steps));
    start = now();
    TRY(warploom_submit_loop(&core, &templates, section, slot, 1, LAUNCHES, 0));
    n = now() - start;
    TRY(warploom_loop_done(&core, section));
    TRY(warploom_loop_outcome(&core, &templates, section, &result));
    start = now() - start;
    TRY(result.finished != LAUNCHES || wrong_sums(N));
    say("%u launches one by one: %u clocks, %u a launch\n", LAUNCHES, one_by_one, one_by_one / LAUNCHES);
    return say("loop ok: %u launches, %u clocks of the soft core, %u to the end\n", LAUNCHES, n, start), 0;
}

static int run(void)
{
    uint32_t n;
    TRY(warploom_identify(&core));
    for (n = 0; n < KERNEL_WORDS; n++) memory[KERNEL_ADDRESS / 4 + n] = kernel_words[n];
    for (n = 0; n < N; n++) {
        memory[BUFFERS / 4 + n] = n;
        memory[BUFFERS / 4 + N + n] = 2 * n + 7;
    }
    put_arguments(ARGUMENTS, 0, N);
    shapes.shapes = rows;
    shapes.size = 4;
    streams.kept = kept;
    streams.size = 4;
    streams.words = words;
    TRY(warploom_streams_begin(&core, &streams));
    warploom_templates_begin(&templates, &streams);
    event_enable();
    TRY(warploom_enable_irq(&core, 1u << WARPLOOM_IRQ_RECORDS | 1u << WARPLOOM_IRQ_COMMAND_DONE, 1));
    TRY(add_vectors());
    TRY(use_streams());
    return compare_loop();
}

int main(void)
{
    say("warploom: a soft core launches kernels\n");
    say("exit %d\n\004", run());
    return 0;
}
