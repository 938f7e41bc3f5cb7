// Which SMs are lost, as far as the port shows it. A killed launch with blocks out ends only when each
// was reported, or its SM was lost: an SM whose block is out when `kill` falls was lost before. When it
// was is not seen: from KILL_TIMEOUT cycles after the last report of the launch on it is in doubt, and
// so is what it reports.
#ifndef LOST_SMS_H
#define LOST_SMS_H

#include "sms.h"

class LostSms : public Agent {
  public:
    LostSms(Core& core, Sms& sms) : core_(core), sms_(sms), out_(SMS), lost_at_(SMS, NEVER), doubted_at_(SMS) {
        sms.on_offered = [this](unsigned sm, const Block& block) { offered(sm, block); };
        sms.on_report = [this](unsigned sm, const Block& block, unsigned status) {
            reported(sm, block, status);
        };
        // The launch is over: first its blocks on lost SMs, then the launch.
        sms.on_kill_over = [this](unsigned stream, uint64_t code, uint32_t ticket) {
            end(stream);
            if (on_kill_over) on_kill_over(code, ticket);
        };
        std::fill(silent_since_, silent_since_ + STREAMS, NEVER);
        core.add(this);
    }

    // Called for each block: it is offered; its report counts, or may count; its SM is lost before
    // its report.
    std::function<void(unsigned sm, const Block&)> on_offered;
    std::function<void(unsigned sm, const Block&, unsigned status)> on_report;
    std::function<void(const Block&)> on_doubt;
    std::function<void(unsigned sm, const Block&)> on_lost;
    // Called as that of the SMs, when all blocks of the launch are reported or lost.
    std::function<void(uint64_t code, uint32_t ticket)> on_kill_over;

    // A bit for each lost SM.
    uint32_t lost() const { return lost_; }
    // SMs that may be lost, too: each reported in doubt, and was offered no block since.
    uint32_t may_be_lost() const { return lost_ | doubted_; }
    // Cycle in which the last SM was seen to be lost; NEVER: one is left.
    uint64_t all_lost_at() const { return all_lost_at_; }
    // A cycle before which it may have been lost: the sweep that finds it ends its launch later.
    bool all_lost_before(uint64_t cycle) const {
        return may_be_all_at_ != NEVER && may_be_all_at_ < cycle + SWEEP;
    }
    // A sweep may be on: no report is granted in one of its four cycles.
    bool may_sweep() const { return core_.now < swept_until_; }
    static constexpr uint64_t NEVER = ~uint64_t(0);
    // Reports of lost SMs.
    uint64_t ignored = 0;

    void drive() override {}
    // After the SMs have looked at the cycle.
    void see() override {
        for (unsigned stream = 0; stream < STREAMS; stream++) {
            uint64_t& since = silent_since_[stream];
            bool killed = sms_.kill() >> stream & 1;
            if (!killed) since = NEVER;
            else if (since == NEVER) since = core_.now;
            if (killed && core_.now >= since + KILL_TIMEOUT) swept_until_ = core_.now + SWEEP;
        }
    }
    void restart() override {
        for (auto& blocks : out_) blocks.clear();
        std::fill(lost_at_.begin(), lost_at_.end(), NEVER);
        std::fill(silent_since_, silent_since_ + STREAMS, NEVER);
        lost_ = doubted_ = 0;
        may_be_all_at_ = NEVER;
        all_lost_at_ = NEVER;
        swept_until_ = 0;
    }

  private:
    // Both rounds, and the visits that begin it and find the end.
    static constexpr uint64_t SWEEP = 8 * SMS * BLOCK_SLOTS + 2 * STREAMS;

    // Who still holds a block of the stream's launch, which has ended, is lost.
    void end(unsigned stream) {
        for (unsigned n = 0; n < SMS; n++) {
            bool holds = false;
            for (auto& [slot, block] : out_[n]) holds |= block.stream == stream;
            if (holds) lose(n);
        }
    }
    // Whether an SM may be lost already.
    bool in_doubt(unsigned n) const {
        for (auto& [slot, block] : out_[n]) {
            uint64_t since = silent_since_[block.stream];
            if (since != NEVER && core_.now >= since + KILL_TIMEOUT) return true;
        }
        return false;
    }
    void lose(unsigned n) {
        lost_ |= 1u << n;
        lost_at_[n] = core_.now;
        if (lost_ == (1ull << SMS) - 1) all_lost_at_ = core_.now;
        look_for_all();
        for (auto& [slot, block] : out_[n]) {
            if (on_lost) on_lost(n, block);
        }
        out_[n].clear();
    }
    void doubt(unsigned n) {
        doubted_ |= 1u << n;
        doubted_at_[n] = core_.now;
        look_for_all();
    }
    void look_for_all() {
        bool all = may_be_lost() == (1ull << SMS) - 1;
        if (!all) may_be_all_at_ = NEVER;
        else if (may_be_all_at_ == NEVER) may_be_all_at_ = core_.now;
    }
    void offered(unsigned n, const Block& block) {
        // A block that was picked before is offered three cycles later.
        bool late = lost_at_[n] != NEVER && core_.now > lost_at_[n] + 3;
        core_.demand(!late, "a block is offered to a lost SM");
        // A lost SM would get none.
        if (core_.now > doubted_at_[n] + 3) doubted_ &= ~(1u << n);
        look_for_all();
        if (on_offered) on_offered(n, block);
        if (!(lost_ >> n & 1)) out_[n][block.slot] = block;
        else if (on_lost) on_lost(n, block);
    }
    void reported(unsigned n, const Block& block, unsigned status) {
        if (lost_ >> n & 1) {
            ignored++;
            return;
        }
        if (in_doubt(n)) {
            doubt(n);
            if (on_doubt) on_doubt(block);
        }
        if (silent_since_[block.stream] != NEVER) silent_since_[block.stream] = core_.now;
        out_[n].erase(block.slot);
        if (on_report) on_report(n, block, status);
    }

    Core& core_;
    Sms& sms_;
    // Blocks of each SM that were offered and have no report, by slot.
    std::vector<std::map<unsigned, Block>> out_;
    // When each SM was seen to be lost, and of each killed stream the kill or its last report.
    std::vector<uint64_t> lost_at_, doubted_at_;
    uint64_t silent_since_[STREAMS] = {}, all_lost_at_ = NEVER, swept_until_ = 0;
    uint64_t may_be_all_at_ = NEVER;
    uint32_t lost_ = 0, doubted_ = 0;
};

#endif
