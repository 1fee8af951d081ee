"""A convolution that writes beyond its arrays in torch 2.13 on a processor with AVX2 and without AVX-512.

`.ci/run` runs it with the switches that make any processor such a one: where the process dies, they work.
"""

import torch

for _ in range(10):
    x = torch.randn(60, 4, 32, 32).to(memory_format=torch.channels_last).requires_grad_()
    w = torch.randn(8, 4, 1, 1, requires_grad=True)
    torch.nn.functional.conv2d(x, w, stride=2).sum().backward()
