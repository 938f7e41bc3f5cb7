"""A program's functions with their graphs, made when they are first asked for."""

from warploom_loops import call_table, flow_graph
from warploom_loops.elf_image import ElfImage, Function
from warploom_loops.flow_graph import FlowGraph
from warploom_loops.instructions import Decoder, Instruction


class Program:
    """A program to analyse.

    Parameters
    ----------
    image : ElfImage
        The program's file.
    """

    def __init__(self, image: ElfImage):
        self.image = image
        self._decoder = Decoder(image)
        self._graphs: dict[int, FlowGraph] = {}
        self._cuda: dict[int, bool] = {}
        names = {function.name for function in image.functions.values()}
        self._static_runtime = "cudaMalloc" in names or "cudaLaunchKernel" in names

    def graph(self, address: int) -> FlowGraph:
        """Return the graph of the function at an address."""
        if address not in self._graphs:
            self._graphs[address] = flow_graph.build(
                address, self._decoder, self.call_name, self._begins_function
            )
        return self._graphs[address]

    def instruction(self, address: int) -> Instruction | None:
        """Return the instruction at an address, None if there is none."""
        return self._decoder.at(address)

    def call_name(self, instruction: Instruction) -> str | None:
        """Return the name of what a call or jump reaches, None through an unknown pointer."""
        target = self.call_target(instruction)
        return self.image.call_name(target) if target is not None else None

    def call_target(self, instruction: Instruction) -> int | None:
        """Return where a call or jump leads; a slot's address for one through a known slot."""
        if instruction.target is not None:
            return instruction.target
        (operand,) = instruction.operands
        if operand.kind == "memory" and operand.register == "rip" and not operand.index:
            return operand.number if operand.number in self.image.imports else None
        return None

    def callee(self, instruction: Instruction) -> Function | None:
        """Return the program's own function that a call reaches; None: do not follow the call."""
        target = self.call_target(instruction)
        if target is None or target in self.image.imports:
            return None
        function = self.image.functions.get(target)
        return None if function is None or self.is_runtime(function.name) else function

    def is_runtime(self, name: str) -> bool:
        """Return whether a function is CUDA's, linked into the program."""
        return self._static_runtime and call_table.is_runtime_entry(name)

    def makes_cuda_calls(self, instruction: Instruction) -> bool:
        """Return whether an instruction calls CUDA, itself or through functions it calls."""
        if instruction.name not in ("call", "jmp"):
            return False
        callee = self.callee(instruction)
        if callee is not None:
            return self._function_makes_cuda_calls(callee.address)
        name = self.call_name(instruction)
        return name is not None and call_table.is_cuda(name)

    def _function_makes_cuda_calls(self, address: int) -> bool:
        if address not in self._cuda:
            self._cuda[address] = False  # a recursive call adds nothing
            blocks = self.graph(address).blocks.values()
            self._cuda[address] = any(
                self.makes_cuda_calls(i) for block in blocks for i in block.instructions
            )
        return self._cuda[address]

    def _begins_function(self, address: int) -> bool:
        function = self.image.functions.get(address)
        if function is not None:
            return ".cold" not in function.name
        return address in self.image.imports
