// Random commands, and SMs that report faults, hang, fall silent and are lost: each record has the
// code that its launch has earned. A full reset begins a new round.
#ifndef MISBEHAVING_SMS_H
#define MISBEHAVING_SMS_H

#include "commands.h"

// What goes wrong at the SMs, and the host that limits launches and clears broken streams.
class Misbehaviour : public Agent {
  public:
    Misbehaviour(Random& random, Commands& all, Counts& counts)
        : core_(all.core), random_(random), master_(all.master), sms_(all.sms),
          launches_(all.launches), counts_(counts) {
        launches_.on_broken = [this](uint32_t stream) {
            broken_[stream] = core_.now + random_.below(3000);
        };
        core_.add(this);
    }
    // Launches still end, or are lost with their SM. A launch that yields while its blocks hang has
    // no limit: what needs their room would wait for ever.
    void calm() {
        calm_ = true, left_ = 0;
        sms_.wake();
    }
    bool idle() const { return calm_ && !writes_ && limit_; }

    void drive() override {
        if (!left_--) change();
        if (core_.now == speaks_at_) sms_.mute = 0;
        if (writes_) return;
        for (auto [stream, due] : broken_) {
            if (due > core_.now) continue;
            counts_["streams cleared"]++;
            broken_.erase(stream);
            return clear(stream);
        }
        // A stream that is not broken, or not yet.
        if (!calm_ && random_.chance(0.0002)) clear(random_.below(STREAMS));
    }
    void see() override {}

  private:
    void change() {
        left_ = random_.between(50, 400);
        SmBehaviour& sm = sms_.behaviour;
        sm.fault = calm_ ? 0.0 : random_.one_of<double>({0.0, 0.0, 0.01, 0.05});
        sm.unasked = calm_ ? 0.0 : random_.one_of<double>({0.0, 0.0, 0.0, 0.05});
        sm.bogus = calm_ ? 0.0 : random_.one_of<double>({0.0, 0.0, 0.001, 0.004});
        sm.hang = calm_ ? 0.0 : random_.one_of<double>({0.0, 0.02, 0.1});
        // At times too late.
        sm.answer = random_.one_of<uint32_t>({1, 4, 4, 20});
        if (!calm_ && random_.chance(0.002)) sm.answer = 2 * KILL_TIMEOUT;
        if (!calm_ && !sms_.mute && random_.chance(0.01)) fall_silent();
        if (random_.chance(0.5)) look();
        if (!writes_ && (calm_ || random_.chance(0.1))) limit();
    }
    // An SM reports nothing any more, or for a while; It speaks again, lost or
    // not.
    void fall_silent() {
        uint32_t which = 1u << random_.below(SMS);
        if (launches_.lost_sms.lost() & which) return;
        sms_.mute = which;
        speaks_at_ = core_.now + (random_.chance(0.3) ? random_.between(5, 100) : 10000);
    }
    void limit() {
        static const std::vector<uint32_t> limits = {0, 500, 1500, 3000, 6000};
        limit_ = calm_ ? 2000 : random_.one_of(limits);
        launches_.failures.limit_rung(limit_);
        write(WARPLOOM_LAUNCH_TIMEOUT_ADDRESS, limit_,
              [this] { launches_.failures.limit_written(); });
    }
    void clear(uint32_t stream) {
        launches_.failures.clear_rung(stream);
        write(WARPLOOM_CLEAR_STREAM_ADDRESS, stream,
              [this, stream] { launches_.failures.clear_written(stream); });
    }
    void write(uint32_t address, uint32_t data, std::function<void()> written) {
        writes_ = true;
        master_.write(address, data, [this, written](unsigned resp, uint32_t) {
            core_.demand(resp == OKAY, "a write of the host is refused");
            written();
            writes_ = false;
        });
    }
    void look() {
        master_.read(WARPLOOM_ERROR_LAST_ADDRESS, [this](unsigned, uint32_t data) {
            uint32_t code = data & WARPLOOM_ERROR_LAST_CODE_MASK;
            static const std::set<uint32_t> known = {
                0, WARPLOOM_ERROR_REPORT_NOT_RUNNING, WARPLOOM_ERROR_KILL_NOT_ASKED,
                WARPLOOM_ERROR_LOST_SM_SIGNAL};
            core_.demand(known.count(code), "ERROR_LAST has a code that no SM has caused");
            counts_["ERROR_LAST, code " + std::to_string(code)]++;
        });
    }

    Core& core_;
    Random& random_;
    Master& master_;
    Sms& sms_;
    Launches& launches_;
    Counts& counts_;
    bool calm_ = false, writes_ = false;
    uint32_t left_ = 0, limit_ = 0;
    uint64_t speaks_at_ = 0;
    // When the host clears which stream.
    std::map<uint32_t, uint64_t> broken_;
};

// What must have happened before a run ends.
inline std::vector<std::string> hard_cases() {
    std::vector<std::string> all = {
        "launches finished", "launches aborted", "streams cleared", "rounds with every SM lost",
        "launches of a stream that was cleared", "reports of lost SMs"};
    for (unsigned code : {WARPLOOM_ERROR_STREAM_BROKEN, WARPLOOM_ERROR_NO_SM}) {
        all.push_back("code " + std::to_string(code));
        all.push_back("records, code " + std::to_string(code));
    }
    for (unsigned code :
         {WARPLOOM_ERROR_BLOCK_FAULT, WARPLOOM_ERROR_SM_LOST, WARPLOOM_ERROR_TIMEOUT})
        all.push_back("records, code " + std::to_string(code));
    for (unsigned code : {WARPLOOM_ERROR_REPORT_NOT_RUNNING, WARPLOOM_ERROR_KILL_NOT_ASKED,
                          WARPLOOM_ERROR_LOST_SM_SIGNAL})
        all.push_back("ERROR_LAST, code " + std::to_string(code));
    for (const char* state :
         {"waits", "runs", "suspended, killed", "suspended, drained", "aborted before"})
        all.push_back(std::string("ABORT: ") + state);
    for (unsigned k = 0; k < SECTIONS; k++) {
        all.push_back("commands in section " + std::to_string(k));
        for (unsigned p = 0; p < PRIORITIES; p++) all.push_back(launches_of(p, k));
    }
    return all;
}

// Commands until so many were given, or for a while after the last SM was lost.
inline void one_round(Core& core, Random& random, Counts& counts, uint64_t commands) {
    Commands all(core, random, counts);
    Misbehaviour misbehaviour(random, all, counts);
    for (auto& worker : all.workers) worker->aim();
    // Long enough that launches wait.
    all.moods.longest = {4, 60, 400, 1000};
    core.reset();
    const LostSms& lost = all.launches.lost_sms;
    uint64_t last = counts["commands"] + commands;
    while (counts["commands"] < last) {
        core.cycle();
        // Refusals for want of an SM need a few launches more.
        if (core.now == lost.all_lost_at() + 1) last = std::min(last, counts["commands"] + 60);
    }
    misbehaviour.calm();
    while (!misbehaviour.idle()) core.cycle();
    all.finish();
    uint32_t told = 0;
    all.master.read_now(WARPLOOM_SM_LOST0_ADDRESS, &told);
    // Of one that reported too late nobody outside knows.
    bool may = (told & lost.lost()) == lost.lost() && !(told & ~lost.may_be_lost());
    core.demand(may, "SM_LOST0 is not what the port says");
    counts["rounds"]++;
    counts["rounds with every SM lost"] += lost.all_lost_at() != LostSms::NEVER;
    counts["reports of lost SMs"] += lost.ignored;
}

inline void run_misbehaving_sms(const Arguments& arguments) {
    Counts counts;
    Random random(arguments["seed"]);
    Core core;
    uint64_t commands = arguments["commands"];
    auto missing = [&] {
        std::string names;
        for (const std::string& name : hard_cases()) names += counts[name] ? "" : name + "; ";
        return names;
    };
    while (counts["commands"] < commands || !missing().empty()) {
        // A case that does not come for so long does not come.
        core.demand(counts["commands"] < 8 * commands, "what never came: " + missing());
        one_round(core, random, counts, 1000);
    }
    counts.print();
}

#endif
