// What becomes of launches: seen at the SMs, in answers and in records; checked at the end.
#ifndef LAUNCHES_H
#define LAUNCHES_H

#include <set>
#include <tuple>

#include "sms.h"
#include "warploom_host.h"

// A launch as the host rang it. `code` at the SMs is its number.
struct Launch {
    uint32_t gx = 1, gy = 1, gz = 1, dx = 1, index_address = 0, stream = 0;
    uint32_t warp_registers = 0, shared = 0, barriers = 0, after_previous = 1;
    uint32_t ticket = 0;  // 0: none known
    std::set<std::tuple<unsigned, unsigned, unsigned>> blocks;
    uint32_t reported = 0;
    bool abort_found_it = false;

    uint32_t count() const { return gx * gy * gz; }
    uint32_t warps() const { return (dx + WARP_SIZE - 1) / WARP_SIZE; }
};

struct Record {
    uint32_t fate = 0, code = 0;
};

class Launches {
  public:
    Launches(Core& core, Sms& sms) : core_(core), used_(SMS) {
        sms.on_taken = [this](unsigned sm, const Block& block) { taken(sm, block); };
        sms.on_report = [this](unsigned sm, const Block& block, unsigned status) {
            reported(sm, block, status);
        };
    }

    void rung(uint64_t id, const Launch& launch) { launches_[id] = launch; }
    // The host has read a ticket in its section.
    void accepted(uint64_t id, uint32_t ticket) {
        core_.demand(!given_.count(ticket), "a ticket is given twice");
        given_[ticket] = id;
        name(id, ticket);
        newest = std::max(newest, ticket);
    }
    void recorded(uint32_t ticket, Record record) {
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
    bool all_recorded() const { return records_.size() >= given_.size(); }

    // Every launch has ended: look at each one's blocks, tickets and records.
    void check(Counts& counts) const {
        uint32_t ticket = 0;
        for (auto& [given, id] : given_) {
            core_.demand(given == ++ticket, "a ticket was given to nobody");
            core_.demand(records_.count(given), "a ticket has no record");
            const Launch& launch = launches_.at(id);
            const Record& record = records_.at(given);
            counts["blocks"] += launch.blocks.size();
            core_.demand(launch.reported == launch.blocks.size(), "a block was never reported");
            if (record.fate == WARPLOOM_FATE_FINISHED) {
                counts["launches finished"]++;
                bool whole = launch.blocks.size() == launch.count();
                core_.demand(whole, "a finished launch lacks blocks");
            } else {
                core_.demand(record.fate == WARPLOOM_FATE_ABORTED, "a launch failed");
                core_.demand(aborted_.count(given), "a launch is aborted, and nobody asked");
                counts["launches aborted"]++;
            }
            core_.demand(record.code == 0, "a record has a code");
        }
        core_.demand(records_.size() == given_.size(), "a record of a ticket that nobody got");
        core_.demand(tickets_.size() <= given_.size(), "a block of a ticket that nobody got");
        for (uint32_t found : aborted_)
            core_.demand(given_.count(found), "an abort found a ticket that nobody got");
    }

    uint32_t newest = 0;

  private:
    using Need = std::array<uint32_t, 4>;
    static Need need(const Launch& launch) {
        uint32_t warps = launch.warps();
        return {warps, warps * launch.warp_registers, launch.shared, launch.barriers};
    }
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
    void reported(unsigned sm, const Block& block, unsigned) {
        Launch& launch = launches_.at(block.code);
        launch.reported++;
        const Need one = need(launch);
        for (size_t k = 0; k < one.size(); k++) used_[sm][k] -= one[k];
    }

    Core& core_;
    std::map<uint64_t, Launch> launches_;
    std::map<uint32_t, uint64_t> tickets_, given_;
    std::map<uint32_t, Record> records_;
    std::set<uint32_t> aborted_;
    std::vector<Need> used_;
};

#endif
