// The C driver in front of the core of a bench: it does what a file says, over AXI4-Lite, and the
// clock runs while it does. At the end its accesses are in `host.json`.
//
// A line of the file is a letter and decimal numbers: `L`, a launch; `T`, a slot, a launch and how it
// changes; `O`, the first slot of a loop, its slots and its iterations. `launch_of` and `steps_of` say
// in which order the numbers stand.
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <string>

#include "Vbench.h"
#include "verilated.h"

extern "C" {
#include "warploom_loops.h"
}

namespace {

// Single launches and loops have a section each, where there are two.
constexpr uint32_t LAUNCH_SECTION = 0, LOOP_SECTION = WARPLOOM_SECTIONS - 1;
// Cycles between two looks whether the queue has room.
constexpr unsigned PAUSE = 32;

class Host {
  public:
    explicit Host(VerilatedContext& context) : context_(context), bench_(&context) {}

    void start() {
        do cycle();
        while (bench_.in_reset && !context_.gotFinish());
    }
    // One cycle; false if the bench has finished.
    bool cycle() {
        bench_.clk = 0;
        bench_.eval();
        context_.timeInc(1);
        irq = bench_.host_irq;
        took_address_ = (bench_.awvalid && bench_.awready) || (bench_.arvalid && bench_.arready);
        took_data_ = bench_.wvalid && bench_.wready;
        answered_ = bench_.bvalid || bench_.rvalid;
        refused_ = bench_.bvalid ? bench_.bresp != 0 : bench_.rresp != 0;
        data_ = bench_.rdata;
        now = bench_.now;
        bench_.clk = 1;
        bench_.eval();
        context_.timeInc(1);
        return !context_.gotFinish();
    }
    // An access: 0 if the core answered OKAY.
    int write(uint32_t address, uint32_t value) {
        bench_.awvalid = bench_.wvalid = 1;
        bench_.awaddr = address;
        bench_.wdata = value;
        return access(rings(address));
    }
    int read(uint32_t address, uint32_t* value) {
        bench_.arvalid = 1;
        bench_.araddr = address;
        int error = access(false);
        *value = data_;
        return error;
    }
    // All is done: the bench finishes when every block was reported.
    void finish() {
        bench_.host_done = 1;
        while (cycle()) {
        }
        bench_.final();
    }
    static bool rings(uint32_t address) {
        uint32_t sections = WARPLOOM_SECTIONS * WARPLOOM_SECTION_BYTES;
        return address - WARPLOOM_SECTION_BASE < sections &&
               (address - WARPLOOM_SECTION_BASE) % WARPLOOM_SECTION_BYTES ==
                   WARPLOOM_SECTION_DOORBELL_OFFSET;
    }

    bool irq = false;
    uint64_t now = 0;
    // When the first doorbell's data were taken.
    uint64_t first_doorbell = 0;

  private:
    int access(bool ring) {
        bool answered = false;
        while (!answered) {
            if (!cycle()) return 1;
            if (took_data_ && ring && !first_doorbell) first_doorbell = now;
            if (took_address_) bench_.awvalid = bench_.arvalid = 0;
            if (took_data_) bench_.wvalid = 0;
            answered = answered_;
        }
        return refused_;
    }

    VerilatedContext& context_;
    Vbench bench_;
    bool took_address_ = false, took_data_ = false, answered_ = false, refused_ = false;
    uint32_t data_ = 0;
};

// What the driver calls, and the accesses by kind: looks whether something has ended or has room,
// those of the interrupt, and all others.
struct Bus {
    Host& host;
    uint64_t transactions = 0, polls = 0, interrupt = 0;

    void count(uint32_t address, bool looks) {
        bool own = address == WARPLOOM_IRQ_ENABLE_ADDRESS || address == WARPLOOM_IRQ_STATUS_ADDRESS ||
                   address == WARPLOOM_IRQ_THRESHOLD_ADDRESS;
        bool poll = looks && (Host::rings(address) || address == WARPLOOM_ROOM_ADDRESS);
        ++(own ? interrupt : poll ? polls : transactions);
    }
};

int read32(void* context, uint32_t address, uint32_t* value) {
    auto& bus = *static_cast<Bus*>(context);
    bus.count(address, true);
    return bus.host.read(address, value);
}

int write32(void* context, uint32_t address, uint32_t value) {
    auto& bus = *static_cast<Bus*>(context);
    bus.count(address, false);
    return bus.host.write(address, value);
}

int wait_irq(void* context) {
    Host& host = static_cast<Bus*>(context)->host;
    while (!host.irq) {
        if (!host.cycle()) return 1;
    }
    return 0;
}

warploom_launch launch_of(std::istream& in) {
    warploom_launch launch = {};
    in >> launch.code >> launch.arguments >> launch.address_space >> launch.stream >>
        launch.priority >> launch.idempotent >> launch.mode >> launch.quiet >> launch.gx >>
        launch.gy >> launch.gz >> launch.dx >> launch.dy >> launch.dz >> launch.index_address >>
        launch.table >> launch.warp_registers >> launch.shared >> launch.barriers;
    for (uint32_t k = 0; k < WARPLOOM_INLINE_ARGS; ++k) in >> launch.inline_args[k];
    in >> launch.waits;
    for (auto& pair : launch.wait) in >> pair.stream >> pair.count >> pair.relative;
    return launch;
}

warploom_steps steps_of(std::istream& in) {
    warploom_steps steps = {};
    in >> steps.steps >> steps.alternates >> steps.gx >> steps.gy >> steps.gz >> steps.arguments;
    for (uint32_t k = 0; k < WARPLOOM_INLINE_ARGS; ++k) in >> steps.inline_args[k];
    return steps;
}

class Player {
  public:
    Player(const warploom_core& core, Host& host) : core_(core), host_(host) {
        warploom_templates_begin(&templates_, nullptr);
    }

    int begin() {
        uint32_t first;
        int error = warploom_identify(&core_);
        if (!error) error = warploom_enable_irq(&core_, 1u << WARPLOOM_IRQ_COMMAND_DONE, 0);
        return error ? error : warploom_take_slots(&templates_, WARPLOOM_LOOP_TEMPLATES, &first);
    }
    // Do what a line says; 0, or the driver's code.
    int play(char what, std::istream& in) {
        if (what == 'L') return launch(launch_of(in));
        uint32_t first, count, iterations;
        in >> first;
        if (what == 'T') {
            warploom_launch launch = launch_of(in);
            warploom_steps steps = steps_of(in);
            return warploom_write_template(&core_, &templates_, first, &launch, &steps);
        }
        in >> count >> iterations;
        return loop(first, count, iterations);
    }

  private:
    int launch(const warploom_launch& launch) {
        uint32_t room = 0;
        for (;;) {
            int error = warploom_read_register(&core_, WARPLOOM_ROOM_ADDRESS, &room);
            if (error) return error;
            if (room >> launch.priority & 1) break;
            for (unsigned k = 0; k < PAUSE; ++k) host_.cycle();
        }
        warploom_outcome outcome;
        return warploom_launch_kept(&core_, LAUNCH_SECTION, &launch, &kept_, &outcome);
    }
    int loop(uint32_t first, uint32_t count, uint32_t iterations) {
        int error = warploom_submit_loop(&core_, &templates_, LOOP_SECTION, first, count, iterations, 0);
        if (!error) error = warploom_loop_done(&core_, LOOP_SECTION);
        warploom_loop_result result;
        if (!error) error = warploom_loop_outcome(&core_, &templates_, LOOP_SECTION, &result);
        if (LOOP_SECTION == LAUNCH_SECTION) warploom_forget_words(&kept_);
        return error;
    }

    const warploom_core& core_;
    Host& host_;
    warploom_templates templates_ = {};
    warploom_kept kept_ = {};
};

}  // namespace

int main(int argc, char** argv) {
    VerilatedContext context;
    context.commandArgs(argc, argv);
    const std::string given = context.commandArgsPlusMatch("commands=");
    std::ifstream file(given.substr(given.find('=') + 1));
    Host host(context);
    Bus bus{host};
    const warploom_core core = {read32, write32, nullptr, wait_irq, &bus, 0};
    Player player(core, host);
    host.start();
    int error = player.begin();
    unsigned line = 0;
    for (char what; !error && file >> what; ++line) error = player.play(what, file);
    // After an error nobody says that all is done: the bench finishes when nothing happens any more.
    if (!error) host.finish();
    else while (host.cycle()) {
        }
    FILE* out = fopen("host.json", "w");
    if (!out) return 1;
    fprintf(out,
            "{\"error\": %d, \"line\": %u, \"transactions\": %" PRIu64 ", \"polls\": %" PRIu64
            ", \"interrupt\": %" PRIu64 ", \"first_doorbell\": %" PRIu64 "}\n",
            error, line, bus.transactions, bus.polls, bus.interrupt, host.first_doorbell);
    return fclose(out) != 0;
}
