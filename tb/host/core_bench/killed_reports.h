// Reports KILLED: each is judged by `kill` in the cycle in which its books are written.
#ifndef KILLED_REPORTS_H
#define KILLED_REPORTS_H

#include "core.h"

struct KilledReport {
    uint64_t id;
    unsigned sm, stream;
    uint64_t taken_at;
};

class KilledReports {
  public:
    explicit KilledReports(const Core& core) : core_(core) {}
    void taken(const KilledReport& one) { all_.push_back(one); }
    // Those that nobody has asked for, in the cycle of their books; called in each cycle.
    std::vector<KilledReport> due(unsigned kill) {
        std::vector<KilledReport> unasked, later;
        for (const KilledReport& one : all_) {
            if (core_.now < one.taken_at + TO_BOOKS) later.push_back(one);
            else if (!(kill >> one.stream & 1)) unasked.push_back(one);
        }
        all_ = later;
        return unasked;
    }

  private:
    // From the cycle in which a report is taken, if no other one is before it.
    static constexpr uint64_t TO_BOOKS = 4;
    const Core& core_;
    std::vector<KilledReport> all_;
};

#endif
