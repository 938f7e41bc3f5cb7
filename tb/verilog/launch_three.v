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
  `define BITS 388
  // 3 x 1 x 1 blocks of 8 x 1 x 1 threads.
  `define LAUNCH 388'd3 << 208 | 388'd1 << 239 | 388'd1 << 255 | 388'd8 << 271 | 388'd1 << 282 \
    | 388'd1 << 293
`else
  `define BITS 402
  // Ticket 1; 3 x 1 x 1 blocks from (0, 0, 0); of 8 x 1 x 1 threads, which are one warp.
  `define LAUNCH 402'd1 | 402'd3 << 274 | 402'd1 << 290 | 402'd1 << 298 | 402'd8 << 306 \
    | 402'd1 << 317 | 402'd1 << 328 | 402'd1 << 344
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
  wire ready, ended_valid;
  wire [1:0] offered;
  wire [61:0] offer[0:1];
  reg [1:0] reported = 0;
  reg [3:0] report[0:1];

`ifdef LAUNCH_PATH
  wire [72:0] answer;
  wire [249:0] record;
  wire [31:0] ticket = record[32:1];
  wire [2:0] fate = record[43:41];
  wire [7:0] code = record[40:33];
  assign ended_valid = record[0];
  warploom_launch_path dut (
    .record(record), .pop(1'd0),
    .tables(4'd0), .clear_stream(5'd0), .launch_timeout(32'd0),
    .soft_reset_active(1'd0), .restart(1'd0),
    .read__payload(18'd0), .read__valid(1'd0), .data__ready(1'd1),
    .answer(answer), .command(19'd0), .abort__payload(32'd0), .abort__valid(1'd0),
`else
  wire [113:0] ended;
  wire [31:0] ticket = ended[31:0];
  wire [2:0] fate = ended[34:32];
  wire [7:0] code = ended[42:35];
  warploom_block_dispatcher dut (
    .ended__payload(ended), .ended__valid(ended_valid), .ended__ready(1'd1), .stop(4'd0),
`endif
    .clk(clk), .rst(rst), .enable(enable),
    .launch__payload(launch), .launch__valid(valid), .launch__ready(ready),
    .offer__0__payload(offer[0]), .offer__0__valid(offered[0]), .offer__0__ready(1'd1),
    .offer__1__payload(offer[1]), .offer__1__valid(offered[1]), .offer__1__ready(1'd1),
    .report__0__payload(report[0]), .report__0__valid(reported[0]),
    .report__1__payload(report[1]), .report__1__valid(reported[1])
  );

  always #5 clk = ~clk;
  initial #2000 begin
    $display("no end");
    $finish(0);
  end

  integer sm;
  always @(posedge clk) begin
    if (ready) valid <= 0;
`ifdef LAUNCH_PATH
    if (answer[0]) $display("ticket %0d code %0d", answer[32:1], answer[40:33]);
`endif
    reported <= offered;
    for (sm = 0; sm < 2; sm = sm + 1) begin
      report[sm] <= {2'd0, offer[sm][2:1]};
      if (offered[sm]) $display("SM %0d block %0d", sm, offer[sm][18:3]);
    end
    if (ended_valid) begin
      $display("ended %0d fate %0d code %0d", ticket, fate, code);
      $finish(0);
    end
  end
endmodule
