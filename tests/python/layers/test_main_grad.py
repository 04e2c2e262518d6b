"""The protocol of main_grad: buffers, flags, overwriting, hooks."""

from __future__ import annotations

import threading

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import wgrad.torch as layers
from layer_case import NAN, make
from test_grouped_linear import LAYOUTS, layer_of


def give_main_grads(layer, fill=0.0, dtype=torch.float32, **flags):
    for weight in layer.weights():
        weight.main_grad = torch.full(weight.shape, fill, dtype=dtype)
        for name, value in flags.items():
            setattr(weight, name, value)


def main_grad(layer):
    found = [p.main_grad.transpose(-2, -1) if layer.transposed else p.main_grad
             for p in layer.weights()]
    return torch.stack(found) if layer.separate else found[0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_micro_batches_add_up_in_the_buffer(layout):
    layer = layer_of(make(), **LAYOUTS[layout])
    give_main_grads(layer, fill=1.0)
    want = torch.ones(3, 16, 32, dtype=torch.float64)
    for seed, counts in enumerate(([4, 0, 5], [0, 0, 0], [0, 9, 0])):
        case = make(counts, seed=10 * seed)
        case.weight = make().weight
        case.run(layer)
        want += case.weight_gradient()
    assert torch.equal(main_grad(layer).double(), want)
    assert all(weight.grad is None for weight in layer.weights())


def test_f078_small_additions_are_not_rounded_away():
    case = make([1, 0, 0])
    case.x.fill_(0), case.dy.fill_(0)
    case.x[0, 0] = case.dy[0, 0] = 1
    layer = layer_of(case)
    give_main_grads(layer, fill=256.0)
    case.run(layer)
    assert layer.weight.main_grad[0, 0, 0] == 257
    assert layer.weight.main_grad[1:].eq(256).all(), "experts without tokens keep their bits"


@pytest.mark.parametrize("how", ["argument", "attribute"])
def test_f074_overwriting_never_reads_the_buffer(how):
    case = make()
    layer = layer_of(case)
    give_main_grads(layer, fill=NAN, **({"overwrite_main_grad": True} if how == "attribute" else {}))
    case.run(layer, is_first_microbatch=True if how == "argument" else None)
    assert torch.equal(main_grad(layer).double(), case.weight_gradient())


def test_f073_a_first_micro_batch_and_31_others():
    case = make()
    layer = layer_of(case)
    give_main_grads(layer, fill=NAN)
    for micro_batch in range(32):
        case.run(layer, micro_batch == 0)
    assert torch.equal(main_grad(layer).double(), 32 * case.weight_gradient())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_f075_the_flag_is_set_and_grad_is_there_for_those_who_read_it(layout):
    case = make()
    layer = layer_of(case, **LAYOUTS[layout])
    give_main_grads(layer, grad_added_to_main_grad=False)
    case.run(layer)
    for weight in layer.weights():
        assert weight.grad_added_to_main_grad is True
        assert weight.grad.shape == weight.shape and weight.grad.dtype == weight.dtype
        assert weight.grad.is_contiguous()
    assert torch.equal(main_grad(layer).double(), case.weight_gradient())


def test_zero_out_wgrad_gives_zeros():
    case = make()
    layer = layer_of(case, transposed=True)
    give_main_grads(layer, grad_added_to_main_grad=False, zero_out_wgrad=True)
    for _ in range(3):  # memory that was freed in between holds what it held
        layer.weight.grad = None
        case.run(layer)
        assert not layer.weight.grad.any()


def test_without_the_flag_it_is_not_made_up():
    case = make()
    layer = layer_of(case)
    give_main_grads(layer)
    case.run(layer)
    assert not hasattr(layer.weight, "grad_added_to_main_grad") and layer.weight.grad is None


def test_hooks_fire_once_the_buffer_is_written():
    """As a distributed wrapper registers them, on parameters without the flag."""
    case = make()
    layer = layer_of(case, separate=True)
    give_main_grads(layer)
    seen = []
    for e, weight in enumerate(layer.weights()):
        weight.register_post_accumulate_grad_hook(
            lambda p, e=e: seen.append((e, torch.equal(p.main_grad.double(), want[e])))
        )
    want = case.weight_gradient()
    case.run(layer)
    assert sorted(seen) == [(0, True), (1, True), (2, True)]


def test_the_hook_of_the_accumulation_node_fires():
    """The way of older wrappers: on the node that accumulates."""
    case = make()
    layer = layer_of(case, transposed=True)
    give_main_grads(layer, grad_added_to_main_grad=False)
    node = layer.weight.expand_as(layer.weight).grad_fn.next_functions[0][0]
    seen = []
    node.register_hook(lambda *_: seen.append(layer.weight.grad_added_to_main_grad))
    case.run(layer)
    assert seen == [True]


def test_megatrons_reduction_adds_nothing_twice():
    """Its backward hook: main_grad += grad, unless the flag says that it was added."""
    case = make()
    layer = layer_of(case)
    give_main_grads(layer, grad_added_to_main_grad=False)

    def hook(parameter):
        assert parameter.grad is not None, "overlapped reduction needs it"
        if not parameter.grad_added_to_main_grad or getattr(parameter, "zero_out_wgrad", False):
            parameter.main_grad.add_(parameter.grad)
        parameter.grad = None

    layer.weight.register_post_accumulate_grad_hook(hook)
    for _ in range(4):
        case.run(layer)
    assert torch.equal(main_grad(layer).double(), 4 * case.weight_gradient())


def test_f076_a_shared_weight_gets_both_gradients():
    case = make(n=16)
    layer = layer_of(case)
    give_main_grads(layer)
    x = case.x.clone()
    y = layer(x, case.offsets)
    (y + layer(x, case.offsets)).backward(case.dy)
    assert torch.equal(main_grad(layer).double(), 2 * case.weight_gradient())


def test_the_function_finds_the_buffer_of_a_transposed_parameter():
    case = make()
    parameter = torch.nn.Parameter(case.weight.transpose(1, 2).contiguous())
    parameter.main_grad = torch.zeros(parameter.shape)
    parameter.grad_added_to_main_grad = False
    case.run(lambda x, o: layers.grouped_linear(x, parameter.transpose(1, 2), o))
    assert torch.equal(parameter.main_grad.transpose(1, 2).double(), case.weight_gradient())
    assert parameter.grad_added_to_main_grad is True


def test_a_buffer_can_be_given():
    case = make()
    weight = case.weight.clone().requires_grad_()
    for wide in (torch.zeros(3, 16, 40)[:, :, :32], [torch.zeros(16, 32) for _ in range(3)]):
        given = list(weight.unbind(0)) if isinstance(wide, list) else weight
        case.run(lambda x, o: layers.grouped_linear(x, given, o, main_grad=wide))
        got = torch.stack(wide) if isinstance(wide, list) else wide
        assert torch.equal(got.double(), case.weight_gradient()) and weight.grad is None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_buffers_of_16_bits(dtype):
    case = make()
    layer = layer_of(case)
    give_main_grads(layer, fill=1.0, dtype=dtype)
    case.run(layer)
    assert torch.equal(main_grad(layer).double(), 1 + case.weight_gradient())


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointing_adds_once(reentrant):
    case = make()
    layer = layer_of(case)
    give_main_grads(layer)
    case.run(lambda x, o: checkpoint(layer, x, o, use_reentrant=reentrant))
    assert torch.equal(main_grad(layer).double(), case.weight_gradient())


def test_a_rank_without_a_token_delivers():
    case = make([0, 0, 0])
    layer = layer_of(case)
    give_main_grads(layer, fill=NAN, grad_added_to_main_grad=False)
    case.run(layer, is_first_microbatch=True)
    assert not main_grad(layer).any() and layer.weight.grad_added_to_main_grad
    plain = layer_of(case)
    case.run(plain)
    assert plain.weight.grad is not None and not plain.weight.grad.any()


def test_forward_without_gradients_leaves_the_protocol_alone():
    case = make()
    layer = layer_of(case)
    give_main_grads(layer, grad_added_to_main_grad=False)
    with torch.no_grad():
        layer(case.x, case.offsets)
    assert layer.weight.grad_added_to_main_grad is False and not main_grad(layer).any()


def test_a_hook_on_the_weight_itself_fires():
    case = make()
    layer = layer_of(case)
    give_main_grads(layer)
    seen = []
    layer.weight.register_hook(lambda grad: seen.append(tuple(grad.shape)))
    case.run(layer)
    assert seen == [(3, 16, 32)]
    assert torch.equal(main_grad(layer).double(), case.weight_gradient())


def test_two_threads_with_layers_of_their_own():
    failures = []

    def work(seed):
        try:
            case = make(seed=seed)
            layer = layer_of(case)
            give_main_grads(layer)
            for _ in range(20):
                case.run(layer)
            assert torch.equal(main_grad(layer).double(), 20 * case.weight_gradient())
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(10 * i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]
