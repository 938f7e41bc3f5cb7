// Anything on the bus, at the SMs and at the cores; afterwards the core must still work.
#ifndef STORM_H
#define STORM_H

#include "loop_books.h"
#include "master.h"
#include "sms.h"
#include "units.h"
#include "warploom.h"

class Storm {
  public:
    Storm(uint64_t seed, Counts& counts)
        : counts_(counts), random_(seed), master_(core_, random_, false), sms_(core_, random_) {
        for (unsigned k = 0; k < UNITS; k++) units_.emplace_back(new Unit(core_, random_, k));
        for (uint32_t at = 0; at < 0x1000 + 0x200 * SECTIONS; at += 4) find(at);
        find_templates();
        driver_.read32 = [](void* self, uint32_t address, uint32_t* value) {
            return int(static_cast<Storm*>(self)->master_.read_now(address, value));
        };
        driver_.write32 = [](void* self, uint32_t address, uint32_t value) {
            return int(static_cast<Storm*>(self)->write_now(address, value));
        };
        driver_.barrier = nullptr;
        driver_.wait_irq = nullptr;
        driver_.context = this;
        driver_.patience = 400;
    }

    // One storm of so many accesses, and what a host does after it.
    void episode(uint64_t accesses) {
        losing_ = random_.chance(0.5);
        uint64_t until = master_.accesses + accesses;
        while (master_.accesses < until) {
            if (!left_--) change();
            if (master_.open() < 12 && random_.chance(0.5)) access();
            core_.cycle();
        }
        for (uint64_t since = core_.now; master_.open(); core_.cycle())
            core_.demand(core_.now - since < SILENT, "an access hangs");
        calm();
        recover();
        counts_["episodes"]++;
        counts_["cycles"] = core_.now;
        counts_["accesses"] = master_.accesses - own_;
        counts_["refused"] = master_.refused;
    }
    void begin() { core_.reset(); }

  private:
#ifdef WARPLOOM_LOOP_TEMPLATES
    static constexpr uint32_t LOOP = WARPLOOM_OPCODE_LOOP, AFTER_RESULTS = 0x20;
#else
    // No opcode of this core.
    static constexpr uint32_t LOOP = 4, AFTER_RESULTS = 0x18;
#endif
    static constexpr uint32_t UNKNOWN_OPCODE = 0x100;

    // ---- the storm

    // Words that a read finds in the map, as the core itself says it right after a reset.
    void find(uint32_t address) {
        bool section = address >= 0x1000;
        uint32_t offset = address % 0x200;
        bool listed = section ? offset < AFTER_RESULTS || (offset >= 0x20 && offset < 0x40) ||
                                    (offset >= 0x80 && offset < 0x100)
                              : is_register(address);
        if (listed) inside_.push_back(address);
    }
    void find_templates() {
#ifdef WARPLOOM_LOOP_TEMPLATES
        for (unsigned slot = 0; slot < WARPLOOM_LOOP_TEMPLATES; slot++) {
            for (unsigned half = 0; half < 2; half++) {
                for (unsigned n = 0; n < 28 + LAUNCH_WAITS; n++) {
                    bool there = n < INLINE_WORD + 2 * INLINE_ARGS || n >= WAIT_WORD;
                    if (there) inside_.push_back(template_address(slot, half, n));
                }
            }
        }
#endif
    }
    static bool is_register(uint32_t address) {
        static const std::set<uint32_t> all = {REGISTER_ADDRESSES};
        return all.count(address);
    }

    void change() {
        left_ = random_.between(40, 400);
        SmBehaviour& sm = sms_.behaviour;
        sm.longest = random_.one_of<uint32_t>({1, 5, 60, 2000});
        sm.answer = losing_ ? random_.one_of<uint32_t>({1, 10, 60}) : 10;
        sm.fault = random_.one_of<double>({0.0, 0.0, 0.3});
        sm.unasked = random_.one_of<double>({0.0, 0.0, 0.3});
        sm.bogus = random_.one_of<double>({0.0, 0.0, 0.1, 1.0});
        sm.silent = losing_ ? random_.one_of<double>({0.0, 0.0, 0.0, 0.2}) : 0.0;
        sm.reads = random_.one_of<double>({0.0, 0.3, 1.0});
        sm.wild_reads = random_.one_of<double>({0.0, 0.5, 1.0});
        for (auto& unit : units_) {
            CoreBehaviour& core = unit->behaviour;
            core.fail = random_.one_of<double>({0.0, 0.5});
            core.longest = random_.one_of<uint32_t>({0, 10, CORE_TIMEOUT});
            core.late = random_.one_of<double>({0.0, 0.2});
            core.never = random_.one_of<double>({0.0, 0.0, 0.2});
            core.noise = random_.one_of<double>({0.0, 0.0, 0.3});
            core.results = random_.one_of<double>({0.0, 0.5, 1.0});
        }
    }

    void access() {
        if (random_.chance(0.3)) return command();
        uint32_t address = random_.one_of(inside_) | random_.below(4);
        if (random_.chance(0.38)) address = random_.word() & 0xFFFF;
        bool outside = !std::count(inside_.begin(), inside_.end(), address & ~3u);
        counts_[outside ? "outside the map" : "inside the map"]++;
        auto answered = [this, outside](unsigned resp, uint32_t) {
            if (outside) core_.demand(resp == SLVERR, "an access outside the map is not refused");
        };
        if (random_.chance(0.5)) return master_.read(address, answered);
        if ((address & ~3u) == WARPLOOM_CONTROL_ADDRESS && !random_.chance(0.2)) address |= 0x20;
        uint32_t data = random_.one_of<uint32_t>({0, 1, 2, random_.below(256), random_.word()});
        unsigned strobes = random_.chance(0.8) ? 15 : random_.below(16);
        write(address, data, strobes);
    }
    void write(uint32_t address, uint32_t data, unsigned strobes = 15) {
        master_.write(address, data, [this, address, data, strobes](unsigned resp, uint32_t) {
            if (resp == OKAY) note(address, data, strobes);
        }, strobes);
    }
    unsigned write_now(uint32_t address, uint32_t data) {
        unsigned resp = master_.write_now(address, data);
        if (resp == OKAY) note(address, data, 15);
        return resp;
    }
    // A write that the core took: which sections may loop now.
    void note(uint32_t address, uint32_t data, unsigned strobes) {
        uint32_t section = (address - 0x1000) / 0x200, offset = address % 0x200 & ~3u;
        if (address < 0x1000 || section >= SECTIONS) return;
        uint32_t& opcode = opcodes_[section];
        if (offset == WARPLOOM_SECTION_T0_OFFSET && strobes & 1) opcode = data & 0xFF;
        bool rings = offset == WARPLOOM_SECTION_DOORBELL_OFFSET && strobes == 15 && data == 1;
        if (!rings) return;
        loops_[section] = opcode == LOOP || opcode == UNKNOWN_OPCODE;
        counts_["LOOPs rung"] += opcode == LOOP;
        // It writes its section's words.
        if (loops_[section]) opcode = UNKNOWN_OPCODE;
    }

    // A few words of a command that may make sense, and its doorbell.
    void command() {
        uint32_t section = random_.below(SECTIONS);
        auto word = [&](unsigned number, uint32_t data) {
            uint32_t address = warploom_section(section, WARPLOOM_SECTION_T0_OFFSET + 4 * number);
            write(address, data);
            counts_["inside the map"]++;
        };
        static const std::vector<uint32_t> opcodes = {0, 1, 1, 1, 2, 2, 2,  2,   2,   7,
                                                      7, 8, 3, 5, 6, 13, 255, LOOP, LOOP};
        uint32_t opcode = random_.one_of(opcodes);
        if (opcode == WARPLOOM_OPCODE_DISCONNECT && random_.chance(0.8)) opcode = 1;
        word(0, opcode | random_.below(4) << 8);
        if (opcode == WARPLOOM_OPCODE_ABORT)
            word(1, ticket_ - std::min(ticket_, random_.below(6)));
        if (opcode == WARPLOOM_OPCODE_PREEMPT || opcode == WARPLOOM_OPCODE_RESUME ||
            opcode == WARPLOOM_OPCODE_ABORT_STREAMS)
            word(1, 1u << random_.below(STREAMS) | random_.word() % 16);
        if (opcode == WARPLOOM_OPCODE_RUN) {
            word(2, random_.below(CORES_PER_UNIT + 2) | random_.below(4) << 8);
            word(3, random_.below(3));
        }
        if (opcode == WARPLOOM_OPCODE_LAUNCH) launch(word);
        if (opcode == LOOP) loop(word);
        write(warploom_section(section, WARPLOOM_SECTION_DOORBELL_OFFSET), 1);
        counts_["inside the map"]++;
        if (random_.chance(0.2)) ticket_ += 1;
    }

    template <typename Word>
    void launch(Word word) {
        uint32_t priority = random_.below(8) / 7;
        word(5, random_.below(4) << 16 | priority << 24 | random_.below(2) << 29);
        word(6, random_.chance(0.05) ? random_.word() : random_.between(1, 9));
        word(7, random_.between(1, 2) | 1u << 16);
        word(8, random_.between(1, 3 * WARP_SIZE) | random_.between(1, 2) << 11 | 1u << 22);
        word(9, random_.below(64));
        word(10, random_.below(6) | random_.below(30) << 10 | random_.below(3) << 24 |
                     random_.below(6) << 21);
        if (random_.chance(0.3)) word(28, random_.below(4) << 8 | random_.below(3) << 16);
    }
    // A LOOP over a template that may make sense, or over any.
    template <typename Word>
    void loop(Word word) {
        uint32_t first = random_.below(9), last = random_.below(9);
#ifdef WARPLOOM_LOOP_TEMPLATES
        if (random_.chance(0.6)) {
            first = last = random_.below(WARPLOOM_LOOP_TEMPLATES);
            auto template_word = [&](unsigned number, uint32_t data) {
                write(template_address(first, 0, number), data);
                counts_["inside the map"]++;
            };
            template_word(0, random_.word() & 0x33FF);
            template_word(STEP_WORD, random_.below(16) & ~3u);
            launch(template_word);
        }
#endif
        word(1, random_.chance(0.1) ? random_.word() : random_.below(9));
        word(2, first | last << 8 | random_.below(5) << 16);
    }

    // ---- after it

    // SMs and cores keep to their pages from now on; what was silent is reported, or stays silent.
    void calm() {
        SmBehaviour calm;
        sms_.behaviour = calm;
        if (random_.chance(0.5)) sms_.repair();
        for (auto& unit : units_) {
            unit->behaviour = CoreBehaviour{0.0, 8, 0.0, 0.0, 0.2, 0.0};
            if (random_.chance(0.5)) unit->repair();
        }
    }

    // A well-formed launch and a task: at once, or after a soft reset, or, with every SM lost, after
    // a full one.
    void recover() {
        uint64_t before = master_.accesses;
        wait_for_reset();
        end_loops();
        wait_for_doorbells();
        allow();
        if (works()) counts_["works at once"]++;
        else if (soft_reset() && works()) counts_["works after a soft reset"]++;
        else {
            uint32_t lost = 0;
            master_.read_now(WARPLOOM_SM_LOST0_ADDRESS, &lost);
            bool all = lost == (SMS < 32 ? (1u << SMS) - 1 : ~0u);
            core_.demand(all, "no launch runs after a soft reset, and an SM is there");
            core_.reset();
            ticket_ = 0;
            core_.demand(works(), "no launch runs after a full reset");
            counts_["works after a full reset, all SMs lost"]++;
        }
        own_ += master_.accesses - before;
    }
    void wait_for_reset() {
        uint32_t state = 1;
        for (uint64_t since = core_.now; state & 1;) {
            master_.read_now(WARPLOOM_STATE_ADDRESS, &state);
            core_.demand(core_.now - since < SILENT, "a soft reset does not end");
        }
    }
    // A loop may be endless, and a launch of it large, or in a stream that is held.
    void end_loops() {
#ifdef WARPLOOM_LOOP_TEMPLATES
        master_.write_now(WARPLOOM_LOOP_STOP_ADDRESS, ~0u);
        for (uint32_t section = 0; section < SECTIONS; section++) {
            uint32_t rung = loops_[section];
            for (uint64_t since = core_.now; rung && core_.now - since < 3000;) {
                uint32_t bell = warploom_section(section, WARPLOOM_SECTION_DOORBELL_OFFSET);
                master_.read_now(bell, &rung);
            }
            counts_["loops that LOOP_STOP ends, or nobody"] += loops_[section] && !rung;
            counts_["loops that a soft reset ends"] += rung;
            if (rung) soft_reset();
            loops_[section] = false;
        }
#endif
    }
    void wait_for_doorbells() {
        for (uint32_t section = 0; section < SECTIONS; section++) {
            uint32_t rung = 1;
            for (uint64_t since = core_.now; rung;) {
                uint32_t bell = warploom_section(section, WARPLOOM_SECTION_DOORBELL_OFFSET);
                master_.read_now(bell, &rung);
                core_.demand(core_.now - since < SILENT, "a command hangs");
            }
        }
    }
    // No limit, which a soft reset would not lift, and no stream is held.
    void allow() {
        master_.write_now(WARPLOOM_LAUNCH_TIMEOUT_ADDRESS, 0);
        // A section without a unit is never disconnected.
        uint32_t section = SECTIONS - 1;
        uint32_t words = warploom_section(section, WARPLOOM_SECTION_T0_OFFSET);
        master_.write_now(words, WARPLOOM_OPCODE_RESUME);
        master_.write_now(words + 4, STREAMS < 32 ? (1u << STREAMS) - 1 : ~0u);
        master_.write_now(warploom_section(section, WARPLOOM_SECTION_DOORBELL_OFFSET), 1);
        wait_for_doorbells();
    }
    bool soft_reset() {
        master_.write_now(WARPLOOM_CONTROL_ADDRESS, WARPLOOM_CONTROL_SOFT_RESET_MASK);
        wait_for_reset();
        // A lost SM may hold blocks for ever; nobody else does.
        sms_.forget();
        return true;
    }
    bool works() {
        warploom_record record;
        while (warploom_take_record(&driver_, &record) == WARPLOOM_OK) {
            if (record.kind == WARPLOOM_KIND_LAUNCH) ticket_ = record.ticket;
        }
        return launch_works() && task_works();
    }
    bool launch_works() {
        warploom_launch launch = {};
        launch.gx = random_.between(1, 20);
        launch.gy = launch.gz = 1;
        launch.dx = random_.between(1, 2 * WARP_SIZE);
        launch.dy = launch.dz = 1;
        launch.stream = random_.below(4);
        uint32_t ticket;
        uint32_t section = random_.below(SECTIONS);
        if (warploom_launch_kernel(&driver_, section, &launch, &ticket)) return false;
        warploom_record record;
        do {
            if (warploom_wait_record(&driver_, &record)) return false;
        } while (record.ticket != ticket);
        ticket_ = ticket;
        return record.fate == WARPLOOM_FATE_FINISHED;
    }
    bool task_works() {
        warploom_task task = {};
        task.parts = CORES_PER_UNIT;
        task.small = 3;
        warploom_outcome outcome;
        for (uint32_t unit = 0; unit < UNITS; unit++) {
            int code = warploom_run(&driver_, unit, &task, &outcome);
            // Starts may stall until the time-out; the cores are not to blame for it.
            auto late = [&] {
                return code == int(WARPLOOM_ERROR_CORE_TIMEOUT) ||
                       code == int(WARPLOOM_ERROR_CORE_MISSING);
            };
            for (int tries = 0; late() && tries < 40; tries++) {
                core_.cycles(50);
                code = warploom_run(&driver_, unit, &task, &outcome);
            }
            if (code || outcome.succeeded != (1u << CORES_PER_UNIT) - 1) return false;
        }
        return true;
    }

    Counts& counts_;
    Core core_;
    Random random_;
    Master master_;
    Sms sms_;
    std::vector<std::unique_ptr<Unit>> units_;
    std::vector<uint32_t> inside_;
    warploom_core driver_;
    uint64_t own_ = 0;
    uint32_t left_ = 0, ticket_ = 0;
    // The opcode in each section's task register, and whether its command may be a LOOP.
    uint32_t opcodes_[SECTIONS] = {};
    bool loops_[SECTIONS] = {};
    // Whether SMs behave so in this storm that they get lost.
    bool losing_ = false;
};

inline void run_storm(const Arguments& arguments) {
    Counts counts;
    Storm storm(arguments["seed"], counts);
    storm.begin();
    while (counts["accesses"] < arguments["accesses"]) storm.episode(arguments["episode"]);
    counts.print();
}

#endif
