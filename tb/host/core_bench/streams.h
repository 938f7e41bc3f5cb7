// What a host may count on about streams: which hold still, which RESUME must find one held, and
// which launches an ABORT_STREAMS must end.
#ifndef STREAMS_H
#define STREAMS_H

#include <deque>

#include "core.h"

class Streams {
  public:
    explicit Streams(Core& core) : core_(core) {}

    // ---- PREEMPT: one under way at a time, so that its record is known by its turn.

    bool preempts = false;
    void preempt_rung(uint32_t mask) {
        preempts = true;
        asked_ = mask;
        for (auto& [section, open] : resumes_) asked_ &= ~open.mask;
        ever_ |= mask;
        may_hold_ |= mask;
        for (auto& [section, open] : resumes_) open.frees &= ~mask;
    }
    void preempt_answered(bool accepted) {
        preempts = false;
        if (!accepted) return;
        accepted_.push_back(asked_);
        given++;
        hold_still();
    }
    // Its record is made when nothing of its streams is near the SMs any more.
    void preempt_recorded() {
        recorded++;
        unused_++;
        hold_still();
    }
    // Streams of which no block may begin.
    bool still(uint32_t stream) const { return still_ >> stream & 1; }
    // A stream that a PREEMPT may have held, and no RESUME has surely freed since.
    bool may_hold(uint32_t stream) const { return may_hold_ >> stream & 1; }

    // ---- RESUME

    void resume_rung(unsigned section, uint32_t mask) {
        for (auto* opens : {&resumes_, &aborts_}) {
            for (auto& [other, open] : *opens) open.sure &= ~mask;
        }
        resumes_[section] = {mask, still_ & mask, !(ever_ & mask), mask};
        still_ &= ~mask;
        asked_ &= ~mask;
        for (uint32_t& one : accepted_) one &= ~mask;
    }
    void resume_answered(unsigned section, bool accepted) {
        Open open = resumes_.at(section);
        resumes_.erase(section);
        may_hold_ &= ~open.frees;
        bool never = open.never && !(ever_ & open.mask);
        core_.demand(accepted || !open.sure, "a RESUME finds no stream held, and one is");
        core_.demand(!accepted || !never, "a RESUME finds a stream held, and none is");
    }

    // ---- ABORT_STREAMS: of streams that hold still all that was accepted before ends aborted.

    void abort_rung(unsigned section, uint32_t mask) { aborts_[section] = {mask, still_ & mask, false, 0}; }
    uint32_t abort_answered(unsigned section) {
        uint32_t sure = aborts_.at(section).sure;
        aborts_.erase(section);
        return sure;
    }

    uint64_t given = 0, recorded = 0;

  private:
    struct Open {
        uint32_t mask, sure;
        bool never;
        // Streams that no PREEMPT was rung for since.
        uint32_t frees;
    };
    void hold_still() {
        while (unused_ && !accepted_.empty()) {
            still_ |= accepted_.front();
            accepted_.pop_front();
            unused_--;
        }
    }

    Core& core_;
    std::map<unsigned, Open> resumes_, aborts_;
    // Of the PREEMPT that is under way, and of those without a record: streams that nobody resumed since.
    uint32_t asked_ = 0;
    std::deque<uint32_t> accepted_;
    uint32_t still_ = 0, ever_ = 0, may_hold_ = 0, unused_ = 0;
};

#endif
