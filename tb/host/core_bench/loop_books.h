// Templates and LOOPs as their host knows them. Each launch at the SMs must be the next one of the
// host's own loop over the templates: word for word, in order, behind what it waits for, and once.
#ifndef LOOP_BOOKS_H
#define LOOP_BOOKS_H

#include <array>

#include "launch.h"
#include "sms.h"

#ifdef WARPLOOM_LOOP_TEMPLATES

// T11: which fields change, and, 16 bits further on, which of these alternate.
constexpr unsigned STEP_WORD = WARPLOOM_TEMPLATE_CHANGES_WORD;
enum StepField : unsigned { GX = 0, GRID_YZ = 1, ARGUMENTS = 2, INLINE = 3 };
constexpr unsigned FIRST_LOOP_SECTION = SECTIONS - WARPLOOM_LOOP_SECTIONS;

inline uint32_t template_address(unsigned slot, unsigned half, unsigned number) {
    return WARPLOOM_TEMPLATE_BASE + WARPLOOM_TEMPLATE_BYTES * slot +
           WARPLOOM_TEMPLATE_STEPS * half + 4 * number;
}

struct Template {
    std::array<uint32_t, 32> words[2] = {};

    uint32_t stream() const { return words[0][5] >> 16 & 0xFF; }
    bool quiet() const { return words[0][5] & WARPLOOM_LAUNCH_QUIET_MASK; }
    bool waits(unsigned k) const { return words[0][0] >> (8 + k) & 1; }
    bool relative(unsigned k) const { return words[0][0] >> (12 + k) & 1; }
    uint64_t code() const { return wide(0, 1); }
    uint64_t arguments(uint64_t i) const { return wide_in(ARGUMENTS, 3, i); }
    uint64_t inline0(uint64_t i) const { return wide_in(INLINE, INLINE_WORD, i); }
    uint32_t gx(uint64_t i) const {
        return static_cast<uint32_t>(in(GX, words[0][6], words[1][6], i));
    }
    // gy and gz: no carry between the two.
    uint32_t gy(uint64_t i) const { return half(0, i); }
    uint32_t gz(uint64_t i) const { return half(16, i); }

  private:
    uint64_t wide(unsigned half, unsigned low) const {
        return words[half][low] | uint64_t(words[half][low + 1]) << 32;
    }
    // A field's value in an iteration.
    uint64_t in(unsigned field, uint64_t first, uint64_t second, uint64_t i) const {
        if (!(words[0][STEP_WORD] >> field & 1)) return first;
        if (words[0][STEP_WORD] >> (16 + field) & 1) return i % 2 ? second : first;
        return first + i * second;
    }
    uint64_t wide_in(unsigned field, unsigned low, uint64_t i) const {
        return in(field, wide(0, low), wide(1, low), i);
    }
    uint32_t half(unsigned shift, uint64_t i) const {
        uint32_t first = words[0][7] >> shift & 0xFFFF, second = words[1][7] >> shift & 0xFFFF;
        return static_cast<uint32_t>(in(GRID_YZ, first, second, i)) & 0xFFFF;
    }
};

// A LOOP that was rung; or a LAUNCH: one iteration of one template of its own.
struct LoopRun {
    unsigned section = 0;
    uint64_t id = 0;
    uint64_t count = 1;
    std::vector<unsigned> slots;
    std::vector<const Template*> templates;
    // By stream: its places in an iteration; launches that have begun, and that have ended.
    std::map<uint32_t, std::vector<unsigned>> places;
    std::map<uint32_t, uint64_t> begun, ended;
    // By the launches' order: tickets, 0 of one that has not begun. The last one's number.
    std::vector<uint32_t> tickets;
    uint32_t last_number = 0;
    // LOOP_STOP may meet it; launches may end before they begin.
    bool may_stop = false, may_skip = false;

    uint64_t size() const { return count * templates.size(); }
    void add(unsigned slot, const Template* one) {
        places[one->stream()].push_back(static_cast<unsigned>(templates.size()));
        slots.push_back(slot);
        templates.push_back(one);
    }
    // The launch that is number k of its stream in this loop.
    uint64_t index(uint32_t stream, uint64_t k) const {
        const auto& own = places.at(stream);
        return k / own.size() * templates.size() + own[k % own.size()];
    }
    // Launches of a stream before one.
    uint64_t before(uint32_t stream, uint64_t index) const {
        auto found = places.find(stream);
        if (found == places.end()) return 0;
        uint64_t all = index / templates.size() * found->second.size();
        for (unsigned place : found->second) all += place < index % templates.size();
        return all;
    }
};

class LoopBooks : public Agent {
  public:
    LoopBooks(Core& core, Sms& sms) : core_(core), words_(core.pin("words")) {
        sms.on_offered = [this](unsigned, const Block& block) { offered(block); };
        sms.on_report = [this](unsigned, const Block& block, unsigned status) {
            reported(block, status);
        };
        sms.on_kill_over = [this](unsigned, uint64_t, uint32_t ticket) { killed(ticket); };
        core.add(this);
    }
    void drive() override {}
    void see() override {}

    // Templates hold what the core took. A slot that a loop uses cannot be written: so a launch is
    // that of the words that stand there when it is offered.
    Template templates[WARPLOOM_LOOP_TEMPLATES];
    uint64_t launches = 0, again = 0, waits = 0, last_offer = 0;
    // Not once launches were aborted before they began.
    bool knows_numbers = true;
    // Called for each block.
    std::function<void(const Block&)> on_offered;

    LoopRun& loop(unsigned section, uint64_t count, unsigned first, unsigned length) {
        LoopRun run;
        run.section = section;
        run.id = ++newest_id_;
        run.count = count;
        for (unsigned k = 0; k < length; k++) {
            unsigned slot = (first + k) % WARPLOOM_LOOP_TEMPLATES;
            run.add(slot, &templates[slot]);
        }
        last_offer = core_.now;
        return loops_[section] = run;
    }
    LoopRun& loop(unsigned section) { return loops_.at(section); }
    // A LAUNCH of a section; its code must be none of a template's.
    void launch(unsigned section, const Template& one) {
        Plain& plain = plain_[one.code()];
        plain.words = one;
        plain.run.section = section;
        plain.run.add(0, &plain.words);
    }
    void refused(uint64_t code) { plain_.erase(code); }

    // The words of an outcome, as they stand when the doorbell has fallen.
    struct Outcome {
        uint32_t error, result0, result1, finished, accepted;
    };
    // All launches of a loop have begun and ended, or, if LOOP_STOP met it, the first ones.
    void ended_well(unsigned section, const Outcome& said) {
        LoopRun& run = loops_.at(section);
        uint64_t accepted = run.tickets.size();
        core_.demand(said.accepted == static_cast<uint32_t>(accepted),
                     "RESULT3 is " + std::to_string(said.accepted) + "; launches that began: " +
                         std::to_string(accepted));
        core_.demand(said.finished == said.accepted, "RESULT2 and RESULT3 differ");
        bool stopped = run.may_stop && said.error == WARPLOOM_ERROR_LOOP_STOPPED;
        core_.demand(stopped || said.error == 0, "ERROR of a loop is " + std::to_string(said.error));
        core_.demand(stopped || accepted == run.size(), "a loop ends early");
        uint32_t last = 0;
        for (uint32_t ticket : run.tickets) {
            core_.demand(ticket > last, "launches of a loop are accepted in another order");
            last = ticket;
        }
        for (auto& [stream, begun] : run.begun)
            core_.demand(run.ended[stream] == begun, "a loop has ended before its launches");
        core_.demand(said.result0 == last, "RESULT0 is another launch's ticket");
        uint32_t number = accepted ? run.last_number << 16 : 0;
        core_.demand(!knows_numbers || said.result1 == number,
                     "RESULT1 is another launch's number");
    }

    // ---- records

    uint64_t records = 0;
    // A record of a launch that ended well: one that is not quiet, and not told of before.
    void recorded(const Record& record) {
        records++;
        if (RECORD_FIELD(record, KIND) != WARPLOOM_KIND_LAUNCH) return;
        auto found = untold_.find(record[0]);
        core_.demand(found != untold_.end(), "ticket " + std::to_string(record[0]) +
                                                 " is quiet, or has two records");
        core_.demand(RECORD_FIELD(record, FATE) == WARPLOOM_FATE_FINISHED, "a launch has failed");
        core_.demand(record[3] == found->second, "a record has another number");
        untold_.erase(found);
    }
    // Launches that have begun have ended, whatever was seen of them.
    void forget() {
        open_.clear();
        running_.clear();
    }
    bool all_recorded() const { return untold_.empty() && open_.empty(); }

  private:
    struct Plain {
        Template words;
        LoopRun run;
    };
    // A launch that has begun and not ended.
    struct Open {
        LoopRun* run;
        uint64_t code, index;
        uint32_t stream, ticket, gx, gy, gz;
        std::set<std::tuple<unsigned, unsigned, unsigned>> blocks;
        uint32_t well = 0;
        bool begins_again = false;
        uint32_t count() const { return gx * gy * gz; }
    };

    uint64_t seen(Field field) const { return get(words_, field); }
    uint32_t seen32(Field field) const { return static_cast<uint32_t>(seen(field)); }

    void offered(const Block& block) {
        last_offer = core_.now;
        auto found = open_.find(block.ticket);
        Open& launch = found == open_.end() ? begin(block) : found->second;
        if (launch.begins_again) {
            launch.begins_again = false;
            launch.blocks.clear();
            launch.well = 0;
            again++;
        }
        bool inside = block.bx < launch.gx && block.by < launch.gy && block.bz < launch.gz;
        core_.demand(inside, "a block outside its grid");
        bool is_new = launch.blocks.insert({block.bx, block.by, block.bz}).second;
        core_.demand(is_new, "a block is offered twice");
        if (on_offered) on_offered(block);
    }
    // A ticket's first block.
    Open& begin(const Block& block) {
        uint32_t stream = block.stream;
        core_.demand(block.ticket > newest_[stream], "a launch begins again, or late");
        newest_[stream] = block.ticket;
        auto plain = plain_.find(block.code);
        LoopRun& run = plain == plain_.end() ? loop_of(block) : plain->second.run;
        // One that has failed is not seen to end.
        bool is_next = run.may_skip || !running_.count(stream);
        core_.demand(is_next, "a launch begins beside one of its stream");
        uint64_t k = run.begun[stream];
        // Of launches that were aborted before they began nothing is seen.
        for (unsigned more = 0; run.may_skip && more < 6 && !matches(run, stream, k); more++) k++;
        demand_match(run, stream, k);
        uint64_t index = run.index(stream, k);
        run.begun[stream] = k + 1;
        if (run.tickets.size() <= index) run.tickets.resize(index + 1);
        run.tickets[index] = block.ticket;
        uint32_t number = ++numbers_[stream] & 0xFFFF;
        if (index + 1 == run.tickets.size()) run.last_number = number;
        demand_waits(run, index);
        launches++;
        const Template& words = *run.templates[index % run.templates.size()];
        if (!words.quiet()) untold_[block.ticket] = number;
        uint64_t i = index / run.templates.size();
        running_.insert(stream);
        Open launch{&run, block.code, index, stream, block.ticket, words.gx(i), words.gy(i),
                    words.gz(i), {}, 0, false};
        return open_[block.ticket] = launch;
    }
    LoopRun& loop_of(const Block& block) {
        for (auto& [section, run] : loops_) {
            auto found = run.places.find(block.stream);
            if (found == run.places.end()) continue;
            for (unsigned place : found->second) {
                if (run.templates[place]->code() == block.code) return run;
            }
        }
        core_.fail("a launch that nobody rang");
    }
    // What differs between the launch that is offered and number k of a stream in a loop.
    std::string difference(const LoopRun& run, uint32_t stream, uint64_t k) const {
        uint64_t index = run.index(stream, k), i = index / run.templates.size();
        if (i >= run.count) return "none is left";
        const Template& words = *run.templates[index % run.templates.size()];
        if (seen(launch_words::code) != words.code()) return "code";
        if (seen(launch_words::arguments) != words.arguments(i)) return "arguments";
        if (seen(launch_words::inline0) != words.inline0(i)) return "inline word 0";
        if (seen32(launch_words::gx) != words.gx(i)) return "gx";
        if (seen32(launch_words::gy) != words.gy(i)) return "gy";
        if (seen32(launch_words::gz) != words.gz(i)) return "gz";
        if (seen32(launch_words::address_space) != (words.words[0][5] & 0xFFFF)) return "T5";
        if (seen32(launch_words::dx) != (words.words[0][8] & 0x7FF)) return "T8";
        return "";
    }
    bool matches(const LoopRun& run, uint32_t stream, uint64_t k) const {
        return difference(run, stream, k).empty();
    }
    void demand_match(const LoopRun& run, uint32_t stream, uint64_t k) const {
        std::string wrong = difference(run, stream, k);
        core_.demand(wrong.empty(), "launch " + std::to_string(k) + " of stream " +
                                        std::to_string(stream) + " in its loop: " + wrong);
    }
    // A relative pair counts back from the launches of its stream before this one.
    void demand_waits(const LoopRun& run, uint64_t index) {
        const Template& words = *run.templates[index % run.templates.size()];
        for (unsigned k = 0; k < LAUNCH_WAITS; k++) {
            if (!words.waits(k) || !words.relative(k)) continue;
            uint32_t stream = words.words[0][WAIT_WORD + k] >> 8 & 0xFF;
            uint64_t back = words.words[0][WAIT_WORD + k] >> 16;
            uint64_t before = run.before(stream, index);
            auto found = run.ended.find(stream);
            uint64_t ended = found == run.ended.end() ? 0 : found->second;
            // One that has failed is not seen to end.
            bool waited = run.may_skip || ended + back >= before;
            core_.demand(waited, "a launch does not wait for a relative pair");
            waits += before > back;
        }
    }
    void reported(const Block& block, unsigned status) {
        auto found = open_.find(block.ticket);
        if (found == open_.end()) return;
        Open& launch = found->second;
        launch.well += status == OK;
        if (launch.well < launch.count()) return;
        launch.run->ended[launch.stream]++;
        close(launch);
    }
    void close(const Open& launch) {
        running_.erase(launch.stream);
        if (plain_.count(launch.code)) plain_.erase(launch.code);
        uint32_t ticket = launch.ticket;
        open_.erase(ticket);
    }
    void killed(uint32_t ticket) {
        auto found = open_.find(ticket);
        if (found != open_.end()) found->second.begins_again = true;
    }

    Core& core_;
    Pin words_;
    std::map<unsigned, LoopRun> loops_;
    std::map<uint64_t, Plain> plain_;
    std::map<uint32_t, Open> open_;
    std::set<uint32_t> running_;
    // Of launches that are not quiet, and have no record yet: their numbers.
    std::map<uint32_t, uint32_t> untold_;
    std::map<uint32_t, uint32_t> newest_, numbers_;
    uint64_t newest_id_ = 0;
};

#endif
#endif
