"""CUDA programs of random loops: what a mark says of them is checked by running them.

Every function holds one loop with a few random statements: launches, memsets, allocations, changes
of variables, swaps, branches. Whether it can be deferred is not known; that its mark is right is.
"""

import random
from collections.abc import Callable

HEAD = """#include "kernels.cuh"
struct Box { int x, y; float *p; int z; };
__global__ void box(Box b, int i) { b.p[0] = i; }
static void step(int &x, float *&p, int i) { x += 2; }
static void launch(int &x, float *&p, int i) { one<<<1, 64>>>(p, x); x += i; }
static __attribute__((noinline)) void apart(int &x, float *&p, int i) {
    one<<<1, 64>>>(p + i, x);
    p += 4;
}
"""
LOOPS = (
    *5 * (("for (int i = 0; i < n; i++) {", "}"),),
    ("for (int i = 0; i < n; i += 2) {", "}"),
    ("for (int i = n; i > 0; i--) {", "}"),
    ("int i = 0; while (i < n) {", "i++; }"),
    ("int i = 0; do {", "} while (++i < n);"),
    ("for (int i = m; i <= n; i++) {", "}"),
    ("for (unsigned i = n; i-- > 0;) {", "}"),
    ("for (long i = 0; i < n; i++) {", "}"),
    ("for (int i = 0; i < 9; i++) {", "}"),
    ("for (int i = 30; i > 3; i -= 4) {", "}"),
)
LINEAR = ("i", "i", "x", "y", "2 * i + 1", "x + 3", "y - i", "z", "n", "7", "i * m", "-i", "z + m")
POINTERS = ("p", "q", "a", "b", "p + 4", "q + 8", "a + i", "p + 2 * i", "a + x")
CONDITIONS = ("i < m", "i == m", "x > 3", "i & 1", "m > 2", "y < z", "n > m", "(x & 2)", "p == a")
OPERATIONS = ("({}) + ({})", "({}) - ({})", "({}) * ({})", "({}) & ({})", "({}) ^ ({})")
CHANGES = ("({}) >> 1", "({}) / 3", "({}) % 5", "~({})", "-({})", "(int)(unsigned short)({})")


class Writer:
    """Writes one program.

    Parameters
    ----------
    seed : int
        Of all choices.
    """

    def __init__(self, seed: int):
        self._random = random.Random(seed)

    def program(self, functions: int) -> str:
        """Return a program's text; its arguments are the functions' ``n`` and ``m``."""
        bodies = [self._function(number) for number in range(functions)]
        calls = "".join(f"    s += f{number}(a, b, n, m);\n" for number in range(functions))
        return (
            HEAD
            + "\n".join(bodies)
            + "\nint main(int argc, char **argv) {\n"
            + "    int n = atoi(argv[1]), m = atoi(argv[2]);\n    long s = 0;\n"
            + "    float *a = (float *)0x70000000, *b = (float *)0x71000000;\n"
            + f"{calls}    return s == 1234567;\n}}\n"
        )

    def _function(self, number: int) -> str:
        pick = self._random.choice
        begin, end = pick(LOOPS)
        statements = [self._statement() for _ in range(self._random.randrange(1, 5))]
        body = "\n        ".join([*statements, self._call()])
        x, y = pick(("0", "1", "n", "m", "5")), pick(("0", "3", "n", "m - 1"))
        z, result = pick(("2", "n + m", "-4")), pick(("0", "x", "y", "x + z"))
        return (
            f"LOOP int f{number}(float *a, float *b, int n, int m) {{\n"
            f"    int x = {x}, y = {y}, z = {z};\n    float *p = a, *q = b;\n"
            f"    {begin}\n        {body}\n    {end}\n    return {result};\n}}"
        )

    def _statement(self) -> str:
        kinds: tuple[Callable[[], str], ...] = (
            *4 * (self._call,),
            *3 * (self._change,),
            *2 * (self._swap,),
            self._branch,
            self._helper,
            self._allocation,
        )
        return self._random.choice(kinds)()

    def _call(self) -> str:
        e, p = self._number, self._pointer
        return self._random.choice(
            (
                lambda: f"one<<<4, 128>>>({p()}, {e()});",
                lambda: f"one<<<(n & 7) + i * i + 1, 128>>>({p()}, {e()});",
                lambda: f"two<<<4, 64>>>({p()}, {p()}, {e()});",
                lambda: f"eight<<<2, 32>>>({p()}, {p()}, {', '.join(e() for _ in range(6))});",
                lambda: f"cudaMemsetAsync({p()}, {e()}, 4, 0);",
                lambda: f"wide<<<4, 128>>>({p()}, {e()}, (unsigned long)({e()}));",
                lambda: f"box<<<3, 64>>>(Box{{1, (int)({e()}), {p()}, (int)({e()})}}, {e()});",
            )
        )()

    def _change(self) -> str:
        name = self._random.choice("xyz")
        amount = self._random.choice(("1", "2", "-3", "m", "7", self._number()))
        condition = self._random.choice(CONDITIONS)
        return self._random.choice(
            (
                f"{name} += {amount};",
                f"{name} = {self._number()};",
                f"{self._random.choice('pq')} += {self._random.choice(('4', '1', 'm', '-2'))};",
                f"if ({condition}) {name} += {amount};",
                f"for (int j = 0; j < m; j++) {name} += j;",
            )
        )

    def _swap(self) -> str:
        return self._random.choice(
            ("std::swap(p, q);", "std::swap(p, q);", "std::swap(x, y);", "p = q;", "q = a;")
        )

    def _branch(self) -> str:
        condition = self._random.choice(CONDITIONS)
        return f"if ({condition}) {self._random.choice((self._call(), 'break;'))}"

    def _helper(self) -> str:
        name = self._random.choice(("step", "launch", "apart"))
        return f"{name}({self._random.choice('xyz')}, {self._random.choice('pq')}, i);"

    def _allocation(self) -> str:
        return (
            f"{{ float *t; cudaMalloc(&t, 64 + 4 * ({self._number()}));"
            f" one<<<1, 32>>>(t + 3, {self._number()}); cudaFree(t); }}"
        )

    def _number(self) -> str:
        if self._random.random() < 0.7:
            return self._random.choice(LINEAR)
        a, b = self._random.choice(LINEAR), self._random.choice(LINEAR)
        return f"({self._random.choice((*OPERATIONS, *CHANGES)).format(a, b)})"

    def _pointer(self) -> str:
        return self._random.choice(POINTERS)
