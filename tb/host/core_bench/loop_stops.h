// Something ends a loop of six launches in each of its cycles: one outcome, whose counts are those of
// launches and records, and the next LOOP is like the first.
#ifndef LOOP_STOPS_H
#define LOOP_STOPS_H

#include "loops.h"

#ifdef WARPLOOM_LOOP_TEMPLATES

enum Stop : unsigned { LOOP_STOP, ABORT_ALL, SOFT_RESET, UNIT_RESET, LOST_SM, BLOCK_FAULT, REFUSAL };

class StopScenario {
  public:
    explicit StopScenario(Counts& counts) : counts_(counts), host_(1), core_(host_.core) {
        host_.sms.behaviour.shortest = host_.sms.behaviour.longest = 10;
        host_.sms.behaviour.answer = 1;
        host_.books.on_offered = [this](const Block& block) {
            offers_.push_back({core_.now, block.stream, block.bx, block.number});
        };
        write_templates();
    }
    // The first loop of all, and when its blocks are offered.
    std::vector<std::array<uint64_t, 4>> probe() {
        core_.cycles(60);
        ring();
        uint64_t since = core_.now;
        offers_.clear();
        host_.wait(SECTION);
        host_.books.ended_well(SECTION, host_.outcome(SECTION));
        for (auto& offer : offers_) offer[0] -= since;
        return offers_;
    }
    // `at`: cycles behind the doorbell's response.
    void play(Stop kind, uint64_t at) {
        if (kind == REFUSAL) refuse(at % LAUNCHES);
        if (kind == LOST_SM) host_.write(WARPLOOM_LAUNCH_TIMEOUT_ADDRESS, 100);
        uint32_t words = warploom_section(0, WARPLOOM_SECTION_T0_OFFSET);
        host_.write(words, WARPLOOM_OPCODE_ABORT_STREAMS);
        host_.write(words + 4, 1u << FIRST | 1u << SECOND);
        core_.cycles(60);
        LoopRun& run = ring();
        run.may_skip = true;
        core_.cycles(static_cast<unsigned>(at));
        stop(kind);
        host_.books.knows_numbers = false;
        for (uint64_t since = core_.now; host_.runs(SECTION);)
            core_.demand(core_.now - since < 5000, "a loop that is stopped hangs");
        look(kind, at % LAUNCHES, run);
        recover(kind);
    }

  private:
    // Both streams have one priority: none makes way for the other.
    static constexpr unsigned SECTION = SECTIONS - 1, LAUNCHES = 6, FIRST = 1,
                              SECOND = FIRST + PRIORITIES;

    // Two templates of two blocks each, in two streams; the second one waits for the first.
    void write_templates() {
        host_.simple(6, FIRST, 0x100, 0x10);
        host_.simple(7, SECOND, ~uint64_t(0), 1);
        for (unsigned slot : {6, 7}) {
            host_.word(slot, 0, 6, 2);
            host_.word(slot, 1, 6, 0);
        }
        host_.word(7, 0, 0, (1u | 1u << WARPLOOM_FLAG_RELATIVE) << 8);
        host_.word(7, 0, WAIT_WORD, FIRST << 8);
    }
    // One launch of the loop has no blocks: gx goes down to 0 in its iteration.
    void refuse(uint64_t index) {
        unsigned slot = 6 + index % 2;
        host_.word(slot, 0, 6, static_cast<uint32_t>(index / 2));
        host_.word(slot, 1, 6, ~0u);
        host_.word(slot, 0, STEP_WORD, 1u << ARGUMENTS | 1u << GX);
    }
    LoopRun& ring() { return host_.loop(SECTION, LAUNCHES / 2, 6, 2); }

    void stop(Stop kind) {
        switch (kind) {
        case LOOP_STOP: return host_.write(WARPLOOM_LOOP_STOP_ADDRESS, 1u << SECTION);
        case ABORT_ALL: return host_.write(warploom_section(0, 0), 1);
        case SOFT_RESET:
            host_.write(WARPLOOM_CONTROL_ADDRESS, WARPLOOM_CONTROL_SOFT_RESET_MASK);
            for (uint64_t since = core_.now; host_.read(WARPLOOM_STATE_ADDRESS) & 1;)
                core_.demand(core_.now - since < 400, "a soft reset does not end");
            return;
        case UNIT_RESET: return host_.write(WARPLOOM_UNIT_RESET_ADDRESS, (1u << UNITS) - 1);
        case LOST_SM: host_.sms.mute = 1; return;
        case BLOCK_FAULT: host_.sms.behaviour.fault = 1.0; return;
        case REFUSAL:
            // A write outside the map, too, lets the step stand for a cycle.
            host_.master.write(0x7000, 0);
        }
    }

    // Records of launches that did not finish: one for each, and no others.
    std::set<uint32_t> take_records(unsigned& begun_without_block) {
        std::set<uint32_t> tickets;
        while (host_.read(WARPLOOM_RECORDS_ADDRESS)) {
            uint32_t ticket = host_.read(WARPLOOM_RECORD0_ADDRESS);
            uint32_t word = host_.read(WARPLOOM_RECORD1_ADDRESS);
            bool finished = !(word & WARPLOOM_RECORD_FATE_MASK);
            core_.demand(!finished, "a quiet launch that has finished has a record");
            core_.demand(tickets.insert(ticket).second, "a ticket has two records");
            begun_without_block += !(word & WARPLOOM_RECORD_OFFERED_MASK);
            host_.write(WARPLOOM_RECORD_POP_ADDRESS, 1);
        }
        return tickets;
    }
    void look(Stop kind, uint64_t refused, const LoopRun& run) {
        auto said = host_.outcome(SECTION);
        core_.cycles(200);
        core_.demand(!host_.runs(SECTION), "a loop has two ends");
        auto later = host_.outcome(SECTION);
        core_.demand(!memcmp(&said, &later, sizeof said), "an outcome changed after its command");
        unsigned without_block = 0;
        std::set<uint32_t> failed = take_records(without_block), all = failed;
        for (uint32_t ticket : run.tickets) {
            if (ticket) all.insert(ticket);
        }
        uint64_t finished = all.size() - failed.size();
        counts_["error " + std::to_string(said.error & 0xFF)]++;
        counts_["launches that ended without a block"] += without_block;
        if (said.error == WARPLOOM_ERROR_RESET) {
            core_.demand(kind == SOFT_RESET && !said.accepted && !said.finished && !said.result0,
                         "RESET, and more");
            return;
        }
        std::string counts = std::to_string(said.accepted) + " accepted, " +
                             std::to_string(said.finished) + " finished; seen are " +
                             std::to_string(all.size()) + ", " + std::to_string(finished);
        core_.demand(said.accepted == all.size() && said.finished == finished, counts);
        uint32_t last = all.empty() ? 0 : *all.rbegin();
        core_.demand(said.result0 == last, "RESULT0 is another launch's ticket");
        core_.demand(legal(kind, said, refused), "ERROR is " + std::to_string(said.error) + "; " + counts);
    }
    static bool legal(Stop kind, const LoopBooks::Outcome& said, uint64_t refused) {
        bool whole = said.finished == LAUNCHES && said.accepted == LAUNCHES;
        bool all_well = said.finished == said.accepted;
        switch (kind) {
        case REFUSAL:
            return said.error == WARPLOOM_ERROR_GRID_ZERO && all_well && said.accepted == refused;
        case UNIT_RESET: return !said.error && whole;
        case LOOP_STOP:
            if (said.error == WARPLOOM_ERROR_LOOP_STOPPED) return all_well;
            break;
        case LOST_SM:
            // A launch may be refused for its broken stream before the loop hears of the lost one.
            if (said.error == WARPLOOM_ERROR_STREAM_BROKEN) return !all_well;
            [[fallthrough]];
        case ABORT_ALL:
        case BLOCK_FAULT:
            if (said.error == WARPLOOM_ERROR_LAUNCH_FAILED) return !all_well;
            break;
        default: break;
        }
        return !said.error && whole;
    }

    void recover(Stop kind) {
        host_.sms.behaviour.fault = 0.0;
        host_.books.forget();
        host_.write(WARPLOOM_LAUNCH_TIMEOUT_ADDRESS, 0);
        if (kind == SOFT_RESET) host_.sms.forget();
        if (kind == REFUSAL) write_templates();
        if (kind != LOST_SM) return;
        for (uint32_t stream : {FIRST, SECOND}) host_.write(WARPLOOM_CLEAR_STREAM_ADDRESS, stream);
        bool lost = host_.read(WARPLOOM_SM_LOST0_ADDRESS) & 1;
        counts_["SMs lost"] += lost;
        if (!lost) host_.sms.mute = 0;
    }

    Counts& counts_;
    LoopHost host_;
    Core& core_;
    std::vector<std::array<uint64_t, 4>> offers_;
};

inline void run_loop_stops(const Arguments& arguments) {
    Counts counts;
    auto kind = static_cast<Stop>(arguments["kind"]);
    StopScenario fresh(counts);
    const auto first = fresh.probe();
    for (uint64_t at = arguments["first"]; at < arguments["last"]; at += arguments["step"]) {
        StopScenario scenario(counts);
        scenario.play(kind, at);
        auto found = scenario.probe();
        // Block by block; after a soft reset cycle by cycle, too.
        bool same = found.size() == first.size();
        for (size_t k = 0; same && kind == SOFT_RESET && k < found.size(); k++)
            same = found[k] == first[k];
        if (!same) throw Failure("stopped in cycle " + std::to_string(at) + ", the next LOOP has " +
                                std::to_string(found.size()) + " blocks, or others, not " +
                                std::to_string(first.size()));
        counts["stops"]++;
    }
    counts.print();
}

#endif
#endif
