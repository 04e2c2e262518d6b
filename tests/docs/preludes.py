"""What a page's snippets take for granted: names of the reader's own program, small and on a CPU."""


def torch_step() -> dict:
    import torch

    torch.manual_seed(0)
    x = torch.randn(96, 64, dtype=torch.bfloat16)
    names = {"torch": torch, "x": x, "dy": torch.randn(96, 64, dtype=torch.bfloat16),
             "tokens_per_expert": torch.tensor([40, 0, 56]), "main_grad": torch.zeros(3, 64, 64), "model": None,
             "offsets": torch.tensor([40, 40, 96], dtype=torch.int32)}
    names["train"] = lambda model: torch.nn.functional.grouped_mm(
        x, torch.ones(3, 64, 64, dtype=torch.bfloat16, requires_grad=True), offs=names["offsets"]).sum().backward()
    return names


def jax_step() -> dict:
    import jax.numpy as jnp

    return {"x": jnp.ones((96, 64), jnp.bfloat16), "dy": jnp.ones((96, 64), jnp.bfloat16),
            "offsets": jnp.array([40, 40, 96], jnp.int32), "lhs": jnp.ones((96, 64), jnp.bfloat16),
            "rhs": jnp.ones((3, 64, 64), jnp.bfloat16), "group_sizes": jnp.array([40, 0, 56], jnp.int32)}


# By page: what makes the names, and what of its text differs on a small CPU.
PRELUDES = {"README.md": torch_step, "docs/torch.md": torch_step, "docs/jax.md": jax_step}
SMALLER = {'device="cuda"': 'device="cpu"', "GroupedMLP(64, 2048, 1024": "GroupedMLP(3, 64, 32",
           "num_experts=64, hidden_size=2048, intermediate_size=1024": "num_experts=3, hidden_size=64, intermediate_size=32"}
