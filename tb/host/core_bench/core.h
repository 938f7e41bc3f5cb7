// The core's RTL in C++: its pins, its clock, random pauses, and how a run ends.
#ifndef CORE_H
#define CORE_H

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "Vtop.h"
#include "verilated.h"

// A port, and a field of a packet: its lowest bit and its width.
struct Pin {
    void* storage;
    unsigned bits;
};
struct Field {
    unsigned low, bits;
};

// Made by core_bench.py: the ports, where each output's `valid` stands, the packets' fields, numbers
// of the configuration.
#include "core_pins.h"

inline std::map<std::string, Pin> pins_of(Vtop& top) {
#define ONE_PIN(name, member, width) {name, Pin{&top.member, width}},
    return {PINS(ONE_PIN)};
#undef ONE_PIN
}

inline bool is_input(const std::string& name) {
#define ONE_NAME(input) input,
    static const std::set<std::string> inputs = {INPUTS(ONE_NAME)};
#undef ONE_NAME
    return inputs.count(name);
}

// Where an output's `valid` stands: the output means nothing else while it is 0.
struct Valid {
    std::string port;
    Field field;
};

inline const std::map<std::string, Valid>& valids() {
#define ONE_VALID(name, port, low, bits) {name, Valid{port, Field{low, bits}}},
    static const std::map<std::string, Valid> all = {VALIDS(ONE_VALID)};
#undef ONE_VALID
    return all;
}

inline uint64_t get(const Pin& pin, Field field) {
    // Verilator keeps a port in the smallest of 1, 2, 4, 8 bytes, or in words of 4.
    uint64_t value = 0;
    const auto* bytes = static_cast<const uint8_t*>(pin.storage);
    for (unsigned bit = 0; bit < field.bits;) {
        unsigned at = field.low + bit, shift = at % 8;
        unsigned width = std::min(8 - shift, field.bits - bit);
        uint64_t piece = (bytes[at / 8] >> shift) & ((1u << width) - 1);
        value |= piece << bit;
        bit += width;
    }
    return value;
}

inline uint64_t get(const Pin& pin) { return get(pin, Field{0, pin.bits}); }

inline void put(const Pin& pin, Field field, uint64_t value) {
    auto* bytes = static_cast<uint8_t*>(pin.storage);
    for (unsigned bit = 0; bit < field.bits;) {
        unsigned at = field.low + bit, shift = at % 8;
        unsigned width = std::min(8 - shift, field.bits - bit);
        uint8_t mask = static_cast<uint8_t>(((1u << width) - 1) << shift);
        auto piece = static_cast<uint8_t>((value >> bit) << shift);
        bytes[at / 8] = static_cast<uint8_t>((bytes[at / 8] & ~mask) | (piece & mask));
        bit += width;
    }
}

inline void put(const Pin& pin, uint64_t value) { put(pin, Field{0, pin.bits}, value); }

class Random {
  public:
    explicit Random(uint64_t seed) : engine_(seed) {}
    uint64_t bits() { return engine_(); }
    uint32_t word() { return static_cast<uint32_t>(engine_()); }
    // A number from 0 to below `count`.
    uint32_t below(uint32_t count) { return static_cast<uint32_t>(engine_() % count); }
    uint32_t between(uint32_t low, uint32_t high) { return low + below(high - low + 1); }
    bool chance(double probability) {
        return static_cast<double>(engine_() >> 11) * 0x1p-53 < probability;
    }
    template <typename T>
    const T& one_of(const std::vector<T>& all) {
        return all[below(static_cast<uint32_t>(all.size()))];
    }

  private:
    std::mt19937_64 engine_;
};

// A coin whose probability is drawn anew every 20 to 200 cycles; never 0 twice in a row.
class Pace {
  public:
    explicit Pace(Random& random) : random_(random) {}
    bool toss() {
        if (!left_) {
            static const double rates[] = {0.0, 0.1, 0.5, 0.9, 1.0};
            left_ = random_.between(20, 200);
            rate_ = rates[random_.between(rate_ == 0.0 ? 1 : 0, 4)];
        }
        left_--;
        return random_.chance(rate_);
    }

  private:
    Random& random_;
    uint32_t left_ = 0;
    double rate_ = 0.0;
};

// What plays one side of the core's ports: `drive` sets inputs from the state, `see` looks at the
// cycle's values before its edge. A reset is seen by `restart`.
class Agent {
  public:
    virtual ~Agent() = default;
    virtual void drive() = 0;
    virtual void see() = 0;
    virtual void restart() {}
};

// Something that must hold does not.
class Failure : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class Core {
  public:
    Core() : top_(new Vtop), pins_(pins_of(*top_)) {
        for (auto& [name, pin] : pins_) {
            if (is_input(name)) put(pin, 0);
        }
    }
    Pin pin(const std::string& name) const {
        auto found = pins_.find(name);
        if (found == pins_.end()) fail("the core has no port " + name);
        return found->second;
    }
    const std::map<std::string, Pin>& pins() const { return pins_; }
    void add(Agent* agent) { agents_.push_back(agent); }
    // Others play from now on.
    void dismiss() { agents_.clear(); }
    // One clock cycle. It is whole for all, also if one of them finds that something does not hold.
    void cycle() {
        std::optional<Failure> failed;
        for (Agent* agent : agents_) agent->drive();
        settle();
        for (Agent* agent : agents_) {
            try {
                agent->see();
            } catch (const Failure& failure) {
                if (!failed) failed = failure;
            }
        }
        edge();
        if (failed) throw *failed;
    }
    void cycles(unsigned count) {
        while (count--) cycle();
    }
    void settle() {
        top_->clk = 0;
        top_->eval();
    }
    void edge() {
        top_->clk = 1;
        top_->eval();
        now++;
    }
    // A full reset; all agents begin afresh.
    void reset() {
        for (auto& [name, pin] : pins_) {
            if (is_input(name)) put(pin, 0);
        }
        top_->rst = 1;
        for (int k = 0; k < 4; k++) {
            settle();
            edge();
        }
        top_->rst = 0;
        for (Agent* agent : agents_) agent->restart();
    }
    [[noreturn]] void fail(const std::string& what) const {
        throw Failure("cycle " + std::to_string(now) + ": " + what);
    }
    void demand(bool holds, const std::string& what) const {
        if (!holds) fail(what);
    }

    uint64_t now = 0;

  private:
    std::unique_ptr<Vtop> top_;
    std::map<std::string, Pin> pins_;
    std::vector<Agent*> agents_;
};

// What a run found, printed as JSON at its end.
class Counts {
  public:
    uint64_t& operator[](const std::string& name) { return counts_[name]; }
    void print() const {
        const char* comma = "";
        printf("{");
        for (auto& [name, count] : counts_) {
            printf("%s\"%s\": %llu", comma, name.c_str(), static_cast<unsigned long long>(count));
            comma = ", ";
        }
        printf("}\n");
    }

  private:
    std::map<std::string, uint64_t> counts_;
};

// Values of the command line, as name=number.
class Arguments {
  public:
    Arguments(int count, char** words) {
        for (int k = 1; k < count; k++) {
            std::string word = words[k];
            size_t equals = word.find('=');
            values_[word.substr(0, equals)] = std::stoull(word.substr(equals + 1));
        }
    }
    uint64_t operator[](const std::string& name) const { return values_.at(name); }

  private:
    std::map<std::string, uint64_t> values_;
};

#endif
