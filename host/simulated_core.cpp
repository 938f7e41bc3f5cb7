// The simulated core as a library: FrontEnd of `tiny` in Verilator, with its SMs, behind the accesses
// that a driver needs. docs/host/drivers.md has the commands, and programs in C and Python.
//
// An access takes the cycles that it takes over AXI4-Lite; between accesses no time goes by. A block
// runs as many cycles as the low 32 bits of its launch's `code` say; a killed one ends at once. With
// SHOW_BLOCKS in the environment each block is printed, with the clock that records have.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "Vcore.h"
#include "warploom_sm.h"

// Lowest bit and width of a field: warploom_sm.h has them for the core's configuration.
#define FIELD(name) WARPLOOM_##name##_LOW, WARPLOOM_##name##_BITS

// As a driver wants them: 0, or another number if the core refused the access.
extern "C" int simulated_read32(void *context, uint32_t address, uint32_t *value);
extern "C" int simulated_write32(void *context, uint32_t address, uint32_t value);
// Returns as soon as `irq` is 1, or after 1,000 cycles.
extern "C" int simulated_wait_irq(void *context);

namespace {

constexpr unsigned SMS = WARPLOOM_SM_SMS, SLOTS = WARPLOOM_SM_BLOCK_SLOTS;
constexpr unsigned REPORT = WARPLOOM_BLOCK_REPORT_BITS;
static_assert(SMS * REPORT <= 64, "the reports of all SMs are one number here");

struct Block {
    bool runs;
    unsigned stream, x;
    uint32_t ticket;
    uint64_t due;
};

Vcore core;
Block held[SMS][SLOTS];
uint64_t now = 0;

// Some bits of a port, at most 32.
template <typename Port>
uint32_t bits(const Port &port, unsigned low, unsigned count)
{
    uint32_t value = 0;
    for (unsigned k = 0; k < count; k++)
        value |= (port[(low + k) / 32] >> (low + k) % 32 & 1) << k;
    return value;
}

void show(unsigned sm, const Block &block, const char *what)
{
    static const bool shows = std::getenv("SHOW_BLOCKS");
    if (shows)
        std::printf("%llu: SM %u %s block %u of ticket %u\n", (unsigned long long)now, sm, what,
                    block.x, block.ticket);
}

// Report one block of an SM that has run long enough, or whose launch is killed.
void report(unsigned sm)
{
    core.report_valid &= ~(1u << sm);
    core.report &= ~(((UINT64_C(1) << REPORT) - 1) << REPORT * sm);
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        Block &block = held[sm][slot];
        bool ended = now >= block.due, killed = core.kill >> block.stream & 1;
        if (!block.runs || (!ended && !killed)) continue;
        show(sm, block, ended ? "ends" : "kills");
        block.runs = false;
        core.report_valid |= 1u << sm;
        uint64_t status = ended ? WARPLOOM_STATUS_OK : WARPLOOM_STATUS_KILLED;
        core.report |= (uint64_t(slot) << WARPLOOM_BLOCK_REPORT_SLOT_LOW |
                        status << WARPLOOM_BLOCK_REPORT_STATUS_LOW)
                       << REPORT * sm;
        return;
    }
}

// A cycle up to its edge: all outputs are registers, so the SMs see them and answer. A report stands
// until it is taken.
void begin_cycle()
{
    static unsigned standing = 0;
    core.clk = 0;
    core.eval();
    for (unsigned sm = 0; sm < SMS; sm++) {
        if (!(standing >> sm & 1)) report(sm);
        if (!(core.offer >> sm & 1)) continue;
        Block &block = held[sm][bits(core.block, FIELD(RESIDENT_BLOCK_SLOT))];
        // Of a code its low 32 bits.
        block = {true, bits(core.block, FIELD(RESIDENT_BLOCK_STREAM)),
                 bits(core.block, FIELD(RESIDENT_BLOCK_BX)),
                 bits(core.words, FIELD(LAUNCH_WORDS_TICKET)),
                 now + 1 + bits(core.words, WARPLOOM_LAUNCH_WORDS_CODE_LOW, 32)};
        show(sm, block, "takes");
    }
    standing = core.report_valid & ~core.report_ready;
}

void end_cycle()
{
    core.clk = 1;
    core.eval();
    now++;
}

// Before the first access: a reset. The core's clock is 0 one cycle after `rst` has fallen.
void start()
{
    static bool started = false;
    if (started) return;
    started = true;
    core.s_axil_wstrb = 15;
    core.s_axil_bready = core.s_axil_rready = core.cores_start_ready = 1;
    for (int cycle = 0; cycle < 5; cycle++) {
        core.rst = cycle < 4;
        begin_cycle();
        end_cycle();
    }
    now = 0;
}

}  // namespace

int simulated_read32(void *, uint32_t address, uint32_t *value)
{
    start();
    core.s_axil_araddr = address;
    core.s_axil_arvalid = 1;
    for (;;) {
        begin_cycle();
        bool taken = core.s_axil_arready, answered = core.s_axil_rvalid;
        int refused = core.s_axil_rresp;
        *value = core.s_axil_rdata;
        end_cycle();
        if (taken) core.s_axil_arvalid = 0;
        if (answered) return refused;
    }
}

int simulated_write32(void *, uint32_t address, uint32_t value)
{
    start();
    core.s_axil_awaddr = address;
    core.s_axil_wdata = value;
    core.s_axil_awvalid = core.s_axil_wvalid = 1;
    for (;;) {
        begin_cycle();
        bool address_taken = core.s_axil_awready, data_taken = core.s_axil_wready;
        bool answered = core.s_axil_bvalid;
        int refused = core.s_axil_bresp;
        end_cycle();
        if (address_taken) core.s_axil_awvalid = 0;
        if (data_taken) core.s_axil_wvalid = 0;
        if (answered) return refused;
    }
}

int simulated_wait_irq(void *)
{
    start();
    for (int cycle = 0; cycle < 1000 && !core.irq; cycle++) {
        begin_cycle();
        end_cycle();
    }
    return 0;
}
