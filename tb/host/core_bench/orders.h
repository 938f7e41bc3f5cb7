// Every interleaving of the addresses and data of four writes: a task's words and its doorbell.
#ifndef ORDERS_H
#define ORDERS_H

#include "core.h"
#include "warploom_host.h"

// In a step an address moves, or data, or both, or nothing. `steps` gives the steps of all four.
class Orders {
  public:
    Orders(Core& core, Counts& counts) : core_(core), counts_(counts) {}

    // Try every sequence with at most `pauses` steps in which nothing moves.
    void run(unsigned pauses) {
        for (bool stalled : {false, true}) {
            stalled_ = stalled;
            extend(0, 0, pauses);
        }
    }

  private:
    enum Step { ADDRESS = 1, DATA = 2, BOTH = 3, PAUSE = 0 };

    void extend(unsigned addresses, unsigned words, unsigned pauses) {
        if (addresses == 4 && words == 4) return play();
        for (int step : {ADDRESS, DATA, BOTH, PAUSE}) {
            unsigned a = addresses + (step & ADDRESS), w = words + (step >> 1 & 1);
            if (a > 4 || w > 4 || (step == PAUSE && (!pauses || steps_.empty()))) continue;
            steps_.push_back(step);
            ahead_ = std::max(ahead_, std::abs(int(a) - int(w)));
            extend(a, w, pauses - (step == PAUSE));
            steps_.pop_back();
        }
    }

    // Send one sequence; the unit's first part must be that of this sequence's task.
    void play() {
        auto first = static_cast<uint32_t>(++counts_["sequences"]);
        const uint32_t section = warploom_section(0, 0), t0 = section + WARPLOOM_SECTION_T0_OFFSET;
        const uint32_t bell = section + WARPLOOM_SECTION_DOORBELL_OFFSET;
        const uint32_t addresses[] = {t0 + 4, t0 + 8, t0, bell};
        const uint32_t words[] = {first, 0x0101, WARPLOOM_OPCODE_RUN, 1};
        unsigned a = 0, w = 0;
        responses_ = 0;
        // With `stalled` the responses are not taken before all addresses and data are.
        ready_ = !stalled_;
        for (int step : steps_) {
            offer(aw_, step & ADDRESS, [&] { put(aw_.payload, bus_address::addr, addresses[a]); });
            offer(w_, step & DATA, [&] {
                put(w_.payload, bus_data::data, words[w]);
                put(w_.payload, bus_data::strb, 15);
            });
            a += step & ADDRESS;
            w += step >> 1 & 1;
            core_.settle();
            bool taken = (!get(aw_.valid) || get(aw_.ready)) && (!get(w_.valid) || get(w_.ready));
            core_.demand(taken, "a queue of four is full before the fourth");
            finish_cycle();
        }
        offer(aw_, false, [] {});
        offer(w_, false, [] {});
        ready_ = true;
        for (unsigned k = 0; !get(start_valid_); k++) {
            core_.demand(k < 40, text("no task starts"));
            core_.settle();
            if (!get(start_valid_)) finish_cycle();
        }
        core_.demand(get(start_, core_start::first) == first, text("a task starts with old words"));
        end_task();
        core_.demand(responses_ == 4, text("four writes have not four responses"));
    }

    // The core takes its part, arrives, and steps back when the barrier opens.
    void end_task() {
        put(start_ready_, 1);
        core_.settle();
        finish_cycle();
        put(start_ready_, 0);
        put(arrived_, 1);
        for (unsigned k = 0; k < 12; k++) {
            core_.settle();
            if (get(barrier_open_)) put(arrived_, 0);
            core_.demand(!get(start_valid_), text("a doorbell rings twice"));
            finish_cycle();
        }
        core_.demand(!get(arrived_), text("the barrier does not open"));
    }

    struct Channel {
        Pin valid, ready, payload;
    };
    template <typename Fill>
    void offer(Channel& channel, bool valid, Fill fill) {
        put(channel.valid, valid);
        if (valid) fill();
    }
    void finish_cycle() {
        put(b_.ready, ready_);
        core_.settle();
        if (get(b_.valid) && ready_) {
            core_.demand(get(b_.payload) == 0, text("a write is refused"));
            responses_++;
        }
        core_.edge();
    }
    std::string text(const std::string& what) const {
        std::string all = what + "; steps ";
        for (int step : steps_) all += "-AWB"[step];
        return all + (stalled_ ? ", responses stalled" : "");
    }
    Channel channel(const std::string& name) const {
        std::string prefix = "axil__" + name + "__";
        return {core_.pin(prefix + "valid"), core_.pin(prefix + "ready"),
                core_.pin(prefix + "payload")};
    }

    Core& core_;
    Counts& counts_;
    std::vector<int> steps_;
    bool stalled_ = false, ready_ = true;
    unsigned responses_ = 0;
    Channel aw_ = channel("aw"), w_ = channel("w"), b_ = channel("b");
    Pin start_valid_ = core_.pin("cores__0__start__valid");
    Pin start_ = core_.pin("cores__0__start__payload");
    Pin start_ready_ = core_.pin("cores__0__start__ready");
    Pin arrived_ = core_.pin("cores__0__arrived");
    Pin barrier_open_ = core_.pin("cores__0__barrier_open");

  public:
    int ahead_ = 0;
};

inline void run_orders(const Arguments& arguments) {
    Counts counts;
    Core core;
    core.reset();
    Orders orders(core, counts);
    orders.run(static_cast<unsigned>(arguments["pauses"]));
    counts["most ahead"] = static_cast<uint64_t>(orders.ahead_);
    counts["cycles"] = core.now;
    counts.print();
}

#endif
