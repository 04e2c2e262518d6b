"""The reference's matrix products in CuTe DSL."""
