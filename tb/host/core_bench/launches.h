// What becomes of launches: seen at the SMs, in answers and in records; checked at the end.
#ifndef LAUNCHES_H
#define LAUNCHES_H

#include "failures.h"
#include "killed_reports.h"
#include "launch.h"
#include "lost_sms.h"
#include "streams.h"

class Launches : public Agent {
  public:
    Launches(Core& core, Sms& sms)
        : lost_sms(core, sms), streams(core), failures(core), core_(core), sms_(sms), used_(SMS),
          killed_reports_(core) {
        lost_sms.on_offered = [this](unsigned sm, const Block& block) { offered(sm, block); };
        lost_sms.on_report = [this](unsigned sm, const Block& block, unsigned status) {
            reported(sm, block, status);
        };
        lost_sms.on_doubt = [this](const Block& block) { launches_.at(block.code).doubtful = true; };
        lost_sms.on_lost = [this](unsigned, const Block& block) { lost(block); };
        lost_sms.on_kill_over = [this](uint64_t id, uint32_t ticket) { killed(id, ticket); };
        core.add(this);
    }
    void drive() override {}
    void see() override {
        for (auto [stream, id] : newest_) check_limit(launches_.at(id));
        judge_killed();
    }
    void restart() override { reset_at_ = core_.now; }

    LostSms lost_sms;
    Streams streams;
    Failures failures;
    // Called when the host reads that a launch of a stream was lost with an SM.
    std::function<void(uint32_t stream)> on_broken;

    void rung(uint64_t id, const Launch& launch) {
        launches_[id] = launch;
        launches_[id].rung_at = core_.now;
        alive_[launch.stream % PRIORITIES].insert(id);
    }
    // The host has read a ticket, and the launch's number, in its section.
    void accepted(uint64_t id, uint32_t ticket, uint32_t number) {
        core_.demand(!given_.count(ticket), "a ticket is given twice");
        given_[ticket] = id;
        name(id, ticket);
        if (records_.count(ticket)) gone(id);
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
        if (given_.count(ticket)) gone(given_.at(ticket));
        if (RECORD_FIELD(record, CODE) != WARPLOOM_ERROR_SM_LOST) return;
        uint32_t stream = RECORD_FIELD(record, STREAM);
        failures.breaks(stream, cycle(made));
        if (on_broken) on_broken(stream);
    }
    // A launch was refused, or has its record.
    void gone(uint64_t id) { alive_[launches_.at(id).stream % PRIORITIES].erase(id); }
    // A launch was refused because of its stream, or because no SM is left.
    void refused(uint64_t id, unsigned code) {
        const Launch& launch = launches_.at(id);
        failures.refused(code, launch.stream, launch.rung_at);
    }
    // Of launches that an ABORT may find so, one that the host knows; 0: there is none.
    uint32_t some(const std::string& wanted, Random& random) const {
        std::vector<uint32_t> found;
        for (uint32_t ticket : unfinished(~0u)) {
            if (state(ticket) == wanted) found.push_back(ticket);
        }
        return found.empty() ? 0 : random.one_of(found);
    }
    uint64_t now() const { return core_.now; }
    uint32_t stream(uint32_t ticket) const { return launches_.at(given_.at(ticket)).stream; }
    // What an ABORT finds, as far as answers, records and ports show it.
    std::string state(uint32_t ticket) const {
        auto found = given_.find(ticket);
        if (found == given_.end()) return "unknown";
        if (records_.count(ticket)) return "ended";
        if (aborted_.count(ticket)) return "aborted before";
        const Launch& launch = launches_.at(found->second);
        if (!launch.first_offered) return "without a block";
        if (launch.open() && !launch.begins_again) return "runs";
        // Nothing of a stream that holds still is near the SMs.
        if (!streams.still(launch.stream)) return "between";
        return launch.begins_again ? "suspended, killed" : "suspended, drained";
    }
    // The answer to an abort; `before`: what it found as it was rung.
    void aborted(uint32_t ticket, bool found, const std::string& before, Counts& counts) {
        core_.demand(!(found && before == "ended"), "an abort finds a launch that has its record");
        core_.demand(!(found && !ticket), "an abort finds a ticket that nobody has");
        counts["ABORT: aborted before"] += before == "aborted before";
        if (!found) return;
        auto known = given_.find(ticket);
        bool stays = before == "runs" || state(ticket) == before;
        // A drained launch is stopped by a kill.
        stays |= before == "suspended, drained" && streams.still(stream(ticket));
        if (stays && known != given_.end()) launches_.at(known->second).aborts.insert(before);
        aborted_.insert(ticket);
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
    void streams_aborted(uint32_t mask, uint32_t sure, const std::vector<uint32_t>& met,
                         uint64_t rung_at) {
        for (uint32_t stream = 0; stream < 32; stream++) {
            if (mask >> stream & 1) stream_aborts_[stream].push_back({rung_at, core_.now});
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
            core_.demand(!launch.open(), "a block was never reported");
            check_end(given, launch, counts);
            check_times(launch, records_.at(given));
            check_stream(launch, records_.at(given), counts);
            check_order(launch, stream, in_order);
        }
        core_.demand(records_.size() == given_.size(), "a record of a ticket that nobody got");
        core_.demand(tickets_.size() <= given_.size(), "a block of a ticket that nobody got");
        for (uint32_t found : aborted_)
            core_.demand(given_.count(found), "an abort found a ticket that nobody got");
        core_.demand(streams.recorded == streams.given, "a PREEMPT without a record, or the reverse");
        failures.check_refusals([this](uint64_t at) { return lost_sms.all_lost_before(at); });
        counts["preemptions"] += streams.given;
    }

    uint32_t newest = 0;
    // LOOPs that were rung and not answered.
    unsigned loops = 0;

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
        check_code(launch, record, counts);
        core_.demand(RECORD_FIELD(record, STREAM) == launch.stream, "a record has another stream");
        core_.demand(record[3] == HAS_LOOPS * launch.number && !record[4],
                     "a launch's record has another number, or a PREEMPT's words");
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
        if (RECORD_FIELD(record, FATE) == WARPLOOM_FATE_FAILED) return;
        core_.demand(RECORD_FIELD(record, FATE) == WARPLOOM_FATE_ABORTED, "a record has no fate");
        bool with_others = aborted_with_others(launch, cycle(record[7]));
        core_.demand(aborted_.count(ticket) || with_others,
                     "a launch is aborted, and nobody asked");
        counts["launches aborted"]++;
        counts["launches aborted with their streams"] += launch.must_abort;
        if (!with_others) count_aborts(launch, counts);
    }
    // An ABORT_STREAMS was under way at some time from its launch to its record.
    bool aborted_with_others(const Launch& launch, uint64_t made) const {
        auto found = stream_aborts_.find(launch.stream);
        if (found == stream_aborts_.end()) return false;
        for (auto [rung, answered] : found->second) {
            if (launch.rung_at < answered && rung < made) return true;
        }
        return false;
    }
    // Hold that a record has the code that its launch has earned: a fault and a lost block always
    // count, the others only if nothing else has ended the launch.
    void check_code(const Launch& launch, const Record& record, Counts& counts) const {
        uint32_t code = RECORD_FIELD(record, CODE);
        if (launch.doubtful) return;
        bool failed = RECORD_FIELD(record, FATE) == WARPLOOM_FATE_FAILED;
        core_.demand(failed == (code != 0), "a record's code and its fate disagree");
        counts["records, code " + std::to_string(code)]++;
        uint64_t made = cycle(record[7]), first = cycle(record[6]);
        uint64_t accepted = cycle(record[5]);
        uint32_t sure = launch.lost_block  ? WARPLOOM_ERROR_SM_LOST
                        : launch.has_fault ? WARPLOOM_ERROR_BLOCK_FAULT
                                           : 0;
        bool earned = true;
        if (sure || code == WARPLOOM_ERROR_SM_LOST || code == WARPLOOM_ERROR_BLOCK_FAULT) {
            earned = code == sure;
        } else if (code == WARPLOOM_ERROR_TIMEOUT) {
            uint32_t limit = failures.shortest(first - GRAIN, made);
            earned = launch.first_offered && limit && made - first >= limit;
        } else if (code == WARPLOOM_ERROR_STREAM_BROKEN) {
            earned = failures.may_be_broken(launch.stream, accepted, made - 1, made);
        } else if (code == WARPLOOM_ERROR_NO_SM) {
            earned = lost_sms.all_lost_before(made);
        } else {
            earned = !code;
        }
        core_.demand(earned, "a record has code " + std::to_string(code) +
                                 ", which its launch has not earned");
    }
    // Hold that no launch is accepted, or begins, while its stream is broken or no SM is left.
    void check_stream(const Launch& launch, const Record& record, Counts& counts) const {
        uint64_t accepted = cycle(record[5]);
        bool broken = failures.must_be_broken(launch.stream, accepted, 0);
        core_.demand(!broken, "a launch is accepted, and its stream is broken");
        uint64_t all_lost = lost_sms.all_lost_at();
        core_.demand(all_lost == LostSms::NEVER || accepted <= all_lost + LATE,
                     "a launch is accepted, and no SM is left");
        counts["launches of a stream that was cleared"] +=
            failures.was_mended(launch.stream, accepted);
        if (!launch.first_offered) return;
        broken = failures.must_be_broken(launch.stream, launch.first_offered, LATE);
        core_.demand(!broken, "a launch begins, and its stream is broken");
    }
    // Count what the ABORTs found that ended a launch.
    void count_aborts(const Launch& launch, Counts& counts) const {
        for (const std::string& state : launch.aborts) {
            if (state != "without a block") counts["ABORT: " + state]++;
            else if (!launch.first_offered) counts["ABORT: waits"]++;
        }
    }
    // The clock is 0 in the second cycle after a reset (FrontEnd, 'Reset').
    uint64_t cycle(uint32_t clock) const { return reset_at_ + 1 + clock; }
    // Times are the low half of a clock that begins at about the bench's last reset.
    uint32_t clock(uint64_t cycle) const { return static_cast<uint32_t>(cycle - reset_at_); }
    void check_times(const Launch& launch, const Record& record) const {
        uint32_t accepted = record[5], first = record[6], made = record[7];
        bool between = accepted + LATE > clock(launch.rung_at) && accepted < clock(launch.answered_at);
        core_.demand(between, "a record's launch was accepted at another time");
        bool offered = RECORD_FIELD(record, OFFERED);
        // One that was killed, and ends while it waits to begin again, has had no block in its run.
        bool begins_again = launch.begins_again && !offered;
        core_.demand(offered == (launch.first_offered != 0) || begins_again,
                     "a record does not know whether its launch had a block");
        if (!offered)
            return core_.demand(!record[2] && !first, "a launch without a block has times");
        core_.demand(accepted < first && first < made, "a record's times are in another order");
        core_.demand(record[2] <= made - first, "a launch ran longer than it was there");
        core_.demand(launch.no_begin_after == ~uint64_t(0) ||
                         first <= clock(launch.no_begin_after) + LATE,
                     "a launch begins after an ABORT_STREAMS met it");
    }
    // No block comes before the last report of what its launch waits for.
    void check_order(const Launch& launch, const std::vector<uint32_t>& own,
                     const std::map<uint32_t, std::vector<uint32_t>>& in_order) const {
        if (!launch.first_offered) return;
        size_t before = own.size() - 1;
        ended_before(launch, own, before, LATE, "its stream's order");
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
            core_.demand(other.last_report < launch.first_offered, "a launch begins against " + what);
            const Record& record = records_.at(stream[k - 1]);
            core_.demand(clock(launch.first_offered) + late > record[7],
                         "a launch begins before the record of " + what);
        }
    }
    void preempt_recorded(const Record& record) {
        uint32_t met = record[2] + (record[3] & 0xFFFF) + (record[3] >> 16) + record[4];
        core_.demand(!record[0] && !record[6], "a PREEMPT's record has a launch's words");
        core_.demand(record[1] == WARPLOOM_KIND_PREEMPT << WARPLOOM_RECORD_KIND_SHIFT,
                     "a PREEMPT's record has more in its word 1");
        core_.demand(met <= STREAMS, "a PREEMPT met more launches than there are streams");
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
    void offered(unsigned sm, const Block& block) {
        name(block.code, block.ticket);
        core_.demand(!records_.count(block.ticket), "a block of a launch that has its record");
        Launch& launch = launches_.at(block.code);
        core_.demand(!streams.still(launch.stream), "a block of a stream that holds still");
        if (launch.begins_again) {
            launch.begins_again = false;
            launch.blocks.clear();
            launch.reported = launch.ended_well = launch.lost = 0;
            launch.counted = 0;
        }
        if (!launch.first_offered) launch.first_offered = core_.now;
        if (launch.blocks.empty()) launch.run_offered = core_.now;
        newest_[launch.stream] = block.code;
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
        launch.has_fault |= status != OK && status != KILLED;
        if (status == KILLED) killed_reports_.taken({block.code, sm, block.stream, core_.now});
        launch.last_report = core_.now;
        const Need one = need(launch);
        for (size_t k = 0; k < one.size(); k++) used_[sm][k] -= one[k];
    }
    // A report KILLED is a fault if nobody asks for it. If it may wait for other reports, a kill that
    // rises after a report alone would be judged may count, too.
    void judge_killed() {
        for (const KilledReport& one : killed_reports_.due(sms_.kill())) {
            Launch& launch = launches_.at(one.id);
            launch.has_fault = true;
            launch.doubtful |= lost_sms.may_sweep() || sms_.others_report(one.sm, one.taken_at - SMS);
        }
    }
    // Hold that a launch with blocks out is killed when it has had its limit.
    void check_limit(Launch& launch) {
        if (!launch.open() || sms_.kill() >> launch.stream & 1 || !counts(launch)) return;
        launch.counted++;
        uint32_t limit = failures.longest(launch.run_offered - GRAIN, core_.now);
        core_.demand(!limit || launch.counted <= limit + 2 * GRAIN,
                     "a launch runs longer than LAUNCH_TIMEOUT allows");
    }
    // Whether a cycle surely counts: the launch neither yields nor is held, by priority or by PREEMPT.
    bool counts(const Launch& launch) const {
        size_t all = 0, higher = 0;
        for (unsigned p = 0; p < PRIORITIES; p++) {
            all += alive_[p].size();
            if (p > launch.stream % PRIORITIES) higher += alive_[p].size();
        }
        // With all blocks placed it does not yield, nor beside no other launch.
        if (!launch.placed() && all > 1) return false;
        // Begun, a launch that waits is not held.
        if (launch.mode == WARPLOOM_MODE_WAIT) return true;
        if (streams.may_hold(launch.stream)) return false;
        return launch.mode == WARPLOOM_MODE_YIELD || !higher;
    }
    void lost(const Block& block) {
        Launch& launch = launches_.at(block.code);
        launch.lost++;
        launch.lost_block = true;
    }
    // A residence is over in which the launch was killed: all its blocks begin again, if any does.
    void killed(uint64_t id, uint32_t ticket) {
        name(id, ticket);
        Launch& launch = launches_.at(id);
        core_.demand(!launch.open(), "a kill ends before the last report");
        // All its blocks were placed and ended well: it is finished, whatever was asked. (The kill
        // may be that of the next launch, which has had no block.)
        if (launch.begins_again || launch.ended_well == launch.count()) return;
        launch.kills++;
        launch.begins_again = true;
    }

    // A soft reset's register, and the path of an answer to the host.
    static constexpr uint32_t LATE = 8;
    // LAUNCH_TIMEOUT is looked at when a stream is visited, and its limit before the first offer.
    static constexpr uint32_t GRAIN = 2 * STREAMS + 2 * LATE;
    Core& core_;
    Sms& sms_;
    std::map<uint64_t, Launch> launches_;
    std::map<uint32_t, uint64_t> tickets_, given_;
    // Of each stream the launch that had a block last; of each priority those without an end.
    std::map<uint32_t, uint64_t> newest_;
    std::set<uint64_t> alive_[PRIORITIES];
    std::map<uint32_t, Record> records_;
    std::map<uint32_t, uint32_t> known_;
    // When ABORT_STREAMS of a stream were rung, and answered.
    std::map<uint32_t, std::vector<std::pair<uint64_t, uint64_t>>> stream_aborts_;
    std::set<uint32_t> aborted_;
    std::vector<Need> used_;
    KilledReports killed_reports_;
    uint64_t reset_at_ = 0;
    uint32_t last_made_ = 0;
    bool any_ = false;
};

#endif
