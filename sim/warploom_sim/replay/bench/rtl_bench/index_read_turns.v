// LaunchPath has one port for index reads: the SMs take turns. A request stands until it is taken;
// then the next SM's is first. The answers come in the order of the requests, and are taken at once.
// DEPTH requests at most have no answer yet.
module index_read_turns #(
    parameter SMS = 2,
    parameter BITS = 16,
    parameter DEPTH = 4
) (
    input clk,
    input rst,
    input [SMS-1:0] valid,
    output [SMS-1:0] ready,
    input [SMS*BITS-1:0] requests,
    output read_valid,
    input read_ready,
    output [BITS-1:0] read,
    input answered,
    output [SMS-1:0] data_valid
);
  // The SM whose request is shown, and those that get the next answers, 32 bits each, the next one
  // lowest. One vector: Icarus 11 does not read an array's word in the expression below.
  integer shown, waiting, k;
  reg [32*DEPTH-1:0] asked;
  assign read_valid = valid[shown];
  assign read = requests[shown*BITS +: BITS];
  assign ready = read_ready ? valid & ({{SMS{1'b0}}, 1'b1} << shown) : 0;
  assign data_valid = answered ? {{SMS{1'b0}}, 1'b1} << asked[31:0] : 0;
  reg found;

  initial begin
    shown = 0;
    waiting = 0;
    asked = 0;
  end

  always @(posedge clk)
    if (!rst) begin
      if (answered) asked <= asked >> 32;
      if (read_valid && read_ready) asked[(waiting-answered)*32 +: 32] <= shown;
      waiting <= waiting + (read_valid && read_ready) - answered;
      if (!read_valid || read_ready) begin
        found = 0;
        // Of the others: a reader's next request stands in the next cycle only.
        for (k = 1; k < SMS; k = k + 1)
          if (!found && valid[(shown + k) % SMS]) begin
            found = 1;
            shown <= (shown + k) % SMS;
          end
      end
    end
endmodule
