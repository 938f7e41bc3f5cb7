// A worker on one section that writes templates, rings LOOPs over them, LAUNCHes, PREEMPTs and
// RESUMEs, and holds each outcome against the books.
#ifndef LOOP_WORKER_H
#define LOOP_WORKER_H

#include "loop_books.h"
#include "master.h"

#ifdef WARPLOOM_LOOP_TEMPLATES

constexpr uint32_t ENDLESS = ~0u;

// What the workers of all sections share: who uses which slot, and who stops loops.
struct LoopWorld {
    LoopWorld(Core& core, Random& random, Master& master, Sms& sms, Counts& counts)
        : core(core), random(random), master(master), books(core, sms), counts(counts) {
        std::fill(std::begin(holder), std::end(holder), -1);
    }
    bool is_free(unsigned slot) const { return holder[slot] < 0; }
    // Let a loop stop; whoever is rung until it is answered may be met, too.
    void stop(uint32_t sections) {
        for (unsigned s = 0; s < SECTIONS; s++) stopping[s] += sections >> s & 1;
        for (unsigned s = 0; s < SECTIONS; s++) {
            if (sections >> s & 1 && loops >> s & 1) books.loop(s).may_stop = true;
        }
        master.write(WARPLOOM_LOOP_STOP_ADDRESS, sections, [this, sections](unsigned resp, uint32_t) {
            core.demand(resp == OKAY, "LOOP_STOP is refused");
            for (unsigned s = 0; s < SECTIONS; s++) stopping[s] -= sections >> s & 1;
        });
        counts["LOOP_STOPs"]++;
    }

    Core& core;
    Random& random;
    Master& master;
    LoopBooks books;
    Counts& counts;
    // -1: free.
    int holder[WARPLOOM_LOOP_TEMPLATES];
    unsigned stopping[SECTIONS] = {};
    // Sections whose LOOP was rung and not answered.
    uint32_t loops = 0;
    // PREEMPTs whose RESUME is to come.
    bool preempted = false;
};

class LoopWorker : public Agent {
  public:
    LoopWorker(LoopWorld& world, unsigned section)
        : world_(world), core_(world.core), random_(world.random), master_(world.master),
          books_(world.books), counts_(world.counts), section_(section) {
        core_.add(this);
    }

    bool stops = false;
    bool idle() const { return state_ == IDLE && !resumes_; }
    void drive() override {
        if (state_ == IDLE && ((stops && !resumes_) || wait_--)) {
            if (stops) wait_ = 0;
            return;
        }
        if (state_ == IDLE) return begin();
        if (state_ != POLLING) return;
        uint64_t since = std::max(rung_at_, books_.last_offer);
        core_.demand(core_.now - since < SILENT, "a command is lost: its doorbell stays 1");
        if (kind_ == LOOP && count_ == ENDLESS && random_.chance(stops ? 0.1 : 0.0005))
            world_.stop(1u << section_);
        if (!asked_ && random_.chance(0.2)) poll();
    }
    void see() override {}

  private:
    enum State { IDLE, RINGING, POLLING, READING };
    enum Kind { LOOP, PROBE, LAUNCH, PREEMPT, RESUME };

    bool can_loop() const { return section_ >= FIRST_LOOP_SECTION; }
    uint32_t at(uint32_t offset) const { return warploom_section(section_, offset); }
    // Streams of this section alone: no other one's launches stand between its own.
    uint32_t some_stream() {
        return section_ + SECTIONS * random_.below((STREAMS - 1 - section_) / SECTIONS + 1);
    }

    void begin() {
        uint32_t draw = random_.below(100);
        if (resumes_) return resume();
        if (can_loop() && draw < 75) return loop();
        if (can_loop() && draw < 80) return probe();
        if (draw >= 93 && !world_.preempted) return preempt();
        launch();
    }

    // ---- LOOP

    void loop() {
        const uint32_t slots = WARPLOOM_LOOP_TEMPLATES;
        uint32_t length = random_.chance(0.5) ? 1 : random_.between(2, std::min(6u, slots));
        if (random_.chance(0.03)) length = slots;
        uint32_t first = random_.below(slots);
        for (uint32_t k = 0; k < length; k++) {
            if (!world_.is_free((first + k) % slots)) return launch();
        }
        count_ = random_.chance(0.5) ? random_.between(1, 4) : random_.between(0, 50);
        if (random_.chance(0.1)) count_ = 0;
        if (random_.chance(0.02)) count_ = ENDLESS;
        for (uint32_t k = 0; k < length; k++) {
            uint32_t slot = (first + k) % slots;
            world_.holder[slot] = static_cast<int>(section_);
            bool fits = wrote_[slot] && wrote_[slot] == latest_[slot] && count_ <= fits_[slot];
            if (!fits || random_.chance(0.5)) write_template(slot);
        }
        held_ = {first, length};
        kind_ = LOOP;
        counts_["loops"]++;
        counts_["launches of loops"] += count_ == ENDLESS ? 0 : count_ * length;
        counts_["loops of several templates"] += length > 1;
        counts_["loops whose slots wrap"] += first + length > slots;
        uint32_t in_flight = random_.one_of<uint32_t>({0, 0, 1, 2, 3, 8, 255});
        ring({{0, WARPLOOM_OPCODE_LOOP | random_.word() << 8}, {1, count_},
              {2, first | (first + length - 1) % slots << 8 | in_flight << 16}});
    }
    // A LOOP without iterations, over slots that another one may use.
    void probe() {
        const uint32_t slots = WARPLOOM_LOOP_TEMPLATES;
        held_ = {random_.below(slots), random_.between(1, 3)};
        may_be_busy_ = 0;
        look_for_busy();
        kind_ = PROBE, count_ = 0;
        uint32_t last = (held_.first + held_.second - 1) % slots;
        ring({{0, WARPLOOM_OPCODE_LOOP}, {1, 0}, {2, held_.first | last << 8}});
    }
    void look_for_busy() {
        for (uint32_t k = 0; k < held_.second; k++) {
            uint32_t slot = (held_.first + k) % WARPLOOM_LOOP_TEMPLATES;
            int& holder = world_.holder[slot];
            // It takes those that are free for some cycles.
            if (holder < 0) holder = static_cast<int>(section_);
            if (holder != static_cast<int>(section_)) may_be_busy_ |= 1u << slot;
        }
    }
    void write_template(uint32_t slot) {
        static uint32_t id = 0;
        Template one = some_template(0xC0DE0000u | slot, count_);
        wrote_[slot] = latest_[slot] = ++id;
        fits_[slot] = count_;
        for (unsigned half = 0; half < 2; half++) {
            for (unsigned n : numbers(half)) {
                uint32_t data = one.words[half][n];
                auto answered = [this, slot, half, n, data](unsigned resp, uint32_t) {
                    core_.demand(resp == OKAY, "a write of a free slot is refused");
                    books_.templates[slot].words[half][n] = data;
                };
                master_.write(template_address(slot, half, n), data, answered);
            }
        }
    }
    static std::vector<unsigned> numbers(unsigned half) {
        if (half) return {3, 4, 6, 7, INLINE_WORD, INLINE_WORD + 1};
        std::vector<unsigned> all = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, STEP_WORD, INLINE_WORD,
                                     INLINE_WORD + 1};
        for (unsigned k = 0; k < LAUNCH_WAITS; k++) all.push_back(WAIT_WORD + k);
        return all;
    }
    uint64_t some_value() {
        return random_.one_of<uint64_t>({0, 1, ~uint64_t(0), 0xFFFFFFFF, 0xFFFFFFF0, 64,
                                         random_.bits(), random_.bits(), ~uint64_t(0) - 255});
    }
    // A launch that is legal in each of some iterations.
    Template some_template(uint32_t code, uint64_t count) {
        Template one;
        auto& w = one.words[0];
        auto& second = one.words[1];
        uint32_t stream = some_stream(), flags = 0;
        for (unsigned k = 0; k < LAUNCH_WAITS; k++) {
            w[WAIT_WORD + k] = random_.word();
            if (!random_.chance(0.3)) continue;
            flags |= (1u | 1u << WARPLOOM_FLAG_RELATIVE) << k;
            w[WAIT_WORD + k] = some_stream() << 8 | random_.below(4) << 16;
        }
        w[0] = (random_.word() & 0xFF) | flags << 8 | random_.word() << 16;
        w[1] = code, w[2] = section_;
        put(one, 0, 3, some_value()), put(one, 1, 3, some_value());
        put(one, 0, INLINE_WORD, some_value()), put(one, 1, INLINE_WORD, some_value());
        w[5] = (random_.word() & 0xFFFF) | stream << 16 | stream % PRIORITIES << 24 |
               uint32_t(random_.chance(0.7)) << 28 | random_.below(2) << 29;
        w[6] = random_.between(1, 3), second[6] = random_.between(1, 3);
        w[7] = random_.between(1, 2) | random_.between(1, 2) << 16;
        second[7] = random_.between(1, 2) | random_.between(1, 2) << 16;
        w[8] = random_.between(1, 2 * WARP_SIZE) | 1u << 11 | 1u << 22;
        // Modes auto, reset, drain and wait.
        w[10] = random_.below(4) << 21;
        uint32_t changes = random_.below(16), other = random_.below(16);
        // Of a grid that would become large the other value takes turns.
        const uint32_t grid = 1u << GX | 1u << GRID_YZ;
        if (count > 4 || random_.chance(0.5)) {
            other |= grid;
        } else {
            other &= ~grid;
            shrink(one, count);
        }
        w[STEP_WORD] = changes | other << 16 | (random_.word() & 0xF800F800);
        return one;
    }
    // A grid that goes down to 1 or 2 by steps of -1, its gz up by 1.
    static void shrink(Template& one, uint64_t count) {
        auto most = static_cast<uint32_t>(count + 1);
        one.words[0][6] = most, one.words[1][6] = ~0u;
        one.words[0][7] = most | 1u << 16, one.words[1][7] = 0xFFFF | 1u << 16;
    }
    static void put(Template& one, unsigned half, unsigned low, uint64_t value) {
        one.words[half][low] = static_cast<uint32_t>(value);
        one.words[half][low + 1] = static_cast<uint32_t>(value >> 32);
    }

    // ---- other commands

    void launch() {
        static uint32_t id = 0;
        Template one = some_template(++id, 0);
        one.words[0][0] = (one.words[0][0] & 0xFFFFFF00) | WARPLOOM_OPCODE_LAUNCH;
        one.words[0][STEP_WORD] = 0;
        code_ = one.code();
        kind_ = LAUNCH;
        books_.launch(section_, one);
        std::vector<std::pair<unsigned, uint32_t>> words;
        for (unsigned n : numbers(0)) words.push_back({n, one.words[0][n]});
        counts_["other launches"]++;
        counts_["other launches beside loops"] += world_.loops != 0;
        ring(words);
    }
    void preempt() {
        kind_ = PREEMPT;
        resumes_ = world_.preempted = true;
        counts_["PREEMPTs"]++;
        counts_["PREEMPTs beside loops"] += world_.loops != 0;
        uint32_t all = STREAMS < 32 ? (1u << STREAMS) - 1 : ~0u;
        uint32_t mask = random_.word() & all;
        ring({{0, WARPLOOM_OPCODE_PREEMPT}, {1, mask ? mask : all}});
    }
    void resume() {
        kind_ = RESUME;
        resumes_ = false;
        ring({{0, WARPLOOM_OPCODE_RESUME}, {1, STREAMS < 32 ? (1u << STREAMS) - 1 : ~0u}});
    }

    void ring(const std::vector<std::pair<unsigned, uint32_t>>& words) {
        state_ = RINGING;
        for (auto [number, data] : words) {
            uint32_t address = at(WARPLOOM_SECTION_T0_OFFSET + 4 * number);
            master_.write(address, data, [this](unsigned resp, uint32_t) {
                core_.demand(resp == OKAY, "a word of a free section is refused");
            });
        }
        master_.write(at(WARPLOOM_SECTION_DOORBELL_OFFSET), 1, [this](unsigned resp, uint32_t) {
            core_.demand(resp == OKAY, "a doorbell of a free section is refused");
            state_ = POLLING;
            rung_at_ = core_.now;
            if (kind_ == LOOP) begin_loop();
        });
    }
    // By now the templates are written, and nothing is launched yet.
    void begin_loop() {
        LoopRun& run = books_.loop(section_, count_, held_.first, held_.second);
        run.may_stop = world_.stopping[section_];
        world_.loops |= 1u << section_;
        counts_["all sections loop"] += world_.loops == loop_sections();
    }
    static uint32_t loop_sections() {
        uint32_t all = 0;
        for (unsigned s = FIRST_LOOP_SECTION; s < SECTIONS; s++) all |= 1u << s;
        return all;
    }

    // ---- the outcome

    void poll() {
        asked_ = true;
        auto before = std::make_shared<uint32_t>(0);
        uint32_t offset = 4 * random_.between(1, 7);
        master_.read(at(offset), [before](unsigned, uint32_t data) { *before = data; });
        master_.read(at(WARPLOOM_SECTION_DOORBELL_OFFSET), [this, before](unsigned, uint32_t data) {
            asked_ = false;
            if (data) return core_.demand(!*before, "an outcome of a command that runs");
            state_ = READING;
            for (unsigned k = 3; k < 8; k++) {
                master_.read(at(4 * k), [this, k](unsigned, uint32_t word) {
                    found_[k] = word;
                    if (k == 7) check();
                });
            }
        });
    }
    void check() {
        LoopBooks::Outcome said{found_[3], found_[4], found_[5], found_[6], found_[7]};
        uint32_t error = said.error;
        if (kind_ == LOOP) {
            books_.ended_well(section_, said);
            world_.loops &= ~(1u << section_);
            give_back();
            counts_["loops stopped"] += error == WARPLOOM_ERROR_LOOP_STOPPED;
            counts_["loops of 0 iterations"] += count_ == 0;
        } else if (kind_ == PROBE) {
            give_back();
            bool busy = (error & 0xFF) == WARPLOOM_ERROR_TEMPLATE_BUSY && may_be_busy_ >> (error >> 16) & 1;
            bool stopped = error == WARPLOOM_ERROR_LOOP_STOPPED;
            core_.demand(busy || stopped || !error, "ERROR of a LOOP is " + std::to_string(error));
            counts_["LOOPs over busy slots"] += busy;
        } else if (kind_ == LAUNCH) {
            bool full = error == WARPLOOM_ERROR_QUEUE_FULL || error == WARPLOOM_ERROR_COMPLETION_FULL;
            core_.demand(full || !error, "ERROR of a launch is " + std::to_string(error));
            core_.demand(full == !said.result0, "a launch has a ticket and a reason, or neither");
            if (full) books_.refused(code_);
        } else if (kind_ == RESUME) {
            world_.preempted = false;
        }
        if (kind_ != LOOP) core_.demand(!said.finished && !said.accepted, "counts of no loop");
        state_ = IDLE;
        wait_ = resumes_ ? random_.below(600) : random_.chance(0.5) ? 0 : random_.below(100);
    }

    // Others are rung in its slots from now on.
    void give_back() {
        for (int& holder : world_.holder) {
            if (holder == static_cast<int>(section_)) holder = -1;
        }
    }

    LoopWorld& world_;
    Core& core_;
    Random& random_;
    Master& master_;
    LoopBooks& books_;
    Counts& counts_;
    unsigned section_;
    State state_ = IDLE;
    Kind kind_ = LAUNCH;
    uint32_t count_ = 0, wait_ = 0, may_be_busy_ = 0;
    uint64_t code_ = 0, rung_at_ = 0;
    std::pair<uint32_t, uint32_t> held_;
    bool asked_ = false, resumes_ = false;
    uint32_t found_[8] = {};
    // What this worker wrote into a slot last, and for how many iterations; what anybody did.
    uint32_t wrote_[WARPLOOM_LOOP_TEMPLATES] = {}, fits_[WARPLOOM_LOOP_TEMPLATES] = {};
    inline static uint32_t latest_[WARPLOOM_LOOP_TEMPLATES] = {};
};

#endif
#endif
