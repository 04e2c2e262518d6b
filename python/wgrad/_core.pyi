"""The C++ side of the wgrad package."""

import builtins
import enum
from typing import Any

class ValueError(builtins.ValueError):
    reasons: tuple[Reason, ...]

class RuntimeError(builtins.RuntimeError):
    reasons: tuple[Reason, ...]

class Problem:
    def __init__(
        self,
        *,
        experts: int,
        m: int,
        n: int,
        tokens: int,
        a_dtype: str = ...,
        b_dtype: str | None = ...,
        a_major: str = ...,
        b_major: str = ...,
        input_order: str = ...,
        scale_dtype: str | None = ...,
        sf_vec_size: int = ...,
        scale_layout: str = ...,
        global_scale: bool = ...,
        wgrad_dtype: str = ...,
        acc_dtype: str = ...,
        output_mode: str = ...,
        wgrad_expert_stride: int = ...,
        wgrad_row_pitch: int = ...,
        accumulate: bool = ...,
        mma_tiler_mn: tuple[int, int] = ...,
        cluster_shape_mn: tuple[int, int] | None = ...,
    ) -> None: ...
    @property
    def experts(self) -> int: ...
    @property
    def m(self) -> int: ...
    @property
    def n(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def accumulate(self) -> bool: ...
    @property
    def wgrad_expert_stride(self) -> int: ...
    @property
    def wgrad_row_pitch(self) -> int: ...
    @property
    def a_dtype(self) -> str: ...
    @property
    def b_dtype(self) -> str: ...
    @property
    def wgrad_dtype(self) -> str: ...
    @property
    def a_major(self) -> str: ...
    @property
    def b_major(self) -> str: ...
    @property
    def input_order(self) -> str: ...
    @property
    def output_mode(self) -> str: ...
    @property
    def scale_dtype(self) -> str | None: ...
    @property
    def sf_vec_size(self) -> int: ...
    @property
    def scale_layout(self) -> str: ...
    @property
    def global_scale(self) -> bool: ...
    @property
    def acc_dtype(self) -> str: ...
    @property
    def mma_tiler_mn(self) -> tuple[int, int]: ...
    @property
    def cluster_shape_mn(self) -> tuple[int, int] | None: ...
    @property
    def format(self) -> str | None: ...

class DeviceSpec:
    name: str
    arch: int
    sm_count: int
    sm_limit: int
    smem_bytes: int
    l2_bytes: int
    threads: int
    avx512_bf16: bool
    amx_bf16: bool
    def __init__(
        self,
        *,
        kind: str,
        name: str = ...,
        arch: int = ...,
        sm_count: int = ...,
        smem_bytes: int = ...,
        l2_bytes: int = ...,
        threads: int = ...,
        avx512_bf16: bool = ...,
        amx_bf16: bool = ...,
        sm_limit: int = ...,
    ) -> None: ...
    @property
    def kind(self) -> str: ...

class Reason:
    def __init__(self, rule: str, field: str, got: str, need: str) -> None: ...
    @property
    def rule(self) -> str: ...
    @property
    def field(self) -> str: ...
    @property
    def got(self) -> str: ...
    @property
    def need(self) -> str: ...
    @property
    def bad_argument(self) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

class Support:
    @property
    def reasons(self) -> list[Reason]: ...
    def __bool__(self) -> bool: ...

class Candidate:
    @property
    def on_request(self) -> bool: ...
    @property
    def backend(self) -> str: ...
    @property
    def plan(self) -> str: ...
    @property
    def predicted_ms(self) -> float: ...
    @property
    def bound(self) -> str: ...
    @property
    def reasons(self) -> list[Reason]: ...

class Explanation:
    @property
    def candidates(self) -> list[Candidate]: ...
    @property
    def notes(self) -> list[str]: ...

class DeviceFault:
    @property
    def what(self) -> str: ...
    @property
    def expert(self) -> int: ...
    @property
    def value(self) -> int: ...
    @property
    def limit(self) -> int: ...

class TensorView:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def address(self) -> int: ...
    @property
    def contiguous(self) -> bool: ...
    @property
    def torch(self) -> bool: ...

def read_tensor(object: Any, field: str) -> TensorView: ...

class Api(enum.Enum):
    SAMPLE = 0
    CALL = 1
    NATURAL = 2

class Options:
    def __init__(
        self,
        *,
        mma_tiler_mn: tuple[int, int] = ...,
        cluster_shape_mn: tuple[int, int] | None = ...,
        sf_vec_size: int | None = ...,
        scale_layout: str = ...,
        input_order: str = ...,
        accumulate: bool = ...,
        wgrad_dtype: str | None = ...,
        acc_dtype: str | None = ...,
        sf_fp8_dtype_override: str = ...,
        backend: str = ...,
        validate_device_data: bool = ...,
        sm_limit: int = ...,
    ) -> None: ...

class Contract:
    @property
    def key(self) -> bytes: ...
    @property
    def problem(self) -> Problem: ...
    @property
    def wgrad_shape(self) -> tuple[int, int, int]: ...
    @property
    def wgrad_dtype(self) -> str: ...
    @property
    def device(self) -> str: ...
    def support(self, api: Api, device: DeviceSpec | None = ...) -> Support: ...
    def explain(self, api: Api, device: DeviceSpec | None = ...) -> Explanation: ...
    def require_support(self, api: Api) -> None: ...
    def compile(self, api: Api) -> Compiled: ...

def workspace_bytes(experts: int, pointers: bool) -> int: ...

class Request:
    def __init__(
        self,
        api: Api,
        a: Any,
        b: Any,
        sfa: Any,
        sfb: Any,
        offsets: Any,
        wgrad: Any,
        wgrad_ptrs: Any,
        global_scale_a: Any,
        global_scale_b: Any,
        workspace: Any,
        options: Options,
        pointers: bool,
        stream: Any,
    ) -> None: ...
    @property
    def key(self) -> bytes: ...
    @property
    def other_keys(self) -> list[bytes]: ...
    @property
    def wgrad_shape(self) -> tuple[int, int, int]: ...
    @property
    def wgrad_dtype(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def pointers(self) -> bool: ...
    def contract(self) -> Contract: ...
    def give_output(self, wgrad: Any) -> None: ...

class Compiled:
    def run(
        self,
        api: Api,
        a: Any,
        b: Any,
        sfa: Any,
        sfb: Any,
        offsets: Any,
        wgrad: Any,
        wgrad_ptrs: Any,
        global_scale_a: Any,
        global_scale_b: Any,
        stream: Any,
        workspace: Any,
    ) -> None: ...
    def run_request(self, request: Request) -> None: ...
    def fault(self) -> DeviceFault | None: ...
    def clear_fault(self) -> None: ...
    @property
    def backend(self) -> str: ...
    @property
    def plan(self) -> str: ...

class CompiledCalls:
    def __init__(self) -> None: ...
    def run(
        self,
        a: Any,
        b: Any,
        sfa: Any,
        sfb: Any,
        offsets: Any,
        wgrad: Any,
        wgrad_ptrs: Any,
        global_scale_a: Any,
        global_scale_b: Any,
        options: Options,
        pointers: bool,
        stream: Any,
        workspace: Any,
    ) -> None: ...
    def prepare(self, request: Request) -> None: ...
    def run_request(self, request: Request) -> None: ...
    def fault(self) -> DeviceFault | None: ...
    def clear_fault(self) -> None: ...

def describe(
    api: Api,
    a: Any,
    b: Any,
    sfa: Any,
    sfb: Any,
    offsets: Any,
    wgrad: Any,
    wgrad_ptrs: Any,
    global_scale_a: Any,
    global_scale_b: Any,
    options: Options,
    pointers: bool,
) -> Contract: ...
def check_support(problem: Problem, device: DeviceSpec, backend: str = ...) -> Support: ...
def explain(problem: Problem, device: DeviceSpec) -> Explanation: ...
def cpu_device() -> DeviceSpec: ...
def cuda_device(ordinal: int) -> DeviceSpec: ...
def report_leaks(wanted: bool) -> None: ...
def cuda_device_count() -> int: ...
def add_nvrtc_folder(folder: str) -> None: ...
def quantize(
    x: Any,
    offsets: Any,
    format: str,
    element: str,
    major: str,
    input_order: str,
    layout: str,
    padding: int,
    scaling_mode: str,
) -> tuple[Any, Any, int, Any]: ...
def scale_cols(offsets: Any, vec_size: int, layout: str) -> int: ...
def swizzle_scales(scales: Any, rows: int, offsets: Any, vec_size: int, padding: int) -> Any: ...
def unswizzle_scales(scales: Any, rows: int, offsets: Any, vec_size: int) -> Any: ...
