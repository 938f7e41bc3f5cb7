// The SMs: they take blocks, run and report them, and read indices; or they misbehave.
#ifndef SMS_H
#define SMS_H

#include <functional>
#include <optional>

#include "core.h"

// How all SMs behave for a while; probabilities are for each cycle unless said otherwise.
struct SmBehaviour {
    uint32_t shortest = 1, longest = 20;  // cycles that a block runs
    uint32_t answer = 4;          // most cycles from a kill to a block's end
    double fault = 0.0;           // for each report: it says fault
    double unasked = 0.0;         // for each report: it says killed
    double hang = 0.0;            // for each block that is taken: only a kill ends it
    double bogus = 0.0;           // a report that nothing asked for
    double silent = 0.0;          // for each block that is taken: it is never reported
    double reads = 0.3;           // an index read begins
    double wild_reads = 0.0;      // for each read: any address and warp
};

enum Status : unsigned { OK = 0, FAULT = 1, KILLED = 2 };

struct Block {
    unsigned stream = 0, slot = 0, bx = 0, by = 0, bz = 0;
    uint32_t number = 0;
    uint32_t ticket = 0;
    uint64_t code = 0;
    uint64_t offered_at = 0, due = 0;
    // Due then, a block hangs.
    static constexpr uint64_t NEVER_DUE = ~uint64_t(0);
    bool never = false, killed = false, kill_seen = false;
};

class Sms : public Agent {
  public:
    Sms(Core& core, Random& random) : core_(core), random_(random), sms_(SMS) {
        for (unsigned n = 0; n < SMS; n++) {
            auto port = [&](const char* name, const char* part) {
                return core.pin(std::string(name) + "__" + std::to_string(n) + "__" + part);
            };
            sms_[n].report_valid = port("report", "valid");
            sms_[n].report_ready = port("report", "ready");
            sms_[n].report = port("report", "payload");
            sms_[n].read_valid = port("read", "valid");
            sms_[n].read_ready = port("read", "ready");
            sms_[n].read = port("read", "payload");
        }
        offer_ = core.pin("offer"), block_ = core.pin("block"), words_ = core.pin("words");
        kill_pin_ = core.pin("kill");
        core.add(this);
    }

    SmBehaviour behaviour;
    // SMs that report nothing of what they take from now on.
    uint32_t silent_sms = 0;
    // SMs that report nothing at all while their bit is 1.
    uint32_t mute = 0;
    // Called for each block in its offer's cycle, and for each whose report is taken.
    std::function<void(unsigned sm, const Block&)> on_offered;
    std::function<void(unsigned sm, const Block&, unsigned status)> on_report;
    // Called in the first cycle after a kill, with the stream, and code and ticket of its launch that
    // had a block last.
    std::function<void(unsigned stream, uint64_t code, uint32_t ticket)> on_kill_over;

    // From now on what was silent is reported, too.
    void repair() {
        for (Sm& sm : sms_) {
            for (auto& held : sm.running) {
                if (held && held->never) {
                    held->never = false;
                    held->due = core_.now;
                }
            }
        }
    }
    // Blocks that hang end now.
    void wake() {
        for (Sm& sm : sms_) {
            for (auto& held : sm.running) {
                if (held && held->due == Block::NEVER_DUE) held->due = core_.now;
            }
        }
    }
    // Forget every block: a soft reset has ended all of them.
    void forget() {
        for (Sm& sm : sms_) {
            for (auto& held : sm.running) held.reset();
        }
    }
    unsigned kill() const { return kill_; }
    // Another SM's report was taken at a time or later.
    bool others_report(unsigned sm, uint64_t since) const {
        for (unsigned n = 0; n < SMS; n++) {
            if (n != sm && sms_[n].taken_at >= since) return true;
        }
        return false;
    }
    // Blocks that some SMs hold, a bit for each.
    unsigned held_by(uint32_t mask) const {
        unsigned count = 0;
        for (unsigned n = 0; n < SMS; n++) {
            for (auto& held : sms_[n].running) count += held.has_value() && mask >> n & 1;
        }
        return count;
    }

    void drive() override {
        for (unsigned n = 0; n < SMS; n++) {
            Sm& sm = sms_[n];
            if (!sm.standing) report(n, sm);
            ask(sm);
        }
    }

    void see() override {
        kill_ = static_cast<unsigned>(get(kill_pin_));
        for (unsigned stream = 0; stream < STREAMS; stream++) look_for_kill(stream);
        for (unsigned n = 0; n < SMS; n++) {
            Sm& sm = sms_[n];
            if (get(offer_) >> n & 1) take(n, sm);
            for (auto& held : sm.running) {
                if (held && !held->kill_seen && kill_ >> held->stream & 1) hear_kill(*held);
            }
            // A report in the cycle of the offer counts.
            if (sm.standing && get(sm.report_ready)) taken(n, sm);
            if (get(sm.read_valid) && get(sm.read_ready)) sm.reads = false;
        }
    }

    void restart() override {
        forget();
        kill_ = killed_ = 0;
        last_.clear();
        for (Sm& sm : sms_) {
            sm.standing.reset();
            sm.reads = false;
            sm.warps = 0;
            sm.freed = BLOCK_SLOTS - 1;
        }
    }

  private:
    struct Sm {
        Pin report_valid, report_ready, report, read_valid, read_ready, read;
        std::optional<Block> running[BLOCK_SLOTS];
        // Slot and status of the report that stands at the port.
        std::optional<std::pair<unsigned, unsigned>> standing;
        bool reads = false;
        // The slot of the last block that was reported; before the first one it is offered last.
        unsigned freed = BLOCK_SLOTS - 1;
        uint64_t taken_at = 0;  // its last report
        // Of the block that was taken last; no warps: there was none.
        uint32_t address = 0, warps = 0;
    };

    Block block_at() const {
        Block block;
        block.slot = static_cast<unsigned>(get(block_, resident_block::slot));
        block.stream = static_cast<unsigned>(get(block_, resident_block::stream));
        block.bx = static_cast<unsigned>(get(block_, resident_block::bx));
        block.by = static_cast<unsigned>(get(block_, resident_block::by));
        block.bz = static_cast<unsigned>(get(block_, resident_block::bz));
        block.number = static_cast<uint32_t>(get(block_, resident_block::block_number));
        block.ticket = static_cast<uint32_t>(get(words_, launch_words::ticket));
        block.code = get(words_, launch_words::code);
        block.offered_at = core_.now;
        core_.demand(block.slot < BLOCK_SLOTS, "an offer names a slot that is not there");
        return block;
    }
    void take(unsigned n, Sm& sm) {
        Block block = block_at();
        core_.demand(!sm.running[block.slot], "an offer names a slot that holds a block");
        last_[block.stream] = {block.code, block.ticket};
        sm.address = static_cast<uint32_t>(get(block_, resident_block::index_address));
        sm.warps = static_cast<uint32_t>(get(block_, resident_block::warps));
        block.due = core_.now + random_.between(behaviour.shortest, behaviour.longest);
        if (behaviour.hang > 0 && random_.chance(behaviour.hang))
            block.due = Block::NEVER_DUE;
        block.never = random_.chance(behaviour.silent) || silent_sms >> n & 1;
        sm.running[block.slot] = block;
        if (on_offered) on_offered(n, block);
    }

    void look_for_kill(unsigned stream) {
        bool now = kill_ >> stream & 1, before = killed_ >> stream & 1;
        if (now && !before) killed_ |= 1u << stream;
        if (now || !before) return;
        killed_ &= ~(1u << stream);
        auto found = last_.find(stream);
        if (found != last_.end() && on_kill_over)
            on_kill_over(stream, found->second.first, found->second.second);
    }
    void hear_kill(Block& block) {
        block.kill_seen = true;
        uint64_t end = core_.now + 1 + random_.below(behaviour.answer);
        if (end < block.due) {
            block.due = end;
            block.killed = true;
        }
    }

    void report(unsigned n, Sm& sm) {
        put(sm.report_valid, 0);
        put(sm.report, random_.word());
        if (mute >> n & 1) return;
        unsigned first = random_.below(BLOCK_SLOTS);
        for (unsigned k = 0; k < BLOCK_SLOTS; k++) {
            unsigned slot = (first + k) % BLOCK_SLOTS;
            auto& held = sm.running[slot];
            if (!held || held->never || held->due > core_.now) continue;
            unsigned status = held->killed ? KILLED : OK;
            if (random_.chance(behaviour.fault)) status = random_.one_of<unsigned>({FAULT, 3});
            if (random_.chance(behaviour.unasked)) status = KILLED;
            send(sm, slot, status);
            return;
        }
        if (random_.chance(behaviour.bogus)) send_bogus(sm);
    }
    // A report of a free slot counts for a block that is offered there shortly after, and no host
    // can tell. The slot that was freed last is offered last: with others free nobody runs there soon.
    void send_bogus(Sm& sm) {
        unsigned slot = random_.below(BLOCK_SLOTS), free = 0;
        for (auto& held : sm.running) free += !held;
        if (!sm.running[slot]) slot = sm.freed;
        if (sm.running[slot] || free >= 3) send(sm, slot, random_.below(4));
    }

    // Report a slot. The report stands until it is taken.
    void send(Sm& sm, unsigned slot, unsigned status) {
        put(sm.report_valid, 1);
        put(sm.report, block_report::slot, slot);
        put(sm.report, block_report::status, status);
        sm.standing = {slot, status};
    }
    // The block in the slot, if there is one, has been reported by that.
    void taken(unsigned n, Sm& sm) {
        auto [slot, status] = *sm.standing;
        sm.standing.reset();
        sm.taken_at = core_.now;
        if (!sm.running[slot]) return;
        if (on_report) on_report(n, *sm.running[slot], status);
        sm.running[slot].reset();
        sm.freed = slot;
    }

    void ask(Sm& sm) {
        bool knows = sm.warps || behaviour.wild_reads > 0;
        if (!sm.reads && knows && random_.chance(behaviour.reads)) {
            sm.reads = true;
            put(sm.read, random_.word());
            if (!random_.chance(behaviour.wild_reads)) {
                put(sm.read, index_read::address, sm.address);
                put(sm.read, index_read::index_warps, sm.warps);
                put(sm.read, index_read::warp, random_.below(sm.warps + 1));
            }
        }
        put(sm.read_valid, sm.reads);
    }

    Core& core_;
    Random& random_;
    std::vector<Sm> sms_;
    Pin offer_, block_, words_, kill_pin_;
    unsigned kill_ = 0, killed_ = 0;
    // Of each stream code and ticket of the launch that had a block last.
    std::map<unsigned, std::pair<uint64_t, uint32_t>> last_;
};

#endif
