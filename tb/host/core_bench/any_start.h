// Any first values of registers and memories: after one cycle of reset no output shows them.
#ifndef ANY_START_H
#define ANY_START_H

#include "commands.h"

// The same core, begun with other values: it gets the inputs of the first one, and must have its
// outputs in every cycle.
class Twin : public Agent {
  public:
    Twin(Core& core, uint64_t seed, uint64_t unreset)
        : core_(core), top_(begun(seed, unreset)), pins_(pins_of(*top_)) {
        for (auto& [name, pin] : pins_) {
            (is_input(name) ? inputs_ : outputs_).push_back(pair_of(name, pin));
        }
        core.add(this);
    }
    void drive() override {}
    void see() override {
        for (const Pair& pair : inputs_) copy(pair);
        top_->clk = 0;
        top_->eval();
        note_tasks();
        for (const Pair& pair : outputs_) {
            if (!counts(pair.name)) continue;
            if (!alike(pair)) core_.fail(pair.name + " shows what was there before the reset");
        }
        top_->clk = 1;
        top_->eval();
    }
    // Two cycles of reset, the fewest that the core's page allows.
    void restart() override {
        for (const Pair& pair : inputs_) copy(pair);
        top_->rst = 1;
        for (uint8_t level : {0, 1, 0, 1}) {
            top_->clk = level;
            top_->eval();
        }
        top_->rst = 0;
        tasks_.clear();
        late_.clear();
    }

  private:
    struct Pair {
        std::string name;
        Pin own, other;
        // Where its `valid` stands, on both sides; no storage if it has none.
        Pin own_valid, other_valid;
        Field valid;
    };
    Pair pair_of(const std::string& name, Pin pin) const {
        auto found = valids().find(name);
        if (found == valids().end()) return {name, pin, core_.pin(name), {}, {}, {}};
        const auto& [port, field] = found->second;
        return {name, pin, core_.pin(name), pins_.at(port), core_.pin(port), field};
    }
    // Block and words mean something in an offer's cycle alone.
    bool counts(const std::string& name) const {
        if (name == "block" || name == "words") return get(core_.pin("offer"));
        bool of_a_task = ends(name, "__code") || ends(name, "__arguments");
        return !of_a_task || tasks_.count(name.substr(0, name.rfind("__")));
    }
    static bool ends(const std::string& name, const std::string& end) {
        return !name.rfind("cores__", 0) && name.size() > end.size() &&
               !name.compare(name.size() - end.size(), end.size(), end);
    }
    // ExecutionUnit's ports: code and arguments mean something while a task runs, from its first
    // start to the cycle before the barrier opens or it is cancelled, and while a start is valid.
    void note_tasks() {
        for (unsigned k = 0; k < UNITS; k++) {
            std::string cores = "cores__" + std::to_string(k);
            bool ends = get(core_.pin(cores + "__barrier_open")) || get(core_.pin(cores + "__cancel"));
            if (get(core_.pin(cores + "__start__valid"))) {
                tasks_.insert(cores);
                // A start that stands at a time-out begins no other task.
                if (ends) late_.insert(cores);
            } else if (late_.erase(cores) || ends) {
                tasks_.erase(cores);
            }
        }
    }
    // Of a pulse that is not valid its `valid` alone counts, of another output nothing.
    bool alike(const Pair& pair) const {
        if (!pair.other_valid.storage || get(pair.other_valid, pair.valid))
            return !memcmp(pair.own.storage, pair.other.storage, bytes(pair));
        bool is_pulse = pair.other_valid.storage == pair.other.storage;
        return !is_pulse || !get(pair.own, pair.valid);
    }

    static Vtop* begun(uint64_t seed, uint64_t unreset) {
        std::string left_out = "+unreset=" + std::to_string(static_cast<int64_t>(unreset));
        const char* words[] = {"twin", "+any_start", left_out.c_str()};
        Verilated::commandArgs(3, words);
        Verilated::randSeed(static_cast<int>(seed));
        auto* top = new Vtop;
        // The first values are made now.
        top->clk = 0;
        top->rst = 0;
        top->eval();
        Verilated::commandArgs(1, words);
        return top;
    }
    // Verilator keeps the bits above a port's highest at 0.
    static size_t bytes(const Pair& pair) { return (pair.own.bits + 7) / 8; }
    static void copy(const Pair& pair) {
        memcpy(pair.own.storage, pair.other.storage, bytes(pair));
    }

    Core& core_;
    std::unique_ptr<Vtop> top_;
    std::map<std::string, Pin> pins_;
    std::vector<Pair> inputs_, outputs_;
    std::set<std::string> tasks_, late_;
};

// The launch path is idle only if every ticket that it gave has its record.
class IdlePath : public Agent {
  public:
    explicit IdlePath(Core& core) : core_(core) { core.add(this); }
    void drive() override {}
    void see() override {
        Pin record = core_.pin("path_record");
        // Word 0 is the ticket.
        if (get(record, record_word::valid) && !get(record, record_word::word))
            open_.erase(get(record, record_word::data));
        Pin answer = core_.pin("path_answer");
        if (get(answer, queue_answer::valid) && !get(answer, queue_answer::code))
            open_.insert(get(answer, queue_answer::ticket));
        if (!get(core_.pin("path_idle"))) return;
        core_.demand(open_.empty(), "the launch path is idle, and a ticket has no record");
        idle_cycles++;
    }
    void restart() override {
        open_.clear();
    }

    uint64_t idle_cycles = 0;

  private:
    Core& core_;
    std::set<uint64_t> open_;
};

// Random commands at both cores, between two looks at every register and section, and a soft reset behind.
inline void one_start(uint64_t seed, const Arguments& arguments, Counts& counts) {
    Random random(seed);
    Core core;
    Master master(core, random, seed % 2);
    Sms sms(core, random);
    Launches launches(core, sms);
    std::vector<std::unique_ptr<Unit>> units;
    std::vector<std::unique_ptr<Worker>> workers;
    for (unsigned k = 0; k < UNITS; k++) units.emplace_back(new Unit(core, random, k));
    for (unsigned k = 0; k < SECTIONS; k++) {
        Unit* unit = k < UNITS ? units[k].get() : nullptr;
        workers.emplace_back(new Worker(core, random, master, launches, counts, k, unit));
        workers.back()->stops = true;
    }
    Clerk clerk(core, random, master, launches);
    Moods moods(random, sms, units);
    IdlePath path(core);
    Twin twin(core, seed, arguments["unreset"]);
    core.add(&clerk);
    core.add(&moods);
    core.reset();
    auto look = [&] {
        uint32_t data;
        for (uint32_t address : {REGISTER_ADDRESSES}) master.read_now(address, &data);
        for (uint32_t section = 0; section < SECTIONS; section++) {
            for (uint32_t offset = 0; offset < WARPLOOM_SECTION_T0_OFFSET; offset += 4)
                master.read_now(warploom_section(section, offset), &data);
        }
        counts["looks"]++;
    };
    look();
    // At times nobody takes records: then all of them are reserved.
    bool full = seed % 10 == 0;
    clerk.rests = full;
    uint64_t last = counts["commands"] + arguments["commands"] * (full ? 6 : 1);
    for (auto& worker : workers) worker->stops = false;
    while (counts["commands"] < last) core.cycle();
    clerk.rests = false;
    for (auto& worker : workers) worker->stops = worker->releases = true;
    clerk.hurries = true;
    auto ended = [&] {
        for (auto& worker : workers) {
            if (!worker->idle()) return false;
        }
        return launches.all_recorded() && clerk.idle() && !master.open();
    };
    for (uint64_t since = core.now; !ended();) {
        core.demand(core.now - since < SILENT, "a launch has no record");
        core.cycle();
    }
    launches.check(counts);
    clerk.rests = true;
    look();
    master.write_now(WARPLOOM_CONTROL_ADDRESS, WARPLOOM_CONTROL_SOFT_RESET_MASK);
    for (uint32_t state = 1; state & 1;) master.read_now(WARPLOOM_STATE_ADDRESS, &state);
    look();
    counts["cycles"] += core.now;
    counts["idle cycles"] += path.idle_cycles;
}

inline void run_any_start(const Arguments& arguments) {
    Counts counts;
    uint64_t first = arguments["seed"];
    for (uint64_t k = 0; k < arguments["starts"]; k++) one_start(first + k, arguments, counts);
    counts.print();
}

#endif
