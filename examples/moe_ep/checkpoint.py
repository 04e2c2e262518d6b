"""A checkpoint of torch.distributed.checkpoint: any number of ranks may load it."""

import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.tensor import DTensor, Replicate, Shard


def save(path, run):
    dcp.save(_state(run), checkpoint_id=path)


def load(path, run):
    state = _state(run)
    dcp.load(state, checkpoint_id=path)
    set_state_dict(
        run.dense, run.dense_optimizer,
        model_state_dict=state["dense"], optim_state_dict=state["dense_optimizer"],
    )


def _state(run):
    """Everything by name; an expert's tensors are slices of a global one, written in place."""
    dense, dense_optimizer = get_state_dict(run.dense, run.dense_optimizer)
    state = {"dense": dense, "dense_optimizer": dense_optimizer}
    for name, parameter in run.experts.named_parameters():
        slots = run.expert_optimizer.state[parameter]
        slots.setdefault("momentum_buffer", parameter.detach().clone().zero_())
        for kind, tensor in (("value", parameter.detach()), ("momentum", slots["momentum_buffer"])):
            state[f"experts.{name}.{kind}"] = DTensor.from_local(
                tensor, run.mesh, [Replicate(), Shard(0)], run_check=False
            )
    return state
