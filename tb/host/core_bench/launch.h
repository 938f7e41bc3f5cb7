// One launch, as the host and the SMs know it, and a final record.
#ifndef LAUNCH_H
#define LAUNCH_H

#include <array>
#include <set>
#include <string>
#include <tuple>

#include "core.h"
#include "warploom_host.h"

// With loops a record has its launch's number.
#ifdef WARPLOOM_LOOP_TEMPLATES
constexpr bool HAS_LOOPS = true;
#else
constexpr bool HAS_LOOPS = false;
#endif

// A launch as the host rang it. `code` at the SMs is its number.
struct Launch {
    uint32_t gx = 1, gy = 1, gz = 1, dx = 1, index_address = 0, stream = 0;
    uint32_t warp_registers = 0, shared = 0, barriers = 0;
    uint32_t mode = 0, idempotent = 0;
    // Streams and counts that it waits for.
    std::vector<std::pair<uint32_t, uint32_t>> waits;
    uint64_t rung_at = 0, answered_at = 0;
    uint32_t ticket = 0;  // 0: none known
    uint32_t number = 0;  // in its stream, low 16 bits, as the host read it
    // Since it began, or began again.
    std::set<std::tuple<unsigned, unsigned, unsigned>> blocks;
    uint32_t reported = 0, ended_well = 0, lost = 0;
    // Residences that ended under a kill; the last one did: a further block is the first of all.
    uint32_t kills = 0;
    bool begins_again = false;
    // A block reported a fault; a block was on an SM that is lost; both end the launch.
    bool has_fault = false, lost_block = false;
    // Nobody outside knows its code: an SM reported a block of it, and may have been lost by then; or
    // a report KILLED was judged when `kill` perhaps rose.
    bool doubtful = false;
    // What ABORTs that were answered OK found.
    std::set<std::string> aborts;
    uint64_t first_offered = 0, last_report = 0;  // 0: none
    // Since it began, or began again: the first offer, and cycles that count towards its limit.
    uint64_t run_offered = 0, counted = 0;
    // An ABORT_STREAMS met it: it must be aborted; it begins no more after this cycle.
    bool must_abort = false;
    uint64_t no_begin_after = ~uint64_t(0);

    uint32_t count() const { return gx * gy * gz; }
    bool placed() const { return blocks.size() == count(); }
    uint32_t open() const { return static_cast<uint32_t>(blocks.size()) - reported - lost; }
    uint32_t warps() const { return (dx + WARP_SIZE - 1) / WARP_SIZE; }
};

// A final record's words.
using Record = std::array<uint32_t, 8>;

inline uint32_t field(const Record& record, uint32_t word, uint32_t shift, uint32_t mask) {
    return (record[word] & mask) >> shift;
}
#define RECORD_FIELD(record, name)                                                   \
    field(record, WARPLOOM_RECORD_##name##_WORD, WARPLOOM_RECORD_##name##_SHIFT, \
          WARPLOOM_RECORD_##name##_MASK)

#endif
