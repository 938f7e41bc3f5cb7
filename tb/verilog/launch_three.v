// Launches one grid of 3 blocks on `tiny`, whose two SMs take every offer and report it a cycle
// later. Prints what is offered and the launch's end. Where a field stands in a payload is said at
// the head of each file that `make verilog` writes. To run it, from the repository's root:
//
//   make verilog ARGS="block_dispatcher --config tiny"
//   dut=build/verilog/tiny/block_dispatcher.v
//   iverilog -g2012 -s bench -o build/bench.vvp tb/verilog/launch_three.v $dut
//   vvp build/bench.vvp
//
// The DUT is warploom_block_dispatcher, or warploom_launch_path if LAUNCH_PATH is defined.
// Inputs get their first values in an `initial` block, or in their declarations if DECLARED is
// defined.
// `$finish(0)` prints nothing: of plain `$finish` some simulators print time and place.
`timescale 1ns / 1ps

`ifdef LAUNCH_PATH
  `define BITS 389
  // 3 x 1 x 1 blocks of 8 x 1 x 1 threads.
  `define LAUNCH 389'd3 << 208 | 389'd1 << 239 | 389'd1 << 255 | 389'd8 << 271 | 389'd1 << 282 \
    | 389'd1 << 293
`else
  `define BITS 69
  // Stream 0; one warp a block; 3 x 1 x 1 blocks.
  `define LAUNCH 69'd1 << 6 | 69'd3 << 27 | 69'd1 << 43 | 69'd1 << 51
`endif

module bench;
`ifdef DECLARED
  reg clk = 0, rst = 0, valid = 1;
  reg [1:0] enable = 3;
  reg [`BITS-1:0] launch = `LAUNCH;
`else
  reg clk, rst, valid;
  reg [1:0] enable;
  reg [`BITS-1:0] launch;
  initial begin
    clk = 0;
    rst = 0;
    valid = 1;
    enable = 3;
    launch = `LAUNCH;
  end
`endif
  wire ready;
  wire [1:0] offer;
  wire [83:0] block;
  reg [1:0] reported = 0;
  reg [3:0] report = 0;

`ifdef LAUNCH_PATH
  wire [72:0] answer;
  wire [36:0] record;
  wire [3:0] room;
  wire sends = valid & room[0];
  warploom_launch_path dut (
    .record(record), .pop(1'd0), .room(room), .tables(4'd0), .launch_timeout(32'd0),
    .clear_stream__payload(3'd0), .clear_stream__valid(1'd0), .command__payload(10'd0),
    .command__valid(1'd0), .soft_reset_active(1'd0),
    .read__payload(18'd0), .read__valid(1'd0), .data__ready(1'd1),
    .answer(answer), .abort__payload(32'd0), .abort__valid(1'd0),
    .launch__payload(launch), .launch__valid(sends), .launch__ready(ready),
`else
  wire [13:0] ended;
  wire ended_valid;
  wire sends = valid;
  warploom_block_dispatcher dut (
    .ended__payload(ended), .ended__valid(ended_valid), .ended__ready(1'd1), .stop(8'd0),
    .hold(8'd0), .clock(32'd0),
    .start__payload(launch), .start__valid(sends), .start__ready(ready),
`endif
    .clk(clk), .rst(rst), .enable(enable), .restart(1'd0), .offer(offer), .block(block),
    .report__0__payload(report), .report__0__valid(reported[0]),
    .report__1__payload(report), .report__1__valid(reported[1])
  );

  always #5 clk = ~clk;
  initial #2000 begin
    $display("no end");
    $finish(0);
  end

  integer sm;
  reg [2:0] fate = 0;
  reg [7:0] code = 0;
  reg [31:0] ticket = 0;
  always @(posedge clk) begin
    if (sends & ready) valid <= 0;
    // Offers are so far apart that each report is taken at once.
    reported <= offer;
    report <= {2'd0, block[4:3]};
    for (sm = 0; sm < 2; sm = sm + 1)
      if (offer[sm]) $display("SM %0d block %0d", sm, block[20:5]);
`ifdef LAUNCH_PATH
    if (answer[0]) $display("ticket %0d code %0d", answer[32:1], answer[40:33]);
    if (record[0] & record[4:2] == 0) ticket <= record[36:5];
    if (record[0] & record[4:2] == 1) {fate, code} <= record[15:5];
    if (record[0] & record[1]) begin
      $display("ended %0d fate %0d code %0d", ticket, fate, code);
      $finish(0);
    end
`else
    if (ended_valid) begin
      $display("ended stream %0d fate %0d code %0d", ended[2:0], ended[5:3], ended[13:6]);
      $finish(0);
    end
`endif
  end
endmodule
