// A bit of a register flips while the core runs launches and a task: what becomes of them, and
// what it takes until the core works again.
#ifndef FLIPS_H
#define FLIPS_H

#include "master.h"
#include "sms.h"
#include "units.h"
#include "warploom.h"

// A core of its own, with a host, SMs and cores that keep to their pages.
class FlippedCore {
  public:
    // `bit`: a register's bit, as any_start.py numbers them; it flips at the end of cycle `at`.
    FlippedCore(uint64_t seed, std::optional<uint32_t> bit, uint64_t at)
        : core_(begun(bit, at)), random_(seed), master_(*core_, random_, true),
          sms_(*core_, random_) {
        for (unsigned k = 0; k < UNITS; k++) {
            units_.emplace_back(new Unit(*core_, random_, k));
            units_.back()->behaviour.fail = 0.0;
            units_.back()->hurries = true;
        }
        driver_.read32 = [](void* self, uint32_t address, uint32_t* value) {
            return int(static_cast<FlippedCore*>(self)->master_.read_now(address, value));
        };
        driver_.write32 = [](void* self, uint32_t address, uint32_t value) {
            return int(static_cast<FlippedCore*>(self)->master_.write_now(address, value));
        };
        driver_.barrier = nullptr;
        driver_.wait_irq = nullptr;
        driver_.context = this;
        driver_.patience = 1000;
        core_->reset();
    }

    // Launches on all sections, a task on each unit, and the records of all launches.
    void play() {
        try {
            for (uint32_t k = 0; k < LAUNCHES; k++) {
                launch(k % SECTIONS);
                if (k == LAUNCHES / 2) run_tasks();
            }
            take_records();
        } catch (const Failure& failure) {
            stop(failure);
        }
        length = core_->now;
        if (records_.size() < given_.size()) wrong_record = true;
    }
    // At once, after a soft reset, or after a full one: the core must do the same as a new one.
    std::string recover() {
        if (stopped.empty() && works()) return "works at once";
        std::string why = stopped_by_bus_ ? "the bus answers wrongly" : reset_softly();
        if (why.empty()) {
            if (works()) return "works after a soft reset";
            why = stopped_by_bus_ ? "the bus answers wrongly" : all_lost() ? "all SMs are lost"
                                                                          : "records are wrong";
        }
        stopped_by_bus_ = false;
        core_->reset();
        core_->demand(works(), "no launch runs after a full reset");
        return "needs a full reset: " + why;
    }

    bool wrong_record = false, wrong_answer = false;
    // What the host, an SM or a core saw that no core may do.
    std::string stopped;
    uint64_t length = 0;

  private:
    static constexpr uint32_t LAUNCHES = 6;

    static Core* begun(std::optional<uint32_t> bit, uint64_t at) {
        std::string which = "+flip_bit=" + std::to_string(bit.value_or(0));
        std::string when = "+flip_at=" + std::to_string(bit ? at : ~uint32_t(0));
        const char* words[] = {"flips", which.c_str(), when.c_str()};
        Verilated::commandArgs(3, words);
        auto* core = new Core;
        // The options are read now.
        core->settle();
        return core;
    }
    void stop(const Failure& failure) {
        std::string text = failure.what();
        if (stopped.empty()) stopped = text.substr(text.find(": ") + 2);
        stopped_by_bus_ = master_.lost();
        master_.forget();
    }
    void launch(uint32_t section) {
        warploom_launch one = {};
        one.gx = random_.between(1, 9);
        one.gy = random_.between(1, 2);
        one.gz = one.dy = one.dz = 1;
        one.dx = random_.between(1, 2 * WARP_SIZE);
        one.index_address = 8 * random_.below(3);
        one.stream = random_.below(4);
        one.warp_registers = random_.below(5);
        one.shared = random_.below(SHARED_UNITS / 2);
        uint32_t ticket = 0;
        int code = warploom_launch_kernel(&driver_, section, &one, &ticket);
        bool is_new = given_.insert(ticket).second;
        if (code || !ticket || !is_new || ticket != given_.size()) wrong_answer = true;
    }
    void run_tasks() {
        for (uint32_t unit = 0; unit < UNITS; unit++) {
            if (!task_works(unit)) wrong_answer = true;
        }
    }
    bool task_works(uint32_t unit) {
        warploom_task task = {};
        task.parts = CORES_PER_UNIT;
        task.small = 3;
        warploom_outcome outcome = {};
        int code = warploom_run(&driver_, unit, &task, &outcome);
        return !code && outcome.succeeded == (1u << CORES_PER_UNIT) - 1;
    }
    void take_records() {
        warploom_record record;
        // After a flip the same records may come for ever.
        for (unsigned k = 0; records_.size() < given_.size() && k < MOST_RECORDS; k++) {
            if (warploom_wait_record(&driver_, &record)) return;
            bool is_new = records_.insert(record.ticket).second;
            bool right = is_new && given_.count(record.ticket) && !record.code && !record.kills &&
                         !record.drained && record.fate == WARPLOOM_FATE_FINISHED;
            if (!right) wrong_record = true;
        }
        if (warploom_take_record(&driver_, &record) != WARPLOOM_EMPTY) wrong_record = true;
    }
    // A well-formed launch and a task end well. Records of earlier launches are taken before.
    bool works() {
        try {
            warploom_record record;
            for (unsigned k = 0; warploom_take_record(&driver_, &record) == WARPLOOM_OK; k++) {
                if (k > MOST_RECORDS) return false;
            }
            warploom_launch one = {};
            one.gx = one.gy = one.gz = one.dx = one.dy = one.dz = 1;
            for (uint32_t section = 0; section < SECTIONS; section++) {
                uint32_t ticket;
                if (warploom_launch_kernel(&driver_, section, &one, &ticket)) return false;
                if (warploom_wait_record(&driver_, &record)) return false;
                if (record.ticket != ticket || record.fate != WARPLOOM_FATE_FINISHED) return false;
            }
            for (uint32_t unit = 0; unit < UNITS; unit++) {
                if (!task_works(unit)) return false;
            }
            return true;
        } catch (const Failure& failure) {
            stop(failure);
            return false;
        }
    }
    // Return why a soft reset is in vain; "" if it ends.
    std::string reset_softly() {
        try {
            if (warploom_soft_reset(&driver_)) return "a soft reset does not end";
        } catch (const Failure& failure) {
            stop(failure);
            return stopped_by_bus_ ? "the bus answers wrongly" : stopped;
        }
        sms_.forget();
        return "";
    }
    bool all_lost() {
        uint32_t lost = 0;
        try {
            return !master_.read_now(WARPLOOM_SM_LOST0_ADDRESS, &lost) && lost == (1u << SMS) - 1;
        } catch (const Failure& failure) {
            stop(failure);
            return false;
        }
    }

    static constexpr unsigned MOST_RECORDS = 100;
    std::unique_ptr<Core> core_;
    Random random_;
    Master master_;
    Sms sms_;
    std::vector<std::unique_ptr<Unit>> units_;
    warploom_core driver_;
    std::set<uint32_t> given_, records_;
    bool stopped_by_bus_ = false;
};

// `bits`: how many there are. Bits and cycles are drawn from the seed.
inline void run_flips(const Arguments& arguments) {
    Counts counts;
    Random random(arguments["seed"]);
    uint64_t first = arguments["seed"], shortest = ~uint64_t(0);
    for (uint64_t k = 0; k < 20; k++) {
        FlippedCore sound(first + k, std::nullopt, 0);
        sound.play();
        if (sound.wrong_record || sound.wrong_answer || !sound.stopped.empty())
            throw Failure("without a flip: " + sound.stopped + ", or a record or an answer");
        shortest = std::min(shortest, sound.length);
    }
    for (uint64_t k = 0; k < arguments["flips"]; k++) {
        uint32_t bit = random.below(static_cast<uint32_t>(arguments["bits"]));
        FlippedCore core(random.bits(), bit, 5 + random.below(static_cast<uint32_t>(shortest)));
        core.play();
        counts["flips"]++;
        counts["a record is wrong"] += core.wrong_record;
        counts["an answer is wrong"] += core.wrong_answer;
        if (!core.stopped.empty()) counts["seen: " + core.stopped]++;
        std::string after = core.recover();
        counts[after]++;
        if (after.rfind("needs", 0) == 0) counts["bit " + std::to_string(bit) + " " + after]++;
        counts["cycles"] += core.length;
    }
    counts.print();
}

#endif
