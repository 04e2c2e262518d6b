"""Where releases before the `gemm` tree have the grouped products."""

from wgrad import GroupedGemmWgradSm100, grouped_gemm_wgrad_wrapper_sm100

__all__ = ["GroupedGemmWgradSm100", "grouped_gemm_wgrad_wrapper_sm100"]
