"""The operator class: check_support, compile, execute."""

from __future__ import annotations

import enum
import logging
from typing import Any

from . import _core
from ._checks import pair, whole
from ._functions import OPERATOR
from ._overlap import default_sm_limit
from ._refusals import refuse, shown
from ._tensors import ALIGNMENT, is_jax, jax_front_end, refuse_traced
from .layouts import views
from .samples import with_memory

_MODES = (
    "one of them: Provide either sample_wgrad for dense mode or (num_experts, wgrad_shape, "
    "wgrad_dtype) for discrete mode, but not both"
)
_OUTPUT = (
    "given, or wgrad_ptrs instead: Discrete execution requires wgrad_tensor or wgrad_ptrs; Provide "
    "wgrad_tensor or wgrad_ptrs in discrete mode"
)

#: By the names that tensor_layouts has for them.
_SAMPLES = {
    "a_tensor": "sample_a",
    "b_tensor": "sample_b",
    "sfa_tensor": "sample_sfa",
    "sfb_tensor": "sample_sfb",
    "wgrad_tensor": "sample_wgrad",
}


class WGradInputOrder(str, enum.Enum):
    """How the experts' tokens lie in A and B; the plain strings are accepted too."""

    Tensor2D = "tensor2d"  #: one 2-D tensor each, with the strides it declares
    TensorRagged = "tensor_ragged"  #: K-contiguous expert blocks, one after another


class MoEWeightMode(str, enum.Enum):
    """How an operator's outputs lie; each member equals its string."""

    DENSE = "dense"  #: one (E, M, N) tensor
    DISCRETE = "discrete"  #: E separate (M, N) tensors

    def __str__(self) -> str:
        return self.value


class GroupedGemmWgrad:
    """An operator for ``Wgrad[e] = A[:, begin:end] @ B[begin:end, :]``, compiled once.

    ``check_support()``, ``compile()``, then ``execute(...)`` any number of times, from any thread:
    with another T, other counts, addresses and streams. E, M, N, dtypes, majors, the output's
    strides, tiling and accumulate are those of the samples. Dense mode takes ``sample_wgrad``;
    discrete mode takes ``num_experts``, ``wgrad_shape`` and ``wgrad_dtype``.

    Args:
        sample_a: (M, T), K-major or M-major; bfloat16, float16, FP8, or packed FP4 (M, T/2).
        sample_b: (T, N), K-major or N-major, of sample_a's dtype. Without tokens both are taken for
            K-major.
        sample_sfa, sample_sfb: scale factors of a block-scaled format, swizzled, 2-D
            (round_up(rows, 128), cols) or flat, of M rows for A and N for B; None for 16-bit
            operands.
        sample_offsets: (E,) int32, the cumulative ends of the experts.
        sample_wgrad: (E, M, N) bfloat16, float16 or float32, contiguous along N (dense mode).
        sample_wgrad_expert: (M, N) or (M, N, 1), one contiguous expert of a discrete output.
        num_experts, wgrad_shape, wgrad_dtype: E, (M, N) and the output's dtype (discrete mode). A
            sample_wgrad's own dtype wins over the default; another explicit one is refused.
        sample_global_scale_a, sample_global_scale_b: (E,) float32, both or neither; NVFP4 needs
            them.
        acc_dtype: None or float32.
        mma_tiler_mn, cluster_shape_mn: the GPU kernel's tile; (256, 256) and None leave the choice
            to wgrad. Without effect on a CPU.
        sf_vec_size: tokens a scale factor covers: 16 (NVFP4), 32 or 128 (FP8 1x128); 16 for 16-bit
            operands. FP8 rowwise, which has one for all tokens: grouped_wgrad.
        sf_fp8_dtype_override: None, nothing else.
        accumulate_on_output: add to the output instead of overwriting it.
        input_order: 'tensor2d' or 'tensor_ragged'.
        compact_scales: scale factors are (M, cols) and (N, cols), unswizzled.
        backend: None: the first that supports the problem; 'reference' computes in plain loops.
        validate_device_data: check offsets and pointers before each run on a GPU too, which
            synchronises.
        sm_limit: most multiprocessors of a GPU that the kernel may occupy, for work beside it such
            as communication; None: all. Must be None on a CPU.
        allow_unverified: also take kernels that have been emulated and compiled, but have never run
            on a GPU like the tensors' (SM 10.0, 10.3), as WGRAD_ALLOW_UNVERIFIED=1 does.
        tensor_layouts: (shape, strides, dtype) by execute()'s argument names, for torch tensors
            that samples and calls hand over as plain memory. The layouts hold T too.

    Samples of torch may be fake tensors (FakeTensorMode), or tensors whose memory was freed.

    The constructor never raises for bad values: check_support() does.
    """

    #: Whether a discrete execute may be given wgrad_tensor and wgrad_ptrs at once.
    _takes_both_outputs = False
    #: Whether CUDNNFE_CLUSTER_OVERLAP_MARGIN is a default for sm_limit.
    _leaves_a_margin = False

    def __init__(
        self,
        sample_a: Any,
        sample_b: Any,
        sample_sfa: Any,
        sample_sfb: Any,
        sample_offsets: Any,
        sample_wgrad: Any = None,
        sample_wgrad_expert: Any = None,
        num_experts: int | None = None,
        wgrad_shape: tuple[int, int] | None = None,
        wgrad_dtype: Any = None,
        sample_global_scale_a: Any = None,
        sample_global_scale_b: Any = None,
        acc_dtype: Any = None,
        mma_tiler_mn: tuple[int, int] = (256, 256),
        cluster_shape_mn: tuple[int, int] | None = None,
        sf_vec_size: int = 16,
        sf_fp8_dtype_override: Any = None,
        accumulate_on_output: bool = False,
        input_order: Any = WGradInputOrder.Tensor2D,
        *,
        compact_scales: bool = False,
        backend: str | None = None,
        validate_device_data: bool = False,
        sm_limit: int | None = None,
        allow_unverified: bool = False,
        tensor_layouts: Any = None,
    ) -> None:
        given = dict(locals())
        del given["self"]
        _note_experimental(type(self).__name__)
        self._given: dict[str, Any] | None = given  #: until check_support() has said yes
        self._tensor_layouts = tensor_layouts
        self.weight_mode: MoEWeightMode | None = None  #: known after check_support()
        self._is_supported = False  #: whether check_support() has said yes
        self._logger = logging.getLogger(type(self).__name__)
        self._contracts: tuple[_core.Contract, _core.Contract | None] | None = None
        self._stacked: _core.Operator | None = None
        self._pointers: _core.Operator | None = None
        self._compiles_anew = False  # a copy of one that was compiled

    def __getstate__(self) -> dict[str, Any]:
        """A copy, or what is read back from a file, compiles anew before its first execute()."""
        state = dict(self.__dict__)
        state["_compiles_anew"] = self._stacked is not None or self._compiles_anew
        state["_stacked"] = state["_pointers"] = None
        return state

    def check_support(self) -> bool:
        """True where this operator can run on the samples' device.

        May be called again; the samples are released after the first success.

        Raises:
            ValueError: a bad argument, by name.
            RuntimeError: no backend of this build runs it on that device.
        """
        if self._given is not None:
            self._contracts = self._read_samples(self._given)
        assert self._contracts is not None
        for contract in self._contracts:
            if contract is not None:
                contract.require_support(_core.Api.SAMPLE)
        self._given = None
        self._is_supported = True
        return True

    def compile(self) -> None:
        """Plans and builds, after check_support() where that was not called yet.

        Does nothing when already compiled. Launches nothing.
        """
        if self._stacked is not None:
            return
        if self._contracts is None:
            self.check_support()
        assert self._contracts is not None
        stacked, pointers = self._contracts
        if pointers is not None:
            self._pointers = pointers.compile(_core.Api.SAMPLE)
        self._stacked = stacked.compile(_core.Api.SAMPLE)

    def execute(
        self,
        a_tensor: Any,
        b_tensor: Any,
        sfa_tensor: Any,
        sfb_tensor: Any,
        offsets_tensor: Any,
        wgrad_tensor: Any = None,
        wgrad_ptrs: Any = None,
        global_scale_a: Any = None,
        global_scale_b: Any = None,
        current_stream: Any = None,
        *,
        workspace: Any = None,
        descriptor_workspace: Any = None,
    ) -> Any:
        """Computes one call into ``wgrad_tensor``, or through ``wgrad_ptrs`` in discrete mode.

        Args:
            a_tensor, b_tensor, sfa_tensor, sfb_tensor, global_scale_a, global_scale_b: as the
                samples, with any T.
            offsets_tensor: (E,) int32, the cumulative ends of the experts.
            wgrad_tensor: (E, M, N) output; in discrete mode a stacked one, whose experts and rows
                may have gaps. Its first use with other strides prepares an operator for them.
            wgrad_ptrs: (E,) int64 addresses of the experts' (M, N) outputs, 16-byte aligned, on the
                operands' device (discrete mode). The caller keeps the outputs alive.
            current_stream: integer handle, torch stream or CUstream; None: torch's current stream
                of the tensors' device. Must be None on a CPU.
            workspace, descriptor_workspace: two names of one uint8 tensor on the operands' device,
                of scratch_workspace_bytes() or more.

        Returns:
            None. Of JAX arrays, which cannot be written: a new (E, M, N) array, or with wgrad_ptrs
            the token to block on.

        Raises:
            RuntimeError: compile() was not called.
            ValueError: tensors that differ from the samples in more than T, or both outputs.
        """
        refuse_traced(a_tensor, "execute()")
        given = locals()
        if self._tensor_layouts is not None:
            given = given | views(self._tensor_layouts, given)
        if workspace is not None and workspace is not descriptor_workspace:
            if descriptor_workspace is not None:
                need = "descriptor_workspace itself, or None: they name the same buffer"
                raise refuse("workspace", "another tensor", need)
            given = given | {"descriptor_workspace": workspace}
        compiled = self._stacked if wgrad_ptrs is None else self._pointers
        if compiled is None or (wgrad_ptrs is not None and wgrad_tensor is not None):
            compiled = self._select(wgrad_tensor, wgrad_ptrs)
        if wgrad_tensor is None and wgrad_ptrs is None and self._needs_an_output:
            raise refuse("wgrad_tensor", "None", _OUTPUT)
        return compiled.run(given)

    def _execute_call(self, call: _core.Call) -> None:
        """execute(), of tensors that the wrapper has read."""
        if self._stacked is None and self._compiles_anew:
            self.compile()
        compiled = self._pointers if call.pointers else self._stacked
        if compiled is None:
            raise _not_compiled()
        compiled.run_call(call)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """compile() where needed, then execute(...)."""
        self.compile()
        return self.execute(*args, **kwargs)

    def scratch_workspace_bytes(self) -> int:
        """Bytes a descriptor_workspace of this operator needs; after check_support() where that
        was not called yet. get_grouped_gemm_wgrad_workspace_size_sm100() says the same."""
        if self._contracts is None:
            self.check_support()
        assert self._contracts is not None
        stacked, pointers = self._contracts
        return _core.workspace_bytes(stacked.wgrad_shape[0], pointers is not None)

    def fault(self) -> _core.DeviceFault | None:
        """The first fault in device data since compile() or clear_fault(); None: none seen."""
        compiled = [c for c in (self._stacked, self._pointers) if c is not None]
        return next((seen for c in compiled if (seen := c.fault()) is not None), None)

    def clear_fault(self) -> None:
        """Forgets the fault that fault() tells."""
        for compiled in (self._stacked, self._pointers):
            if compiled is not None:
                compiled.clear_fault()

    @property
    def _kernel(self) -> _core.Operator | None:
        """What compile() built, under a name that callers of the reference read."""
        return self._stacked

    @property
    def _compiled_kernel(self) -> _core.Operator | None:
        """As _kernel."""
        return self._stacked

    @property
    def _needs_an_output(self) -> bool:
        """Whether it is a discrete one, and not of JAX arrays, whose results are new."""
        return isinstance(self._pointers, _core.Operator)

    def _select(self, wgrad_tensor: Any, wgrad_ptrs: Any) -> _core.Operator:
        """The form for a call with wgrad_ptrs, or before compile(): mostly refusals."""
        if self._stacked is None and self._compiles_anew:
            self.compile()
        if self._stacked is None:
            raise _not_compiled()
        if wgrad_ptrs is None:
            return self._stacked
        if self._pointers is None:
            need = "None in dense mode, where wgrad_tensor is written: Dense execution requires"
            raise refuse("wgrad_ptrs", "given", f"{need} wgrad_tensor and forbids wgrad_ptrs")
        if wgrad_tensor is not None and not self._takes_both_outputs:
            raise refuse("wgrad_ptrs", "given", "None together with wgrad_tensor: give one of them")
        return self._pointers

    def _read_samples(
        self, given: dict[str, Any]
    ) -> tuple[_core.Contract, _core.Contract | None]:
        samples = {name: with_memory(given[name]) for name in given if name.startswith("sample_")}
        given = given | samples
        given = given | views(self._tensor_layouts, given, _SAMPLES)
        dense = given["sample_wgrad"] is not None
        if dense == (given["num_experts"] is not None):
            refused = f"{'both' if dense else 'neither'} given"
            raise refuse("sample_wgrad and num_experts", refused, _MODES)
        if self._leaves_a_margin:
            limit = default_sm_limit(given["sm_limit"], given["sample_a"], "sample_a")
            given = given | {"sm_limit": limit}
        chosen = OPERATOR.options(given, lambda rest: _contract(given, rest, False))
        stacked = _contract(given, chosen, False)
        if dense:
            for name in ("wgrad_shape", "sample_wgrad_expert"):
                if given[name] is not None:
                    raise refuse(name, "given", "None in dense mode, where sample_wgrad says it")
            self.weight_mode = MoEWeightMode.DENSE
            return stacked, None
        _check_discrete(stacked, given)
        self.weight_mode = MoEWeightMode.DISCRETE
        return stacked, _contract(given, chosen, True)


def _contract(given: dict[str, Any], chosen: _core.Options, pointers: bool) -> _core.Contract:
    """The contract of samples, or what stands for it where they are JAX arrays."""
    if not is_jax(given["sample_a"]):
        call = _core.Call(_core.Api.SAMPLE, chosen, given, pointers, holds_data=False)
        return call.contract()
    made: _core.Contract = jax_front_end("operator").Contract(given, chosen, pointers)
    return made


def _check_discrete(contract: _core.Contract, given: dict[str, Any]) -> None:
    """What discrete mode's arguments say beside the samples."""
    experts, m, n = contract.wgrad_shape
    for name in ("wgrad_shape", "wgrad_dtype"):
        if given[name] is None:
            need = "given: wgrad_shape and wgrad_dtype are required in discrete mode"
            raise refuse(name, "None", need)
    if whole(given["num_experts"]) != experts:
        need = f"{experts}, as sample_offsets is long"
        raise refuse("num_experts", shown(given["num_experts"]), need)
    if pair(given["wgrad_shape"]) != (m, n):
        raise refuse("wgrad_shape", shown(given["wgrad_shape"]), f"(M, N) = ({m}, {n}): wgrad_shape mismatch")
    if given["sample_wgrad_expert"] is not None:
        _check_expert(given["sample_wgrad_expert"], contract)


def _check_expert(expert: Any, contract: _core.Contract) -> None:
    name = "sample_wgrad_expert"
    _, m, n = contract.wgrad_shape
    if is_jax(expert):
        expert = jax_front_end("statement").like(expert).stand_in()
    view = _core.read_tensor(expert, name)
    if view.shape not in ((m, n), (m, n, 1)):
        need = f"(M, N) = ({m}, {n}), or ({m}, {n}, 1): {name} shape mismatch"
        raise refuse(name, f"of shape {view.shape}", need)
    if view.dtype != contract.wgrad_dtype:
        raise refuse(name, view.dtype, f"{contract.wgrad_dtype}, as wgrad_dtype says")
    if not view.contiguous:
        need = f"contiguous: {name} must be contiguous in M/N order"
        raise refuse(name, "strided", need)
    if view.device != contract.device:
        raise refuse(name, f"on {view.device}", f"on {contract.device}, as sample_a is")
    if view.address % ALIGNMENT != 0:
        raise refuse(name, f"at address {view.address:#x}", f"aligned to {ALIGNMENT} bytes")


def _not_compiled() -> Exception:
    return _core.RuntimeError("wgrad: Kernel not compiled; call compile() first")


class GroupedGemmWgradSm100(GroupedGemmWgrad):
    __doc__ = (
        (GroupedGemmWgrad.__doc__ or "")
        + """
    The drop-in name: it serves every device wgrad supports. Unlike GroupedGemmWgrad, a discrete
    execute() accepts wgrad_tensor and wgrad_ptrs at once, as the reference does: the results go
    through the pointers, and wgrad_tensor, whose rows must be packed then, is only checked.
    CUDNNFE_CLUSTER_OVERLAP_MARGIN=n in the environment leaves n multiprocessors to other kernels
    where sm_limit is None.
    """
    )

    _takes_both_outputs = True
    _leaves_a_margin = True


_noted: set[str] = set()


def _note_experimental(name: str) -> None:
    if name not in _noted:
        _noted.add(name)
        logging.getLogger(name).warning("%s is an experimental API", name)
