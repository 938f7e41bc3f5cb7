// Sends the launches of a file, one in each cycle in which the core is ready, the priority of the
// next one has room, and places for records are left, from the second cycle after reset on. None is
// sent before its arrival, nor before it knows the records that it is held for. They are read one
// by one: any number fits.
// A line, hexadecimal: arrival; number of holds; of each hold a stream and a count; the launch.
module launch_source #(
    parameter BITS = 512,
    // Bits of `room`, and where a launch has its priority.
    parameter ROOMS = 4,
    parameter PRIORITY = 0,
    parameter PRIORITY_BITS = 2,
    // Where a record has its stream.
    parameter STREAM_WORD = 1,
    parameter STREAM = 18,
    parameter STREAM_BITS = 6,
    // From a record's last word to the first cycle in which it is known.
    parameter KNOWN = 4
) (
    input clk,
    input rst,
    input [63:0] cycle,
    input [ROOMS-1:0] room,
    input records_left,
    // A word of a record.
    input word_valid,
    input word_last,
    input [2:0] word_word,
    input [31:0] word_data,
    output valid,
    input ready,
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
  // Records that are known, by their stream; the next launch's holds.
  reg [31:0] known[0:63];
  reg [31:0] hold_stream[0:63];
  reg [31:0] hold_count[0:63];
  // The stream of the record whose words come; of those that are not known yet, the newest first,
  // a bit that there is one, and its stream.
  reg [STREAM_BITS-1:0] stream;
  reg [STREAM_BITS:0] coming[1:KNOWN-1];
  reg still;
  integer file, next, found, holds, k;

  wire [PRIORITY_BITS-1:0] priority_bits = payload[PRIORITY +: PRIORITY_BITS];
  assign early = armed & arrival > cycle;
  assign valid = armed & room[priority_bits] & records_left & !early & !held;

  initial begin
    armed = 0;
    held = 0;
    payload = 0;
    arrival = 0;
    next = 0;
    holds = 0;
    stream = 0;
    for (k = 0; k < 64; k = k + 1) known[k] = 0;
    for (k = 1; k < KNOWN; k = k + 1) coming[k] = 0;
    if (!$value$plusargs("launches=%d", launches)) launches = 0;
    file = 0;
    if ($value$plusargs("launch_file=%s", name)) file = $fopen(name, "r");
  end

  always @(posedge clk)
    if (rst) begin
      armed <= 0;
      next = 0;
    end else begin
      k = coming[KNOWN-1][STREAM_BITS-1:0];
      if (coming[KNOWN-1][STREAM_BITS]) known[k] = known[k] + 1;
      for (k = KNOWN - 1; k > 1; k = k - 1) coming[k] = coming[k-1];
      if (word_valid && word_word == STREAM_WORD) stream = word_data[STREAM +: STREAM_BITS];
      coming[1] = {word_valid & word_last, stream};
      if (!armed || (valid && ready)) begin
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
        if (known[hold_stream[k][5:0]] < hold_count[k]) still = 1;
      held <= still;
    end
endmodule
