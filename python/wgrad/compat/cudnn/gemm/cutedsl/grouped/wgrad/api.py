"""The weight gradient, and the cache of compiled operators that tests of callers look into."""

from wgrad import (
    GroupedGemmWgradSm100,
    TupleDict,
    WGradInputOrder,
    _cache_of_GroupedGemmWgradSm100Objects,
    get_grouped_gemm_wgrad_workspace_size_sm100,
    grouped_gemm_wgrad_wrapper_sm100,
)

__all__ = [
    "GroupedGemmWgradSm100",
    "TupleDict",
    "WGradInputOrder",
    "_cache_of_GroupedGemmWgradSm100Objects",
    "get_grouped_gemm_wgrad_workspace_size_sm100",
    "grouped_gemm_wgrad_wrapper_sm100",
]
