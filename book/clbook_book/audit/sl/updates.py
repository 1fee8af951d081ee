"""The steps that a batch takes: SL A.5's rule for a symbol, and the rule for a context that Section 3 promises."""

from __future__ import annotations

import torch

from clbook.losses import symbol_context


def symbol_steps(symbols: torch.Tensor, contexts: torch.Tensor) -> torch.Tensor:
    """SL A.5 as printed, (n, d): c_k - sum_j alpha_j c_j at each place of a batch, alpha = softmax of z_k . c_j over j.

    symbols, contexts (n, d): the vectors of the batch; row k of both belongs together.
    """
    return contexts - (symbols @ contexts.T).softmax(1) @ contexts


def context_steps(symbols: torch.Tensor, contexts: torch.Tensor) -> torch.Tensor:
    """The same for the contexts, (n, d): z_j - sum_i alpha_ij z_i, with alpha_ij the softmax over j of z_i . c_j.

    SL announce it in Section 3 and do not print it. The weights of a column need not add up to 1.
    """
    return symbols - (symbols @ contexts.T).softmax(1).T @ symbols


def gradients(
    table: torch.Tensor, ids: torch.Tensor, contexts: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """-n times the gradient of SL eq. 2 in the table (S, d) and in the contexts (n, d) of a batch, by autograd.

    ids (n,): the symbol at each place.
    """
    table, contexts = table.clone().requires_grad_(), contexts.clone().requires_grad_()
    loss = symbol_context(table[ids], contexts)
    return tuple(-len(ids) * slope for slope in torch.autograd.grad(loss, (table, contexts)))


def errors(symbols: int, batch: int, d: int = 8, seed: int = 0) -> tuple[float, float, float]:
    """How far the printed rules are from the gradient, relative to it, in one batch of N(0, 1) vectors in float64.

    Returns: of the symbols' rule, the mean over the symbols that occur; of the contexts' rule; the share of places
    whose symbol occurs more than once. Each symbol's printed step is that of its first place. Symbols are drawn with
    replacement, except where the batch is no larger than their number: then each occurs once.
    """
    generator = torch.Generator().manual_seed(seed)
    table, contexts = (
        torch.randn(n, d, generator=generator, dtype=torch.float64) for n in (symbols, batch)
    )
    ids = (
        torch.randperm(symbols, generator=generator)[:batch]
        if batch <= symbols
        else torch.randint(symbols, (batch,), generator=generator)
    )
    of_table, of_contexts = gradients(table, ids, contexts)
    printed = symbol_steps(table[ids], contexts)
    present, counts = ids.unique(return_counts=True)
    first = torch.stack([(ids == u).nonzero()[0, 0] for u in present])
    off = (printed[first] - of_table[present]).norm(dim=1) / of_table[present].norm(dim=1)
    off_contexts = (context_steps(table[ids], contexts) - of_contexts).norm() / of_contexts.norm()
    return float(off.mean()), float(off_contexts), float(counts[counts > 1].sum() / len(ids))
