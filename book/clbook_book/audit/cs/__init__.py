"""Content and style, the paper's statements one by one (CS); what the chapter content_style does not need.

`collapse`: the loss of linear maps that find and scale the latents (eq. 4). `flow`: the linear model's gradient (App. B
and C). `optima`: what is optimal (App. A, D and Table 1). `encoders`: deep encoders with Table 1's losses, under
projectors, and of classes; DirectCLR's parts. `runs`: what was run.
"""
