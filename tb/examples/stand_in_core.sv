// A core with the ports of tiny-gpu's, for tests that need no checkout. It runs no program: it adds
// two vectors, whose length is the constant in the program's first CONST instruction. It has the two
// habits of language that a checkout's copies are rid of.
module core #(
    parameter DATA_MEM_ADDR_BITS = 8,
    parameter THREADS_PER_BLOCK = 4,
) (
    input wire clk,
    input wire reset,
    input wire start,
    output reg done,
    input wire [7:0] block_id,
    input wire [$clog2(THREADS_PER_BLOCK):0] thread_count,
    output reg program_mem_read_valid,
    output reg [7:0] program_mem_read_address,
    input wire program_mem_read_ready,
    input wire [15:0] program_mem_read_data,
    output reg [THREADS_PER_BLOCK-1:0] data_mem_read_valid,
    output reg [7:0] data_mem_read_address [THREADS_PER_BLOCK-1:0],
    input wire [THREADS_PER_BLOCK-1:0] data_mem_read_ready,
    input wire [7:0] data_mem_read_data [THREADS_PER_BLOCK-1:0],
    output reg [THREADS_PER_BLOCK-1:0] data_mem_write_valid,
    output reg [7:0] data_mem_write_address [THREADS_PER_BLOCK-1:0],
    output reg [7:0] data_mem_write_data [THREADS_PER_BLOCK-1:0],
    input wire [THREADS_PER_BLOCK-1:0] data_mem_write_ready
);
  localparam FETCH = 0, FIRST = 1, SECOND = 2, STORE = 3, END = 4;
  localparam PAUSE = 24;  // cycles before `done`, so that a launch can be aborted while it runs
  reg [2:0] state;
  reg [4:0] paused;
  reg [7:0] length;
  reg [7:0] sum [THREADS_PER_BLOCK-1:0];
  always @(posedge clk) begin
    if (reset) begin
      state <= FETCH; done <= 0; length <= 0; paused <= 0;
      program_mem_read_valid <= 0; program_mem_read_address <= 0;
      data_mem_read_valid <= 0; data_mem_write_valid <= 0;
    end else if (start) begin
      // Declared with a value, as a checkout does.
      reg waiting = 1'b0;
      for (int t = 0; t < THREADS_PER_BLOCK; t = t + 1)
        if (data_mem_read_valid[t] & !data_mem_read_ready[t]) waiting = 1'b1;
      if (state == FETCH) begin
        program_mem_read_valid <= 1;
        if (program_mem_read_valid & program_mem_read_ready) begin
          program_mem_read_address <= program_mem_read_address + 1;
          if (program_mem_read_data[15:12] == 9) begin
            length <= program_mem_read_data[7:0];
            program_mem_read_valid <= 0;
            state <= FIRST;
          end
        end
      end
      for (int t = 0; t < THREADS_PER_BLOCK; t = t + 1) begin
        if (t < thread_count && !waiting) begin
          if (state == FIRST || state == SECOND) begin
            data_mem_read_valid[t] <= !data_mem_read_valid[t];
            data_mem_read_address[t] <=
                8'(THREADS_PER_BLOCK * block_id + t) + (state == SECOND ? length : 0);
            if (data_mem_read_valid[t])
              sum[t] <= data_mem_read_data[t] + (state == SECOND ? sum[t] : 0);
          end
          if (state == STORE) begin
            data_mem_write_valid[t] <= !data_mem_write_valid[t];
            data_mem_write_address[t] <= 8'(THREADS_PER_BLOCK * block_id + t) + 2 * length;
            data_mem_write_data[t] <= sum[t];
          end
        end
      end
      if ((state == FIRST || state == SECOND) && data_mem_read_valid[0] && !waiting)
        state <= state + 1;
      if (state == STORE && data_mem_write_valid[0]) state <= END;
      if (state == END) paused <= paused + 1;
      if (paused == PAUSE) done <= 1;
    end
  end
endmodule
