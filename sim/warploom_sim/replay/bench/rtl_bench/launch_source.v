// Sends the launches of a file, one in each cycle in which the priority of the next one has room,
// from the second cycle after reset on. None is sent before its arrival, nor before the records that
// it is held for were taken. They are read one by one: any number fits.
// A line, hexadecimal: arrival; number of holds; of each hold a stream and a count; the launch.
module launch_source #(
    parameter BITS = 512,
    // Bits of `room`, and where a launch has its priority.
    parameter ROOMS = 4,
    parameter PRIORITY = 0,
    parameter PRIORITY_BITS = 2
) (
    input clk,
    input rst,
    input [63:0] cycle,
    input [ROOMS-1:0] room,
    // The first two words of the oldest record; 0 if there is none. It is taken at once.
    input [63:0] record,
    output valid,
    // The next launch has not arrived.
    output early,
    output reg [BITS-1:0] payload,
    output reg [31:0] launches
);
  reg [32767:0] name;
  reg [BITS-1:0] line;
  reg [63:0] line_arrival, arrival;
  // A launch stands in `payload`; it is held.
  reg armed, held;
  // Records of launches that were taken, by their stream; the next launch's holds.
  reg [31:0] taken[0:63];
  reg [31:0] hold_stream[0:63];
  reg [31:0] hold_count[0:63];
  reg still;
  integer file, next, found, holds, k;

  wire [PRIORITY_BITS-1:0] priority_bits = payload[PRIORITY +: PRIORITY_BITS];
  assign early = armed & arrival > cycle;
  assign valid = armed & room[priority_bits] & !early & !held;

  initial begin
    armed = 0;
    held = 0;
    payload = 0;
    arrival = 0;
    next = 0;
    holds = 0;
    for (k = 0; k < 64; k = k + 1) taken[k] = 0;
    if (!$value$plusargs("launches=%d", launches)) launches = 0;
    file = 0;
    if ($value$plusargs("launch_file=%s", name)) file = $fopen(name, "r");
  end

  always @(posedge clk)
    if (rst) begin
      armed <= 0;
      next = 0;
    end else begin
      if (record[31:0] != 0) taken[record[55:50]] = taken[record[55:50]] + 1;
      if (!armed || valid) begin
        // A file that ends early leaves launches unanswered: the run is given up.
        found = next < launches ? $fscanf(file, "%h %h", line_arrival, holds) : 0;
        if (found == 2) begin
          for (k = 0; k < holds; k = k + 1)
            found = $fscanf(file, "%h %h", hold_stream[k], hold_count[k]);
          found = $fscanf(file, "%h", line);
          payload <= line;
          arrival <= line_arrival;
        end
        armed <= found == 1;
        next = next + 1;
      end
      still = 0;
      for (k = 0; k < holds; k = k + 1)
        if (taken[hold_stream[k][5:0]] < hold_count[k]) still = 1;
      held <= still;
    end
endmodule
