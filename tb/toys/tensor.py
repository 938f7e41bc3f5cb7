"""The toy resource: tensor cores, of which each launch says how many one block takes."""

from tb.toys.overlay import Edit

_SPEC = "spec/warploom_spec"
#: CONTRIBUTING, 'Add a resource of an SM', step by step.
EDITS = (
    Edit(
        f"{_SPEC}/resources.py",
        '        field=LaunchField(name="barriers", bits=6, word=10, low=24),\n    ),\n',
        """\
        field=LaunchField(name="barriers", bits=6, word=10, low=24),
    ),
    Resource(
        name="tensor",
        label="tensor cores",
        unit="tensor cores",
        size="tensor_cores",
        code="BLOCK_TENSOR",
        field=LaunchField(name="tensor", bits=4, word=9, low=20),
    ),
""",
    ),
    Edit(
        f"{_SPEC}/config.py",
        '    barriers: int = _int(32, 1, 63, "Barriers of one SM.")\n',
        '    barriers: int = _int(32, 1, 63, "Barriers of one SM.")\n'
        '    tensor_cores: int = _int(4, 1, 15, "Tensor cores of one SM.")\n',
    ),
    Edit(
        f"{_SPEC}/errors.py",
        "    QUEUE_FULL = 32\n",
        "    BLOCK_TENSOR = 28\n    QUEUE_FULL = 32\n",
    ),
    Edit(
        f"{_SPEC}/errors.py",
        "    ErrorCode.QUEUE_FULL: (\n",
        """\
    ErrorCode.BLOCK_TENSOR: (
        "one block needs more tensor cores than an SM has",
        "use fewer tensor cores a block",
    ),
    ErrorCode.QUEUE_FULL: (
""",
    ),
    Edit(
        f"{_SPEC}/launch.py",
        "    barriers: int = 1\n",
        "    barriers: int = 1\n    tensor: int = 0\n",
    ),
    Edit(
        "host/c/warploom.h",
        "    uint32_t warp_registers, shared, barriers;\n",
        "    uint32_t warp_registers, shared, barriers, tensor;\n",
    ),
    Edit(
        "host/c/warploom.c",
        "             EXCESS(launch->barriers, WARPLOOM_LAUNCH_BARRIERS));\n",
        """\
             EXCESS(launch->barriers, WARPLOOM_LAUNCH_BARRIERS) |
             EXCESS(launch->tensor, WARPLOOM_LAUNCH_TENSOR));
""",
    ),
    Edit(
        "host/c/warploom.c",
        "                      PUT(launch->table, WARPLOOM_LAUNCH_TABLE));\n",
        """\
                      PUT(launch->table, WARPLOOM_LAUNCH_TABLE) |
                      PUT(launch->tensor, WARPLOOM_LAUNCH_TENSOR));
""",
    ),
    Edit(
        "sim/warploom_sim/views/html_report/charts.py",
        '    "reclaim": (',
        '    "tensor": ("#6d8f3c", "++++"),\n    "reclaim": (',
    ),
)
