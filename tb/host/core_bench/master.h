// A host's AXI4-Lite master: accesses in their order, each channel at its own random pace.
#ifndef MASTER_H
#define MASTER_H

#include <deque>
#include <functional>

#include "core.h"

constexpr unsigned OKAY = 0, SLVERR = 2;
// An access that has no answer after so many cycles hangs: far more than the longest pauses.
constexpr uint64_t SILENT = 30000;

// Called with the response, and the data of a read.
using Answered = std::function<void(unsigned resp, uint32_t data)>;

class Master : public Agent {
  public:
    // `hurried`: every channel moves in every cycle.
    Master(Core& core, Random& random, bool hurried)
        : core_(core), hurried_(hurried), paces_(5, Pace(random)) {
        for (const char* name : {"aw", "w", "ar", "b", "r"}) {
            std::string prefix = std::string("axil__") + name + "__";
            channels_.push_back({core.pin(prefix + "valid"), core.pin(prefix + "ready"),
                                 core.pin(prefix + "payload")});
        }
        core.add(this);
    }

    void write(uint32_t address, uint32_t data, Answered answered = {}, unsigned strobes = 15) {
        addresses_.push_back(address);
        words_.push_back({data, strobes});
        writes_.push_back({answered, core_.now});
        accesses++;
    }
    void read(uint32_t address, Answered answered = {}) {
        reads_asked_.push_back(address);
        reads_.push_back({answered, core_.now});
        accesses++;
    }
    // Nobody waits for the answers any more.
    void forget() {
        for (auto* queue : {&writes_, &reads_}) {
            for (Open& open : *queue) open.answered = {};
        }
    }
    // Whether the last look at the bus found an answer that is not AXI's, or none.
    bool lost() const { return lost_; }
    size_t open() const { return writes_.size() + reads_.size(); }

    // A blocking access: cycles go by until it is answered.
    unsigned write_now(uint32_t address, uint32_t data) {
        unsigned found = ~0u;
        write(address, data, [&](unsigned resp, uint32_t) { found = resp; });
        while (found == ~0u) core_.cycle();
        return found;
    }
    unsigned read_now(uint32_t address, uint32_t* data) {
        unsigned found = ~0u;
        read(address, [&](unsigned resp, uint32_t value) {
            found = resp;
            *data = value;
        });
        while (found == ~0u) core_.cycle();
        return found;
    }

    void drive() override {
        offer(AW, !addresses_.empty(), [&](const Pin& p) {
            put(p, bus_address::addr, addresses_.front());
            put(p, bus_address::prot, core_.now & 7);
        });
        offer(W, !words_.empty(), [&](const Pin& p) {
            put(p, bus_data::data, words_.front().first);
            put(p, bus_data::strb, words_.front().second);
        });
        offer(AR, !reads_asked_.empty(),
              [&](const Pin& p) { put(p, bus_address::addr, reads_asked_.front()); });
        for (int k : {B, R}) put(channels_[k].ready, hurried_ || paces_[k].toss());
    }

    void see() override {
        lost_ = true;
        if (moves(AW)) addresses_.pop_front();
        if (moves(W)) words_.pop_front();
        if (moves(AR)) reads_asked_.pop_front();
        hold(B);
        hold(R);
        if (moves(B)) {
            core_.demand(!writes_.empty(), "a write response without a write");
            Open open = writes_.front();
            writes_.pop_front();
            auto resp = static_cast<unsigned>(get(channels_[B].payload));
            finish(open, resp, 0);
        }
        if (moves(R)) {
            core_.demand(!reads_.empty(), "read data without a read");
            Open open = reads_.front();
            reads_.pop_front();
            const Pin& p = channels_[R].payload;
            auto resp = static_cast<unsigned>(get(p, bus_read_answer::resp));
            auto data = static_cast<uint32_t>(get(p, bus_read_answer::data));
            core_.demand(resp == OKAY || !data, "a refused read gives data");
            finish(open, resp, data);
        }
        for (auto* queue : {&writes_, &reads_}) {
            if (!queue->empty())
                core_.demand(core_.now - queue->front().since < SILENT, "an access hangs");
        }
        lost_ = false;
    }

    void restart() override {
        addresses_.clear();
        words_.clear();
        reads_asked_.clear();
        writes_.clear();
        reads_.clear();
        for (Channel& channel : channels_) channel.stands = false;
    }

    uint64_t accesses = 0, refused = 0;

  private:
    enum { AW, W, AR, B, R };
    struct Channel {
        Pin valid, ready, payload;
        bool stands = false;
        uint64_t shown = 0;
    };
    struct Open {
        Answered answered;
        uint64_t since;
    };

    // Offer what waits on a channel at its pace; what stands stays.
    template <typename Fill>
    void offer(int number, bool waits, Fill fill) {
        Channel& channel = channels_[number];
        bool valid = waits && (channel.stands || hurried_ || paces_[number].toss());
        put(channel.valid, valid);
        if (valid) fill(channel.payload);
    }
    bool moves(int number) {
        Channel& channel = channels_[number];
        bool valid = get(channel.valid), ready = get(channel.ready);
        channel.stands = valid && !ready;
        return valid && ready;
    }
    // Hold that a response that was not taken stays as it is.
    void hold(int number) {
        Channel& channel = channels_[number];
        bool valid = get(channel.valid);
        uint64_t payload = get(channel.payload);
        if (channel.stands)
            core_.demand(valid && payload == channel.shown, "a standing response changed");
        channel.shown = payload;
    }
    void finish(const Open& open, unsigned resp, uint32_t data) {
        core_.demand(resp == OKAY || resp == SLVERR, "a response is neither OKAY nor SLVERR");
        refused += resp == SLVERR;
        if (open.answered) open.answered(resp, data);
    }

    Core& core_;
    bool hurried_, lost_ = false;
    std::vector<Pace> paces_;
    std::vector<Channel> channels_;
    std::deque<uint32_t> addresses_, reads_asked_;
    std::deque<std::pair<uint32_t, unsigned>> words_;
    std::deque<Open> writes_, reads_;
};

#endif
