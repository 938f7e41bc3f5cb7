// Which SMs are lost, foretold from the port alone: BlockDispatcher's rules 23, 31 and 32.
#ifndef LOST_SMS_H
#define LOST_SMS_H

#include "sms.h"

class LostSms : public Agent {
  public:
    LostSms(Core& core, Sms& sms) : core_(core), sms_(sms), out_(SMS), last_(SMS, NEVER) {
        sms.on_offered = [this](unsigned sm, const Block& block) { offered(sm, block); };
        sms.on_report = [this](unsigned sm, const Block& block, unsigned status) {
            reported(sm, block, status);
        };
        core.add(this);
    }

    // Called for each block: it is offered; its report counts; its SM is lost before its report.
    std::function<void(unsigned sm, const Block&)> on_offered;
    std::function<void(unsigned sm, const Block&, unsigned status)> on_report;
    std::function<void(unsigned sm, const Block&)> on_lost;

    // A bit for each lost SM.
    uint32_t lost() const { return lost_; }
    // Cycle in which the last SM was lost; NEVER: one is left.
    uint64_t all_lost_at() const { return all_lost_at_; }
    static constexpr uint64_t NEVER = ~uint64_t(0);
    // Reports of lost SMs.
    uint64_t ignored = 0;

    void drive() override {}
    // After the SMs have looked at the cycle.
    void see() override {
        for (unsigned place = 0; place < 2; place++) {
            bool killed = sms_.kill() >> place & 1;
            if (!killed) killed_since_[place] = NEVER;
            else if (killed_since_[place] == NEVER) killed_since_[place] = core_.now;
            if (killed && core_.now == killed_since_[place] + KILL_TIMEOUT) time_is_over(place);
        }
        for (unsigned n = 0; n < SMS; n++) {
            if (core_.now == last_[n]) lose(n);
        }
    }
    void restart() override {
        for (auto& blocks : out_) blocks.clear();
        std::fill(last_.begin(), last_.end(), NEVER);
        lost_ = 0;
        all_lost_at_ = killed_since_[0] = killed_since_[1] = NEVER;
    }

  private:
    // An SM that holds a block of a killed place now is lost at the end of L: its last cycle.
    void time_is_over(unsigned place) {
        for (unsigned n = 0; n < SMS; n++) {
            if (last_[n] != NEVER) continue;
            for (auto& [slot, block] : out_[n]) {
                if (block.place == place) last_[n] = core_.now + LOSS - 1;
            }
        }
    }
    void lose(unsigned n) {
        lost_ |= 1u << n;
        if (lost_ == (1ull << SMS) - 1) all_lost_at_ = core_.now;
        for (auto& [slot, block] : out_[n]) {
            if (on_lost) on_lost(n, block);
        }
        out_[n].clear();
    }
    void offered(unsigned n, const Block& block) {
        // A block that was decided in L is offered two cycles later.
        bool late = last_[n] != NEVER && core_.now > last_[n] + 2;
        core_.demand(!late, "a block is offered to a lost SM");
        if (on_offered) on_offered(n, block);
        if (!(lost_ >> n & 1)) out_[n][block.slot] = block;
        else if (on_lost) on_lost(n, block);
    }
    void reported(unsigned n, const Block& block, unsigned status) {
        // A report is looked up a cycle later: in L it comes too late.
        if (core_.now >= last_[n]) {
            ignored++;
            return;
        }
        out_[n].erase(block.slot);
        if (on_report) on_report(n, block, status);
    }

    Core& core_;
    Sms& sms_;
    // Blocks of each SM that were offered and have no report, by slot.
    std::vector<std::map<unsigned, Block>> out_;
    // L of each SM; NEVER: it is not lost.
    std::vector<uint64_t> last_;
    uint64_t killed_since_[2] = {NEVER, NEVER}, all_lost_at_ = NEVER;
    uint32_t lost_ = 0;
};

#endif
