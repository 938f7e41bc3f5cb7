// The SMs: they take blocks, run and report them, and read indices; or they misbehave.
#ifndef SMS_H
#define SMS_H

#include <functional>
#include <optional>

#include "core.h"

// How all SMs behave for a while; probabilities are for each cycle unless said otherwise.
struct SmBehaviour {
    double ready = 1.0;           // an SM takes an offer
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
    unsigned place = 0, slot = 0, bx = 0, by = 0, bz = 0;
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
            sms_[n].offer_valid = port("offer", "valid");
            sms_[n].offer_ready = port("offer", "ready");
            sms_[n].offer = port("offer", "payload");
            sms_[n].report_valid = port("report", "valid");
            sms_[n].report = port("report", "payload");
            sms_[n].read_valid = port("read", "valid");
            sms_[n].read_ready = port("read", "ready");
            sms_[n].read = port("read", "payload");
        }
        for (unsigned p = 0; p < 2; p++) words_.push_back(core.pin("words__" + std::to_string(p)));
        kill_pin_ = core.pin("kill");
        core.add(this);
    }

    SmBehaviour behaviour;
    // SMs that take no offers.
    uint32_t deaf = 0;
    // SMs that report nothing of what they take from now on.
    uint32_t silent_sms = 0;
    // SMs that report nothing at all while their bit is 1.
    uint32_t mute = 0;
    // Called for each block in its offer's first cycle, and for each that is reported.
    std::function<void(unsigned sm, const Block&)> on_offered;
    std::function<void(unsigned sm, const Block&, unsigned status)> on_report;
    // Called in the first cycle after a kill, with the launch's code and ticket.
    std::function<void(uint64_t code, uint32_t ticket)> on_kill_over;

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
    // Whether a place is killed in the cycle that is driven: `kill` is a register.
    bool is_killed(unsigned place) const { return get(kill_pin_) >> place & 1; }
    // The ticket of the launch that has a place, or had it last.
    uint32_t ticket_in(unsigned place) const {
        return static_cast<uint32_t>(get(words_[place], launch_words::ticket));
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
            put(sm.offer_ready, !(deaf >> n & 1) && random_.chance(behaviour.ready));
            report(n, sm);
            ask(sm);
        }
    }

    void see() override {
        kill_ = static_cast<unsigned>(get(kill_pin_));
        for (unsigned place = 0; place < 2; place++) look_for_kill(place);
        for (unsigned n = 0; n < SMS; n++) {
            Sm& sm = sms_[n];
            look_at_offer(n, sm);
            for (auto& held : sm.running) {
                if (held && !held->kill_seen && kill_ >> held->place & 1) hear_kill(*held);
            }
            if (get(sm.read_valid) && get(sm.read_ready)) sm.reads = false;
        }
    }

    void restart() override {
        forget();
        kill_ = 0;
        for (auto& killed : killed_) killed.reset();
        for (Sm& sm : sms_) {
            sm.offered.reset();
            sm.stray.reset();
            sm.reads = false;
            sm.warps = 0;
        }
    }

  private:
    struct Sm {
        Pin offer_valid, offer_ready, offer, report_valid, report, read_valid, read_ready, read;
        std::optional<Block> running[BLOCK_SLOTS];
        // The block at the port.
        std::optional<Block> offered;
        // Slot and status that are reported in this cycle, and no block is in the slot.
        std::optional<std::pair<unsigned, unsigned>> stray;
        bool reads = false;
        // Of the block that was taken last; no warps: there was none.
        uint32_t address = 0, warps = 0;
    };

    void look_at_offer(unsigned n, Sm& sm) {
        if (!get(sm.offer_valid)) return sm.offered.reset();
        if (!sm.offered) {
            sm.offered = block_at(sm);
            if (on_offered) on_offered(n, *sm.offered);
        }
        if (get(sm.offer_ready)) take(n, sm);
    }
    Block block_at(const Sm& sm) const {
        Block block;
        block.slot = static_cast<unsigned>(get(sm.offer, block_offer::slot));
        block.place = static_cast<unsigned>(get(sm.offer, block_offer::place));
        block.bx = static_cast<unsigned>(get(sm.offer, block_offer::bx));
        block.by = static_cast<unsigned>(get(sm.offer, block_offer::by));
        block.bz = static_cast<unsigned>(get(sm.offer, block_offer::bz));
        block.number = static_cast<uint32_t>(get(sm.offer, block_offer::block_number));
        block.ticket = ticket_in(block.place);
        block.code = get(words_[block.place], launch_words::code);
        block.offered_at = core_.now;
        core_.demand(block.slot < BLOCK_SLOTS, "an offer names a slot that is not there");
        return block;
    }
    void take(unsigned n, Sm& sm) {
        Block block = *sm.offered;
        sm.offered.reset();
        sm.address = static_cast<uint32_t>(get(sm.offer, block_offer::index_address));
        sm.warps = static_cast<uint32_t>(get(sm.offer, block_offer::index_warps));
        block.due = core_.now + random_.between(behaviour.shortest, behaviour.longest);
        if (behaviour.hang > 0 && random_.chance(behaviour.hang))
            block.due = Block::NEVER_DUE;
        block.never = random_.chance(behaviour.silent) || silent_sms >> n & 1;
        sm.running[block.slot] = block;
        // A report in the cycle of the taking counts.
        if (sm.stray && sm.stray->first == block.slot) end(n, sm, block.slot, sm.stray->second);
    }

    void look_for_kill(unsigned place) {
        auto& killed = killed_[place];
        if (kill_ >> place & 1) {
            const Pin& words = words_[place];
            killed = {get(words, launch_words::code), ticket_in(place)};
        } else if (killed) {
            if (on_kill_over) on_kill_over(killed->first, killed->second);
            killed.reset();
        }
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
        sm.stray.reset();
        if (mute >> n & 1) return;
        unsigned first = random_.below(BLOCK_SLOTS);
        for (unsigned k = 0; k < BLOCK_SLOTS; k++) {
            unsigned slot = (first + k) % BLOCK_SLOTS;
            auto& held = sm.running[slot];
            if (!held || held->never || held->due > core_.now) continue;
            unsigned status = held->killed ? KILLED : OK;
            if (random_.chance(behaviour.fault)) status = random_.one_of<unsigned>({FAULT, 3});
            if (random_.chance(behaviour.unasked)) status = KILLED;
            send(n, sm, slot, status);
            return;
        }
        if (random_.chance(behaviour.bogus))
            send(n, sm, random_.below(BLOCK_SLOTS), random_.below(4));
    }

    // Report a slot; the block in it, if there is one, has been reported by that.
    void send(unsigned n, Sm& sm, unsigned slot, unsigned status) {
        put(sm.report_valid, 1);
        put(sm.report, block_report::slot, slot);
        put(sm.report, block_report::status, status);
        if (sm.running[slot]) end(n, sm, slot, status);
        else sm.stray = {slot, status};
    }
    void end(unsigned n, Sm& sm, unsigned slot, unsigned status) {
        if (on_report) on_report(n, *sm.running[slot], status);
        sm.running[slot].reset();
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
    std::vector<Pin> words_;
    Pin kill_pin_;
    unsigned kill_ = 0;
    // Code and ticket of the launch in each place that is killed.
    std::optional<std::pair<uint64_t, uint32_t>> killed_[2];
};

#endif
