// Random loops on all sections at once; one long loop; templates that are written while a LOOP comes.
#ifndef LOOPS_H
#define LOOPS_H

#include "loop_worker.h"

#ifdef WARPLOOM_LOOP_TEMPLATES

// A host that takes final records.
class LoopClerk : public Agent {
  public:
    explicit LoopClerk(LoopWorld& world) : world_(world) { world.core.add(this); }
    bool idle() const { return !busy_; }
    void drive() override {
        if (busy_ || !world_.random.chance(0.1)) return;
        busy_ = true;
        world_.master.read(WARPLOOM_RECORDS_ADDRESS, [this](unsigned, uint32_t waiting) {
            if (waiting) take();
            else busy_ = false;
        });
    }
    void see() override {}

  private:
    void take() {
        for (uint32_t k = 0; k < 4; k++) {
            uint32_t address = WARPLOOM_RECORD0_ADDRESS + 4 * k;
            world_.master.read(address, [this, k](unsigned, uint32_t word) {
                record_[k] = word;
                if (k < 3) return;
                world_.books.recorded(record_);
                world_.master.write(WARPLOOM_RECORD_POP_ADDRESS, 1,
                                    [this](unsigned, uint32_t) { busy_ = false; });
            });
        }
    }
    LoopWorld& world_;
    bool busy_ = false;
    Record record_{};
};

// A host that writes in up to every second cycle: into templates, also those in use, and anywhere.
// A write into a slot of a loop that has begun to launch, and has not ended, is refused.
class Meddler : public Agent {
  public:
    explicit Meddler(LoopWorld& world) : world_(world) { world.core.add(this); }
    bool rests = false;
    void drive() override {
        Random& random = world_.random;
        if (!left_--) {
            left_ = random.between(100, 2000);
            rate_ = random.one_of<double>({0.0, 0.0, 0.1, 0.3, 0.5});
        }
        if (rests || world_.master.open() > 8 || !random.chance(rate_)) return;
        if (random.chance(0.002)) return world_.stop(random.word() & world_.loops);
        if (random.chance(0.3)) return world_.master.write(0x7000, 1);
        write(random.below(WARPLOOM_LOOP_TEMPLATES));
    }
    void see() override {}

  private:
    // The loop of a section, if it surely holds its slots; else 0.
    uint64_t launching(int section) const {
        if (section < 0 || !(world_.loops >> section & 1)) return 0;
        LoopRun& run = world_.books.loop(static_cast<unsigned>(section));
        uint64_t ended = 0;
        for (auto& [stream, count] : run.ended) ended += count;
        bool holds = !run.may_stop && !run.tickets.empty() && ended < run.size();
        return holds ? run.id : 0;
    }
    void write(unsigned slot) {
        int holder = world_.holder[slot];
        unsigned number = world_.random.one_of<unsigned>({3, 4, INLINE_WORD, INLINE_WORD + 1});
        unsigned half = world_.random.below(2);
        uint32_t data = world_.random.word();
        uint64_t held = launching(holder);
        auto answered = [this, held, holder, slot, half, number, data](unsigned resp, uint32_t) {
            bool holds = held && launching(holder) == held;
            world_.core.demand(!holds || resp == SLVERR, "a template in use is written");
            world_.counts[resp == OKAY ? "templates written" : "templates refused"]++;
            if (resp == OKAY) world_.books.templates[slot].words[half][number] = data;
        };
        world_.master.write(template_address(slot, half, number), data, answered);
    }
    LoopWorld& world_;
    uint32_t left_ = 0;
    double rate_ = 0.0;
};

inline void run_loops(const Arguments& arguments) {
    Counts counts;
    Random random(arguments["seed"]);
    Core core;
    Master master(core, random, true);
    Sms sms(core, random);
    sms.behaviour.reads = 0.0;
    LoopWorld world(core, random, master, sms, counts);
    std::vector<std::unique_ptr<LoopWorker>> workers;
    for (unsigned k = 0; k < SECTIONS; k++) workers.emplace_back(new LoopWorker(world, k));
    LoopClerk clerk(world);
    Meddler meddler(world);
    core.reset();
    while (counts["loops"] < arguments["loops"]) {
        if (core.now % 1000 == 0) sms.behaviour.longest = random.one_of<uint32_t>({1, 4, 20, 100});
        core.cycle();
    }
    for (auto& worker : workers) worker->stops = true;
    meddler.rests = true;
    auto ended = [&] {
        for (auto& worker : workers) {
            if (!worker->idle()) return false;
        }
        return world.books.all_recorded() && clerk.idle() && !master.open();
    };
    for (uint64_t since = core.now; !ended(); core.cycle())
        core.demand(core.now - since < 20 * SILENT, "a launch has no record");
    counts["launches"] = world.books.launches;
    counts["launches that began again"] = world.books.again;
    counts["relative waits"] = world.books.waits;
    counts["records"] = world.books.records;
    counts["accesses"] = master.accesses;
    counts["cycles"] = core.now;
    counts.print();
}

// A host whose accesses block.
class LoopHost {
  public:
    explicit LoopHost(uint64_t seed)
        : random(seed), master(core, random, true), sms(core, random), books(core, sms) {
        sms.behaviour = SmBehaviour();
        sms.behaviour.reads = 0.0;
        sms.behaviour.longest = 4;
        core.reset();
    }
    uint32_t read(uint32_t address) {
        uint32_t data = 0;
        core.demand(master.read_now(address, &data) == OKAY, "a read is refused");
        return data;
    }
    void write(uint32_t address, uint32_t data) {
        core.demand(master.write_now(address, data) == OKAY, "a write is refused");
    }
    void word(unsigned slot, unsigned half, unsigned number, uint32_t data) {
        write(template_address(slot, half, number), data);
        books.templates[slot].words[half][number] = data;
    }
    // A template of one block, whose arguments step.
    void simple(unsigned slot, uint32_t stream, uint64_t arguments, uint64_t step) {
        const uint32_t words[] = {0, 0xC0DE0000u | slot, 0, static_cast<uint32_t>(arguments),
                                  static_cast<uint32_t>(arguments >> 32),
                                  stream << 16 | stream % PRIORITIES << 24 | 3u << 28, 1,
                                  1 | 1u << 16, 8 | 1u << 11 | 1u << 22, 0,
                                  WARPLOOM_MODE_RESET << 21, 1u << ARGUMENTS};
        for (unsigned n = 0; n <= STEP_WORD; n++) word(slot, 0, n, words[n]);
        word(slot, 1, 3, static_cast<uint32_t>(step));
        word(slot, 1, 4, static_cast<uint32_t>(step >> 32));
    }
    void command(unsigned section, const std::vector<uint32_t>& words) {
        uint32_t first = warploom_section(section, WARPLOOM_SECTION_T0_OFFSET);
        for (size_t n = 0; n < words.size(); n++)
            write(first + 4 * static_cast<uint32_t>(n), words[n]);
        write(warploom_section(section, WARPLOOM_SECTION_DOORBELL_OFFSET), 1);
    }
    LoopRun& loop(unsigned section, uint32_t count, unsigned first, unsigned length) {
        LoopRun& run = books.loop(section, count, first, length);
        uint32_t last = (first + length - 1) % WARPLOOM_LOOP_TEMPLATES;
        command(section, {WARPLOOM_OPCODE_LOOP, count, first | last << 8});
        return run;
    }
    bool runs(unsigned section) { return read(warploom_section(section, 0)); }
    void wait(unsigned section, unsigned pause = 20) {
        for (uint64_t since = core.now; runs(section); core.cycles(pause))
            core.demand(core.now - std::max(since, books.last_offer) < SILENT, "a loop hangs");
    }
    LoopBooks::Outcome outcome(unsigned section) {
        auto at = [&](uint32_t offset) { return read(warploom_section(section, offset)); };
        return {at(WARPLOOM_SECTION_ERROR_OFFSET), at(WARPLOOM_SECTION_RESULT0_OFFSET),
                at(WARPLOOM_SECTION_RESULT1_OFFSET), at(WARPLOOM_SECTION_RESULT2_OFFSET),
                at(WARPLOOM_SECTION_RESULT3_OFFSET)};
    }

    Core core;
    Random random;
    Master master;
    Sms sms;
    LoopBooks books;
};

// One loop of many launches, whose stream is preempted and resumed again and again.
inline void run_one_loop(const Arguments& arguments) {
    Counts counts;
    LoopHost host(arguments["seed"]);
    uint64_t launches = arguments["launches"], preempts = arguments["preempts"];
    const unsigned section = SECTIONS - 1, other = 0;
    const uint32_t stream = section;
    host.simple(3, stream, ~uint64_t(0) - 7, 16);
    const LoopRun& run = host.loop(section, static_cast<uint32_t>(launches), 3, 1);
    while (counts["PREEMPTs"] < preempts) {
        uint64_t due = launches * ++counts["PREEMPTs"] / (preempts + 1);
        while (run.tickets.size() < due) host.core.cycles(host.random.between(1, 30));
        // Long enough that a block is met.
        host.sms.behaviour.longest = 60;
        host.core.cycles(host.random.between(50, 150));
        host.command(other, {WARPLOOM_OPCODE_PREEMPT, 1u << stream});
        host.wait(other, 1);
        host.sms.behaviour.longest = 4;
        counts["PREEMPTs that were taken"] += host.outcome(other).error == 0;
        host.core.cycles(host.random.below(100));
        uint64_t begun = run.tickets.size();
        host.core.cycles(200);
        // All that could begin has begun: the stream holds still.
        counts["stood still"] += run.tickets.size() == begun;
        host.command(other, {WARPLOOM_OPCODE_RESUME, 1u << stream});
        host.wait(other, 1);
        host.core.demand(host.outcome(other).error == 0, "a RESUME is refused");
        while (host.read(WARPLOOM_RECORDS_ADDRESS)) {
            uint32_t kind = host.read(WARPLOOM_RECORD1_ADDRESS) & WARPLOOM_RECORD_KIND_MASK;
            bool preempt = kind == WARPLOOM_KIND_PREEMPT << WARPLOOM_RECORD_KIND_SHIFT;
            host.core.demand(preempt, "a quiet launch has a record");
            host.write(WARPLOOM_RECORD_POP_ADDRESS, 1);
            counts["records of PREEMPTs"]++;
        }
    }
    // The command completes once, with the doorbell's fall.
    uint32_t done = 1u << WARPLOOM_IRQ_COMMAND_DONE;
    auto told = [&] { return (host.read(WARPLOOM_IRQ_STATUS_ADDRESS) & done) != 0; };
    host.write(WARPLOOM_IRQ_STATUS_ADDRESS, done);
    while (host.runs(section)) {
        bool early = told();
        host.core.demand(!early || !host.runs(section), "a loop has completed before its end");
        host.core.cycles(500);
        host.core.demand(host.core.now - host.books.last_offer < SILENT, "a loop hangs");
    }
    host.core.demand(told(), "a loop has no completion");
    host.write(WARPLOOM_IRQ_STATUS_ADDRESS, done);
    host.core.cycles(500);
    host.core.demand(!told(), "a loop completes twice");
    host.books.ended_well(section, host.outcome(section));
    counts["launches"] = run.tickets.size();
    counts["launches that began again"] = host.books.again;
    counts["cycles"] = host.core.now;
    counts.print();
}

// A word of a template is written in a cycle around the doorbell of its LOOP; then the LOOP is rung
// once more over the same slots, and launches the same.
inline void run_template_writes(const Arguments& arguments) {
    Counts counts;
    LoopHost host(1);
    const unsigned section = SECTIONS - 1;
    host.simple(6, section, 100, 0);
    host.simple(7, section + SECTIONS, 200, 1);
    bool was_refused = false;
    for (uint64_t at = arguments["first"]; at < arguments["last"]; at++) {
        uint64_t slot = 6 + at % 2;
        unsigned place = static_cast<unsigned>(slot);
        uint32_t data = static_cast<uint32_t>(1000 + at);
        unsigned answered = ~0u;
        auto meddle = [&](unsigned resp, uint32_t) {
            answered = resp;
            if (resp == OKAY) host.books.templates[place].words[0][3] = data;
        };
        uint32_t first = warploom_section(section, WARPLOOM_SECTION_T0_OFFSET);
        const uint32_t words[] = {WARPLOOM_OPCODE_LOOP, 2, 6 | 7 << 8};
        for (unsigned n = 0; n < 3; n++) host.write(first + 4 * n, words[n]);
        const LoopRun& run = host.books.loop(section, 2, 6, 2);
        // The doorbell is written in cycle 20.
        for (uint64_t cycle = 0; cycle < arguments["last"] + 20; cycle++) {
            if (cycle == 20) host.master.write(warploom_section(section, 0), 1);
            if (cycle == at) host.master.write(template_address(place, 0, 3), data, meddle);
            host.core.cycle();
        }
        host.wait(section);
        host.core.demand(answered != ~0u, "a write has no answer");
        host.books.ended_well(section, host.outcome(section));
        counts[answered == OKAY ? "seen, or too late" : "refused"]++;
        counts["refused after one that was not"] += answered == SLVERR && !was_refused;
        was_refused = answered == SLVERR;
        uint32_t before = run.tickets.back();
        host.loop(section, 2, 6, 2);
        host.wait(section);
        host.books.ended_well(section, host.outcome(section));
        host.core.demand(host.books.loop(section).tickets[0] == before + 1, "a ticket is lost");
    }
    counts["launches"] = host.books.launches;
    counts.print();
}

#endif
#endif
