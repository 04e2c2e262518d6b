"""The reference's matrix products."""
