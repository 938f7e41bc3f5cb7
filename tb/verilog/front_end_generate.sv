// Drives warploom_front_end_packed over AXI4-Lite: one launch of 5 blocks through section 0, SMs of
// a generate loop, and the final record of the launch. A higher SM needs less time for a block.
// Packets are structs of warploom_pkg. To run it, from the repository's root:
//
//   make verilog ARGS="front_end --config tiny"
//   cd build/verilog/tiny
//   iverilog -g2012 -s bench -o bench.vvp warploom_pkg.sv front_end.v front_end_packed.v \
//     ../../../tb/verilog/front_end_generate.sv
//   vvp bench.vvp
`timescale 1ns / 1ps

module bench;
  import warploom_pkg::*;
  localparam REPORT = $bits(block_report_t);

  logic clk = 0, rst = 1;
  initial forever #5 clk = ~clk;

  // The bus: one access at a time.
  logic [15:0] address = 0;
  logic [31:0] data = 0, read_data;
  logic awvalid = 0, wvalid = 0, arvalid = 0;
  logic awready, wready, arready, bvalid, rvalid;
  logic [1:0] bresp, rresp;

  task automatic write(input logic [15:0] to, input logic [31:0] value);
    @(negedge clk) address = to; data = value; awvalid = 1; wvalid = 1;
    // The queues of a bus that waits for each answer are never full.
    @(negedge clk) awvalid = 0; wvalid = 0;
    while (!bvalid) @(negedge clk);
    if (bresp != 0) $display("refused: write of %h", to);
  endtask

  task automatic read(input logic [15:0] from);
    @(negedge clk) address = from; arvalid = 1;
    @(negedge clk) arvalid = 0;
    while (!rvalid) @(negedge clk);
    if (rresp != 0) $display("refused: read of %h", from);
    read_data = rdata;
  endtask

  logic [31:0] rdata;
  resident_block_t block;
  launch_words_t words;
  logic [SMS*REPORT-1:0] report;
  logic [SMS-1:0] offer, report_valid, report_ready;
  logic irq;

  // SM n runs the blocks that it holds together, for 30 - 4 n cycles. Then it reports them in the
  // order of their offers, as fast as it can: a report waits for the one before it.
  genvar n;
  generate
    for (n = 0; n < SMS; n = n + 1) begin : sm
      block_report_t ended;
      logic [SLOT_BITS-1:0] slots [0:BLOCK_SLOTS-1];
      logic [SLOT_BITS-1:0] head = 0, tail = 0;
      logic [4:0] left = 0;
      logic [SLOT_BITS:0] held = 0;
      assign ended = {STATUS_OK, slots[head]};
      assign report[n*REPORT +: REPORT] = ended;
      assign report_valid[n] = held != 0 && left == 0;
      always @(posedge clk) begin
        if (left != 0) left <= left - 1;
        if (report_valid[n] && report_ready[n]) head <= head + 1;
        if (offer[n]) begin
          slots[tail] <= block.slot;
          tail <= tail + 1;
          if (held == 0) left <= 30 - 4 * n;
          $display("SM %0d: block %0d of ticket %0d, %0d warps", n, block.bx, words.ticket,
            words.warps);
        end
        held <= held + offer[n] - (report_valid[n] && report_ready[n]);
        if (rst) held <= 0;
      end
    end
  endgenerate

  warploom_front_end_packed core (
    .clk(clk), .rst(rst), .irq(irq),
    .s_axil_awaddr(address), .s_axil_awprot(3'd0), .s_axil_awvalid(awvalid),
    .s_axil_awready(awready), .s_axil_wdata(data), .s_axil_wstrb(4'hf), .s_axil_wvalid(wvalid),
    .s_axil_wready(wready), .s_axil_bresp(bresp), .s_axil_bvalid(bvalid), .s_axil_bready(1'b1),
    .s_axil_araddr(address), .s_axil_arprot(3'd0), .s_axil_arvalid(arvalid),
    .s_axil_arready(arready), .s_axil_rdata(rdata), .s_axil_rresp(rresp), .s_axil_rvalid(rvalid),
    .s_axil_rready(1'b1),
    .block(block), .words(words), .offer(offer), .kill(),
    .report(report), .report_valid(report_valid), .report_ready(report_ready),
    .read({SMS * $bits(index_read_t){1'b0}}), .read_valid({SMS{1'b0}}),
    .cores_start_ready({UNITS{1'b1}}), .cores_arrived({UNITS * CORES_PER_UNIT{1'b0}}),
    .cores_failed({UNITS * CORES_PER_UNIT{1'b0}}), .cores_failure({UNITS * 16{1'b0}}),
    .cores_result({UNITS * $bits(core_result_t){1'b0}}), .cores_result_valid({UNITS{1'b0}})
  );

  launch_command_t command;
  record_t record;
  integer k;
  initial begin
    command = '0;
    command.opcode = OPCODE_LAUNCH;
    {command.gx, command.gy, command.gz} = {32'd5, 16'd1, 16'd1};
    {command.dx, command.dy, command.dz} = {11'd11, 11'd1, 7'd1};
    repeat (4) @(negedge clk);
    rst = 0;
    read(ADDRESS_CONFIG_CRC);
    if (read_data != CONFIG_CRC_VALUE) $display("another configuration");
    for (k = 0; k < 12; k = k + 1)
      write(SECTION_BASE + SECTION_T0 + 4 * k[15:0], command[32*k +: 32]);
    write(SECTION_BASE + SECTION_DOORBELL, 1);
    do read(SECTION_BASE + SECTION_DOORBELL); while (read_data != 0);
    read(SECTION_BASE + SECTION_ERROR);
    $display("error %0d", read_data[7:0]);
    do read(ADDRESS_RECORDS); while (read_data == 0);
    for (k = 0; k < 2; k = k + 1) begin
      read(ADDRESS_RECORD0 + 4 * k[15:0]);
      record[32*k +: 32] = read_data;
    end
    $display("ticket %0d ended, fate %0d", record.ticket, record.fate);
    $finish(0);
  end
  initial #50000 $display("too long");
  initial #50001 $finish(0);
endmodule
