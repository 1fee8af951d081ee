"""The readout that a page draws while it trains, as operations on tensors that a page can do itself."""

from __future__ import annotations

import torch


def own_centre(z: torch.Tensor, labels: torch.Tensor, classes: int) -> torch.Tensor:
    """(...) share of the points z (..., n, d) that lie nearest to their own class's centre, taken over the others.

    Args:
        labels: (n,) from 0 to classes - 1.
    """
    member = (labels[:, None] == torch.arange(classes, device=labels.device)).to(z.dtype)  # (n, C)
    count = member.sum(0)
    centres = member.mT @ z / count[:, None]  # (..., C, d)
    apart = (z[..., :, None, :] - centres[..., None, :, :]).norm(dim=-1)
    # Without the point itself the centre of its class is further from it, by count / (count - 1).
    apart = apart * (1 + member / (count - 1))
    return (apart.argmin(-1) == labels).to(z.dtype).mean(-1)
