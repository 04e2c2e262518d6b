"""Block-scaled operands from float data, and the storage of their scale factors."""

from __future__ import annotations

import dataclasses
from typing import Any

from . import _core
from ._checks import flag, whole
from ._dtypes import dtype_name
from ._refusals import refuse, shown
from ._tensors import is_torch, is_traced, numpy_dtype, refuse_traced

_SCALE_DTYPES = {"mxfp8": "float8_e8m0fnu", "mxfp4": "float8_e8m0fnu", "nvfp4": "float8_e4m3fn"}


@dataclasses.dataclass(frozen=True, eq=False)
class Quantized:
    """One block-scaled operand, as grouped_wgrad takes it.

    The drop-in functions take ``q.elements.T`` as a_tensor and ``q.elements`` as b_tensor. Two are
    equal where all their bytes and all else that they hold are.
    """

    elements: Any  #: (T, rows) FP8, or (T/2, rows) packed FP4 with strides (1, T/2)
    scales: Any  #: (round_up(rows, 128), cols) swizzled, or (rows, cols) compact
    global_scale: Any | None  #: (E,) float32 for NVFP4, else None
    format: str  #: 'mxfp8', 'mxfp4' or 'nvfp4'
    sf_vec_size: int  #: tokens a scale factor covers: 32, or 16 for NVFP4
    compact: bool = False  #: whether the scales are compact instead of swizzled
    #: the ends that its blocks restart at, as host int32, which a call in host memory must have; None: not
    #: compared
    offsets: Any | None = None
    role: str | None = None  #: 'x' or 'dy', as which alone it may be given; None: either

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quantized):
            return NotImplemented
        mine, others = (
            [getattr(q, field.name) for field in dataclasses.fields(Quantized)] for q in (self, other)
        )
        return all(map(_same, mine, others))

    __hash__ = None  # type: ignore[assignment]


def quantize(
    x: Any,
    offsets: Any,
    format: str = "mxfp8",
    *,
    element: Any = None,
    major: str = "k",
    input_order: str = "tensor2d",
    compact: bool = False,
    scale_padding: int = 0,
    scaling_mode: Any = None,
    role: str | None = None,
    global_scale: Any = None,
    stochastic_seed: int | None = None,
    hadamard_seed: int | None = None,
) -> Quantized:
    """Quantises token-major data along tokens, in blocks that restart at each expert's begin.

    torch tensors on a CUDA device (SM 9.0) stay there: kernels quantise them on torch's current
    stream, bit for bit as a CPU does, without waiting; the call can be captured in a CUDA graph.

    Args:
        x: (T, rows) float array or tensor: activations or gradients, tokens sorted by expert. On a
            CUDA device bfloat16, float16 or float32.
        offsets: (E,) int32, the cumulative ends of the experts, where x is. Tokens past the last
            are never read and become zeros.
        format: 'mxfp8', 'mxfp4' or 'nvfp4'.
        element: for MXFP8 float8_e4m3fn (default) or float8_e5m2.
        major: 'k' (tokens contiguous) or 'mn' (features contiguous); FP4 is 'k' only.
        input_order: 'tensor2d' or 'tensor_ragged'.
        compact: scale factors as (rows, cols) without the swizzled layout's padding.
        scale_padding: byte written where the swizzled layout pads; on a CUDA device also behind the
            last expert's scale factors, since there the tensor has room for any offsets.
        scaling_mode: which power of two an MX block gets as its scale. 'floor' (default, OCP MX
            6.3): the top of a block may saturate, by up to 1/8 in FP8 and 1/4 in FP4. 'rceil': the
            least under which nothing saturates. torchao's ScaleCalculationMode is taken too. NVFP4
            has no such choice.
        role: 'x' or 'dy': grouped_wgrad then refuses the result as the other. None: either.
        global_scale: NVFP4: (E,) float32 factors instead of each expert's amax / (448 * 6).
        stochastic_seed: NVFP4: elements round up or down at random, up with the probability of
            their place between the two. From 0 to 2**64 - 1; the same bits on every device.
        hadamard_seed: NVFP4: whole blocks of 16 tokens are transformed first, by a Hadamard matrix
            with signs drawn from this seed. Give both operands of a product the same one: it then
            cancels out.

    Returns:
        A Quantized of x's framework. It remembers `offsets`: grouped_wgrad refuses it with others,
        where it can see them without waiting for a GPU.

    Raises:
        ValueError: offsets that decrease or exceed T; an FP4 expert that begins at an odd token; a
            format, element or shape that is none of the above. Offsets on a CUDA device are not
            seen: ``wgrad.device_fault()`` tells, and WGRAD_VALIDATE=1 waits for them.
        RuntimeError: a CUDA device for which there is no kernel.
    """
    return _quantize([("x", x, role, stochastic_seed, global_scale)], offsets, locals())[0]


def quantize_pair(
    x: Any,
    dy: Any,
    offsets: Any,
    format: str = "mxfp8",
    *,
    element: Any = None,
    major: str = "k",
    input_order: str = "tensor2d",
    compact: bool = False,
    scale_padding: int = 0,
    scaling_mode: Any = None,
    x_global_scale: Any = None,
    dy_global_scale: Any = None,
    stochastic_seed: int | None = None,
    hadamard_seed: int | None = None,
) -> tuple[Quantized, Quantized]:
    """Both operands of one weight gradient, as quantize() makes each; on a CUDA device in one launch.

    dy rounds at random by ``stochastic_seed + 1``. Arguments, results and errors are quantize()'s,
    with the roles 'x' and 'dy'.
    """
    seed = _seed(stochastic_seed, "stochastic_seed")
    second = None if seed is None else (seed + 1) % 2**64
    operands: list[tuple[str, Any, str | None, int | None, Any]] = [
        ("x", x, "x", seed, x_global_scale),
        ("dy", dy, "dy", second, dy_global_scale),
    ]
    first, last = _quantize(operands, offsets, locals())
    return first, last


def _quantize(
    operands: list[tuple[str, Any, str | None, int | None, Any]], offsets: Any, given: dict[str, Any]
) -> list[Quantized]:
    """`operands`: argument, tensor, role, seed of rounding and global scale of each."""
    for _, x, role, _, _ in operands:
        refuse_traced(x, "quantize")
        if role not in (None, "x", "dy"):
            raise refuse("role", repr(role), "None, 'x' or 'dy'")
    format = given["format"]
    if format not in tuple(_SCALE_DTYPES):
        raise refuse("format", repr(format), "'mxfp8', 'mxfp4' or 'nvfp4'")
    compact = flag(given["compact"], "compact")
    fp4 = format in ("mxfp4", "nvfp4")
    default = "float4_e2m1fn" if fp4 else "float8_e4m3fn"
    name = dtype_name(default if given["element"] is None else given["element"], "element")
    major = str(given["major"])
    order = given["input_order"]
    options = {
        "input_order": str(getattr(order, "value", order)),
        "layout": "compact" if compact else "swizzled",
        "padding": _whole(given["scale_padding"], "scale_padding", 0, 255),
        "scaling_mode": _mode(given["scaling_mode"], format),
        "hadamard_seed": _seed(given["hadamard_seed"], "hadamard_seed"),
    }
    made = _parts(operands, offsets, format, name, major, options)
    return [
        Quantized(
            elements=_seen_as(elements, "float4_e2m1fn_x2" if fp4 else name),
            scales=_seen_as(scales, _SCALE_DTYPES[format]),
            global_scale=global_scale,
            format=format,
            sf_vec_size=16 if format == "nvfp4" else 32,
            compact=compact,
            offsets=_host_offsets(offsets),
            role=role,
        )
        for (elements, scales, global_scale), (_, _, role, _, _) in zip(made, operands)
    ]


def _parts(
    operands: list[tuple[str, Any, str | None, int | None, Any]],
    offsets: Any,
    format: str,
    element: str,
    major: str,
    options: dict[str, Any],
) -> list[tuple[Any, Any, Any]]:
    """(elements, scales, global scales) of each operand, the first two of bytes."""
    on_device = [is_torch(x) and x.is_cuda for _, x, _, _, _ in operands]
    seeds = [_seed(seed, "stochastic_seed") for _, _, _, seed, _ in operands]
    if any(on_device):
        from . import _device_quantize

        for (name, x, _, _, _), there in zip(operands, on_device):
            if not there:
                raise refuse(name, "in host memory", "on the CUDA device of the other operand")
        return _device_quantize.parts(
            [(name, x) for name, x, _, _, _ in operands], offsets, format, element, major,
            {**options, "stochastic_seed": seeds[0]}, [scale for *_, scale in operands],
        )  # fmt: skip
    return [
        _host_parts(
            name, x, offsets, format, element, major, {**options, "stochastic_seed": seed}, scale
        )
        for (name, x, _, _, scale), seed in zip(operands, seeds)
    ]


def _host_parts(
    argument: str,
    x: Any,
    offsets: Any,
    format: str,
    element: str,
    major: str,
    options: dict[str, Any],
    global_scale: Any,
) -> tuple[Any, Any, Any]:
    source = _as_float(x, argument)
    given = None if global_scale is None else _as_factors(global_scale)
    raw, scales, cols, global_scales = _core.quantize(
        source, offsets, format, element, major, **options, global_scales=given
    )
    tokens, rows = source.shape
    stored = tokens // 2 if format != "mxfp8" else tokens
    elements = raw.reshape(rows, stored).T if major == "k" else raw.reshape(stored, rows)
    scale_rows = rows if options["layout"] == "compact" else -(-rows // 128) * 128
    wrap = _wrap_torch if is_torch(x) else _wrap_numpy
    return (
        wrap(elements, "uint8"),
        wrap(scales.reshape(scale_rows, cols), "uint8"),
        wrap(global_scales, "float32") if format == "nvfp4" else None,
    )


def _same(a: Any, b: Any) -> bool:
    """Whether two fields are: tensors of one framework, dtype and layout, byte by byte."""
    if type(a) is not type(b):
        return False
    if is_torch(a):
        from . import _torch_calls

        return _torch_calls.same_bytes(a, b)
    if not hasattr(a, "dtype"):
        return bool(a == b)
    import numpy

    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    mine, others = (numpy.ascontiguousarray(t).view(numpy.uint8) for t in (a, b))
    return numpy.array_equal(mine, others)


def _host_offsets(offsets: Any) -> Any | None:
    """A copy of `offsets` in host memory; None where they are not, or nobody can tell yet."""
    view = _core.read_tensor(offsets, "offsets")
    if view.device != "cpu" or view.rank != 1 or view.dtype != "int32" or is_traced(offsets):
        return None
    _core.need_memory(view, "offsets")
    if is_torch(offsets):
        from . import _torch_calls

        return _torch_calls.to_bytes(offsets.contiguous()).view("int32").copy()
    import numpy

    return numpy.array(offsets, numpy.int32)


def _mode(scaling_mode: Any, format: str) -> str:
    if scaling_mode is None:
        return "floor"
    mode = str(getattr(scaling_mode, "value", scaling_mode))
    if format == "nvfp4":
        raise refuse("scaling_mode", repr(mode), "None for nvfp4, whose scales are no powers of two")
    return mode


def pack_fp4(x: Any) -> Any:
    """Packs a (T, rows) numpy array of float4_e2m1fn, one per byte, two tokens to a byte.

    The even token takes the low nibble. The result is uint8, (T/2, rows) with strides (1, T/2), as
    grouped_wgrad and the drop-in functions (transposed for A) take it.

    Raises:
        ValueError: another dtype or rank, or an odd T.
    """
    import numpy

    array = numpy.asarray(x)
    if array.dtype.name != "float4_e2m1fn" or array.ndim != 2 or array.shape[0] % 2 != 0:
        raise refuse(
            "x",
            f"{array.dtype.name} of shape {array.shape}",
            "float4_e2m1fn of shape (T, rows) with an even T",
        )
    codes = array.T.view(numpy.uint8) & 0x0F
    return numpy.ascontiguousarray(codes[:, 0::2] | (codes[:, 1::2] << 4)).T


def packed(x: Any) -> Any:
    """`x`, packed where it is an array of float4_e2m1fn, one element per byte."""
    return pack_fp4(x) if getattr(getattr(x, "dtype", None), "name", None) == "float4_e2m1fn" else x


def unwrap(given: dict[str, Any]) -> dict[str, Any]:
    """What each Quantized among x and dy brings, for the arguments of grouped_wgrad.

    Raises:
        ValueError: scales, or another layout of them, beside those that an operand brings.
    """
    x, dy, compact_scales = given["x"], given["dy"], given["compact_scales"]
    operands = {name: given[name] for name in ("x", "dy") if isinstance(given[name], Quantized)}
    _check_places(operands, given["offsets"])
    x_scale, x_global_scale = given["x_scale"], given["x_global_scale"]
    dy_scale, dy_global_scale = given["dy_scale"], given["dy_global_scale"]
    if isinstance(x, Quantized):
        x_scale, x_global_scale = _own_scales(x, x_scale, x_global_scale, "x")
    if isinstance(dy, Quantized):
        dy_scale, dy_global_scale = _own_scales(dy, dy_scale, dy_global_scale, "dy")
    layouts = {q.compact for q in (x, dy) if isinstance(q, Quantized)}
    if len(layouts) > 1:
        kind = {True: "compact", False: "swizzled"}
        need = f"{kind[x.compact]}, as x's are"
        raise refuse("the layout of dy's scale factors", kind[dy.compact], need)
    if compact_scales is True and False in layouts:
        raise refuse("compact_scales", "True", "False: a Quantized brings swizzled scale factors")
    if compact_scales is False:
        compact_scales = True in layouts
    return {
        "x": x.elements if isinstance(x, Quantized) else x,
        "dy": dy.elements if isinstance(dy, Quantized) else dy,
        "x_scale": x_scale,
        "dy_scale": dy_scale,
        "x_global_scale": x_global_scale,
        "dy_global_scale": dy_global_scale,
        "compact_scales": compact_scales,
        "sf_vec_size": _known_vec_size(x, dy, given["sf_vec_size"]),
    }


def _known_vec_size(x: Any, dy: Any, given: Any) -> Any:
    """The sf_vec_size of the Quantized among x and dy. Raises ValueError where `given` is another."""
    for name, q in (("x", x), ("dy", dy)):
        if not isinstance(q, Quantized):
            continue
        if given is None:
            given = q.sf_vec_size
        elif given != q.sf_vec_size:
            need = f"None or {q.sf_vec_size}, the tokens that a scale factor of {name} covers"
            raise refuse("sf_vec_size", shown(given), need)
    return given


def _check_places(given: dict[str, Quantized], offsets: Any) -> None:
    """Refuses an operand that was quantised for another place, or for other offsets; None: any."""
    for name, q in given.items():
        if q.role not in (None, name):
            raise refuse(name, f"a Quantized of {q.role}", f"one of {name}, or of no role")
    kept: dict[str, Any] = {n: q.offsets for n, q in given.items() if q.offsets is not None}
    ends = _host_offsets(offsets) if kept and offsets is not None else None
    if ends is None:
        return
    import numpy

    for name, own in kept.items():
        if not numpy.array_equal(own, ends):
            need = f"those that {name} was quantised for: {_listed(own)}"
            raise refuse("offsets", _listed(ends), need)


def _listed(ends: Any) -> str:
    """The first few of them."""
    text = ", ".join(map(str, ends[:8].tolist()))
    return f"[{text}, ...]" if len(ends) > 8 else f"[{text}]"


def _own_scales(operand: Quantized, scale: Any, global_scale: Any, name: str) -> tuple[Any, Any]:
    if scale is not None or global_scale is not None:
        raise refuse(
            f"{name}_scale or {name}_global_scale",
            "given",
            f"None: {name} is a Quantized and brings its own",
        )
    return operand.scales, operand.global_scale


def swizzle_scales(scales: Any, offsets: Any, sf_vec_size: int, *, padding: int = 0) -> Any:
    """Compact (rows, cols) scale factors in the swizzled layout that wgrad reads.

    Args:
        scales: (rows, cols) array or CPU tensor of one-byte scale factors; expert e's columns
            follow those of e-1 without padding. Columns past the last expert's are left out.
        offsets: (E,) int32, the cumulative ends of the experts.
        sf_vec_size: tokens a scale factor covers.
        padding: byte written where the layout pads.

    Returns:
        (round_up(rows, 128), padded cols) of the dtype and framework of `scales`.

    Raises:
        ValueError: fewer columns than the offsets need.
    """
    refuse_traced(scales, "swizzle_scales")
    data = _as_bytes(scales)
    if data.ndim != 2 or data.shape[0] == 0:
        raise refuse("scales", f"of shape {data.shape}", "2-D, (rows, cols), rows 1 or more")
    rows = data.shape[0]
    vec_size = _whole(sf_vec_size, "sf_vec_size", 1, 128)
    cols = _core.scale_cols(offsets, vec_size, "compact")
    if data.shape[1] < cols:
        need = f"at least {cols} columns wide for these offsets"
        raise refuse("scales", f"of shape {data.shape}", need)
    flat = _core.swizzle_scales(
        data[:, :cols].copy(), rows, offsets, vec_size, _whole(padding, "padding", 0, 255)
    )
    return _like(flat.reshape(-(-rows // 128) * 128, -1), scales)


def unswizzle_scales(scales: Any, rows: int, offsets: Any, sf_vec_size: int) -> Any:
    """The inverse of swizzle_scales: (rows, cols) compact scale factors.

    Raises:
        ValueError: fewer scale factors than the offsets need.
    """
    refuse_traced(scales, "unswizzle_scales")
    vec_size = _whole(sf_vec_size, "sf_vec_size", 1, 128)
    rows = _whole(rows, "rows", 1, 2**31 - 1)
    data = _as_bytes(scales)
    need = -(-rows // 128) * 128 * _core.scale_cols(offsets, vec_size, "swizzled")
    if data.size < need:
        enough = f"at least {need} bytes long for these rows and offsets"
        raise refuse("scales", f"{data.size} bytes long", enough)
    flat = _core.unswizzle_scales(data, rows, offsets, vec_size)
    return _like(flat.reshape(rows, -1), scales)


def _whole(value: Any, argument: str, least: int, most: int) -> int:
    number = whole(value)
    if number is not None and least <= number <= most:
        return number
    raise refuse(argument, repr(value), f"an integer from {least} to {most}")


def _seed(value: Any, argument: str) -> int | None:
    return None if value is None else _whole(value, argument, 0, 2**64 - 1)


def _on_cpu(tensor: Any, argument: str) -> None:
    if tensor.device.type != "cpu":
        raise refuse(argument, f"on {tensor.device}", "a CPU tensor; move it with .cpu()")


def _need_memory(tensor: Any, argument: str) -> None:
    from . import _torch_calls

    stored = _torch_calls.stored(tensor)  # held while it is read
    _core.need_memory(_core.read_tensor(stored, argument), argument)


def _as_factors(scale: Any) -> Any:
    """A float32 numpy array of global scales."""
    if is_torch(scale):
        from . import _torch_calls

        _on_cpu(scale, "global_scale")
        scale = _torch_calls.to_float_numpy(scale)
    import numpy

    array = numpy.asarray(scale)
    if array.ndim != 1 or array.dtype != numpy.float32:
        raise refuse("global_scale", f"{array.dtype} of shape {array.shape}", "float32 of shape (E,)")
    return numpy.ascontiguousarray(array)


def _as_float(x: Any, argument: str) -> Any:
    """A float32 numpy array of x, a view where it is one already."""
    if is_torch(x):
        from . import _torch_calls

        _on_cpu(x, argument)
        if not _torch_calls.is_dense(x):
            raise refuse(argument, _torch_calls.layout_text(x), "a strided tensor")
        _need_memory(x, argument)
        if _torch_calls.dtype_text(x) == "bool" or x.is_complex():
            raise refuse(argument, _torch_calls.dtype_text(x), "an array of real numbers")
        with _core.FloatEnvironment():
            return _torch_calls.to_float_numpy(x)
    import numpy

    array = numpy.asarray(x)
    if array.ndim != 2:
        raise refuse(argument, f"of shape {array.shape}", "2-D, (T, rows)")
    if array.dtype.kind not in "fiuV":
        raise refuse(argument, str(array.dtype), "an array of real numbers")
    try:
        with _core.FloatEnvironment():
            plain = array.astype(numpy.float32, copy=False)
    except (TypeError, ValueError) as error:  # a structure, say
        raise refuse(argument, str(array.dtype), "an array of real numbers") from error
    return numpy.ascontiguousarray(plain) if min(plain.strides) < 0 else plain


def _as_bytes(scales: Any) -> Any:
    import numpy

    if is_torch(scales):
        from . import _torch_calls

        _on_cpu(scales, "scales")
        if scales.element_size() != 1:
            text = _torch_calls.dtype_text(scales)
            raise refuse("scales", text, "uint8 or a one-byte scale dtype")
        _need_memory(scales, "scales")
        scales = _torch_calls.to_bytes(scales)
    array = numpy.ascontiguousarray(scales)
    if array.dtype.itemsize != 1:
        raise refuse("scales", str(array.dtype), "uint8 or a one-byte scale dtype")
    return array.view(numpy.uint8)


def _like(array: Any, given: Any) -> Any:
    if is_torch(given):
        from . import _torch_calls

        return _torch_calls.from_numpy(array, _torch_calls.dtype_text(given))
    return array.view(given.dtype)


def _seen_as(tensor: Any, dtype: str) -> Any:
    """A tensor of bytes as its framework's `dtype`."""
    if is_torch(tensor):
        from . import _torch_calls

        return _torch_calls.seen_as(tensor, dtype)
    return _wrap_numpy(tensor, dtype)


def _wrap_torch(array: Any, dtype: str) -> Any:
    from . import _torch_calls

    return _torch_calls.from_numpy(array, dtype)


def _wrap_numpy(array: Any, dtype: str) -> Any:
    if dtype == "float4_e2m1fn_x2":  # numpy's own FP4 holds one element per byte
        dtype = "uint8"
    return array.view(numpy_dtype(dtype))
