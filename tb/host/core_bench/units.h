// The cores of the execution units: they take parts, work, send results and arrive.
#ifndef UNITS_H
#define UNITS_H

#include <array>
#include <functional>

#include "core.h"

// How the cores behave for a while.
struct CoreBehaviour {
    double fail = 0.2;          // for each part: it fails
    uint32_t longest = 12;      // most cycles of a part
    double late = 0.0;          // for each part: it takes up to six times the time-out
    double never = 0.0;         // for each part: its core never arrives
    double results = 0.2;       // a result word is sent
    double noise = 0.0;         // a level that means nothing
};

// One task as its cores saw it.
struct Run {
    uint64_t code = 0, arguments = 0;
    unsigned task = 0;
    unsigned parts = 0;         // a bit for each core that took one
    unsigned good = 0, failed = 0;  // cores that arrived
    bool some_failed = false;
    unsigned first_failed = 0, failure = 0;
    std::array<uint32_t, 8> results{};
};

class Unit : public Agent {
  public:
    Unit(Core& core, Random& random, unsigned number)
        : core_(core), random_(random), ready_pace_(random), cores_(CORES_PER_UNIT) {
        auto port = [&](const char* name) {
            return core.pin("cores__" + std::to_string(number) + "__" + name);
        };
        start_valid_ = port("start__valid");
        start_ready_ = port("start__ready");
        start_ = port("start__payload");
        code_ = port("code");
        arguments_ = port("arguments");
        arrived_ = port("arrived");
        failed_ = port("failed");
        failure_ = port("failure");
        result_valid_ = port("result__valid");
        result_ = port("result__payload");
        barrier_open_ = port("barrier_open");
        cancel_ = port("cancel");
        core.add(this);
    }

    CoreBehaviour behaviour;
    // Every part is taken at once.
    bool hurries = false;
    // Called for each part that a core takes.
    std::function<void(unsigned core, uint32_t first, uint32_t count)> on_part;
    // What a result word holds: tells it apart from other tasks' words.
    std::function<uint32_t(const Run&)> result_of;
    Run run;

    void repair() {
        for (Worker& worker : cores_) worker.never = false;
    }

    void drive() override {
        put(start_ready_, hurries || ready_pace_.toss());
        put(failure_, random_.word());
        send_result();
        unsigned arrived = 0, failed = 0;
        for (unsigned c = 0; c < cores_.size(); c++) {
            Worker& worker = cores_[c];
            if (worker.works && !worker.never && !worker.left--) {
                worker.works = false;
                (worker.fails ? worker.failed : worker.arrived) = true;
                worker.counts = true;
            }
            arrived |= unsigned(worker.arrived) << c;
            failed |= unsigned(worker.failed) << c;
        }
        if (random_.chance(behaviour.noise)) {
            (random_.chance(0.5) ? arrived : failed) ^= 1u << random_.below(CORES_PER_UNIT);
        }
        put(arrived_, arrived);
        put(failed_, failed);
        note_arrivals();
    }

    void see() override {
        if (get(barrier_open_) || get(cancel_)) {
            for (Worker& worker : cores_) worker.arrived = worker.failed = false;
        }
        if (get(cancel_)) {
            for (Worker& worker : cores_) worker.works = false;
        }
        if (get(start_valid_) && get(start_ready_)) take();
    }

    void restart() override {
        for (Worker& worker : cores_) worker = Worker();
        run = Run();
        fresh_ = true;
    }

  private:
    struct Worker {
        bool works = false, fails = false, never = false;
        bool arrived = false, failed = false, counts = false;
        uint32_t left = 0;
    };

    void take() {
        auto task = static_cast<unsigned>(get(start_, core_start::task));
        auto core = static_cast<unsigned>(get(start_, core_start::core));
        core_.demand(core < cores_.size(), "a part for a core that is not there");
        uint64_t code = get(code_), arguments = get(arguments_);
        if (fresh_ || task != run.task) {
            run = Run();
            run.task = task;
            run.code = code;
            run.arguments = arguments;
            fresh_ = false;
        }
        core_.demand(code == run.code && arguments == run.arguments, "a task changes its code");
        core_.demand(!(run.parts >> core & 1), "a core gets two parts of a task");
        run.parts |= 1u << core;
        Worker& worker = cores_[core];
        worker = Worker();
        worker.works = true;
        worker.fails = random_.chance(behaviour.fail);
        worker.never = random_.chance(behaviour.never);
        bool late = random_.chance(behaviour.late);
        worker.left = late ? random_.below(6 * CORE_TIMEOUT) : random_.below(behaviour.longest + 1);
        if (on_part) {
            on_part(core, static_cast<uint32_t>(get(start_, core_start::first)),
                    static_cast<uint32_t>(get(start_, core_start::count)));
        }
    }

    // Send a word while some core works: before it has arrived.
    void send_result() {
        bool works = false;
        for (Worker& worker : cores_) works |= worker.works && !worker.never;
        bool sends = works && random_.chance(behaviour.results);
        put(result_valid_, sends);
        put(result_, random_.bits());
        if (!sends) return;
        unsigned word = random_.below(8);
        uint32_t data = result_of ? result_of(run) : random_.word();
        put(result_, core_result::word, word);
        put(result_, core_result::data, data);
        run.results[word] = data;
    }

    // Note who arrives in this cycle; the lowest of the first that fail gives its code.
    void note_arrivals() {
        for (unsigned c = 0; c < cores_.size(); c++) {
            Worker& worker = cores_[c];
            if (!worker.counts) continue;
            worker.counts = false;
            (worker.failed ? run.failed : run.good) |= 1u << c;
            if (worker.failed && !run.some_failed) {
                run.some_failed = true;
                run.first_failed = c;
                run.failure = static_cast<unsigned>(get(failure_));
            }
        }
    }

    Core& core_;
    Random& random_;
    Pace ready_pace_;
    std::vector<Worker> cores_;
    bool fresh_ = true;
    Pin start_valid_, start_ready_, start_, code_, arguments_, arrived_, failed_, failure_;
    Pin result_valid_, result_, barrier_open_, cancel_;
};

#endif
