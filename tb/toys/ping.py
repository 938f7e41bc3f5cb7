"""The toy opcode: PING completes at once and says whether a core of the unit is missing."""

from tb.toys.overlay import Edit

_SPEC = "spec/warploom_spec/host_commands.py"
_RTL = "hdl/warploom/host/_verdict.py"
_MODEL = "golden/warploom_golden/host/mailbox.py"
#: CONTRIBUTING, 'Add an opcode', step by step.
EDITS = (
    Edit(_SPEC, "    DISCONNECT = 8\n", "    DISCONNECT = 8\n    PING = 9\n"),
    Edit(
        _SPEC,
        '    Opcode.DISCONNECT: Command(call="disconnect", for_unit=True),\n',
        """\
    Opcode.DISCONNECT: Command(call="disconnect", for_unit=True),
    Opcode.PING: Command(call="ping", for_unit=True),
""",
    ),
    Edit(
        _RTL,
        "                case Opcode.LAUNCH:\n                    return ((too_large",
        """\
                case Opcode.PING:
                    missing = (unit_selected & self.missing).any()
                    return ((is_opcode[opcode] & missing, HostError.CORE_MISSING),)
                case Opcode.LAUNCH:
                    return ((too_large""",
    ),
    Edit(
        _MODEL,
        "            case Opcode.RUN:\n                return self._judge_task(number, missing)\n",
        """\
            case Opcode.RUN:
                return self._judge_task(number, missing)
            case Opcode.PING:
                is_missing = missing >> number & 1
                return Verdict(HostError.CORE_MISSING if is_missing else HostError.OK)
""",
    ),
    Edit(
        "host/c/warploom.h",
        "int warploom_submit_disconnect(const warploom_core *core, uint32_t section);\n",
        """\
int warploom_submit_disconnect(const warploom_core *core, uint32_t section);
int warploom_submit_ping(const warploom_core *core, uint32_t section);
""",
    ),
    Edit(
        "host/c/warploom.c",
        "int warploom_poll(",
        """\
int warploom_submit_ping(const warploom_core *core, uint32_t section)
{
    uint32_t word = PUT(WARPLOOM_OPCODE_PING, WARPLOOM_ABORT_OPCODE);
    return warploom_submit_words(core, section, &word, 1);
}

int warploom_poll(""",
    ),
    Edit(
        "host/python/warploom_host/driver.py",
        "    def submit_disconnect(",
        '''\
    def submit_ping(self, section: int) -> None:
        """Ask whether a core of the section's unit is missing."""
        fields = {"opcode": int(Opcode.PING), "flags": 0, "parameter": 0}
        self._submit(section, command_words(self._config), fields)

    def submit_disconnect(''',
    ),
)
