"""The neural kernel of any module, layer by layer and in blocks: the fast form behind `kernels.empirical`.

All that is added to a kernel has one form, <a_i, a_j> <delta_i^k, delta_j^l>. For a fully connected layer y = W a + b,
a is what enters it, with a one for b, and delta^k = df^k / dy, which one backward pass for each output coordinate
gives. For gradients of parameters that are written out, a is 1 and delta^k is the gradient. For 500 to 1,000 points in
an MLP this is 34 to 70 times faster than Jacobians alone (tests/benchmarks/bench_kernels.py).
"""

from __future__ import annotations

import collections

import torch
from torch import nn
from torch.autograd.graph import get_gradient_edge
from torch.func import functional_call, jacrev, vmap
from torch.nn import functional as F
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from clbook._arguments import dense, refused, shown

BLOCK = 2**19  # numbers in a block of rows of K on a CPU: a few such stay in a cache
CHUNK = 2**22  # numbers in one chunk of per-sample gradients


def layerwise(model, x, trace=False):
    """The kernel as (n, n, d, d), or with `trace` the sum of its blocks k = l as (n, n, 1, 1).

    The trace is the same computation with the gradients of all outputs written one after another: the inner product of
    two such rows is the sum over k.
    """
    check(model, x)
    out, calls = _forward(model, x)
    layers, rest = _layers(model, out, calls)
    n, d = out.shape
    groups = 1 if trace else d
    K = torch.zeros((groups, groups, n, n), dtype=out.dtype, device=out.device)
    # a (n, features, positions), deltas (d, n, out, positions). Layers of one position are added together.
    add(K, [(a[..., 0], _grouped(deltas[..., 0], K)) for a, deltas in layers if a.shape[2] == 1])
    for a, deltas in layers:
        if a.shape[2] > 1:
            _add_positions(K, a, deltas)
    if rest:
        gradients = jacobian(model, x, rest)
        add(K, [(K.new_ones((n, 1)), _grouped(gradients, K))])
    return by_samples(K)


def check(model, x):
    """ValueError where these are no module and no inputs, or have no gradients."""
    if not isinstance(model, nn.Module):
        raise refused("model", model, "a torch.nn.Module")
    if len(dense("x", x, 1)) == 0:
        raise refused("x", x, "a Tensor (n, ...), n >= 1")
    for tensor in model.parameters():
        if tensor.is_meta or tensor.is_inference():
            allowed = (
                "a module whose parameters have values, made outside of torch.inference_mode()"
            )
            raise refused("model", model, allowed)
    if x.is_inference() or torch.is_inference_mode_enabled():
        raise refused("x", x, "used outside of torch.inference_mode(): use torch.no_grad() instead")
    for module in model.modules():
        if module.training and isinstance(module, (_BatchNorm, _DropoutNd)):
            kind = type(module).__name__
            allowed = f"in evaluation mode, model.eval(): {kind} in training mode mixes samples or is random"
            raise refused("model", model, allowed)


def outputs(model, x):
    """What the model gives for x, (n, d); ValueError where it gives something else."""
    try:
        out = model(x)
    except Exception as error:  # the model's own words, whatever they are
        raise refused("x", x, f"what model takes: {error}") from error
    n = len(x)
    if not isinstance(out, torch.Tensor) or out.dim() != 2 or len(out) != n:
        returned = f"it returned {_described(out)} for {n} inputs"
        raise refused("model", model, f"a module that returns one tensor (n, d): {returned}")
    return out


def _described(out):
    """What a module returned, in words: 'Tensor (5, 2)', 'tuple of Tensor (5, 4, 2), Tensor (1, 5, 2)'."""
    if not isinstance(out, (tuple, list)):
        return shown(out)
    parts = ", ".join(map(_described, out))
    return f"{type(out).__name__} of {parts}"


# A layer is a Linear or Conv2d that works once, on all samples.


@torch.enable_grad()
def _forward(model, x):
    """The output (n, d), and {module: [(input, length of the output, its edge in the graph)]} of every call."""
    calls = collections.defaultdict(list)

    def keep(module, inputs, output):
        if inputs and output.requires_grad:
            # The edge, not the tensor: an activation that works in place would turn the tensor into its own result.
            edge = get_gradient_edge(output)
            calls[module].append((inputs[0].detach(), len(output), edge))

    hooks = [module.register_forward_hook(keep) for module in model.modules() if _is_layer(module)]
    try:
        out = outputs(model, x)
    finally:
        for hook in hooks:
            hook.remove()
    if out.grad_fn is None:
        allowed = "of an output that depends on its weights: it has no trainable parameter"
        raise refused("model", model, allowed)

    with torch.no_grad():
        alone = outputs(model, x[:1])
        apart = (alone - out[:1]).abs()
    rounding = max(5e-3, 4 * torch.finfo(out.dtype).eps) * out.abs().max()
    if (apart > rounding).any():  # False for what has overflowed
        allowed = "a function of each sample alone: it mixes samples or is random; call model.eval() first"
        raise refused("model", model, allowed)
    return out, calls


def _is_layer(module):
    """Whether a module is a plain Linear or Conv2d."""
    if isinstance(module, nn.Conv2d):
        named = isinstance(module.padding, str)
        if named or module.groups != 1 or module.padding_mode != "zeros":
            return False
    own = dict(module.named_parameters(recurse=False))
    return type(module) in (nn.Linear, nn.Conv2d) and own.keys() <= {"weight", "bias"}


def _layers(model, out, calls):
    """What the layers add, [(a, deltas)], and the names of the trainable parameters outside of them.

    a (n, features, positions) is what multiplies a layer's weights, deltas (d, n, out, positions) are the derivatives
    of the outputs. A layer sees one position of a sample, or its words or pixels.
    """
    uses = _uses(out.grad_fn)
    taken = []
    edges = []
    for module, found in calls.items():
        inputs, length, edge = found[0]
        own = [id(p) for p in module.parameters() if p.requires_grad]
        alone = own and all(uses[p] == 1 for p in own)  # no weight is used elsewhere
        if alone and len(found) == 1 and len(inputs) == length == len(out):
            taken.append((module, inputs))
            edges.append(edge)
            for p in own:
                del uses[p]
    layers = []
    for (module, inputs), deltas in zip(taken, derivatives(out, edges), strict=True):
        if isinstance(module, nn.Linear):
            deltas = deltas.movedim(-1, 2)  # (d, n, out, ...), as those of a Conv2d are
        deltas = deltas.reshape(*deltas.shape[:3], -1)
        layers.append((_columns(module, inputs), deltas))
    return layers, [name for name, p in model.named_parameters() if uses[id(p)]]


def _uses(root):
    """How often each parameter, by id, enters the graph below `root`: once, if a layer's product is its only use."""
    uses = collections.Counter()
    seen = {root}
    stack = [root]
    while stack:
        for node, _ in stack.pop().next_functions:
            if hasattr(node, "variable"):
                uses[id(node.variable)] += 1
            elif node is not None and node not in seen:
                seen.add(node)
                stack.append(node)
    return uses


@torch.enable_grad()
def derivatives(out, at):
    """For each of the tensors (or edges) in `at`, (..., n, ...): df^k / dy of the outputs (..., n, d), d in front."""
    if not at:
        return []
    passes = []
    for k in range(out.shape[-1]):
        # Samples do not mix: the gradient of the sum over samples is, at each sample, that of its own output.
        passes.append(torch.autograd.grad(out[..., k].sum(), at, retain_graph=True))
    return [torch.stack(found) for found in zip(*passes, strict=True)]


def _columns(module, inputs):
    """(n, features, positions): what multiplies a layer's trainable weights, with a one for the bias."""
    if isinstance(module, nn.Linear):
        columns = inputs.reshape(len(inputs), -1, inputs.shape[-1]).mT
    else:
        columns = F.unfold(
            inputs,
            module.kernel_size,
            module.dilation,
            module.padding,
            module.stride,
        )
    parts = []
    if module.weight.requires_grad:
        parts.append(columns)
    if module.bias is not None and module.bias.requires_grad:
        parts.append(torch.ones_like(columns[:, :1]))
    return torch.cat(parts, 1)


# What is added to K.


def add(K, factors):
    """Adds the sum over `factors` of <a_i, a_j> <delta_i^k, delta_j^l> to K, some rows at a time.

    K is symmetric, K_ij^{kl} = K_ji^{lk}: of each block of rows, what lies right of the diagonal is computed. Off the
    CPU one block is the whole of K: there, many launches cost more than twice the arithmetic.

    Args:
        K: (..., d, d, n, n), outputs before samples.
        factors: pairs of a (..., n, features) and delta (..., d, n, out).
    """
    *runs, d, _, n, _ = K.shape
    size = n
    if K.device.type == "cpu":
        size = max(1, BLOCK // K[..., 0, :].numel())
    for start in range(0, n, size):
        rows = slice(start, min(start + size, n))
        block = K[..., rows, start:]
        for a, delta in factors:
            left = delta[..., rows, :].flatten(-3, -2)
            right = delta[..., start:, :].flatten(-3, -2)
            felt = (
                (left @ right.mT).unflatten(-1, (d, -1)).unflatten(-3, (d, -1))
            )  # (..., d, m, d, c)
            seen = a[..., rows, :] @ a[..., start:, :].mT
            block.addcmul_(felt.transpose(-3, -2), seen[..., None, None, :, :])
        right_of_it = K[..., rows, rows.stop :]
        K[..., rows.stop :, rows] = right_of_it.transpose(-4, -3).mT


def by_samples(K):
    """K (..., d, d, n, n) as (..., n, n, d, d)."""
    return K.movedim((-4, -3), (-2, -1))


def _grouped(gradients, K):
    """Gradients (d, n, parameters) of each output, as K needs them: as they are, or (1, n, d parameters)."""
    if len(K) == len(gradients):
        return gradients
    return gradients.transpose(0, 1).flatten(1)[None]


def _add_positions(K, a, deltas):
    """Adds a layer's per-sample gradients sum_t delta_t a_t', those of some output channels at a time."""
    n, features, _ = a.shape
    channels = max(1, CHUNK // (n * len(deltas) * features))
    for some in deltas.split(channels, 2):
        gradients = torch.einsum("nft,dnot->dnof", a, some).flatten(2)
        add(K, [(a.new_ones((n, 1)), _grouped(gradients, K))])


# Jacobians.


def jacobian(model, x, names):
    """(d, n, parameters): d f^k(x_i) / dw for the parameters in `names`."""
    weights = {name: p for name, p in model.named_parameters() if name in names}

    def single(w, xi):
        return functional_call(model, w, (xi[None],))[0]

    try:
        with torch.no_grad():
            values = {name: p.detach() for name, p in weights.items()}
            found = vmap(jacrev(single), (None, 0))(values, x)  # {name: (n, d, *shape)}
    except RuntimeError:
        # torch.func cannot map over recurrent layers, `.item()`, some changes in place.
        rows = [_gradients(model, xi, list(weights.values())) for xi in x]
        return torch.stack(rows, 1)
    parts = [part.reshape(*part.shape[:2], -1) for part in found.values()]
    return torch.cat(parts, 2).transpose(0, 1)


@torch.enable_grad()
def _gradients(model, xi, weights):
    """(d, parameters): d f^k(xi) / dw of one sample, by a backward pass for each output."""
    rows = []
    for value in model(xi[None])[0]:
        found = torch.autograd.grad(value, weights, retain_graph=True, materialize_grads=True)
        rows.append(torch.cat([g.flatten() for g in found]))
    return torch.stack(rows)
