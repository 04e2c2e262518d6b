"""Of the reference's grouped products the weight gradient alone."""

from wgrad import GroupedGemmWgradSm100, grouped_gemm_wgrad_wrapper_sm100

__all__ = ["GroupedGemmWgradSm100", "grouped_gemm_wgrad_wrapper_sm100"]
