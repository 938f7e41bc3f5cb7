"""The bench of a core that the C driver drives: AXI4-Lite's pins are ports of the bench."""

from collections.abc import Iterator

from warploom_spec import Config, host_packets


def driver_ports() -> Iterator[str]:
    """Give the bench's ports beside the clock, for the program in which the driver runs."""
    yield "output in_reset"
    yield "output [63:0] now"
    # The driver has done all that it was given, and so many blocks were reported.
    yield "input host_done"
    for channel in ("aw", "w", "ar"):
        yield f"input {channel}valid"
        yield f"output {channel}ready"
    yield "input [15:0] awaddr"
    yield "input [31:0] wdata"
    yield "input [15:0] araddr"
    yield "output bvalid"
    yield "output [1:0] bresp"
    yield "output rvalid"
    yield "output [31:0] rdata"
    yield "output [1:0] rresp"
    yield "output host_irq"


def driver_host(config: Config) -> Iterator[str]:
    """Yield the lines of the bench that connect the ports; answers are taken at once."""
    answer = host_packets.bus_read_answer(config).offsets
    yield "  assign in_reset = rst, now = cycle, host_irq = irq;"
    for channel in ("aw", "w", "ar"):
        yield f"  assign axil__{channel}__valid = {channel}valid;"
        yield f"  assign {channel}ready = axil__{channel}__ready;"
    # All strobes are set.
    yield "  assign axil__aw__payload = {3'd0, awaddr}, axil__ar__payload = {3'd0, araddr};"
    yield "  assign axil__w__payload = {4'hf, wdata};"
    yield "  assign axil__b__ready = 1, axil__r__ready = 1;"
    yield "  assign bvalid = axil__b__valid, bresp = axil__b__payload;"
    yield "  assign rvalid = axil__r__valid;"
    yield f"  assign rdata = axil__r__payload[{answer['data']} +: 32];"
    yield f"  assign rresp = axil__r__payload[{answer['resp']} +: 2];"
    yield "  wire launch_early = 0;"
    yield "  reg [63:0] blocks;"
    yield '  initial if (!$value$plusargs("blocks=%d", blocks)) blocks = 0;'
