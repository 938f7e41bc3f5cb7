// Random commands on all sections at once: each runs once, and its outcome is its own.
#ifndef COMMANDS_H
#define COMMANDS_H

#include "worker.h"

// Another pace for SMs and cores every now and then; both keep to their pages.
class Moods : public Agent {
  public:
    Moods(Random& random, Sms& sms, std::vector<std::unique_ptr<Unit>>& units)
        : random_(random), sms_(sms), units_(units) {}
    void drive() override {
        if (left_--) return;
        left_ = random_.between(50, 400);
        // Slow enough to stall, and quick enough that no SM is lost.
        sms_.behaviour.longest = random_.one_of(longest);
        sms_.behaviour.reads = random_.one_of<double>({0.0, 0.1, 0.9});
        for (auto& unit : units_) {
            unit->behaviour.fail = random_.one_of<double>({0.0, 0.1, 0.5});
            unit->behaviour.longest = random_.one_of<uint32_t>({0, 3, 15});
            unit->behaviour.late = random_.one_of<double>({0.0, 0.0, 0.05});
            unit->behaviour.results = random_.one_of<double>({0.0, 0.3, 1.0});
        }
    }
    void see() override {}
    // Most cycles that a block runs.
    std::vector<uint32_t> longest = {1, 4, 20, 60, 400};

  private:
    Random& random_;
    Sms& sms_;
    std::vector<std::unique_ptr<Unit>>& units_;
    uint32_t left_ = 0;
};

// A host that takes final records, at times slowly, and reads what is there and what is not.
class Clerk : public Agent {
  public:
    Clerk(Core& core, Random& random, Master& master, Launches& launches)
        : core_(core), random_(random), master_(master), launches_(launches) {}
    uint64_t refused = 0;
    bool hurries = false, rests = false;
    bool idle() const { return !busy_; }
    void drive() override {
        if (rests) return;
        if (random_.chance(0.01)) look();
        if (busy_ || (!hurries && left_--)) return;
        left_ = random_.chance(0.05) ? 3000 : random_.below(100);
        busy_ = true;
        master_.read(WARPLOOM_RECORDS_ADDRESS, [this](unsigned, uint32_t waiting) {
            if (waiting) take();
            else busy_ = false;
        });
    }
    void see() override {}

  private:
    void take() {
        for (uint32_t k = 0; k < record_.size(); k++) {
            master_.read(WARPLOOM_RECORD0_ADDRESS + 4 * k, [this, k](unsigned, uint32_t word) {
                record_[k] = word;
                if (k + 1 < record_.size()) return;
                launches_.recorded(record_);
                master_.write(WARPLOOM_RECORD_POP_ADDRESS, 1,
                              [this](unsigned, uint32_t) { busy_ = false; });
            });
        }
    }
    void look() {
        bool outside = random_.chance(0.5);
        uint32_t address = outside ? 0x1000 + 0x200 * SECTIONS + 4 * random_.below(64) : 0;
        refused += outside;
        master_.read(address, [this, outside](unsigned resp, uint32_t data) {
            core_.demand(resp == (outside ? SLVERR : OKAY), "a read is answered wrongly");
            core_.demand(data == (outside ? 0 : WARPLOOM_ID), "ID reads something else");
        });
    }

    Core& core_;
    Random& random_;
    Master& master_;
    Launches& launches_;
    bool busy_ = false;
    uint32_t left_ = 0;
    Record record_;
};

// All that plays beside the core, from a full reset until each launch has its record.
class Commands {
  public:
    Commands(Core& core, Random& random, Counts& counts)
        : core(core), counts(counts), master(core, random, false), sms(core, random),
          launches(core, sms), clerk(core, random, master, launches), moods(random, sms, units) {
        for (unsigned k = 0; k < UNITS; k++) units.emplace_back(new Unit(core, random, k));
        for (unsigned k = 0; k < SECTIONS; k++) {
            Unit* unit = k < UNITS ? units[k].get() : nullptr;
            workers.emplace_back(new Worker(core, random, master, launches, counts, k, unit));
        }
        core.add(&clerk);
        core.add(&moods);
    }
    ~Commands() { core.dismiss(); }
    // No further commands: every launch ends, and its record is held against what was seen.
    void finish() {
        for (auto& worker : workers) worker->stops = worker->releases = true;
        clerk.hurries = true;
        for (uint64_t since = core.now; !ended(); core.cycle())
            core.demand(core.now - since < SILENT, "a launch has no record");
        launches.check(counts);
        check_refusals();
        counts["accesses"] += master.accesses;
        counts["cycles"] = core.now;
    }

    Core& core;
    Counts& counts;
    Master master;
    Sms sms;
    Launches launches;
    std::vector<std::unique_ptr<Unit>> units;
    std::vector<std::unique_ptr<Worker>> workers;
    Clerk clerk;
    Moods moods;

  private:
    bool ended() const {
        for (auto& worker : workers) {
            if (!worker->idle()) return false;
        }
        return launches.all_recorded() && clerk.idle() && !master.open();
    }
    void check_refusals() {
        uint64_t refused = clerk.refused;
        for (auto& worker : workers) refused += worker->refused;
        core.demand(master.refused == refused, "another access was refused");
        uint32_t told = 0;
        master.read_now(WARPLOOM_REFUSED_ADDRESS, &told);
        core.demand(told == refused, "REFUSED does not count the refusals");
        counts["refused"] += refused;
    }
};

inline void run_commands(const Arguments& arguments) {
    Counts counts;
    Random random(arguments["seed"]);
    Core core;
    Commands all(core, random, counts);
    core.reset();
    while (counts["commands"] < arguments["commands"]) core.cycle();
    all.finish();
    counts.print();
}

#endif
