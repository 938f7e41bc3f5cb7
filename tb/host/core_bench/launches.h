// What becomes of launches: seen at the SMs, in answers and in records; checked at the end.
#ifndef LAUNCHES_H
#define LAUNCHES_H

#include <array>
#include <set>
#include <tuple>

#include "sms.h"
#include "streams.h"
#include "warploom_host.h"

// A launch as the host rang it. `code` at the SMs is its number.
struct Launch {
    uint32_t gx = 1, gy = 1, gz = 1, dx = 1, index_address = 0, stream = 0;
    uint32_t warp_registers = 0, shared = 0, barriers = 0, after_previous = 1;
    uint32_t mode = 0, idempotent = 0;
    // Streams and counts that it waits for.
    std::vector<std::pair<uint32_t, uint32_t>> waits;
    uint64_t rung_at = 0, answered_at = 0;
    uint32_t ticket = 0;  // 0: none known
    uint32_t number = 0;  // in its stream, low 16 bits, as the host read it
    // Since it began, or began again.
    std::set<std::tuple<unsigned, unsigned, unsigned>> blocks;
    uint32_t reported = 0, ended_well = 0;
    // Residences that ended under a kill; the last one did: a further block is the first of all.
    uint32_t kills = 0;
    bool begins_again = false;
    uint64_t first_taken = 0, last_report = 0;  // 0: none
    // An ABORT_STREAMS met it: it must be aborted; it begins no more after this cycle.
    bool must_abort = false;
    uint64_t no_begin_after = ~uint64_t(0);

    uint32_t count() const { return gx * gy * gz; }
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

class Launches : public Agent {
  public:
    Launches(Core& core, Sms& sms) : streams(core), core_(core), used_(SMS) {
        sms.on_taken = [this](unsigned sm, const Block& block) { taken(sm, block); };
        sms.on_report = [this](unsigned sm, const Block& block, unsigned status) {
            reported(sm, block, status);
        };
        sms.on_kill_over = [this](uint64_t id, uint32_t ticket) { killed(id, ticket); };
        core.add(this);
    }
    void drive() override {}
    void see() override {}
    void restart() override { reset_at_ = core_.now; }

    Streams streams;

    void rung(uint64_t id, const Launch& launch) {
        launches_[id] = launch;
        launches_[id].rung_at = core_.now;
    }
    // The host has read a ticket, and the launch's number, in its section.
    void accepted(uint64_t id, uint32_t ticket, uint32_t number) {
        core_.demand(!given_.count(ticket), "a ticket is given twice");
        given_[ticket] = id;
        name(id, ticket);
        newest = std::max(newest, ticket);
        Launch& launch = launches_.at(id);
        launch.number = number;
        launch.answered_at = core_.now;
        known_[launch.stream]++;
    }
    // Launches of a stream that the host knows as accepted: a wait for them is no WAIT_AHEAD.
    uint32_t known(uint32_t stream) const {
        auto found = known_.find(stream);
        return found == known_.end() ? 0 : found->second;
    }
    void recorded(const Record& record) {
        uint32_t ticket = record[0], made = record[7];
        core_.demand(!any_ || static_cast<int32_t>(made - last_made_) > 0,
                     "two records are not in the order in which they were made");
        any_ = true;
        last_made_ = made;
        core_.demand(static_cast<int32_t>(made - record[5]) > 0, "a record is made too early");
        if (RECORD_FIELD(record, KIND) == WARPLOOM_KIND_PREEMPT) return preempt_recorded(record);
        core_.demand(ticket != 0, "a record without a ticket");
        core_.demand(!records_.count(ticket), "a ticket has two records");
        records_[ticket] = record;
    }
    bool is_recorded(uint32_t ticket) const { return records_.count(ticket); }
    // The answer to an abort; `ended`: the host had the launch's record before.
    void aborted(uint32_t ticket, bool found, bool ended) {
        core_.demand(!(found && ended), "an abort finds a launch that has its record");
        core_.demand(!(found && !ticket), "an abort finds a ticket that nobody has");
        if (found) aborted_.insert(ticket);
    }
    // Launches of some streams that the host knows, and whose record it has not.
    std::vector<uint32_t> unfinished(uint32_t mask) const {
        std::vector<uint32_t> all;
        for (auto& [ticket, id] : given_) {
            if (!records_.count(ticket) && mask >> launches_.at(id).stream & 1)
                all.push_back(ticket);
        }
        return all;
    }
    // The answer to an ABORT_STREAMS; `met`: what was unfinished when it was rung.
    void streams_aborted(uint32_t mask, uint32_t sure, const std::vector<uint32_t>& met) {
        for (uint32_t stream = 0; stream < 32; stream++) {
            if (mask >> stream & 1) aborted_until_[stream] = core_.now;
        }
        for (uint32_t ticket : met) {
            Launch& launch = launches_.at(given_.at(ticket));
            launch.must_abort |= sure >> launch.stream & 1;
            launch.no_begin_after = std::min(launch.no_begin_after, core_.now);
        }
    }
    bool all_recorded() const {
        return records_.size() >= given_.size() && streams.recorded >= streams.given;
    }

    // Every launch has ended: look at each one's blocks, tickets and records.
    void check(Counts& counts) const {
        uint32_t ticket = 0;
        std::map<uint32_t, std::vector<uint32_t>> in_order;
        for (auto& [given, id] : given_) {
            core_.demand(given == ++ticket, "a ticket was given to nobody");
            core_.demand(records_.count(given), "a ticket has no record");
            const Launch& launch = launches_.at(id);
            auto& stream = in_order[launch.stream];
            stream.push_back(given);
            core_.demand(launch.number == (stream.size() & 0xFFFF),
                         "a launch has another one's number in its stream");
            counts["blocks"] += launch.blocks.size();
            core_.demand(launch.reported == launch.blocks.size(), "a block was never reported");
            check_end(given, launch, counts);
            check_times(launch, records_.at(given));
            check_order(launch, stream, in_order);
        }
        core_.demand(records_.size() == given_.size(), "a record of a ticket that nobody got");
        core_.demand(tickets_.size() <= given_.size(), "a block of a ticket that nobody got");
        for (uint32_t found : aborted_)
            core_.demand(given_.count(found), "an abort found a ticket that nobody got");
        core_.demand(streams.recorded == streams.given, "a PREEMPT without a record, or the reverse");
        counts["preemptions"] += streams.given;
    }

    uint32_t newest = 0;

  private:
    using Need = std::array<uint32_t, 4>;
    static Need need(const Launch& launch) {
        uint32_t warps = launch.warps();
        return {warps, warps * launch.warp_registers, launch.shared, launch.barriers};
    }
    // ---- what the end says

    void check_end(uint32_t ticket, const Launch& launch, Counts& counts) const {
        const Record& record = records_.at(ticket);
        uint32_t kills = RECORD_FIELD(record, KILLS);
        core_.demand(RECORD_FIELD(record, CODE) == 0, "a record has a code");
        core_.demand(RECORD_FIELD(record, STREAM) == launch.stream, "a record has another stream");
        core_.demand(!record[3] && !record[4], "a launch's record has a PREEMPT's words");
        // The last residence may have been killed, too: by an abort, or with its last block done.
        core_.demand(kills == std::min(7u, launch.kills) || kills + 1 == launch.kills,
                     "a record counts other kills");
        counts["launches killed and run again"] += kills && !launch.begins_again;
        uint32_t drained = RECORD_FIELD(record, RESET_AS_DRAIN);
        bool asked = launch.mode == WARPLOOM_MODE_RESET && !launch.idempotent;
        core_.demand(!drained || asked, "a reset was a drain, and nobody asked for a reset");
        counts["launches drained in place of a reset"] += drained;
        if (RECORD_FIELD(record, FATE) == WARPLOOM_FATE_FINISHED) {
            counts["launches finished"]++;
            core_.demand(launch.blocks.size() == launch.count(), "a finished launch lacks blocks");
            core_.demand(launch.ended_well == launch.count(), "a killed block is not run again");
            core_.demand(!launch.must_abort, "a launch that waited ends well after an ABORT_STREAMS");
            return;
        }
        core_.demand(RECORD_FIELD(record, FATE) == WARPLOOM_FATE_ABORTED, "a launch failed");
        auto until = aborted_until_.find(launch.stream);
        bool with_others = until != aborted_until_.end() && launch.rung_at < until->second;
        core_.demand(aborted_.count(ticket) || with_others,
                     "a launch is aborted, and nobody asked");
        counts["launches aborted"]++;
        counts["launches aborted with their streams"] += launch.must_abort;
    }
    // Times are the low half of a clock that begins at about the bench's last reset.
    uint32_t clock(uint64_t cycle) const { return static_cast<uint32_t>(cycle - reset_at_); }
    void check_times(const Launch& launch, const Record& record) const {
        uint32_t accepted = record[5], first = record[6], made = record[7];
        bool between = accepted + LATE > clock(launch.rung_at) && accepted < clock(launch.answered_at);
        core_.demand(between, "a record's launch was accepted at another time");
        bool offered = RECORD_FIELD(record, OFFERED);
        core_.demand(offered == (launch.first_taken != 0),
                     "a record does not know whether its launch had a block");
        if (!offered) return core_.demand(!record[2], "a launch without a block has cycles");
        core_.demand(accepted < first && first < made, "a record's times are in another order");
        core_.demand(record[2] <= made - first, "a launch ran longer than it was there");
        core_.demand(launch.no_begin_after == ~uint64_t(0) ||
                         first <= clock(launch.no_begin_after) + LATE,
                     "a launch begins after an ABORT_STREAMS met it");
    }
    // No block comes before the last report of what its launch waits for.
    void check_order(const Launch& launch, const std::vector<uint32_t>& own,
                     const std::map<uint32_t, std::vector<uint32_t>>& in_order) const {
        if (!launch.first_taken) return;
        size_t before = own.size() - 1;
        // The dispatcher lets a launch begin before the record of the one ahead of it is made.
        if (launch.after_previous) ended_before(launch, own, before, LATE, "its stream's order");
        for (auto [stream, count] : launch.waits) {
            if (!count) continue;
            auto found = in_order.find(stream);
            bool known = found != in_order.end() && found->second.size() >= count;
            core_.demand(known, "a launch ran that waits for one that came later");
            ended_before(launch, found->second, count, 0, "a wait");
        }
    }
    void ended_before(const Launch& launch, const std::vector<uint32_t>& stream, size_t count,
                      uint32_t late, const std::string& what) const {
        for (size_t k = count; k > 0 && k + 8 > count; k--) {
            const Launch& other = launches_.at(given_.at(stream[k - 1]));
            core_.demand(other.last_report < launch.first_taken, "a launch begins against " + what);
            const Record& record = records_.at(stream[k - 1]);
            core_.demand(clock(launch.first_taken) + late > record[7],
                         "a launch begins before the record of " + what);
        }
    }
    void preempt_recorded(const Record& record) {
        uint32_t met = record[2] + (record[3] & 0xFFFF) + (record[3] >> 16) + record[4];
        core_.demand(!record[0] && !record[6], "a PREEMPT's record has a launch's words");
        core_.demand(record[1] == WARPLOOM_KIND_PREEMPT << WARPLOOM_RECORD_KIND_SHIFT,
                     "a PREEMPT's record has more in its word 1");
        // Two places, the stage, two of the line.
        core_.demand(met <= 5, "a PREEMPT met more launches than there can be");
        streams.preempt_recorded();
    }

    // ---- what is seen at the SMs

    // Hold that a launch has one ticket, and a ticket one launch.
    void name(uint64_t id, uint32_t ticket) {
        auto found = launches_.find(id);
        core_.demand(found != launches_.end(), "a launch that nobody rang");
        Launch& launch = found->second;
        core_.demand(!launch.ticket || launch.ticket == ticket, "a launch has two tickets");
        launch.ticket = ticket;
        auto [held, is_new] = tickets_.insert({ticket, id});
        core_.demand(is_new || held->second == id, "a ticket has two launches");
    }
    void taken(unsigned sm, const Block& block) {
        name(block.code, block.ticket);
        core_.demand(!records_.count(block.ticket), "a block of a launch that has its record");
        Launch& launch = launches_.at(block.code);
        core_.demand(!streams.still(launch.stream), "a block of a stream that holds still");
        if (launch.begins_again) {
            launch.begins_again = false;
            launch.blocks.clear();
            launch.reported = launch.ended_well = 0;
        }
        if (!launch.first_taken) launch.first_taken = core_.now;
        bool inside = block.bx < launch.gx && block.by < launch.gy && block.bz < launch.gz;
        core_.demand(inside, "a block outside its grid");
        auto number = block.bx + launch.gx * (block.by + launch.gy * block.bz);
        core_.demand(block.number == number, "a block has another one's number");
        bool is_new = launch.blocks.insert({block.bx, block.by, block.bz}).second;
        core_.demand(is_new, "a block is offered twice");
        const Need size = {WARP_SLOTS, REGISTER_UNITS, SHARED_UNITS, BARRIERS}, one = need(launch);
        for (size_t k = 0; k < size.size(); k++) {
            used_[sm][k] += one[k];
            core_.demand(used_[sm][k] <= size[k], "an SM is over-committed");
        }
    }
    void reported(unsigned sm, const Block& block, unsigned status) {
        Launch& launch = launches_.at(block.code);
        launch.reported++;
        launch.ended_well += status == OK;
        launch.last_report = core_.now;
        const Need one = need(launch);
        for (size_t k = 0; k < one.size(); k++) used_[sm][k] -= one[k];
    }
    // A residence is over in which the launch was killed: all its blocks begin again, if any does.
    void killed(uint64_t id, uint32_t ticket) {
        name(id, ticket);
        Launch& launch = launches_.at(id);
        core_.demand(launch.reported == launch.blocks.size(), "a kill ends before the last report");
        // Without a block in this residence it was skipped (BlockDispatcher, rule 37 e).
        if (launch.blocks.empty() || launch.begins_again) return;
        launch.kills++;
        launch.begins_again = true;
    }

    // A soft reset's register, and the path of an answer to the host.
    static constexpr uint32_t LATE = 8;
    Core& core_;
    std::map<uint64_t, Launch> launches_;
    std::map<uint32_t, uint64_t> tickets_, given_;
    std::map<uint32_t, Record> records_;
    std::map<uint32_t, uint32_t> known_;
    std::map<uint32_t, uint64_t> aborted_until_;
    std::set<uint32_t> aborted_;
    std::vector<Need> used_;
    uint64_t reset_at_ = 0;
    uint32_t last_made_ = 0;
    bool any_ = false;
};

#endif
