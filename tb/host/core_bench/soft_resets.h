// A soft reset in every cycle of a short scenario: records, lost SMs, and the launch after it.
#ifndef SOFT_RESETS_H
#define SOFT_RESETS_H

#include "master.h"
#include "sms.h"
#include "units.h"
#include "warploom_host.h"

// What the outputs say in each cycle; what means nothing is left out, and so are tickets.
using Trace = std::vector<std::vector<uint64_t>>;

class Scenario {
  public:
    // `silent`: SMs that never report.
    explicit Scenario(uint32_t silent) : sms_(core_, random_), unit_(core_, random_, 0) {
        sms_.behaviour.shortest = sms_.behaviour.longest = 25;
        sms_.behaviour.answer = 1;
        sms_.behaviour.reads = 0.0;
        sms_.silent_sms = silent;
        unit_.behaviour = CoreBehaviour{0.0, 30, 0.0, 0.0, 0.1, 0.0};
        core_.reset();
    }

    // Five launches, a task and an abort; from cycle `at` on nothing but a soft reset.
    void play(uint64_t at) {
        plan();
        uint64_t start = core_.now;
        auto accepted = [this](unsigned resp, uint32_t) {
            core_.demand(resets_ || resp == OKAY, "a write of the scenario is refused");
        };
        for (auto next = plan_.begin(); core_.now - start < at; core_.cycle()) {
            for (; next != plan_.end() && next->first <= core_.now - start; ++next)
                master_.write(next->second.first, next->second.second, accepted);
        }
        soft_reset();
    }
    void soft_reset() {
        resets_++;
        master_.write_now(WARPLOOM_CONTROL_ADDRESS, WARPLOOM_CONTROL_SOFT_RESET_MASK);
        for (uint64_t since = core_.now; read(WARPLOOM_STATE_ADDRESS) & 1;)
            core_.demand(core_.now - since < 400, "a soft reset does not end");
        core_.demand(read(WARPLOOM_STATE_ADDRESS) == resets_ << 16, "the epoch is wrong");
        for (uint32_t section = 0; section < SECTIONS; section++) {
            uint32_t bell = warploom_section(section, WARPLOOM_SECTION_DOORBELL_OFFSET);
            core_.demand(read(bell) == 0, "a doorbell is 1 after a soft reset");
            uint32_t code = read(bell + WARPLOOM_SECTION_ERROR_OFFSET) & 0xFF;
            interrupted += code == WARPLOOM_ERROR_RESET;
        }
        core_.demand(sms_.held_by(~sms_.silent_sms) == 0, "a block outlives a soft reset");
    }
    // Take all records: they must be of tickets 1 to n, each once.
    void take_records(Counts& counts) {
        std::set<uint32_t> tickets;
        while (read(WARPLOOM_RECORDS_ADDRESS)) {
            tickets.insert(read(WARPLOOM_RECORD0_ADDRESS));
            uint32_t fate = read(WARPLOOM_RECORD1_ADDRESS) >> WARPLOOM_RECORD_FATE_SHIFT & 7;
            uint32_t code = read(WARPLOOM_RECORD1_ADDRESS) & WARPLOOM_RECORD_CODE_MASK;
            counts["records, fate " + std::to_string(fate)]++;
            counts["records, code " + std::to_string(code >> WARPLOOM_RECORD_CODE_SHIFT)]++;
            write(WARPLOOM_RECORD_POP_ADDRESS, 1);
            records_++;
        }
        core_.demand(tickets.size() == records_, "a ticket has two records");
        core_.demand(tickets.empty() || *tickets.rbegin() == records_, "a ticket has no record");
    }
    uint32_t lost() { return read(WARPLOOM_SM_LOST0_ADDRESS); }
    void enable(uint32_t sms) { write(WARPLOOM_SM_ENABLE0_ADDRESS, sms); }

    // Launch once more, and watch all outputs; the launch must end well, and have the next ticket.
    Trace probe() {
        core_.cycles(60);
        Trace trace;
        auto write_it = [this](uint32_t address, uint32_t data) { master_.write(address, data); };
        launch(0, 2, 7, 12, write_it);
        for (int k = 0; k < 140; k++) {
            core_.cycle();
            trace.push_back(look());
        }
        core_.demand(read(WARPLOOM_RECORDS_ADDRESS) == 1, "the launch after it does not end");
        core_.demand(read(WARPLOOM_RECORD0_ADDRESS) == records_ + 1, "a ticket was lost");
        uint32_t bad = WARPLOOM_RECORD_CODE_MASK | WARPLOOM_RECORD_FATE_MASK;
        core_.demand(!(read(WARPLOOM_RECORD1_ADDRESS) & bad), "the launch after it fails");
        return trace;
    }
    Core& core() { return core_; }
    uint64_t interrupted = 0;

  private:
    using Write = std::function<void(uint32_t address, uint32_t data)>;

    // The writes of the scenario by their cycles.
    void plan() {
        uint64_t cycle = 0;
        auto later = [&](uint32_t address, uint32_t data) {
            plan_.push_back({cycle++, {address, data}});
        };
        launch(0, 0, 2, 8, later);
        launch(1, 1, 3, 8, later);
        // A section takes writes when its last command is answered.
        cycle += 12;
        launch(0, 0, 1, 16, later);
        launch(1, 0, 2, 16, later);
        cycle += 8;
        uint32_t bell = warploom_section(0, 0), word = bell + WARPLOOM_SECTION_T0_OFFSET;
        later(word, WARPLOOM_OPCODE_RUN);
        later(word + 8, 3 | 1 << 8);
        later(word + 12, 4);
        later(bell, 1);
        cycle += 8;
        bell = warploom_section(1, 0), word = bell + WARPLOOM_SECTION_T0_OFFSET;
        later(word, WARPLOOM_OPCODE_ABORT);
        later(word + 4, 4);
        later(bell, 1);
        cycle += 60;
        launch(1, 3, 4, 5, later);
    }
    static void launch(uint32_t section, uint32_t stream, uint32_t gx, uint32_t dx, Write write) {
        uint32_t bell = warploom_section(section, WARPLOOM_SECTION_DOORBELL_OFFSET);
        uint32_t word = warploom_section(section, WARPLOOM_SECTION_T0_OFFSET);
        write(word, WARPLOOM_OPCODE_LAUNCH);
        // What an earlier command left in the task register would be code and arguments.
        for (uint32_t number = 1; number <= 4; number++) write(word + 4 * number, 0);
        write(word + 20, stream << 16);
        write(word + 24, gx);
        write(word + 28, 1 | 1u << 16);
        write(word + 32, dx | 1u << 11 | 1u << 22);
        write(word + 36, 4 * (dx % 5));
        write(word + 40, 1);
        write(bell, 1);
    }
    uint32_t read(uint32_t address) {
        uint32_t data = 0;
        core_.demand(master_.read_now(address, &data) == OKAY, "a read is refused");
        return data;
    }
    void write(uint32_t address, uint32_t data) {
        core_.demand(master_.write_now(address, data) == OKAY, "a write is refused");
    }

    std::vector<uint64_t> look() const {
        std::vector<uint64_t> found;
        for (const char* name : {"kill", "irq", "data_valid", "axil__b__valid", "axil__r__valid"})
            found.push_back(get(core_.pin(name)));
        Pin block = core_.pin("block"), words = core_.pin("words");
        found.push_back(get(core_.pin("offer")));
        if (!found.back()) return found;
        for (unsigned bit = 0; bit < block.bits; bit += 32)
            found.push_back(get(block, {bit, std::min(32u, block.bits - bit)}));
        // The ticket stands lowest.
        for (unsigned bit = launch_words::ticket.bits; bit < words.bits; bit += 32)
            found.push_back(get(words, {bit, std::min(32u, words.bits - bit)}));
        return found;
    }

    Core core_;
    Random random_{1};
    Master master_{core_, random_, true};
    Sms sms_;
    Unit unit_;
    std::vector<std::pair<uint64_t, std::pair<uint32_t, uint32_t>>> plan_;
    uint32_t resets_ = 0, records_ = 0;
};

inline std::string text(const std::vector<uint64_t>& values) {
    std::string all;
    for (uint64_t value : values) all += std::to_string(value) + " ";
    return all;
}

inline void run_soft_resets(const Arguments& arguments) {
    Counts counts;
    auto silent = static_cast<uint32_t>(arguments["silent"]);
    Scenario fresh(0);
    const Trace first = fresh.probe();
    Scenario fewer(0);
    fewer.enable(~silent & ((1u << SMS) - 1));
    const Trace without = fewer.probe();
    for (uint64_t at = arguments["first"]; at < arguments["last"]; at++) {
        Scenario scenario(silent);
        scenario.play(at);
        scenario.take_records(counts);
        uint32_t lost = scenario.lost();
        scenario.core().demand(!(lost & ~silent), "an SM is lost that reports");
        if (lost) {
            counts["SMs lost"]++;
            scenario.soft_reset();
            scenario.core().demand(scenario.lost() == lost, "a lost SM is found again");
        }
        if (silent && !lost) continue;
        const Trace found = scenario.probe();
        for (size_t cycle = 0; cycle < found.size(); cycle++) {
            const auto& wanted = (lost ? without : first)[cycle];
            scenario.core().demand(found[cycle] == wanted,
                                   "soft reset in cycle " + std::to_string(at) +
                                       ": the next launch differs from the first in cycle " +
                                       std::to_string(cycle) + ", " + text(found[cycle]) +
                                       " instead of " + text(wanted));
        }
        counts["soft resets"]++;
        counts["sections interrupted"] += scenario.interrupted;
    }
    counts.print();
}

#endif
