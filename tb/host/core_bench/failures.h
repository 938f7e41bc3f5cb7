// Why a launch may fail, and may be refused: limits on a residence, broken streams, no SM left.
#ifndef FAILURES_H
#define FAILURES_H

#include <functional>

#include "core.h"
#include "warploom_host.h"

// All times are cycles of the bench.
class Failures {
  public:
    explicit Failures(Core& core) : core_(core) {}

    // ---- LAUNCH_TIMEOUT: one write at a time

    void limit_rung(uint32_t limit) { limits_.push_back({limit, {core_.now, NEVER}}); }
    void limit_written() { limits_[limits_.size() - 2].in_force.until = core_.now; }
    // The shortest limit that was in force at some time between two cycles; 0: there was none.
    uint32_t shortest(uint64_t from, uint64_t to) const {
        uint32_t least = 0;
        for (const Limit& one : limits_) {
            if (one.in_force.meets(from, to) && one.limit && (!least || one.limit < least))
                least = one.limit;
        }
        return least;
    }
    // The longest one; 0: at some time there was none.
    uint32_t longest(uint64_t from, uint64_t to) const {
        uint32_t most = 0;
        for (const Limit& one : limits_) {
            if (!one.in_force.meets(from, to)) continue;
            if (!one.limit) return 0;
            most = std::max(most, one.limit);
        }
        return most;
    }

    // ---- broken streams: a record with SM_LOST that is made in m breaks its stream from m + 1 on

    void breaks(uint32_t stream, uint64_t made) { breaks_[stream].push_back(made); }
    void clear_rung(uint32_t stream) { clears_[stream].push_back({core_.now, NEVER}); }
    void clear_written(uint32_t stream) { clears_[stream].back().until = core_.now; }
    // A break between `since` and `to` that no CLEAR_STREAM has surely mended before `from`.
    bool may_be_broken(uint32_t stream, uint64_t since, uint64_t from, uint64_t to) const {
        for (uint64_t made : of(breaks_, stream)) {
            bool mended = false;
            for (const Span& clear : of(clears_, stream))
                mended |= clear.since > made && clear.until < from;
            if (since <= made && made < to && !mended) return true;
        }
        return false;
    }
    // A break more than `late` cycles before `at` that no CLEAR_STREAM can have mended.
    bool must_be_broken(uint32_t stream, uint64_t at, uint64_t late) const {
        for (uint64_t made : of(breaks_, stream)) {
            bool mended = false;
            for (const Span& clear : of(clears_, stream)) mended |= clear.meets(made, at);
            if (made + late < at && !mended) return true;
        }
        return false;
    }
    // The stream broke before a cycle, and goes on.
    bool was_mended(uint32_t stream, uint64_t at) const {
        const auto& all = of(breaks_, stream);
        return std::any_of(all.begin(), all.end(), [at](uint64_t made) { return made < at; });
    }

    // ---- refusals: looked at when all records are known

    void refused(unsigned code, uint32_t stream, uint64_t rung_at) {
        refusals_.push_back({code, stream, {rung_at, core_.now}});
    }
    void check_refusals(const std::function<bool(uint64_t)>& all_lost_before) const {
        for (const Refusal& one : refusals_) {
            const Span& open = one.open;
            if (one.code == WARPLOOM_ERROR_NO_SM)
                core_.demand(all_lost_before(open.until), "NO_SM, and an SM is there");
            else
                core_.demand(may_be_broken(one.stream, 0, open.since, open.until),
                             "a launch is refused, and its stream is not broken");
        }
    }

  private:
    static constexpr uint64_t NEVER = ~uint64_t(0);
    struct Span {
        uint64_t since, until;
        bool meets(uint64_t from, uint64_t to) const { return since <= to && from <= until; }
    };
    struct Limit {
        uint32_t limit;
        Span in_force;
    };
    struct Refusal {
        unsigned code;
        uint32_t stream;
        Span open;
    };
    template <typename T>
    using ByStream = std::map<uint32_t, std::vector<T>>;
    template <typename T>
    static const std::vector<T>& of(const ByStream<T>& all, uint32_t stream) {
        static const std::vector<T> none;
        auto found = all.find(stream);
        return found == all.end() ? none : found->second;
    }

    Core& core_;
    // After a reset there is no limit.
    std::vector<Limit> limits_ = {{0, {0, NEVER}}};
    ByStream<uint64_t> breaks_;
    ByStream<Span> clears_;
    std::vector<Refusal> refusals_;
};

#endif
